import Chat
import Seal
@testable import Store
import Testing
import Tree

/// Messages are found by the words they have now.
@Suite struct SearchTests {
    private let ann = Bytes32(repeating: 1)
    private let bob = Bytes32(repeating: 2)

    private func message(_ text: String, by author: Bytes32) -> Value {
        Message.value(sender: author, senderName: "x", text: text, createdAtMs: 1, replyTo: nil)
    }

    private func key(_ ms: UInt64, _ counter: UInt64 = 0, by author: Bytes32 = Bytes32(repeating: 1)) -> String {
        AutoID(hlc: HLC(ms: ms, counter: counter), author: author).text
    }

    private func send(
        _ store: any NodeStore, _ text: String, ms: UInt64, counter: UInt64 = 0, to channel: String = "a",
        by author: Bytes32 = Bytes32(repeating: 1)
    ) throws {
        let path = "channels/\(channel)/messages/\(key(ms, counter, by: author))"
        try store.commit(testEntry(path, message(text, by: author), ms: ms, counter: counter, author: author))
    }

    @Test(arguments: Backend.allCases) func filtersAndPages(backend: Backend) throws {
        try backend.with { store in
            for ms in 1...9 as ClosedRange<UInt64> {
                let author = ms % 2 == 0 ? ann : bob
                try send(store, "word \(ms)", ms: ms * 1000, to: ms < 6 ? "a" : "b", by: author)
            }
            try store.commit(testEntry("apps/a/messages/\(key(5))", message("word", by: ann), ms: 20_000))
            try store.follow()
            func found(_ change: (inout MessageSearch) throws -> Void) throws -> [UInt64] {
                var search = MessageSearch(try SearchQuery("wor*"))
                try change(&search)
                return try store.found(search).map { AutoID.order(of: $0.last?.text ?? "").ms / 1000 }
            }
            #expect(try found { _ in } == [9, 8, 7, 6, 5, 4, 3, 2, 1])
            #expect(try found { $0.container = try testPath("channels/b") } == [9, 8, 7, 6])
            #expect(try found { $0.sender = ann } == [8, 6, 4, 2])
            #expect(try found { $0.sender = Bytes32(repeating: 9) } == [])
            #expect(try found { $0.container = try testPath("channels/none") } == [])
            #expect(try found { ($0.sinceMs, $0.beforeMs) = (3000, 6000) } == [5, 4, 3])
            #expect(try found { $0.sinceMs = .max } == [])
            #expect(try found { $0.beforeMessage = key(4000) } == [3, 2, 1])
            #expect(try found { $0.beforeMessage = key(4500) } == [4, 3, 2, 1], "there is no such message")
            #expect(
                try found {
                    $0.query = try SearchQuery("word 7 OR 8")
                } == [])
            let search = MessageSearch(try SearchQuery("word"))
            let first = try store.messages(search, before: nil, limit: 4)
            let second = try store.messages(search, before: first.next, limit: 100)
            #expect(first.messages.count == 4 && second.messages.count == 5 && second.next == nil)
        }
    }

    @Test(arguments: Backend.allCases) func editsAndDeletesAreFollowed(backend: Backend) throws {
        try backend.with { store in
            let path = "channels/a/messages/\(key(1000))"
            func found(_ text: String) throws -> Int {
                try store.follow()
                return try store.found(MessageSearch(SearchQuery(text))).count
            }
            try send(store, "first words", ms: 1000)
            #expect(try found("first") == 1)
            try store.commit(testEntry(path + "/text", .string("second words"), ms: 2000))
            #expect(try found("first") == 0 && found("second") == 1 && found("words") == 1)
            try store.commit(testEntry(path + "/text", .string("third"), ms: 3000))
            #expect(try found("second") == 0 && found("words") == 0 && found("third") == 1)
            try store.commit(testEntry(path + "/text/x", .string("no text"), ms: 4000))
            #expect(try found("third") == 0)
            try store.commit(testEntry(path + "/text", .string("fourth"), ms: 5000))
            try store.commit(testEntry(path + "/senderId", .null, ms: 5001))
            #expect(try found("fourth") == 0, "without a sender it is no message")
            try store.commit(testEntry(path + "/senderId", .string(UID.text(bob)), ms: 5002))
            #expect(try found("fourth") == 1)
            try store.commit(testEntry(path, .null, ms: 6000))
            #expect(try found("fourth") == 0)
            try store.commit(testEntry(path, message("fifth", by: ann), ms: 7000))
            #expect(try found("fifth") == 1)
            try store.commit(testEntry("channels/a", .null, ms: 8000))
            #expect(try found("fifth") == 0)
            let inside = "{\"messages\": …}"
            let whole = Value.object(ObjectValue([(try #require(Key(key(1000))), message(inside, by: ann))]))
            try store.commit(testEntry("channels/a/messages", whole, ms: 9000))
            #expect(try found("messages") == 1)
            try store.commit(testEntry(path + "/text", .string("sixth"), ms: 9500))
            #expect(try found("messages") == 0 && found("sixth") == 1)
            try store.commit(testEntry("channels/a", .null, ms: 10_000))
            #expect(try found("sixth") == 0)
        }
    }

    @Test func heldMessagesAreFoundWhenTheyAreDue() throws {
        try Backend.database.with { store in
            let path = "channels/a/messages/\(key(1000))"
            try store.commit(testEntry(path, message("later", by: ann), ms: 1000), heldAfter: HLC(ms: 500))
            try send(store, "now", ms: 400)
            try store.follow()
            let later = MessageSearch(try SearchQuery("later"))
            #expect(try store.found(later).isEmpty)
            _ = try store.release(heldAfter: HLC(ms: 1000))
            try store.follow()
            #expect(try store.found(later).count == 1)
        }
    }

    @Test func moreOfOneInstantThanNumbers() throws {
        try Backend.database.with { store in
            // 256 numbers belong to a millisecond; what is more overflows.
            let entries = try (0..<300).map { index in
                let text = String(repeating: "-", count: 16) + String(1000 + index)
                return try testEntry("channels/a/messages/\(text)", message("w n\(index)", by: ann), ms: 5000)
            }
            _ = try store.commit([testBundle(entries)], heldAfter: farFuture)
            try store.follow()
            #expect(try store.found(MessageSearch(SearchQuery("w"))).count == 300)
            for index in [0, 255, 256, 299] {
                let text = String(repeating: "-", count: 16) + String(1000 + index)
                #expect(try store.found(MessageSearch(SearchQuery("n\(index)"))).map { $0.last?.text } == [text])
                try store.commit(testEntry("channels/a/messages/\(text)", .null, ms: 6000))
            }
            try store.follow()
            #expect(try store.found(MessageSearch(SearchQuery("w"))).count == 296)
        }
    }

    /// Random writes into few places; the index has to say what a look at every message says. Meanwhile the store is
    /// closed and opened again with the index anywhere on its way.
    @Test(arguments: 0..<6) func indexAgreesWithTheTree(seed: Int) throws {
        var random = SeededRandom(seed: UInt64(seed) &+ 77)
        let folder = try TemporaryFolder()
        var store = try DatabaseStore(path: folder.path("workspace.db"))
        defer { store.close() }
        // Lost if the index were made anew: that would hide what has gone wrong.
        try store.database.execute("INSERT INTO search(search, rank) VALUES('usermerge', 3)")
        let memory = MemoryStore()
        var clock: UInt64 = 10_000
        for step in 0..<100 {
            clock += 10
            let bundles = try (0...random.below(3)).map { index in
                try testBundle([randomEntry(clock + UInt64(index), &random)])
            }
            let limit = HLC(ms: clock + 5)
            _ = try store.commit(bundles, heldAfter: limit)
            _ = try memory.commit(bundles, heldAfter: limit)
            switch random.below(10) {
            case 0:
                _ = try store.release(heldAfter: limit)
                _ = try memory.release(heldAfter: limit)
            case 1...3: _ = try store.indexMessages(limit: 1 + random.below(4))
            case 4:
                store.close()
                store = try DatabaseStore(path: folder.path("workspace.db"))
            case 5, 6:
                try store.follow()
                try compare(store, memory, "seed \(seed), step \(step)")
            default: break
            }
        }
        try store.follow()
        try compare(store, memory, "seed \(seed), at the end", walks: true)
        try store.database.execute("INSERT INTO search(search) VALUES('integrity-check')")
        let gone = try store.database.integer("SELECT count(*) FROM search_gone")
        let due = try store.database.integer("SELECT count(*) FROM search_due")
        #expect(gone == 0 && due == 0)
        #expect(try store.database.integer("SELECT v FROM search_config WHERE k = 'usermerge'") == 3)
    }

    private func randomEntry(_ ms: UInt64, _ random: inout SeededRandom) throws -> Entry {
        let author = random.below(2) == 0 ? ann : bob
        let channel = "channels/\(random.element(["a", "b"]))"
        let mid = key(UInt64(1 + random.below(5)) * 1000, UInt64(random.below(2)), by: author)
        let text = (0...random.below(3)).map { _ in random.element(["red", "green", "blue", "grün", "東京"]) }
            .joined(separator: " ")
        let path: String
        var value: Value
        switch random.below(12) {
        case 0...4: (path, value) = ("\(channel)/messages/\(mid)", message(text, by: author))
        case 5, 6: (path, value) = ("\(channel)/messages/\(mid)/text", .string(text))
        case 7:
            (path, value) = ("\(channel)/messages/\(mid)/senderId", .string(UID.text(random.below(2) == 0 ? ann : bob)))
        case 8: (path, value) = ("\(channel)/messages/\(mid)/reactions/x", .bool(true))
        case 9: (path, value) = ("\(channel)/messages/\(mid)/text/x", .integer(1))
        default:
            let messages = Value.object(ObjectValue([(try #require(Key(mid)), message(text, by: author))]))
            let whole = Value.object(ObjectValue([(try #require(Key("messages")), messages)]))
            let isDeep = random.below(2) == 0
            (path, value) = isDeep ? ("\(channel)/messages", messages) : (channel, whole)
        }
        if random.below(6) == 0 { value = .null }
        // Some come late, some are not due yet.
        let at = random.below(5) == 0 ? ms - UInt64(random.below(1000)) : ms + (random.below(8) == 0 ? 40 : 0)
        return try testEntry(
            path, value, ms: at, counter: UInt64(random.below(60)), author: author, kind: random.below(15) == 0 ? 1 : 0)
    }

    private func compare(
        _ store: DatabaseStore, _ memory: MemoryStore, _ place: Comment, walks: Bool = false
    ) throws {
        store.walkBreadth = 3
        for text in ["red", "green blue", "\"green blue\"", "gr*", "grun", "京", "\"red gr\"*"] {
            var search = MessageSearch(try SearchQuery(text))
            for container in [nil, "channels/a"] as [String?] {
                search.container = try container.map(testPath)
                for sender in [nil, bob] as [Bytes32?] {
                    search.sender = sender
                    let (a, b) = try (store.found(search), memory.found(search))
                    if walks { try #require(try store.found(search, limit: 1, looks: 0) == a, place) }
                    try #require(Set(a.map { "\($0)" }) == Set(b.map { "\($0)" }), place)
                    let times = a.map { AutoID.order(of: $0.last?.text ?? "") }.map { $0.ms << 8 + $0.counter }
                    try #require(times == times.sorted(by: >), place)
                }
            }
        }
    }

    @Test func aSweptChannelIsForgotten() throws {
        let folder = try TemporaryFolder()
        let store = try DatabaseStore(path: folder.path("workspace.db"))
        defer { store.close() }
        let entries = try (0..<1100).map { index in
            let ms = UInt64(1000 + index)
            return try testEntry("channels/a/messages/\(key(ms))", message("word", by: ann), ms: ms)
        }
        _ = try store.commit([testBundle(entries)], heldAfter: farFuture)
        try store.follow()
        #expect(try store.found(MessageSearch(SearchQuery("word"))).count == 1100)
        try store.commit(testEntry("channels/a", .null, ms: 9000))
        while try store.sweep(limit: 400) {}
        try store.follow()
        #expect(try store.found(MessageSearch(SearchQuery("word"))).isEmpty)
        #expect(try store.database.integer("SELECT count(*) FROM search_message") == 0)
    }

    @Test func anOlderDatabaseIsIndexed() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("workspace.db")
        do {
            let store = try DatabaseStore(path: path)
            try send(store, "from before", ms: 1000)
            try store.database.execute(Schema.dropSearch)
            // Those that came later have to be made so that they can be carried out again.
            let version = try #require(Schema.migrations.firstIndex(of: Schema.search))
            try store.database.execute("PRAGMA user_version=\(version)")
            store.close()
        }
        let store = try DatabaseStore(path: path)
        defer { store.close() }
        try store.follow()
        #expect(try store.found(MessageSearch(SearchQuery("before"))).count == 1)
    }

    @Test(
        arguments: [
            "UPDATE search_data SET block = x'0000' WHERE id > 10", "UPDATE search_data SET block = x'00'",
            "DELETE FROM search_data WHERE id > 10", "UPDATE search_message SET source = NULL",
            "UPDATE search_message SET source = 999",
        ])
    func aBrokenIndexIsMadeAnew(damage: String) throws {
        let folder = try TemporaryFolder()
        let store = try DatabaseStore(path: folder.path("workspace.db"))
        defer { store.close() }
        for ms in 1...20 as ClosedRange<UInt64> { try send(store, "word \(ms)", ms: ms) }
        try store.follow()
        try store.database.execute(damage)
        // Deleting has to take the old words out, searching has to read them.
        try store.commit(testEntry("channels/a/messages/\(key(7))", .null, ms: 100))
        try store.commit(testEntry("channels/a/messages/\(key(8))/text", .string("edited"), ms: 101))
        _ = try store.found(MessageSearch(SearchQuery("word")))
        try store.follow()
        #expect(try store.found(MessageSearch(SearchQuery("word"))).count == 18)
        #expect(try store.found(MessageSearch(SearchQuery("edited"))).count == 1)
        #expect(try store.entryCount == 21)
    }
}

extension NodeStore {
    /// Brings the index to the end.
    func follow() throws {
        while try indexMessages(limit: 7) {}
    }

    /// What matches, page by page.
    ///
    /// - `looks`: how often the index is let go on with a look at everything.
    func found(
        _ search: MessageSearch, limit: Int = 3, looks: Int = .max, from start: SearchPosition? = nil
    ) throws -> [Path] {
        var paths: [Path] = []
        var position = start
        var looks = looks
        repeat {
            let page = try messages(search, before: position, limit: limit) {
                looks -= 1
                return looks >= 0
            }
            paths += try page.messages.filter { try matches($0, search) }
            if let next = page.next, let last = position { try #require(next.number < last.number || !last.isWalk) }
            position = page.next
        } while position != nil
        return paths
    }

    private func matches(_ path: Path, _ search: MessageSearch) throws -> Bool {
        let value = try TreeView(self).value(at: path)
        guard let text = value["text"].string, let sender = value["senderId"].string else { return false }
        return search.query.matches(SearchWords.words(of: text))
            && search.sender.map { $0 == UID.parse(sender) } ?? true
    }
}
