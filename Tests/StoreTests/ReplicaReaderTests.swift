import Seal
import Store
import Testing
import Tree

/// What replication reads: digests, references, signed bundles.
@Suite struct ReplicaReaderTests {
    private static let key = SigningKey(seed: Bytes32(repeating: 5))
    private static let workspace = Bytes32(repeating: 9)

    /// Times spread so that every level has several buckets.
    private static func randomEntries(_ count: Int, _ random: inout SeededRandom) throws -> [Entry] {
        try (0..<count).map { index in
            let spread = [40, 34, 26, 18, 10, 4][random.below(6)]
            let ms = (1 << 41) + random.next() >> UInt64(64 - spread)
            return try testEntry("app/k\(index)", .integer(Int64(index)), ms: ms, counter: UInt64(random.below(64)))
        }
    }

    @Test(arguments: Backend.allCases) func digestsAreSumsOfIds(backend: Backend) throws {
        var random = SeededRandom(seed: 1)
        try backend.with { store in
            let entries = try ReplicaReaderTests.randomEntries(300, &random)
            for entry in entries { try store.commit(entry) }
            // Deaths and held entries count as they should.
            let tombstones = try entries.prefix(50).map { try testEntry($0.path.description, .null, ms: 1 << 43) }
            for entry in tombstones { try store.commit(entry) }
            let held = try testEntry("app/held", .null, ms: 1 << 44)
            try store.commit(held, heldAfter: HLC(ms: 1 << 43))
            let all = Array(entries.dropFirst(50)) + tombstones + [held]

            var visited = 0
            func check(_ bucket: TimeBucket) throws {
                visited += 1
                let inside = all.filter { bucket.contains($0.hlc) }
                var expected = BucketDigest.empty
                for entry in inside { expected.add(entry.id) }
                try #require(try store.digest(of: bucket) == expected, "\(bucket)")
                let nonce: [UInt8] = [1, 2, 3]
                var keyed = BucketDigest.empty
                for entry in inside { keyed.add(BLAKE2b.hash(entry.id.bytes, key: nonce)) }
                try #require(try store.keyedDigest(nonce: nonce, of: bucket) == keyed, "\(bucket)")
                let children = try store.children(of: bucket)
                guard bucket.level < TimeBucket.levelMax else {
                    #expect(children.isEmpty)
                    return
                }
                try #require(children.map(\.digest.count).reduce(0, +) == inside.count)
                try #require(children.map(\.bucket.index) == children.map(\.bucket.index).sorted())
                for child in children {
                    try #require(bucket.isParent(of: child.bucket) && !child.digest.isEmpty)
                    try #require(try store.digest(of: child.bucket) == child.digest)
                    try check(child.bucket)
                }
            }
            try check(.root)
            #expect(visited > 100)
            let empty = try #require(TimeBucket(level: 3, index: 1))
            #expect(try store.digest(of: empty) == .empty)
            #expect(try store.children(of: empty).isEmpty)
        }
    }

    @Test(arguments: Backend.allCases) func referencesComeInPages(backend: Backend) throws {
        var random = SeededRandom(seed: 2)
        try backend.with { store in
            let entries = try ReplicaReaderTests.randomEntries(100, &random)
            for entry in entries { try store.commit(entry) }
            let sorted = entries.map(\.reference).sorted()
            var paged: [EntryReference] = []
            var rest = ReferenceRange(.root)
            while true {
                let page = try store.references(in: rest, newest: 7)
                paged.append(contentsOf: page)
                guard page.count == 7, let last = page.last else { break }
                // Up to the last one and with it: it comes again.
                rest = ReferenceRange(after: rest.after, through: last)
                paged.removeLast()
            }
            #expect(paged == sorted.reversed())
            let bucket = TimeBucket(level: 2, containing: sorted[50].hlc)
            let inside = sorted.filter { bucket.contains($0.hlc) }
            #expect(try store.references(in: ReferenceRange(bucket), newest: .max) == inside.reversed())
            let middle = ReferenceRange(after: sorted[30], through: sorted[60])
            #expect(try store.references(in: middle, newest: .max) == sorted[31...60].reversed())
            let behind = ReferenceRange(after: sorted[99], through: ReferenceRange(.root).through)
            #expect(try store.references(in: behind, newest: 5).isEmpty)
            #expect(try store.references(in: ReferenceRange(.root), newest: -1).isEmpty)
            #expect(try store.references(in: ReferenceRange(bucket), oldest: .max) == inside)
            #expect(try store.references(in: middle, oldest: 4) == sorted[31...34].map { $0 })
            #expect(try store.references(in: ReferenceRange(.root), oldest: -1).isEmpty)
            #expect(try store.references(in: ReferenceRange(after: sorted[9], through: sorted[3]), newest: 9).isEmpty)
            let nonce = [UInt8](repeating: 1, count: 65)
            #expect(throws: StoreError.self) { try store.keyedDigest(nonce: nonce, of: .root) }
        }
    }

