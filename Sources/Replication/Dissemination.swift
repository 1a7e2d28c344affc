internal import Seal
internal import Tree
internal import Wire

/// What is on its way through a network of views, as in Plumtree (Leitão, Pereira and Rodrigues, 2007): news are pushed
/// over the *eager* links, which form a tree, and announced over the others, the *lazy* ones. Who gets something twice
/// makes that link lazy (PRUNE); who hears of something that does not come makes the link eager that told (GRAFT).
struct Dissemination: Sendable {
    /// What was announced is expected to be pushed within this; then it is asked for, and of the next who has it after
    /// a shorter time.
    static let graftMs: UInt64 = 80
    static let graftAgainMs: UInt64 = 40
    /// Announcements wait this long for more.
    static let announceMs: UInt64 = 50
    /// The same for soft state, which heals itself with each refresh.
    static let softGraftMs: UInt64 = 1000
    static let softAnnounceMs: UInt64 = 2000
    /// Things announced and not here yet; a comparison finds what exceeds it.
    static let missingMax = 4096
    /// Announcers remembered of each.
    static let announcersMax = 8
    /// Names of soft state remembered and waiting to be announced.
    static let softNamesMax = 16_384
    static let softNewsMax = 4096
    /// A link brings what it held back when it comes up; nothing that comes twice within this time says much.
    static let settleMs: UInt64 = 2000

    struct Missing: Sendable {
        /// Who has it and was not asked yet, in the order of hearing.
        var announcers: [LinkID]
        var dueMs: UInt64
    }

    struct News: Sendable {
        let reference: EntryReference
        /// Links that have it: it came from there or was pushed there.
        let holders: Set<LinkID>
    }

    /// Announced and not here yet.
    private(set) var missing: [EntryReference: Missing] = [:]
    private var missingDueMs: UInt64?
    /// To be announced.
    private(set) var news: [News] = []
    private var newsDueMs: UInt64?
    /// Asked for in a comparison and arrived, until it is stored: not for pushing on.
    private var catchUp: Set<EntryReference> = []
    /// Asked for because it was announced and did not come.
    private var grafted = BoundedSet<EntryReference>(capacity: Dissemination.missingMax)

    private var softKnown = BoundedSet<UInt64>(capacity: Dissemination.softNamesMax)
    private(set) var softMissing: [UInt64: Missing] = [:]
    private var softMissingDueMs: UInt64?
    /// To be announced, with the links that have it already.
    private var softNews: [UInt64: Set<LinkID>] = [:]
    private var softNewsOrder: [UInt64] = []
    private var softNewsDueMs: UInt64?

    var nextDeadlineMs: UInt64? {
        [missingDueMs, newsDueMs, softMissingDueMs, softNewsDueMs].compactMap { $0 }.min()
    }

    // MARK: Entries

    /// Entries have arrived: `asked` says which of them were asked for at that link, `isSifting` that others may belong
    /// to a comparison. Returns whether all of them were pushed.
    mutating func arrived(_ references: [EntryReference], asked: Set<EntryReference>, isSifting: Bool) -> Bool {
        if catchUp.count > Dissemination.missingMax * 4 { catchUp = [] }
        for reference in references where isSifting || asked.contains(reference) {
            if !grafted.contains(reference) { catchUp.insert(reference) }
        }
        return !isSifting && !references.contains { asked.contains($0) }
    }

    /// An entry is stored, or will never be. Returns whether it is to be pushed on.
    mutating func settled(_ reference: EntryReference) -> Bool {
        missing[reference] = nil
        return catchUp.remove(reference) == nil
    }

    mutating func announce(_ item: News, nowMs: UInt64) {
        news.append(item)
        newsDueMs = newsDueMs ?? nowMs &+ Dissemination.announceMs
    }

    /// What is to be announced now.
    mutating func takeNews(nowMs: UInt64) -> [News] {
        guard let newsDueMs, nowMs >= newsDueMs else { return [] }
        defer { (news, self.newsDueMs) = ([], nil) }
        return news
    }

    /// A neighbour has entries that are not here.
    mutating func announced(_ references: [EntryReference], by link: LinkID, nowMs: UInt64) {
        for reference in references {
            if let known = missing[reference]?.announcers {
                if known.count < Dissemination.announcersMax, !known.contains(link) {
                    missing[reference]?.announcers.append(link)
                }
            } else if missing.count < Dissemination.missingMax {
                let dueMs = nowMs &+ Dissemination.graftMs
                missing[reference] = Missing(announcers: [link], dueMs: dueMs)
                missingDueMs = min(missingDueMs ?? dueMs, dueMs)
            }
        }
    }

