import Seal
import Store
import Testing
import Tree

/// Entries that were signed singly become leaves of a bundle, and are served with its proofs.
@Suite struct AdoptionTests {
    private static let workspace = Bytes32(repeating: 5)
    private let key = SigningKey(seed: Bytes32(repeating: 1))

    private func entries(_ count: Int) throws -> [Entry] {
        try (0..<count).map {
            try testEntry("a/\($0)", .integer(Int64($0)), ms: 1000 + UInt64($0), author: key.publicKey)
        }
    }

    private func singly(_ entries: [Entry]) -> [Bundle] {
        entries.map { Bundle(signing: [$0], by: key, workspace: Self.workspace) }
    }

    private func seal(_ entries: [Entry]) throws -> BundleSeal {
        try #require(BundleSeal(signing: entries.map(\.stamp), by: key, workspace: Self.workspace))
    }

    @Test(arguments: Backend.allCases) func whoHoldsThemAdoptsIt(backend: Backend) throws {
        let entries = try entries(20)
        try backend.with { store in
            _ = try store.commit(singly(entries), heldAfter: farFuture)
            let root = try store.digest(of: .root)
            let seal = try seal(entries)
            #expect(try store.singles(of: key.publicKey, from: .zero, through: farFuture, limit: 100).count == 20)
            #expect(try store.adopt(seal, workspace: Self.workspace) == .adopted)
            #expect(try store.knows(seal))
            #expect(try store.digest(of: .root) == root)
            #expect(try store.singles(of: key.publicKey, from: .zero, through: farFuture, limit: 100).isEmpty)
            let (bundles, gone) = try store.bundles(for: entries[3..<7].map(\.reference))
            #expect(gone.isEmpty)
            let bundle = try #require(bundles.first)
            #expect(bundles.count == 1 && bundle.count == 20 && bundle.leaves.map(\.entry) == Array(entries[3..<7]))
            #expect(bundle.verifies(workspace: Self.workspace))
            #expect(try store.adopt(seal, workspace: Self.workspace) == .ignored)
        }
    }

    @Test(arguments: Backend.allCases) func whoDoesNotHoldExactlyThemLeavesItBe(backend: Backend) throws {
        let entries = try entries(20)
        try backend.with { store in
            // One is missing; another store has one more.
            _ = try store.commit(singly(entries.filter { $0 != entries[10] }), heldAfter: farFuture)
            #expect(try store.adopt(seal(entries), workspace: Self.workspace) == .ignored)
            _ = try store.commit(singly(entries), heldAfter: farFuture)
            let fewer = entries.filter { $0 != entries[11] }
            #expect(try store.adopt(seal(fewer), workspace: Self.workspace) == .ignored)
            #expect(try store.bundles(for: entries.map(\.reference)).bundles.allSatisfy { $0.count == 1 })
            #expect(try store.adopt(seal(entries), workspace: Self.workspace) == .adopted)
        }
    }

    @Test(arguments: Backend.allCases) func aForgedOneIsRefused(backend: Backend) throws {
        let entries = try entries(4)
        try backend.with { store in
            _ = try store.commit(singly(entries), heldAfter: farFuture)
            let real = try seal(entries)
            let other = SigningKey(seed: Bytes32(repeating: 2))
            let message = Bundle.message(workspace: Self.workspace, author: key.publicKey, count: 4, root: real.root)
            let forged = BundleSeal(
                first: real.first, last: real.last, count: 4, root: real.root, signature: other.sign(message))
            #expect(try store.adopt(forged, workspace: Self.workspace) == .forged)
            #expect(try store.adopt(real, workspace: Bytes32(repeating: 6)) == .forged)
            #expect(BundleSeal(signing: entries.map(\.stamp), by: other, workspace: Self.workspace) == nil)
            #expect(BundleSeal(signing: [], by: key, workspace: Self.workspace) == nil)
            #expect(try store.singles(of: key.publicKey, from: .zero, through: farFuture, limit: 9).count == 4)
        }
    }

    /// Slices, deaths before, between and after them, and a bundle that ends: every proof holds, and both stores agree.
    @Test(arguments: 0..<12) func storesAgree(seed: Int) throws {
        var random = SeededRandom(seed: UInt64(seed))
        let entries = try entries(1 + random.below(70))
        let folder = try TemporaryFolder()
        let database = try DatabaseStore(path: folder.path("workspace.db"))
        defer { database.close() }
        let stores: [any NodeStore] = [database, MemoryStore()]
        for store in stores { _ = try store.commit(singly(entries), heldAfter: farFuture) }
        let seal = try seal(entries)
        var start = 0
        while start < entries.count {
            let slice = start..<min(entries.count, start + 1 + random.below(20))
            for store in stores { try store.adopt(seal, entries.map(\.stamp), slice: slice) }
            start = slice.upperBound
            try killSome(of: entries, in: stores, &random)
            try compare(stores, "seed \(seed)")
        }
        for _ in 0..<3 {
            try killSome(of: entries, in: stores, &random)
            try compare(stores, "seed \(seed)")
        }
        for store in stores {
            _ = try store.commit([testBundle([testEntry("a", .null, ms: 90_000)])], heldAfter: farFuture)
            while try store.sweep(limit: 1000) {}
            #expect(try !store.knows(seal))
        }
    }

    private func killSome(
        of entries: [Entry], in stores: [any NodeStore], _ random: inout SeededRandom
    ) throws {
        var dead: [Entry] = []
        for entry in entries where random.below(8) == 0 {
            dead.append(
                try testEntry("\(entry.path)", .null, ms: 50_000 + UInt64(random.below(1000)), author: key.publicKey))
        }
        for store in stores { _ = try store.commit(singly(dead), heldAfter: farFuture) }
    }

    private func compare(_ stores: [any NodeStore], _ place: Comment) throws {
        let references = try stores[0].allReferences()
        let bundles = try stores.map { try $0.bundles(for: references).bundles }
        try #require(bundles[0] == bundles[1], place)
        try #require(bundles[0].allSatisfy { $0.verifies(workspace: Self.workspace) }, place)
        // Parts of them, too: other hashes are wanted.
        let parts = [references.prefix(1), references.suffix(3), references.dropFirst(2).prefix(5)]
        for part in parts where !part.isEmpty {
            let found = try stores.map { try $0.bundles(for: Array(part)).bundles }
            try #require(found[0] == found[1], place)
            try #require(found[0].allSatisfy { $0.verifies(workspace: Self.workspace) }, place)
        }
    }

    /// A bundle of which parts arrive one after another, again and again, and partly dead: its proofs stay whole.
    @Test(arguments: 0..<12) func partsOfABundleComeTogether(seed: Int) throws {
        var random = SeededRandom(seed: UInt64(100 + seed))
        let entries = try entries(2 + random.below(60))
        let whole = Bundle(signing: entries, by: key, workspace: Self.workspace)
        let folder = try TemporaryFolder()
        let database = try DatabaseStore(path: folder.path("workspace.db"))
        defer { database.close() }
        let stores: [any NodeStore] = [database, MemoryStore()]
        for _ in 0..<8 {
            let parts = (0...random.below(2)).compactMap { _ in
                whole.keeping(entries.indices.filter { _ in random.below(4) == 0 })
            }
            for store in stores { _ = try store.commit(parts, heldAfter: farFuture) }
            if random.below(2) == 0 { try killSome(of: entries, in: stores, &random) }
            try compare(stores, "seed \(seed)")
        }
    }
}
