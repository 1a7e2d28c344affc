internal import Chat
internal import ControlAPI
internal import Net
internal import Seal
internal import Store
internal import Tree

/// A search that is not answered yet.
struct RunningSearch {
    let session: Int
    let id: JSON
    let wanted: MessageSearch
    let limit: Int
    /// The last change before the request: what was written before it is found.
    let change: Int64
    /// Through the tree itself, where the index is too far behind to be waited for.
    var walk: SearchWalk?
    var position: SearchPosition?
    /// What the index has found and nobody has looked at yet.
    var candidates: ArraySlice<Path> = []
    /// Whether the index has nothing more.
    var isThrough = false
    /// Newest first.
    var rows: [JSON] = []
    var size = 0
}

/// When the search index may follow.
struct IndexPace {
    /// When something was written last.
    var lastWriteMs: UInt64 = 0
    /// From then on it follows even while much is written.
    var patienceEndMs: UInt64 = 0
    /// From then on it follows even while much is being carried.
    var bulkEndMs: UInt64 = 0
}

extension Node {
    /// Searches that wait for the index or are being answered.
    static let searchesMax = 64
    /// One turn's work on searches or on the index; chat goes on in between.
    private static let searchTurnNs: UInt64 = 4_000_000
    /// Changes that the index takes in one transaction: some milliseconds at most.
    private static let indexStep = 32
    /// Messages that the index is asked for at once; mostly one question is enough.
    private static let searchStep = 32...256
    /// For this long the index may look for everything at once; what takes longer is done message by message.
    private static let searchLookNs: UInt64 = 10_000_000
    /// With more changes that the index does not know of a search does not wait for it: these take it half a second.
    private static let indexLagMax: Int64 = 5000
    /// The index follows when nothing was written for so long, so that a burst is taken together.
    private static let indexDelayMs: UInt64 = 200
    /// It waits at most this long for that, then it takes small steps in between.
    private static let indexPatienceMs: UInt64 = 2000
    /// Bulk puts it off for so long, again and again, but not for ever.
    private static let indexBulkMs: UInt64 = 500
    private static let indexBulkMsMax: UInt64 = 120_000
    /// Between two steps of a long way: at most about every fourth millisecond is spent on the index.
    private static let indexPauseMs: UInt64 = 12
    /// While much is written the pause is so many times as long as the step: 4 % of the time.
    private static let indexBusyPause: UInt64 = 24
    /// Then a step takes no longer than this, for somebody may be waiting.
    private static let indexBusyTurnNs: UInt64 = 300_000

    // MARK: Requests

    /// Answers at once if it takes no longer than a turn, otherwise later.
    func messageSearch(_ params: Fields, _ session: ControlSession, _ id: JSON?) throws -> JSON? {
        let limit = try params.optionalInt("limit") ?? Int64(Node.messagesDefault)
        guard limit >= 1, limit <= Int64(Node.messagesMax) else {
            throw RPCError.invalidParams("a limit is 1 to \(Node.messagesMax)")
        }
        var search = RunningSearch(
            session: session.id, id: id ?? .null, wanted: try wanted(params), limit: Int(limit),
            change: store.lastChange)
        guard id != nil else { return nil }
        if store.lastChange &- store.indexedChange > Node.indexLagMax {
            search.walk = try SearchWalk(search.wanted, view)
        }
        var attempt = search
        if search.wanted.query.isBroad { attempt.position = .newest }
        if searches.isEmpty, let answer = try advance(&attempt, Node.searchTurnNs) { return answer }
        guard searches.count < Node.searchesMax else {
            throw RPCError(reason: .busy, message: "\(Node.searchesMax) searches are running already")
        }
        searches.append(search)
        if searches.count == 1 { continueSearchesLater() }
        return nil
    }

    private func wanted(_ params: Fields) throws -> MessageSearch {
        let text = try params.string("text")
        var wanted: MessageSearch
        do throws(SearchQueryError) {
            wanted = MessageSearch(try SearchQuery(text))
        } catch {
            throw error == .tooLong
                ? RPCError(reason: .tooLarge, message: "\(error)") : RPCError.invalidParams("\(error)")
        }
        if let channel = try params.optionalString("in") {
            wanted.container = ChatPath.channel(try resolveChannel(channel).key)
        }
        if let person = try params.optionalString("from") { wanted.sender = try resolvePerson(person) }
        wanted.sinceMs = try time(params, "since")
        if params["before"]?.string != nil {
            let key = try params.string("before")
            guard AutoID(key) != nil || AutoID.pushIDMs(key) != nil else {
                throw RPCError.invalidParams("\"before\" is a time in milliseconds, or a message's key")
            }
            wanted.beforeMessage = key
        } else {
            wanted.beforeMs = try time(params, "before")
        }
        return wanted
    }

