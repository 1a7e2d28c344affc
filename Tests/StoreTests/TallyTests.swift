import Seal
@testable import Store
import Testing
import Tree

/// The counters say what a recount says, whatever has happened.
@Suite struct TallyTests {
    private static func recount(_ store: any NodeStore) throws -> (all: Tally, authors: [Bytes32: Tally]) {
        let references = try store.allReferences()
        var authors: [Bytes32: Tally] = [:]
        var all = Tally()
        let live = Set(try store.liveEntries())
        for leaf in try store.bundles(for: references).bundles.flatMap(\.leaves) {
            let entry = leaf.entry
            // What is left of the canonical bytes without the other four fields is the value.
            let empty = try Entry(
                path: entry.path, hlc: entry.hlc, author: entry.author, value: .null, kind: entry.kind)
            let bytes = PathKey(entry.path).bytes.count + entry.encoded.count - empty.encoded.count + 1
            var one = Tally()
            one.add(1, isTombstone: entry.value.isNull, isHeld: !live.contains(entry), bytes: bytes)
            authors[entry.author, default: Tally()] += one
            all += one
        }
        return (all, authors)
    }

    private static func check(_ store: any NodeStore, _ place: Comment) throws {
        let (all, authors) = try recount(store)
        try #require(try store.tally == all, place)
        let told = try store.largestAuthors(limit: 100)
        try #require(told.count == authors.count && told.allSatisfy { authors[$0.author] == $0.tally }, place)
        let sorted = told.map(\.tally.bytes).sorted { $1 < $0 }
        try #require(told.map(\.tally.bytes) == sorted, place)
        try #require(try store.heldCount == all.held && store.entryCount == all.entries, place)
    }

    @Test(arguments: Backend.allCases) func countersAreARecount(backend: Backend) throws {
        for seed in 0..<20 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            try backend.with { store in
                for step in 0..<30 {
                    let limit = HLC(ms: UInt64(100 + 10 * step))
                    var entries: [Entry] = []
                    let author = Bytes32(repeating: UInt8(1 + random.below(3)))
                    for counter in 0...random.below(4) {
                        let path = random.element(["a", "a/\(counter)", "a/b/\(random.below(9))", "c/\(counter)/d"])
                        let value: Value =
                            random.below(3) == 0 ? .null : random.below(2) == 0 ? .integer(7) : .string("some text")
                        entries.append(
                            try testEntry(
                                path, value, ms: UInt64(50 + random.below(400)), counter: UInt64(counter),
                                author: author))
                    }
                    _ = try store.commit([testBundle(entries)], heldAfter: limit)
                    if random.below(4) == 0 { _ = try store.release(heldAfter: limit) }
                    if step % 5 == 4 { try TallyTests.check(store, "seed \(seed), step \(step)") }
                }
            }
        }
    }

    @Test(arguments: Backend.allCases) func remainsAreTold(backend: Backend) throws {
        try backend.with { store in
            let entries = try (0..<2500).map { try testEntry("app/\($0)", .integer(1), ms: 10, author: .zero) }
            _ = try store.commit([testBundle(entries)], heldAfter: farFuture)
            #expect(try store.remains == Remains(waiting: 0, graves: 0, graveBytes: 0))
            try store.commit(testEntry("app", .null, ms: 20))
            #expect(try store.remains.waiting == 1500 && store.remains.graves == 1000)
            #expect(try store.tally.tombstones == 1)
            while try store.sweep(limit: 1000) {}
            let remains = try store.remains
            #expect(remains.waiting == 0 && remains.graves == 2500 && remains.graveBytes > 2500 * 512)
            #expect(try store.tally.entries == 1)
        }
    }

    /// A database of an older version is counted once, when it is opened.
    @Test func olderDatabasesAreCounted() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("workspace.db")
        let before: Tally
        do {
            let store = try DatabaseStore(path: path)
            for number in 0..<50 as Range<UInt64> {
                let value: Value = number % 5 == 0 ? .null : .string("text")
                try store.commit(testEntry("app/\(number)", value, ms: number + 1), heldAfter: HLC(ms: 40))
            }
            before = try store.tally
            #expect(before.held == 10 && before.tombstones == 10 && before.entries == 50)
            try store.database.execute("DROP TABLE tally")
            let version = try #require(Schema.migrations.firstIndex(of: Schema.tally))
            try store.database.execute("PRAGMA user_version=\(version)")
            store.close()
        }
        let store = try DatabaseStore(path: path)
        defer { store.close() }
        #expect(try store.tally == before)
    }

    /// The size on disk has the log in it.
    @Test func theLogCounts() throws {
        let folder = try TemporaryFolder()
        let store = try DatabaseStore(path: folder.path("workspace.db"))
        defer { store.close() }
        let before = try store.databaseBytes
        try store.commit(testEntry("app/large", .string(String(repeating: "x", count: 500_000)), ms: 1))
        #expect(try store.databaseBytes >= before + 500_000)
    }
}
