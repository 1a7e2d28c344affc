import Seal
import Testing
import Tree

@testable import Store

/// Orders of children that the store keeps for queries.
@Suite struct OrderTests {
    private let list: Path
    private let byN: Query

    init() throws {
        list = try testPath("apps/list")
        byN = Query(order: .child(try testPath("n")), limit: .last(3))
    }

    private func with(
        _ change: (inout OrderOptions) -> Void = { _ in }, _ body: (DatabaseStore) throws -> Void
    ) throws {
        let folder = try TemporaryFolder()
        let store = try DatabaseStore(path: folder.path("workspace.db"))
        defer { store.close() }
        store.orderOptions.entriesMin = 10
        change(&store.orderOptions)
        try body(store)
        #expect(store.staleOrders == 0)
    }

    private func fill(_ store: any NodeStore, _ count: Int, ms: UInt64 = 1000) throws {
        for number in 0..<count {
            let value: Value = .object(ObjectValue([(try key("n"), .integer(Int64(number * 7 % count)))]))
            try store.commit(testEntry("apps/list/c\(number)", value, ms: ms))
        }
    }

    private func priority(_ path: String, _ value: Value, ms: UInt64) throws -> Entry {
        let place = try #require(testPath(path).appending(.priority))
        return try Entry(path: place, hlc: HLC(ms: ms), author: Bytes32(repeating: 1), value: value)
    }