    private func time(_ params: Fields, _ name: String) throws(RPCError) -> UInt64? {
        guard let ms = try params.optionalInt(name) else { return nil }
        guard ms >= 0 else { throw .invalidParams("\"\(name)\" is a time in milliseconds since 1970") }
        return UInt64(ms)
    }

    /// The person that a client means by uid or by current display name, with or without `@`; of several of one name by
    /// `name~` and the last four characters of the uid.
    ///
    /// - Throws: `not_found`, `ambiguous_name`.
    func resolvePerson(_ text: String) throws -> Bytes32 {
        if let author = UID.parse(text) { return author }
        let name = text.utf8.first == 0x40 ? String(text.dropFirst()) : text
        guard !name.isEmpty, let folded = PersonName.fold(name) else {
            throw RPCError.invalidParams("a person is named by uid or display name")
        }
        let all = try people()
        var named = all.filter { PersonName.fold($0.name) == folded }
        // As people of one name are shown: with the end of their uid. A name may be chosen so that it looks like that
        // of somebody else with his tag; then either may be meant.
        if let mark = name.lastIndex(of: "~"), let bare = PersonName.fold(String(name[..<mark])) {
            let end = name[name.index(after: mark)...]
            if end.utf8.count >= PersonTag.lengthMin {
                named += all.filter { PersonName.fold($0.name) == bare && $0.uid.hasSuffix(end) }
            }
        }
        guard named.count <= 1 else {
            throw RPCError(reason: .ambiguousName, message: Node.whichWords(name, named))
        }
        guard let author = named.first.flatMap({ UID.parse($0.uid) }) else {
            throw RPCError(reason: .notFound, message: "nobody is called \(name)")
        }
        return author
    }

    /// People that are named where several are meant.
    private static let whichMax = 8

    /// Asks which of several people of one name is meant, in words that can be typed in its place.
    private static func whichWords(_ name: String, _ people: [PersonRow]) -> String {
        let uids = people.map(\.uid)
        let isOneName = Set(people.map { PersonName.fold($0.name) }).count == 1 && !name.contains("~")
        let words = isOneName ? zip(people, PersonTag.telling(uids)).map { "\($0.name)~\($1)" } : uids
        let more = uids.count > whichMax ? " and \(uids.count - whichMax) more" : ""
        return "\(uids.count) people are called \(name), say which: "
            + words.prefix(whichMax).joined(separator: ", ") + more
    }

    // MARK: Answers

    /// One turn's work on a search; its answer when there is one.
    ///
    /// - Parameter lookNs: how long the index may look for everything at once.
    private func advance(_ search: inout RunningSearch, _ lookNs: UInt64) throws -> JSON? {
        let endNs = EventLoop.monotonicNs() &+ Node.searchTurnNs
        repeat {
            if let path = search.candidates.popFirst() {
                guard try add(path, to: &search) else { return answer(search) }
            } else if search.isThrough {
                return answer(search)
            } else if search.walk != nil {
                let paths = try search.walk?.step(view) { EventLoop.monotonicNs() < endNs }
                search.candidates = (paths ?? [])[...]
                search.isThrough = paths == nil
            } else if try !isIndexBehind(search, endNs) {
                try look(&search, lookNs)
            }
        } while EventLoop.monotonicNs() < endNs
        return nil
    }

    private func look(_ search: inout RunningSearch, _ lookNs: UInt64) throws {
        let mark = store.indexedChange
        let endNs = EventLoop.monotonicNs() &+ lookNs
        let left = search.limit - search.rows.count
        let step = min(max(left, Node.searchStep.lowerBound), Node.searchStep.upperBound)
        let page = try store.messages(search.wanted, before: search.position, limit: step) {
            EventLoop.monotonicNs() < endNs
        }
        // Else the index was broken and is made anew, which is waited for.
        guard store.indexedChange >= mark else { return }
        search.candidates = page.messages[...]
        search.position = page.next
        search.isThrough = page.next == nil
    }