    /// The last messages of a channel with what stands below them, the newest first, and nothing from beside it.
    @Test(arguments: Backend.allCases) func theTailOfAPath(backend: Backend) throws {
        try backend.with { store in
            for number in 0..<20 {
                try store.commit(testEntry("c/x/m/k\(10 + number)", .integer(1), ms: UInt64(100 + number)))
            }
            try store.commit(testEntry("c/x/m/k28/reactions/a", .integer(1), ms: 500))
            try store.commit(testEntry("c/x/n", .integer(1), ms: 501), testEntry("c/y/m/k99", .integer(1), ms: 502))
            func times(_ children: Int, _ limit: Int) throws -> [UInt64] {
                try store.tail(of: testPath("c/x/m"), children: children, limit: limit).map(\.hlc.ms)
            }
            #expect(try times(3, 100) == [119, 500, 118, 117])
            #expect(try times(3, 2) == [119, 500])
            #expect(try times(0, 5).isEmpty && times(5, 0).isEmpty)
            #expect(try times(100, 100).count == 21)
        }
    }

    @Test(arguments: Backend.allCases) func whatIsNotHereIsGone(backend: Backend) throws {
        try backend.with { store in
            let here = try testEntry("app/a", .integer(1), ms: 10)
            let other = try testEntry("app/a", .integer(2), ms: 10)
            try store.commit(here)
            let wrong = EntryReference(hlc: HLC(ms: 11), idPrefix: here.reference.idPrefix)
            let wanted = [other.reference, here.reference, wrong, here.reference]
            let (bundles, gone) = try store.bundles(for: wanted)
            #expect(try bundles == [testBundle([here])])
            #expect(gone == [other.reference, wrong])
            #expect(try !store.contains(other.reference) && !store.contains(wrong))
        }
    }

