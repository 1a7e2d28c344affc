import Seal
@testable import Store
import Testing
import Tree

/// What a retention ends is the same on every node, in every order of arrival, and is seen nowhere from the moment on
/// at which it is known.
@Suite struct RetentionTests {
    static let traceCount = 1500
    static let traceCountInDatabase = 60

    @Test func convergesInMemory() throws {
        for seed in 0..<RetentionTests.traceCount {
            var trace = try RetentionTrace(seed: UInt64(seed))
            try trace.run { MemoryStore() }
        }
    }

    @Test func convergesInDatabase() throws {
        let folder = try TemporaryFolder()
        var count = 0
        for seed in 0..<RetentionTests.traceCountInDatabase {
            var trace = try RetentionTrace(seed: 1_000_000 + UInt64(seed))
            try trace.run {
                count += 1
                return try DatabaseStore(path: folder.path("\(count).db"))
            }
        }
    }

    // MARK: Slices

    static let owner = Bytes32(repeating: 1)
    static let other = Bytes32(repeating: 2)
    static let channel = AutoID(hlc: HLC(ms: 1), author: owner).text

    static func message(_ ms: Int, _ author: Bytes32 = owner) -> String {
        "channels/\(channel)/messages/\(AutoID(hlc: HLC(ms: UInt64(ms)), author: author).text)"
    }

    static func rule(_ before: Int, at ms: Int) throws -> Entry {
        let key = AutoID(hlc: HLC(ms: UInt64(before)), author: owner).text
        return try testEntry("retention/\(channel)/\(key)", .bool(true), ms: UInt64(ms), author: owner)
    }

    static func messages(_ range: Range<Int>, _ author: Bytes32 = owner) throws -> Bundle {
        try testBundle(
            range.map { try testEntry(message($0, author), .string("text"), ms: UInt64($0), author: author) })
    }

    private static func seen(_ store: any NodeStore) throws -> Int {
        var count = 0
        try TreeView(store).children(of: testPath("channels/\(channel)/messages"), descending: true) { _, _ in
            count += 1
            return true
        }
        return count
    }

    @Test(arguments: Backend.allCases) func endsInSlices(backend: Backend) throws {
        let rule = try RetentionTests.rule(2601, at: 10_000)
        let bundles = try [
            RetentionTests.messages(100..<1600), RetentionTests.messages(1600..<3100, RetentionTests.other),
        ]
        let container = try testPath("channels/\(RetentionTests.channel)")
        let ended = try testPath(RetentionTests.message(2600, RetentionTests.other))
        try backend.with { store in
            _ = try store.commit(bundles, heldAfter: farFuture)
            let least = String(AutoID(hlc: HLC(ms: 2601), author: .zero).text.prefix(Retention.timeLength))
            #expect(try store.messageCount(container: container, before: least, limit: 10_000) == 2501)
            #expect(try store.messageCount(container: container, before: least, limit: 7) == 7)
            #expect(try !store.hasEnded(ended))
            let result = try store.commit(rule)
            #expect(try result.applied == [rule] && store.entryCount == 2001)
            #expect(rule.changedPaths.contains(try testPath("channels/\(RetentionTests.channel)/messages")))
            // Nobody sees what is still here.
            #expect(try RetentionTests.seen(store) == 499)
            #expect(try store.unread(container: container, afterArrival: 0, notBy: RetentionTests.owner) == 499)
            #expect(try store.hasEnded(ended) && store.entry(at: PathKey(ended)) == nil)
            #expect(try store.containers(ofMessage: ended.last?.text ?? "").isEmpty)
            #expect(try store.graves().isEmpty)
            // Late messages, edits and reactions of what has ended arrive dead; what is younger lives.
            let late = try [
                testEntry(RetentionTests.message(50), .string("late"), ms: 11_000),
                testEntry(RetentionTests.message(2600, RetentionTests.other) + "/text", .string("edit"), ms: 11_001),
                testEntry(RetentionTests.message(2600) + "/reactions/a/b", .bool(true), ms: 11_002),
            ]
            for entry in late { #expect(try store.commit(entry).dead == [entry.reference]) }
            let young = try testEntry(RetentionTests.message(2601), .string("young"), ms: 11_003)
            #expect(try store.commit(young).applied == [young])
            #expect(try RetentionTests.seen(store) == 500)

            #expect(try store.sweep(limit: 1000))
            #expect(try store.entryCount == 1002)
            // A greater limit takes the place of the one that is being followed.
            let next = try RetentionTests.rule(3001, at: 12_000)
            #expect(try store.commit(next).applied == [next])
            #expect(try RetentionTests.seen(store) == 99)
            while try store.sweep(limit: 100) {}
            #expect(try store.entryCount == 100)
            #expect(try store.commit(rule).dead == [rule.reference])

            var digest = BucketDigest.empty
            for entry in try store.liveEntries() { digest.add(entry.id) }
            #expect(try store.digest(of: .root) == digest)
            let reversed = MemoryStore()
            for entry in [next, young] + late + [rule] { try reversed.commit(entry) }
            for bundle in bundles.reversed() { _ = try reversed.commit([bundle], heldAfter: farFuture) }
            #expect(try store.digest(of: .root) == reversed.digest(of: .root))
            #expect(try store.liveEntries() == reversed.liveEntries())
        }
    }

    @Test func isKnownAfterAnotherStart() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("workspace.db")
        var store = try DatabaseStore(path: path)
        _ = try store.commit([RetentionTests.messages(100..<3100)], heldAfter: farFuture)
        try store.commit(RetentionTests.rule(3000, at: 10_000))
        store.close()
        store = try DatabaseStore(path: path)
        defer { store.close() }
        #expect(try RetentionTests.seen(store) == 100)
        #expect(try store.entryCount == 2001)
        #expect(try store.sweep(limit: 1000))
        #expect(try !store.sweep(limit: 1000))
        #expect(try store.entryCount == 101 && RetentionTests.seen(store) == 100)
    }