    /// Brings the index nearer to what was written before the request, if need be.
    private func isIndexBehind(_ search: RunningSearch, _ endNs: UInt64) throws -> Bool {
        do {
            guard try !store.isIndexed(through: search.change) else { return false }
            return try store.indexMessages(limit: Node.indexStep) { EventLoop.monotonicNs() < endNs }
        } catch let error as StoreError where error.isDiskFull {
            // Better than nothing: what the index knows already.
            report(error, "indexing")
            return false
        }
    }

    /// Adds a message if it is what is looked for. False if there is no room for more.
    private func add(_ path: Path, to search: inout RunningSearch) throws -> Bool {
        guard path.depth == 4, let parent = ChatPath.messages(path.keys[1]) else { return true }
        var value = Value.null
        try view.children(
            of: parent, from: path.keys[3], through: path.keys[3], limit: Node.messageLimit
        ) { _, found in
            value = found
            return false
        }
        guard search.wanted.isMatch(value), let message = Message(key: path.keys[3], value: value),
            !isHidden(message, in: path.keys[1])
        else { return true }
        search.size += value.approximateSize
        guard search.size <= Node.snapshotMax else { return false }
        search.rows.append(row(message, path.keys[1]).json)
        return search.rows.count < search.limit
    }

    private func answer(_ search: RunningSearch) -> JSON { ["messages": .array(search.rows.reversed())] }

    private func continueSearchesLater() {
        loop.execute { self.assumeIsolated { $0.continueSearches() } }
    }

    /// Those that wait take turns.
    private func continueSearches() {
        guard !isStopping, !searches.isEmpty else { return }
        var search = searches.removeFirst()
        if let session = sessions[search.session] {
            do {
                if let found = try advance(&search, Node.searchLookNs) {
                    answer(search.id, found, session)
                } else {
                    searches.append(search)
                }
            } catch {
                noticeDamage(error)
                session.send(RPCResponse.failure(id: search.id, Node.rpcError(error)))
            }
        }
        closeAnswered()
        if !searches.isEmpty { continueSearchesLater() }
    }

    // MARK: The index

    /// Something was written: the index follows when there is time.
    func indexSoon() {
        let nowMs = EventLoop.monotonicMs()
        indexPace.lastWriteMs = nowMs
        guard indexTimer == nil, !isStopping else { return }
        indexPace.patienceEndMs = nowMs &+ Node.indexPatienceMs
        indexPace.bulkEndMs = nowMs &+ Node.indexBulkMsMax
        indexLater(Node.indexDelayMs)
    }

    private func indexLater(_ afterMs: UInt64) {
        indexTimer = loop.schedule(afterMs: afterMs) { self.assumeIsolated { $0.index() } }
    }

    /// Whether many entries are just arriving or being asked for: whoever waits for them waits for nothing else, and a
    /// search looks through the tree itself meanwhile.
    private func isInBulk(_ nowMs: UInt64) -> Bool {
        guard let bulkAtMs, nowMs < indexPace.bulkEndMs else { return false }
        return nowMs &- bulkAtMs < Node.indexBulkMs
    }

    private func index() {
        indexTimer = nil
        guard !isStopping else { return }
        let startNs = EventLoop.monotonicNs()
        let restMs = startNs / 1_000_000 &- indexPace.lastWriteMs
        let isQuiet = restMs >= Node.indexDelayMs
        if isInBulk(startNs / 1_000_000) { return indexLater(Node.indexBulkMs) }
        guard isQuiet || startNs / 1_000_000 >= indexPace.patienceEndMs else {
            return indexLater(Node.indexDelayMs - restMs)
        }
        do {
            let endNs = startNs &+ (isQuiet ? Node.searchTurnNs : Node.indexBusyTurnNs)
            let isMoreLeft = try store.indexMessages(limit: Node.indexStep) { EventLoop.monotonicNs() < endNs }
            let stepMs = (EventLoop.monotonicNs() &- startNs) / 1_000_000
            if isMoreLeft { indexLater(isQuiet ? Node.indexPauseMs : (stepMs + 1) * Node.indexBusyPause) }
        } catch {
            // What was written stays written; the next change, or the next search, tries again.
            report(error, "indexing")
        }
    }
}
