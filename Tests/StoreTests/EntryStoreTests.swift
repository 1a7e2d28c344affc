import Seal
import Store
import Testing
import Tree

/// What every store does with entries.
@Suite struct EntryStoreTests {
    @Test(arguments: Backend.allCases) func keepsWhatWasCommitted(backend: Backend) throws {
        try backend.with { store in
            let entry = try testEntry("app/a", .object(ObjectValue([(#require(Key("x")), .double(1.5))])), ms: 10)
            let other = try testEntry("app/b", .string("é\u{0}"), ms: 11, kind: 7)
            let result = try store.commit(entry, other)
            #expect(result.applied == [entry, other])
            #expect(result.known == 0 && result.dead.isEmpty && result.held.isEmpty)
            let found = try store.entry(at: PathKey(entry.path))
            #expect(found?.encoded == entry.encoded)
            #expect(try store.liveEntries().map(\.encoded) == [entry.encoded, other.encoded])
            #expect(try store.entryCount == 2)
            #expect(try store.contains(entry.reference))
            #expect(try store.entry(at: PathKey(testPath("app"))) == nil)
            #expect(try store.value("app/a/x") == .double(1.5))
            #expect(try store.value("app/b") == .null, "an unknown kind is shown nowhere")
            #expect(try store.unknownCount == 1)
        }
    }

    @Test(arguments: Backend.allCases) func repetitionChangesNothing(backend: Backend) throws {
        try backend.with { store in
            let entry = try testEntry("app/a", .integer(1), ms: 10)
            try store.commit(entry)
            let digest = try store.digest(of: .root)
            let result = try store.commit(entry, entry)
            #expect(result.known == 2 && result.applied.isEmpty)
            #expect(try store.digest(of: .root) == digest)
        }
    }

    @Test(arguments: Backend.allCases) func olderIsDeadAtAndBelowAPath(backend: Backend) throws {
        try backend.with { store in
            let top = try testEntry("app/a", .integer(1), ms: 10)
            try store.commit(top)
            let same = try testEntry("app/a", .integer(2), ms: 9)
            let below = try testEntry("app/a/b/c", .integer(3), ms: 9)
            let above = try testEntry("app", .integer(4), ms: 9)
            let beside = try testEntry("app/aa", .integer(5), ms: 9)
            let result = try store.commit(same, below, above, beside)
            #expect(result.dead == [same.reference, below.reference])
            #expect(result.applied == [above, beside])
            #expect(try !store.contains(same.reference))
            #expect(try store.liveEntries() == [above, top, beside])
        }
    }

    @Test(arguments: Backend.allCases) func youngerKillsAtAndBelowAPath(backend: Backend) throws {
        try backend.with { store in
            let old = try ["app/a", "app/a/b", "app/a/b/c", "app/ab", "app"].enumerated().map { index, path in
                try testEntry(path, .integer(1), ms: 20 - UInt64(index))
            }
            let younger = try testEntry("app/a/z", .integer(1), ms: 50)
            _ = try store.commit(old.reversed().map { try testBundle([$0]) }, heldAfter: farFuture)
            try store.commit(younger)
            let tombstone = try testEntry("app/a", .null, ms: 30)
            let result = try store.commit(tombstone)
            #expect(result.applied == [tombstone])
            let expected = try [
                testEntry("app", .integer(1), ms: 16), tombstone, younger, testEntry("app/ab", .integer(1), ms: 17),
            ]
            #expect(try store.liveEntries() == expected)
            #expect(try store.entryCount == 4)
        }
    }

    @Test(arguments: Backend.allCases) func authorAndIdDecideBetweenEqualTimes(backend: Backend) throws {
        let small = try testEntry("app/a", .integer(1), ms: 10, author: Bytes32(repeating: 1))
        let great = try testEntry("app/a", .integer(1), ms: 10, author: Bytes32(repeating: 2))
        let twins = try [testEntry("app/b", .integer(1), ms: 10), testEntry("app/b", .integer(2), ms: 10)]
            .sorted { $0.id < $1.id }
        for order in [[small, great] + twins, [great, small] + twins.reversed()] {
            try backend.with { store in
                _ = try store.commit(order.map { try testBundle([$0]) }, heldAfter: farFuture)
                #expect(try store.liveEntries() == [great, twins[1]])
            }
        }
    }

    @Test(arguments: Backend.allCases) func scansRangesBothWays(backend: Backend) throws {
        try backend.with { store in
            let paths = ["app/1", "app/2", "app/10", "app/a", "app/a/b", "app/b"]
            for (index, path) in paths.enumerated() {
                try store.commit(testEntry(path, .integer(1), ms: UInt64(10 + index)))
            }
            func scan(_ lower: String, _ upper: PathKey, _ descending: Bool, limit: Int = .max) throws -> [String] {
                var found: [String] = []
                try store.scan(from: PathKey(testPath(lower)), to: upper, descending: descending) { entry in
                    found.append(entry.path.description)
                    return found.count < limit
                }
                return found
            }
            let end = try PathKey(testPath("app")).subtreeEnd
            #expect(try scan("app", end, false) == paths)
            #expect(try scan("app", end, true) == paths.reversed())
            #expect(try scan("app/2", end, false, limit: 2) == ["app/2", "app/10"])
            #expect(try scan("app/10", PathKey(testPath("app/b")), true) == ["app/a/b", "app/a", "app/10"])
            #expect(try scan("app/b", PathKey(testPath("app/a")), false) == [])
        }
    }

    @Test(arguments: Backend.allCases) func scansInsideScans(backend: Backend) throws {
        try backend.with { store in
            for index in 0..<3 { try store.commit(testEntry("app/\(index)", .integer(1), ms: UInt64(10 + index))) }
            var visited: [String] = []
            try store.scan(from: everyPath.lower, to: everyPath.upper, descending: false) { outer in
                try store.scan(from: everyPath.lower, to: everyPath.upper, descending: false) { inner in
                    visited.append("\(outer.path.depth)\(inner.path)")
                    return true
                }
                return true
            }
            #expect(visited.count == 9)
        }
    }

    /// Deleting much is one entry; the dead are out of sight at once and leave in pieces.
    @Test(arguments: Backend.allCases) func sweepsWhatOneEntryKilled(backend: Backend) throws {
        try backend.with { store in
            let count = 2500
            let entries = try (0..<count).map { try testEntry("app/list/k\($0)/v", .integer(1), ms: UInt64(10 + $0)) }
            for part in stride(from: 0, to: count, by: 500) {
                _ = try store.commit(
                    [testBundle(Array(entries[part..<(part + 500)]))], heldAfter: farFuture)
            }
            let survivor = try testEntry("app/list/k7/v", .integer(2), ms: 9_000)
            let tombstone = try testEntry("app/list", .null, ms: 5_000)
            try store.commit(survivor)
            try store.commit(tombstone)
            #expect(try store.entryCount > 1000 && store.entryCount < 1600)
            var children: [String] = []
            try TreeView(store).children(of: testPath("app/list")) { key, _ in
                children.append(key.text)
                return true
            }
            #expect(children == ["k7"])
            var calls = 1
            while try store.sweep(limit: 400) { calls += 1 }
            #expect(calls >= 4)
            #expect(try store.liveEntries() == [tombstone, survivor])
            var digest = BucketDigest.empty
            digest.add(tombstone.id)
            digest.add(survivor.id)
            #expect(try store.digest(of: .root) == digest)
            #expect(try !store.sweep(limit: 400))
        }
    }

    @Test(arguments: Backend.allCases) func refusesWhatDoesNotFitTogether(backend: Backend) throws {
        try backend.with { store in
            let entries = try (0..<3).map { try testEntry("app/\($0)", .integer(1), ms: UInt64(10 + $0)) }
            let sound = try testBundle(entries, present: [1])
            let broken = Bundle(
                author: sound.author, count: 3, signature: sound.signature, leaves: sound.leaves,
                omitted: Array(sound.omitted.dropLast()))
            let first = try testEntry("app/first", .integer(1), ms: 5)
            #expect(throws: StoreError.self) {
                try store.commit([testBundle([first]), broken], heldAfter: farFuture)
            }
            #expect(try store.entryCount == 0, "one call is one transaction")
            #expect(try store.liveEntries().isEmpty)
            try store.commit(first)
            #expect(try store.entryCount == 1)
        }
    }

    @Test(arguments: Backend.allCases) func greatestTime(backend: Backend) throws {
        try backend.with { store in
            #expect(try store.greatestHLC(notAfter: farFuture) == .zero)
            for ms in [10, 30, 20] as [UInt64] { try store.commit(testEntry("app/\(ms)", .integer(1), ms: ms)) }
            try store.commit(testEntry("app/held", .integer(1), ms: 90), heldAfter: HLC(ms: 50))
            #expect(try store.greatestHLC(notAfter: HLC(ms: 29)) == HLC(ms: 20))
            #expect(try store.greatestHLC(notAfter: HLC(ms: 30)) == HLC(ms: 30))
            #expect(try store.greatestHLC(notAfter: farFuture) == HLC(ms: 30), "what is held does not move the clock")
        }
    }

    @Test(arguments: Backend.allCases) func settings(backend: Backend) throws {
        try backend.with { store in
            #expect(try store.setting("port") == nil)
            try store.setSetting("port", [1, 2])
            try store.setSetting("empty", [])
            #expect(try store.setting("port") == [1, 2])
            #expect(try store.setting("empty") == [])
            try store.setSetting("port", nil)
            #expect(try store.setting("port") == nil)
        }
    }
}