    /// What waits until it is due is judged when it is.
    @Test(arguments: Backend.allCases) func heldMessagesAreJudgedWhenTheyAreDue(backend: Backend) throws {
        try backend.with { store in
            let held = try testEntry(RetentionTests.message(10), .string("from afar"), ms: 50_000)
            #expect(try store.commit(held, heldAfter: HLC(ms: 20_000)).held == [held])
            try store.commit(RetentionTests.rule(20, at: 10_000), heldAfter: HLC(ms: 20_000))
            #expect(try store.heldCount == 1)
            let result = try store.release(heldAfter: HLC(ms: 60_000))
            #expect(result.dead == [held.reference] && result.applied.isEmpty)
            #expect(try store.entryCount == 1)
        }
    }

    /// Of thousands that one entry has killed, none is looked at for a read, and those that it has not are found.
    @Test func readersPassOverTheDead() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("workspace.db")
        var store = try DatabaseStore(path: path)
        _ = try store.commit([RetentionTests.messages(100..<4100)], heldAfter: farFuture)
        let later = try testEntry(RetentionTests.message(150), .string("later"), ms: 9000)
        try store.commit(later)
        let killer = try testEntry("channels/\(RetentionTests.channel)", .null, ms: 8000)
        try store.commit(killer)
        #expect(try store.entryCount > 3000)
        for round in 0..<2 {
            let before = store.database.virtualMachineSteps
            #expect(try RetentionTests.seen(store) == 1)
            let latest = try testEntry(RetentionTests.message(5000 + round), .string("new"), ms: UInt64(9001 + round))
            try store.commit(latest)
            #expect(try RetentionTests.seen(store) == 2)
            try store.commit(testEntry(RetentionTests.message(5000 + round), .null, ms: UInt64(9101 + round)))
            #expect(try RetentionTests.seen(store) == 1)
            #expect(store.database.virtualMachineSteps - before < 3000)
            if round == 0 {
                store.close()
                store = try DatabaseStore(path: path)
            }
        }
        while try store.sweep(limit: 1000) {}
        #expect(try RetentionTests.seen(store) == 1 && store.entryCount == 4)
        store.close()
    }
}

