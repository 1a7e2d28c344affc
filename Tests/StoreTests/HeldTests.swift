import Seal
import Store
import Testing
import Tree

/// Entries from a future that nobody believes: kept, counted and forwarded, but in no view until they are due.
@Suite struct HeldTests {
    @Test(arguments: Backend.allCases) func killsNothingAndIsInNoView(backend: Backend) throws {
        try backend.with { store in
            let now = try testEntry("app/a/b", .integer(1), ms: 10)
            let future = try testEntry("app/a", .integer(2), ms: 1000)
            try store.commit(now)
            let result = try store.commit(future, heldAfter: HLC(ms: 500))
            #expect(result.held == [future] && result.applied.isEmpty)
            #expect(try store.value("app/a/b") == .integer(1))
            #expect(try store.liveEntries() == [now])
            #expect(try store.entry(at: PathKey(future.path)) == nil)
            #expect(try store.digest(of: .root).count == 2)
            #expect(try store.contains(future.reference))
            #expect(try store.bundles(for: [future.reference]).bundles.first?.leaves.first?.entry == future)
            #expect(try store.heldCount == 1)
            #expect(try store.nextHeldDue == future.hlc)
            let again = try store.commit(future, heldAfter: HLC(ms: 500))
            #expect(again.known == 1)
        }
    }

    @Test(arguments: Backend.allCases) func appliesAsIfJustArrivedWhenDue(backend: Backend) throws {
        try backend.with { store in
            let now = try testEntry("app/a/b", .integer(1), ms: 10)
            // The later one kills the earlier: both are due together, so order matters to what becomes live.
            let first = try testEntry("app/a", .integer(2), ms: 1000)
            let second = try testEntry("app/a", .integer(3), ms: 1001)
            let later = try testEntry("app/z", .integer(4), ms: 2000)
            try store.commit(now)
            try store.commit(later, second, first, heldAfter: HLC(ms: 500))
            #expect(try store.release(heldAfter: HLC(ms: 999)).applied.isEmpty)
            let result = try store.release(heldAfter: HLC(ms: 1500))
            #expect(result.applied == [first, second])
            #expect(try store.liveEntries() == [second])
            #expect(try store.nextHeldDue == later.hlc)
            #expect(try store.entryCount == 2)
        }
    }

    @Test(arguments: Backend.allCases) func dropsWhatHasDiedMeanwhile(backend: Backend) throws {
        try backend.with { store in
            let held = try testEntry("app/a/b", .integer(1), ms: 1000)
            let killer = try testEntry("app/a", .integer(2), ms: 1001)
            try store.commit(held, heldAfter: HLC(ms: 500))
            try store.commit(killer, heldAfter: HLC(ms: 1001))
            let result = try store.release(heldAfter: HLC(ms: 1001))
            #expect(result.dead == [held.reference])
            #expect(try store.liveEntries() == [killer])
            #expect(try store.entryCount == 1 && store.heldCount == 0)
        }
    }

    @Test(arguments: Backend.allCases) func namesTheAuthors(backend: Backend) throws {
        try backend.with { store in
            let authors = (1...3).map { Bytes32(repeating: UInt8($0)) }
            for (count, author) in authors.enumerated() {
                for index in 0...count {
                    let entry = try testEntry(
                        "app/\(count)/\(index)", .integer(1), ms: UInt64(900 + index), author: author)
                    try store.commit(entry, heldAfter: HLC(ms: 500))
                }
            }
            let held = try store.heldAuthors
            #expect(held.map(\.author) == authors.reversed())
            #expect(held.map(\.count) == [3, 2, 1])
            #expect(held.map(\.latest) == [HLC(ms: 902), HLC(ms: 901), HLC(ms: 900)])
        }
    }

    @Test(arguments: Backend.allCases) func bundleWithPartsOnBothSidesOfTheLimit(backend: Backend) throws {
        try backend.with { store in
            let entries = try (0..<4).map { try testEntry("app/\($0)", .integer(1), ms: UInt64(10 + $0)) }
            let result = try store.commit([testBundle(entries)], heldAfter: HLC(ms: 11))
            #expect(result.applied == Array(entries[..<2]) && result.held == Array(entries[2...]))
            let (bundles, gone) = try store.bundles(for: entries.map(\.reference))
            #expect(gone.isEmpty)
            #expect(try bundles == [testBundle(entries)])
        }
    }
}