    private func key(_ text: String) throws -> Key { try #require(Key(text)) }

    private func window(_ store: any NodeStore, _ query: Query) throws -> [String] {
        try TreeView(store).window(of: list, query, sizeMax: 1 << 20).children.map(\.key.text)
    }

    @Test func fewChildrenNeedNone() throws {
        try with { store in
            try fill(store, 9)
            #expect(try window(store, byN).count == 3)
            #expect(store.orders.isEmpty)
            try fill(store, 10, ms: 2000)
            #expect(try window(store, byN).count == 3)
            #expect(store.orders.map(\.isReady) == [true])
            // All of it is read by key, whatever the order.
            #expect(try window(store, Query(order: .value)).count == 10)
            #expect(store.orders.count == 1)
        }
    }

    @Test func writesAreFollowed() throws {
        try with { store in
            try fill(store, 20)
            // 7 times the number modulo 20: 19 is 7 × 17, 18 is 7 × 14, 17 is 7 × 11.
            #expect(try window(store, byN) == ["c11", "c14", "c17"])
            let first = Query(order: byN.order, limit: .first(2))
            try store.commit(testEntry("apps/list/c5/n", .integer(-5), ms: 2000))
            #expect(try window(store, first).first == "c5")
            try store.commit(
                testEntry("apps/list/c5/n", .null, ms: 2001), testEntry("apps/list/x/y", .bool(true), ms: 1))
            // Without an n, and so without anything, it is gone; what has no n comes first.
            #expect(try window(store, first) == ["x", "c0"])
            try store.commit(testEntry("apps/list/x/y", .null, ms: 2002))
            #expect(try window(store, first).first == "c0")
            try store.commit(priority("apps/list/c0", .integer(1), ms: 2003))
            #expect(try window(store, first).first == "c0" && store.orders.count == 1)
        }
    }

    @Test func whatBecomesLiveLaterIsFollowed() throws {
        try with { store in
            try fill(store, 20)
            _ = try window(store, byN)
            try store.commit(testEntry("apps/list/held/n", .integer(1000), ms: 9000), heldAfter: HLC(ms: 5000))
            #expect(try window(store, byN).last != "held")
            _ = try store.release(heldAfter: HLC(ms: 9000))
            #expect(try window(store, byN).last == "held")
            let write = try testBundle([testEntry("apps/list/left/n", .integer(2000), ms: 9001)])
            _ = try store.commit([write], heldAfter: farFuture, endingWrites: [], of: 1)
            #expect(try window(store, byN).last == "left" && store.orders.count == 1)
        }
    }

    @Test func aWriteAboveEndsThem() throws {
        for path in ["apps/list", "apps"] {
            try with { store in
                try fill(store, 20)
                _ = try window(store, byN)
                // Older than the children, which so live on.
                try store.commit(testEntry(path, .integer(1), ms: 500))
                #expect(store.orders.isEmpty, "\(path)")
                #expect(try window(store, byN).count == 3)
            }
        }
        try with { store in
            try fill(store, 20)
            _ = try window(store, byN)
            // Killed at once for whoever reads, swept later.
            try store.commit(testEntry("apps/list", .null, ms: 5000))
            #expect(try window(store, byN).isEmpty)
            try fill(store, 12, ms: 6000)
            #expect(try window(store, byN).count == 3)
        }
    }

    @Test func theLeastRecentlyUsedIsThrownAway() throws {
        try with({ $0.indexesMax = 2 }) { store in
            try fill(store, 20)
            for name in ["a", "b", "a", "c"] {
                _ = try window(store, Query(order: .child(testPath(name)), limit: .first(1)))
            }
            let kept = store.orders.map(\.order)
            #expect(try kept == [.child(testPath("a")), .child(testPath("c"))])
        }
        try with({ $0.indexesMax = 0 }) { store in
            try fill(store, 20)
            #expect(try window(store, byN).count == 3 && store.orders.isEmpty)
        }
    }

    /// A full disk: everything is read instead, and later it is tried again.
    @Test func withoutRoomAllIsRead() throws {
        try with({ $0.bytesMax = 4096 * 4 }) { store in
            try fill(store, 300)
            let expected = try window(store, byN)
            #expect(expected.count == 3 && store.orders.map(\.hasFailed) == [true])
            store.orderOptions.bytesMax = 1 << 20
            for _ in 0..<70 { #expect(try window(store, byN) == expected) }
            #expect(store.orders.map(\.isReady) == [true])
        }
        // One that is full while it follows a write.
        try with({ $0.bytesMax = 4096 * 4 }) { store in
            try fill(store, 20)
            _ = try window(store, byN)
            #expect(store.orders.map(\.isReady) == [true])
            let text = String(repeating: "z", count: 30_000)
            try store.commit(testEntry("apps/list/long/n", .string(text), ms: 3000))
            #expect(store.orders.map(\.hasFailed) == [true])
            #expect(try window(store, byN).last == "long")
        }
    }

    /// The cost of a window, in SQLite's own steps, does not depend on how many children there are.
    @Test func aWindowCostsWhatItReturns() throws {
        func cost(_ count: Int) throws -> Int {
            var steps = 0
            try with { store in
                try fill(store, count)
                _ = try window(store, byN)
                let before = store.database.virtualMachineSteps
                #expect(try window(store, byN).count == 3)
                steps = store.database.virtualMachineSteps - before
            }
            return steps
        }
        let (few, many) = (try cost(30), try cost(300))
        #expect(many <= few + few / 10, "\(few) steps among 30, \(many) among 300")
    }

    /// Made in pieces, with writes in between, against a store without.
    @Test(arguments: 0..<UInt64(6)) func piecesMissNothing(_ seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let twin = MemoryStore()
        try with({
            $0.isDeferred = true
            $0.entriesMin = 0
            $0.indexesMax = 3
        }) { store in
            let orders: [Query.Order] = [.value, .priority, .child(try testPath("n")), .child(try testPath("n/m"))]
            var answered = 0
            for step in 0..<200 {
                for _ in 0..<random.below(3) {
                    let bundle = try testBundle([try entry(&random, ms: UInt64(1000 + step))])
                    let due = random.below(8) == 0 ? HLC(ms: UInt64(990 + step)) : farFuture
                    for store in [store, twin] as [any NodeStore] { _ = try store.commit([bundle], heldAfter: due) }
                }
                if random.below(5) == 0 {
                    for store in [store, twin] as [any NodeStore] {
                        _ = try store.release(heldAfter: farFuture)
                        _ = try store.sweep(limit: 3)
                    }
                }
                var left = random.below(6)
                _ = try store.buildOrders {
                    left -= 1
                    return left > 0
                }
                let limit: Query.Limit? = random.element([.first(2), .last(2), .first(50), nil])
                let start = Query.Bound(.integer(Int64(random.below(4))), isInclusive: random.below(2) == 0)
                let order = random.element(orders)
                let query = Query(order: order, limit: limit, start: random.below(3) == 0 ? start : nil)
                do {
                    let found = try TreeView(store).window(of: list, query, sizeMax: 1 << 20)
                    answered += 1
                    let expected = try TreeView(twin).window(of: list, query, sizeMax: 1 << 20)
                    if found != expected { Issue.record("seed \(seed), step \(step), \(query)") }
                } catch ReadError.notOrderedYet {}
            }
            #expect(answered > 20, "seed \(seed)")
        }
    }

    private func entry(_ random: inout SeededRandom, ms: UInt64) throws -> Entry {
        let child = "apps/list/\(random.element(["a", "b", "c", "1", "2"]))\(random.below(6))"
        let number = Value.integer(Int64(random.below(4)))
        let author = Bytes32(repeating: UInt8(1 + random.below(3)))
        let past = ms - UInt64(random.below(3))
        func object(_ name: String, _ value: Value) throws -> Value { .object(ObjectValue([(try key(name), value)])) }
        switch random.below(24) {
        case 0: return try testEntry("apps/list", object("a1", object("n", number)), ms: past - 100, author: author)
        case 1: return try testEntry("apps", .null, ms: past - 200, author: author)
        case 2, 3, 4: return try testEntry(child, .null, ms: past, author: author)
        case 5, 6: return try priority(child, number, ms: past)
        case 7, 8: return try testEntry(child, number, ms: past, author: author)
        case 9, 10: return try testEntry("\(child)/n/m", number, ms: past, author: author)
        case 11, 12: return try testEntry("\(child)/x", number, ms: past, author: author)
        case 13: return try testEntry(child, number, ms: past, author: author, kind: 7)
        case 14: return try testEntry("\(child)/n", .null, ms: past, author: author)
        case 15...19: return try testEntry("\(child)/n", number, ms: past, author: author)
        default: return try testEntry(child, object("n", number), ms: past, author: author)
        }
    }
}