    /// What is to be asked for now, and of whom. `waitMs` says how long an answer of a link may take, `claimedUntilMs`
    /// until when a comparison has asked for an entry elsewhere.
    mutating func grafts(
        nowMs: UInt64, isUp: (LinkID) -> Bool, waitMs: (LinkID) -> UInt64, claimedUntilMs: (EntryReference) -> UInt64,
        isHere: (EntryReference) throws -> Bool
    ) rethrows -> [(link: LinkID, references: [EntryReference])] {
        guard let due = missingDueMs, nowMs >= due else { return [] }
        var asks: [LinkID: [EntryReference]] = [:]
        for reference in missing.filter({ $0.value.dueMs <= nowMs }).keys.sorted() {
            guard let index = missing[reference]?.announcers.firstIndex(where: isUp), try !isHere(reference) else {
                missing[reference] = nil
                continue
            }
            if !grafted.contains(reference), claimedUntilMs(reference) > nowMs {
                missing[reference]?.dueMs = claimedUntilMs(reference)
                continue
            }
            guard let link = missing[reference]?.announcers.remove(at: index) else { continue }
            missing[reference]?.dueMs = nowMs &+ max(Dissemination.graftAgainMs, waitMs(link))
            grafted.insert(reference)
            asks[link, default: []].append(reference)
        }
        missingDueMs = missing.values.map(\.dueMs).min()
        return asks.keys.sorted().map { ($0, asks[$0] ?? []) }
    }

    // MARK: Soft state

    func knowsSoft(_ name: UInt64) -> Bool { softKnown.contains(name) }

    /// A record is here. It is announced to all but `holders`, who have it; nil if it is not announced.
    mutating func softArrived(_ name: UInt64, holders: Set<LinkID>?, nowMs: UInt64) {
        softKnown.insert(name)
        softMissing[name] = nil
        guard let holders, softNewsOrder.count < Dissemination.softNewsMax else { return }
        if softNews.updateValue(holders, forKey: name) == nil { softNewsOrder.append(name) }
        softNewsDueMs = softNewsDueMs ?? nowMs &+ Dissemination.softAnnounceMs
    }

    /// A neighbour has records; those that are not here are waited for.
    mutating func softAnnounced(_ names: [UInt64], by link: LinkID, nowMs: UInt64) {
        for name in names {
            if softKnown.contains(name) {
                softNews[name]?.insert(link)
            } else if let known = softMissing[name]?.announcers {
                if known.count < Dissemination.announcersMax, !known.contains(link) {
                    softMissing[name]?.announcers.append(link)
                }
            } else if softMissing.count < Dissemination.missingMax {
                let dueMs = nowMs &+ Dissemination.softGraftMs
                softMissing[name] = Missing(announcers: [link], dueMs: dueMs)
                softMissingDueMs = min(softMissingDueMs ?? dueMs, dueMs)
            }
        }
    }

    /// A neighbour that sent a record needs no announcement of it.
    mutating func softHas(_ name: UInt64, _ link: LinkID) { softNews[name]?.insert(link) }

    /// Names to be announced now, oldest first, with the links that have each already.
    mutating func takeSoftNews(nowMs: UInt64) -> [(name: UInt64, holders: Set<LinkID>)] {
        guard let softNewsDueMs, nowMs >= softNewsDueMs else { return [] }
        let due = softNewsOrder.map { (name: $0, holders: softNews[$0] ?? []) }
        (softNews, softNewsOrder, self.softNewsDueMs) = ([:], [], nil)
        return due
    }

    mutating func softGrafts(nowMs: UInt64, isUp: (LinkID) -> Bool) -> [(link: LinkID, names: [UInt64])] {
        guard let due = softMissingDueMs, nowMs >= due else { return [] }
        var asks: [LinkID: [UInt64]] = [:]
        for name in softMissing.filter({ $0.value.dueMs <= nowMs }).keys.sorted() {
            guard let index = softMissing[name]?.announcers.firstIndex(where: isUp),
                let link = softMissing[name]?.announcers.remove(at: index)
            else {
                softMissing[name] = nil
                continue
            }
            softMissing[name]?.dueMs = nowMs &+ Dissemination.softGraftMs
            asks[link, default: []].append(name)
        }
        softMissingDueMs = softMissing.values.map(\.dueMs).min()
        return asks.keys.sorted().map { ($0, asks[$0] ?? []) }
    }
}
