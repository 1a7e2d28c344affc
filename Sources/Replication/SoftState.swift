public import Seal
public import Tree
public import Wire

/// Typing and presence as this node sees them: signed records that live until their time is up.
///
/// The greater time wins. A record counts from its receipt here, by the monotonic clock, so nobody's wrong wall clock
/// makes it live longer; a record whose own time is older than its life plus a minute is a replay and is dropped, and
/// so is one from a future in which no entry would count.
public struct SoftState: Sendable {
    /// Tolerance for the age of a record by workspace time.
    static let replayMsMax: UInt64 = 60_000
    /// A record further ahead of workspace time than this is dropped, as an entry there would be held. What others
    /// applied within this bound pulls an honest author's times along.
    static let aheadMsMax: UInt64 = 24 * 3600 * 1000
    /// Places kept; the table holds a few for each node, so this is far above any honest network.
    public static let recordsMax = 16_384
    /// Places of one author: his presence, and the channels in which he has typed lately.
    static let authorRecordsMax = 32
    /// Records of one author that are taken in a burst, and a second after it. A program refreshes a record every few
    /// seconds; what it sends beyond this comes again with the next refresh.
    static let burstMax: UInt64 = 64
    static let rateMax: UInt64 = 16
    /// Ends are looked for this often at most: a look costs a walk through the table.
    static let expiryMs: UInt64 = 50

    public struct Place: Hashable, Sendable, Comparable {
        public let author: Bytes32
        public let path: Path

        public static func < (a: Place, b: Place) -> Bool {
            a.author != b.author ? a.author < b.author : PathKey(a.path) < PathKey(b.path)
        }
    }

    /// What is known of one place.
    private struct Slot {
        var hlc: HLC
        /// Nil when it has ended: remembered for a while, so that an older record that arrives late does not come back.
        var live: SoftRecord?
        /// Monotonic milliseconds at which it ends, or is forgotten.
        var untilMs: UInt64
    }

    private struct Author {
        var slots: [Path: Slot] = [:]
        /// How many of them are live.
        var liveCount = 0
        /// Records that may come at once, in thousandths.
        var credit = SoftState.burstMax * 1000
        var creditMs: UInt64
    }

    private var authors: [Bytes32: Author] = [:]
    /// Places known, the ended ones included.
    private(set) var slotCount = 0
    /// No record ends before this.
    private var earliestMs: UInt64 = .max

    public init() {}

    /// The live records, in a fixed order.
    public var live: [SoftRecord] { authors.keys.sorted().flatMap { live(of: $0) } }

    /// The live records of one author, in a fixed order.
    public func live(of author: Bytes32) -> [SoftRecord] {
        let records = (authors[author]?.slots.values).map { $0.compactMap(\.live) } ?? []
        return records.sorted { PathKey($0.path) < PathKey($1.path) }
    }

    /// Whether there is or lately was a record of an author.
    func knows(_ author: Bytes32) -> Bool { authors[author] != nil }

    /// How many authors have live records.
    public private(set) var liveAuthorCount = 0

    /// The least author with live records; nil if there is none.
    private(set) var firstLiveAuthor: Bytes32?

    /// Whether an author has live records.
    public func isLive(_ author: Bytes32) -> Bool { authors[author]?.liveCount ?? 0 > 0 }

    /// The live records with these names, in a fixed order.
    func records(named names: Set<UInt64>) -> [SoftRecord] {
        var found: [SoftRecord] = []
        for state in authors.values {
            for slot in state.slots.values { if let live = slot.live, names.contains(live.name) { found.append(live) } }
        }
        return found.sorted { Place(author: $0.author, path: $0.path) < Place(author: $1.author, path: $1.path) }
    }

    /// Who has live records, in a fixed order.
    public var liveAuthors: [Bytes32] {
        authors.filter { $0.value.slots.values.contains { $0.live != nil } }.keys.sorted()
    }

    public func record(author: Bytes32, path: Path) -> SoftRecord? { authors[author]?.slots[path]?.live }

    /// Not before this time does a record end; nil if there is none.
    public var nextDeadlineMs: UInt64? { earliestMs == .max ? nil : earliestMs }

    /// Whether a record would change anything: what is known or out of date need not be verified.
    public func isNews(_ record: SoftRecord, nowMs: UInt64, workspaceMs: UInt64) -> Bool {
        if record.hlc.ms &+ record.ttlMs &+ SoftState.replayMsMax < workspaceMs { return false }
        if record.hlc.ms > workspaceMs &+ SoftState.aheadMsMax { return false }
        guard let known = authors[record.author]?.slots[record.path] else { return true }
        return known.hlc < record.hlc || (known.live == nil && known.untilMs <= nowMs)
    }

    /// Counts a verified record against what its author may send; false if it is too much for now.
    public mutating func admit(author: Bytes32, nowMs: UInt64) -> Bool {
        guard var state = authors[author] else { return true }
        let elapsedMs = min(nowMs &- min(state.creditMs, nowMs), SoftState.burstMax * 1000)
        state.credit = min(SoftState.burstMax * 1000, state.credit + elapsedMs * SoftState.rateMax)
        state.creditMs = nowMs
        defer { authors[author] = state }
        guard state.credit >= 1000 else { return false }
        state.credit -= 1000
        return true
    }