    @Test(arguments: Backend.allCases) func transfersStaySmall(backend: Backend) throws {
        try backend.with { store in
            let text = String(repeating: "x", count: 30_000)
            let entries = try (0..<7).map { index in
                // One is larger than a transfer and goes alone.
                let value = index == 3 ? String(repeating: text, count: 4) : text
                return try testEntry("app/\(index)", .string(value), ms: UInt64(10 + index))
            }
            _ = try store.commit([testBundle(entries)], heldAfter: farFuture)
            let (bundles, _) = try store.bundles(for: entries.map(\.reference))
            let present = bundles.map { $0.leaves.map(\.index) }
            #expect(present == [[0, 1], [2], [3], [4, 5], [6]])
            for bundle in bundles { #expect(try bundle.root == testBundle(entries).root) }
        }
    }

    /// A peer can ask for much at once; it gets what fits, and is told how far that goes.
    @Test(arguments: Backend.allCases) func answersAreBounded(backend: Backend) throws {
        try backend.with { store in
            let text = Value.string(String(repeating: "x", count: 10_000))
            let entries = try (0..<20).map { try testEntry("app/\($0)", text, ms: UInt64(10 + $0)) }
            for part in [entries[..<10], entries[10...]] {
                _ = try store.commit(part.map { try testBundle([$0]) }, heldAfter: farFuture)
            }
            var rest = entries.map(\.reference)[...]
            var received: [Entry] = []
            while !rest.isEmpty {
                let (bundles, gone, taken) = try store.bundles(for: Array(rest), bytesMax: 35_000)
                try #require(taken >= 1 && bundles.count <= 4 && gone.isEmpty)
                received.append(contentsOf: bundles.flatMap(\.leaves).map(\.entry))
                rest = rest.dropFirst(taken)
            }
            #expect(received == entries)
            let least = try store.bundles(for: [entries[0].reference, entries[1].reference], bytesMax: 0)
            #expect(least.taken == 1 && least.bundles.count == 1)
        }
    }

    /// Signed bundles wander in parts between replicas while entries die: whatever a store hands out verifies.
    @Test(arguments: Backend.allCases, 0..<6) func proofsHoldWhateverDiesOrIsMissing(backend: Backend, seed: Int) throws
    {
        var random = SeededRandom(seed: UInt64(seed))
        let key = ReplicaReaderTests.key
        let workspace = ReplicaReaderTests.workspace
        let count = [2, 3, 7, 8, 33, 100][seed]
        let entries = try (0..<count).map { index in
            try testEntry("app/\(index)", .integer(1), ms: UInt64(10 + index), author: key.publicKey)
        }
        let whole = Bundle(signing: entries, by: key, workspace: workspace)
        try backend.with { source in
            try backend.with { target in
                _ = try source.commit([whole], heldAfter: farFuture)
                for round in 0..<20 {
                    let wanted = entries.filter { _ in random.below(4) == 0 }.map(\.reference)
                    let (bundles, gone) = try source.bundles(for: wanted)
                    for bundle in bundles { try #require(bundle.verifies(workspace: workspace), "seed \(seed)") }
                    try #require(bundles.map(\.leaves.count).reduce(0, +) + gone.count == wanted.count)
                    _ = try target.commit(bundles, heldAfter: farFuture)
                    let victim = random.below(count)
                    let time = UInt64(1000 + round)
                    let killer = try testEntry("app/\(victim)", .null, ms: time, author: key.publicKey)
                    _ = try (random.below(2) == 0 ? source : target).commit(
                        [Bundle(signing: [killer], by: key, workspace: workspace)], heldAfter: farFuture)
                    let (received, _) = try target.bundles(for: target.allReferences())
                    for bundle in received { try #require(bundle.verifies(workspace: workspace), "seed \(seed)") }
                }
            }
        }
    }

    /// Two authors sign one tree that holds an entry of each, as only an attack would: both proofs stay what they were.
    @Test(arguments: Backend.allCases) func oneRootOfTwoAuthors(backend: Backend) throws {
        let keys = [SigningKey(seed: Bytes32(repeating: 1)), SigningKey(seed: Bytes32(repeating: 2))]
        let workspace = ReplicaReaderTests.workspace
        let entries = try keys.enumerated().map { index, key in
            try testEntry("app/\(index)", .integer(1), ms: UInt64(10 + index), author: key.publicKey)
        }
        let bundles = keys.enumerated().map { index, key in
            let root = MerkleTree.root(entries.map(\.id))
            let message = Bundle.message(workspace: workspace, author: key.publicKey, count: 2, root: root)
            return Bundle(
                author: key.publicKey, count: 2, signature: key.sign(message),
                leaves: [Bundle.Leaf(index: index, entry: entries[index])],
                omitted: [MerkleTree.leaf(entries[1 - index].id)])
        }
        #expect(bundles.allSatisfy { $0.verifies(workspace: workspace) })
        try backend.with { store in
            _ = try store.commit(bundles, heldAfter: farFuture)
            let (found, gone) = try store.bundles(for: entries.map(\.reference))
            #expect(found == bundles && gone.isEmpty)
        }
    }

    /// A left-out subtree hides how many leaves it has, so one author can sign one root with two counts.
    @Test(arguments: Backend.allCases) func oneRootOfTwoCounts(backend: Backend) throws {
        let key = ReplicaReaderTests.key
        let workspace = ReplicaReaderTests.workspace
        let entries = try (0..<4).map { index in
            try testEntry("app/\(index)", .integer(1), ms: UInt64(10 + index), author: key.publicKey)
        }
        let leaves = entries.map { MerkleTree.leaf($0.id) }
        let right = MerkleTree.node(leaves[2], leaves[3])
        let root = MerkleTree.root(entries.map(\.id))
        let bundles = [(4, 1), (3, 0)].map { count, index in
            let message = Bundle.message(workspace: workspace, author: key.publicKey, count: count, root: root)
            return Bundle(
                author: key.publicKey, count: count, signature: key.sign(message),
                leaves: [Bundle.Leaf(index: index, entry: entries[index])], omitted: [leaves[1 - index], right])
        }
        #expect(bundles.allSatisfy { $0.verifies(workspace: workspace) })
        try backend.with { store in
            _ = try store.commit(bundles, heldAfter: farFuture)
            let (found, _) = try store.bundles(for: entries.map(\.reference))
            #expect(found.allSatisfy { $0.verifies(workspace: workspace) })
            #expect(found.count == 2)
        }
    }
}