/// A random history of two channels with retentions, delivered to three replicas in a random way.
private struct RetentionTrace {
    static let replicaCount = 3
    private static let authors = [Bytes32(repeating: 1), Bytes32(repeating: 2)]

    let seed: UInt64
    private var random: SeededRandom
    private var entries: [Entry] = []

    init(seed: UInt64) throws {
        self.seed = seed
        random = SeededRandom(seed: seed)
        for _ in 0...(2 + random.below(10)) {
            let entry = try randomEntry()
            if !entries.contains(entry) { entries.append(entry) }
        }
    }

    private mutating func randomEntry() throws -> Entry {
        let author = random.element(Self.authors)
        let channel = AutoID(hlc: HLC(ms: UInt64(random.below(2))), author: Self.authors[0]).text
        let ms = UInt64(10 + random.below(6))
        // A push ID or an AutoID: both begin with their time.
        let id = AutoID(hlc: HLC(ms: UInt64(random.below(8))), author: author).text
        let key = random.below(3) == 0 ? String(id.prefix(20)) : id
        let choice = random.below(10)
        let path =
            switch choice {
            case 0, 1, 2: "retention/\(channel)/\(key)"
            case 3: "channels/\(channel)"
            case 4: "channels/\(channel)/messages/\(key)/text"
            case 5: "channels/\(channel)/reads/\(key)"
            default: "channels/\(channel)/messages/\(key)"
            }
        let value: Value = choice < 3 ? .bool(true) : random.below(3) == 0 ? .null : .integer(Int64(random.below(5)))
        return try testEntry(path, value, ms: ms, counter: UInt64(random.below(2)), author: author)
    }

    mutating func run(_ makeStore: () throws -> any NodeStore) throws {
        let stores = try (0..<Self.replicaCount).map { _ in try makeStore() }
        var order = Array(entries.indices) + (0..<random.below(3)).map { _ in random.below(entries.count) }
        order.shuffle(using: &random)
        for index in order {
            let limit = random.below(4) == 0 ? HLC(ms: 12) : farFuture
            _ = try stores[random.below(stores.count)].commit([testBundle([entries[index]])], heldAfter: limit)
            if random.below(5) == 0 { try join(random.below(stores.count), random.below(stores.count), stores) }
        }
        for store in stores { _ = try store.release(heldAfter: farFuture) }
        let last = Array(stores.indices).shuffled(using: &random)
        for (from, to) in [(0, 1), (1, 2), (2, 0), (0, 1)] { try join(last[from], last[to], stores) }
        let expected = entries.filter { !isDead($0) }
        var digest = BucketDigest.empty
        for entry in expected { digest.add(entry.id) }
        for store in stores {
            while try store.sweep(limit: 2) {}
            let live = try store.liveEntries()
            try #require(Set(live) == Set(expected) && live.count == expected.count, "live set, seed \(seed)")
            try #require(try store.digest(of: .root) == digest, "digest, seed \(seed)")
        }
    }

    /// The rule in its own words, over all entries.
    private func isDead(_ entry: Entry) -> Bool {
        let keys = entry.path.keys.map(\.text)
        return entries.contains { killer in
            if killer.path.contains(entry.path), entry.stamp < killer.stamp { return true }
            let other = killer.path.keys.map(\.text)
            guard other.count == 3, other[0] == "retention", keys.count > 2, keys[1] == other[1] else { return false }
            if keys[0] == "retention" { return keys[2].utf8.lexicographicallyPrecedes(other[2].utf8) }
            return keys.count > 3 && keys[2] == "messages"
                && AutoID.order(of: keys[3]).ms < AutoID.order(of: other[2]).ms
        }
    }

    private func join(_ from: Int, _ to: Int, _ stores: [any NodeStore]) throws {
        let wanted = try stores[from].allReferences().filter { try !stores[to].contains($0) }
        guard from != to, !wanted.isEmpty else { return }
        let (bundles, _) = try stores[from].bundles(for: wanted)
        _ = try stores[to].commit(bundles, heldAfter: farFuture)
    }
}