    /// Takes a record whose signature was checked; false if a newer one is known, its time is out of bounds, or there
    /// is no room.
    public mutating func insert(_ record: SoftRecord, nowMs: UInt64, workspaceMs: UInt64) -> Bool {
        guard isNews(record, nowMs: nowMs, workspaceMs: workspaceMs) else { return false }
        let known = authors[record.author]?.slots[record.path]
        let isKnown = known != nil
        if !isKnown, !makeRoom(record.author, nowMs) { return false }
        let isLive = record.ttlMs > 0
        let untilMs = isLive ? nowMs &+ record.ttlMs : SoftState.forgetMs(known?.live ?? record, nowMs)
        let slot = Slot(hlc: record.hlc, live: isLive ? record : nil, untilMs: untilMs)
        authors[record.author, default: Author(creditMs: nowMs)].slots[record.path] = slot
        count(record.author, (isLive ? 1 : 0) - (known?.live == nil ? 0 : 1))
        if !isKnown { slotCount += 1 }
        if isLive { earliestMs = min(earliestMs, untilMs) }
        return true
    }

    /// More or fewer records of an author are live.
    private mutating func count(_ author: Bytes32, _ change: Int) {
        guard change != 0, let before = authors[author]?.liveCount else { return }
        authors[author]?.liveCount = before + change
        if before == 0 {
            liveAuthorCount += 1
            firstLiveAuthor = min(firstLiveAuthor ?? author, author)
        } else if before + change == 0 {
            liveAuthorCount -= 1
            if firstLiveAuthor == author { firstLiveAuthor = authors.filter { $0.value.liveCount > 0 }.keys.min() }
        }
    }

    /// A record that has ended is remembered for as long as it could be played back.
    private static func forgetMs(_ record: SoftRecord, _ nowMs: UInt64) -> UInt64 {
        nowMs &+ record.ttlMs &+ SoftState.replayMsMax
    }

    /// Forgets what has ended, if need be before its time; false if the table or the author's part of it is full of
    /// live records.
    private mutating func makeRoom(_ author: Bytes32, _ nowMs: UInt64) -> Bool {
        if let slots = authors[author]?.slots, slots.count >= SoftState.authorRecordsMax {
            let ended = slots.filter { $0.value.live == nil }
            guard let oldest = ended.min(by: { ($0.value.untilMs, $0.value.hlc) < ($1.value.untilMs, $1.value.hlc) })
            else { return false }
            remove(Place(author: author, path: oldest.key))
        }
        if slotCount >= SoftState.recordsMax { forgetEnded { $0.untilMs <= nowMs } }
        if slotCount >= SoftState.recordsMax { forgetEnded { _ in true } }
        return slotCount < SoftState.recordsMax
    }

    private mutating func forgetEnded(_ isOver: (Slot) -> Bool) {
        var over: [Place] = []
        for (author, state) in authors {
            for (path, slot) in state.slots where slot.live == nil && isOver(slot) {
                over.append(Place(author: author, path: path))
            }
        }
        for place in over { remove(place) }
    }

    private mutating func remove(_ place: Place) {
        guard authors[place.author]?.slots.removeValue(forKey: place.path) != nil else { return }
        slotCount -= 1
        if authors[place.author]?.slots.isEmpty == true { authors[place.author] = nil }
    }

    /// Ends one record before its time; true if there was one.
    public mutating func end(author: Bytes32, path: Path, notAfter hlc: HLC, nowMs: UInt64) -> Bool {
        guard let slot = authors[author]?.slots[path], let live = slot.live, slot.hlc <= hlc else { return false }
        let ended = Slot(hlc: hlc, live: nil, untilMs: SoftState.forgetMs(live, nowMs))
        authors[author]?.slots[path] = ended
        count(author, -1)
        return true
    }

    /// Forgets everything of one author, as if he had never said it. Returns the places where something lived.
    mutating func forget(_ author: Bytes32) -> [Place] {
        let places = live(of: author).map { Place(author: author, path: $0.path) }
        count(author, -places.count)
        slotCount -= authors.removeValue(forKey: author)?.slots.count ?? 0
        return places
    }

    /// Ends what has lived its time and returns it, in a fixed order.
    public mutating func expire(nowMs: UInt64) -> [SoftRecord] {
        guard nowMs >= earliestMs else { return [] }
        var over: [SoftRecord] = []
        var nextMs = UInt64.max
        for state in authors.values {
            for slot in state.slots.values {
                guard let live = slot.live else { continue }
                if slot.untilMs <= nowMs { over.append(live) } else { nextMs = min(nextMs, slot.untilMs) }
            }
        }
        earliestMs = nextMs == .max ? .max : max(nextMs, nowMs &+ SoftState.expiryMs)
        for record in over {
            authors[record.author]?.slots[record.path]?.live = nil
            count(record.author, -1)
            authors[record.author]?.slots[record.path]?.untilMs = SoftState.forgetMs(record, nowMs)
        }
        forgetEnded { $0.untilMs <= nowMs }
        return over.sorted { Place(author: $0.author, path: $0.path) < Place(author: $1.author, path: $1.path) }
    }

    /// Gives all records more time: this node itself was late, not the others.
    public mutating func extend(byMs lagMs: UInt64) {
        for author in authors.keys.sorted() {
            guard let slots = authors[author]?.slots else { continue }
            authors[author]?.slots = slots.mapValues { slot in
                var slot = slot
                slot.untilMs &+= lagMs
                return slot
            }
        }
        if earliestMs != .max { earliestMs &+= lagMs }
    }
}
