import Seal
import Testing
import Tree

/// Signed sets of entries: the tree of hashes, proofs of parts, and everything that must not verify.
@Suite struct BundleTests {
    private let key = SigningKey(seed: Bytes32(repeating: 1))
    private let workspace = Bytes32(repeating: 2)

    private func entries(_ count: Int, author: Bytes32? = nil) throws -> [Entry] {
        try (0..<count).map { try testEntry("a/\($0)", ms: UInt64(100 + $0), author: author ?? key.publicKey) }
    }

    private func ids(_ count: Int) -> [Bytes32] {
        (0..<count).map { BLAKE2b.hash([UInt8(truncatingIfNeeded: $0), UInt8(truncatingIfNeeded: $0 >> 8)]) }
    }

    /// RFC 6962 §2.1 as it is written there.
    private func plainRoot(_ ids: ArraySlice<Bytes32>) -> Bytes32 {
        if ids.count == 1 { return BLAKE2b.hash([0] + ids[ids.startIndex].bytes) }
        var half = 1
        while half << 1 < ids.count { half <<= 1 }
        return BLAKE2b.hash([1] + plainRoot(ids.prefix(half)).bytes + plainRoot(ids.dropFirst(half)).bytes)
    }

    @Test func rootsAreThoseOfRFC6962() {
        for count in Array(1...40) + [255, 256, 257] {
            let ids = ids(count)
            #expect(MerkleTree.root(ids) == plainRoot(ids[...]), "\(count)")
        }
    }

    @Test func anySubsetIsProvedAndNothingElse() throws {
        var random = SeededRandom(seed: 31)
        for _ in 0..<300 {
            let count = 1 + random.below(60)
            let ids = ids(count)
            let root = MerkleTree.root(ids)
            var wanted = (0..<count).filter { _ in random.below(3) == 0 }
            if wanted.isEmpty { wanted = [random.below(count)] }
            let omitted = try #require(
                MerkleTree.omitted(count: count, wanted: wanted) { start, count in
                    plainRoot(ids[start..<(start + count)])
                })
            let leaves = wanted.map { (index: $0, id: ids[$0]) }
            var covered: [Int] = wanted
            let computed = MerkleTree.root(count: count, leaves: leaves, omitted: omitted) { start, count, hash in
                covered.append(contentsOf: start..<(start + count))
                #expect(hash == plainRoot(ids[start..<(start + count)]))
            }
            try #require(computed == root)
            try #require(covered.sorted() == Array(0..<count))

            // One hash, one leaf, one index or the length changed: another root, or none.
            var other = leaves
            other[random.below(other.count)].id = Bytes32(repeating: 0xEE)
            try #require(MerkleTree.root(count: count, leaves: other, omitted: omitted) != root)
            if !omitted.isEmpty {
                var changed = omitted
                changed[random.below(changed.count)] = Bytes32(repeating: 0xEE)
                try #require(MerkleTree.root(count: count, leaves: leaves, omitted: changed) != root)
                try #require(MerkleTree.root(count: count, leaves: leaves, omitted: Array(omitted.dropLast())) == nil)
            }
            try #require(MerkleTree.root(count: count, leaves: leaves, omitted: omitted + [.zero]) == nil)
        }
    }

    @Test func malformedProofsAreNone() {
        let id = Bytes32.zero
        #expect(MerkleTree.root(count: 0, leaves: [], omitted: []) == nil)
        #expect(MerkleTree.root(count: 1, leaves: [], omitted: [id]) == nil, "at least one leaf is here")
        #expect(MerkleTree.root(count: 2, leaves: [(2, id)], omitted: [id]) == nil)
        #expect(MerkleTree.root(count: 2, leaves: [(-1, id)], omitted: [id]) == nil)
        #expect(MerkleTree.root(count: 2, leaves: [(0, id), (0, id)], omitted: []) == nil)
        #expect(MerkleTree.root(count: 2, leaves: [(1, id), (0, id)], omitted: []) == nil)
        #expect(MerkleTree.root(count: -5, leaves: [(0, id)], omitted: []) == nil)
        #expect(MerkleTree.omitted(count: 4, wanted: [0]) { _, _ in nil } == nil)
    }

    @Test(arguments: [1, 2, 7, 64]) func verifiesWholeAndInPart(count: Int) throws {
        let whole = Bundle(signing: try entries(count), by: key, workspace: workspace)
        #expect(whole.verifies(workspace: workspace))
        let ids = whole.leaves.map(\.entry.id)
        let wanted = [count / 2]
        let omitted = try #require(
            MerkleTree.omitted(count: count, wanted: wanted) { MerkleTree.root(Array(ids[$0..<($0 + $1)])) })
        let part = Bundle(
            author: whole.author, count: count, signature: whole.signature, leaves: wanted.map { whole.leaves[$0] },
            omitted: omitted)
        #expect(part.verifies(workspace: workspace))
    }

    @Test func refusesEverythingElse() throws {
        let sound = Bundle(signing: try entries(3), by: key, workspace: workspace)
        #expect(!sound.verifies(workspace: .zero), "another workspace")

        func changed(
            author: Bytes32? = nil, count: Int? = nil, signature: Signature? = nil, leaves: [Bundle.Leaf]? = nil,
            omitted: [Bytes32]? = nil
        ) -> Bool {
            Bundle(
                author: author ?? sound.author, count: count ?? sound.count, signature: signature ?? sound.signature,
                leaves: leaves ?? sound.leaves, omitted: omitted ?? sound.omitted
            ).verifies(workspace: workspace)
        }
        #expect(changed())
        let other = SigningKey(seed: Bytes32(repeating: 3))
        #expect(!changed(author: other.publicKey))
        for count in [0, -1, 2, 4, 4097, .max, .min] { #expect(!changed(count: count), "count \(count)") }
        #expect(!changed(leaves: []))
        #expect(!changed(leaves: Array(sound.leaves.dropLast())))
        #expect(!changed(leaves: Array(sound.leaves.reversed())))
        #expect(!changed(omitted: [.zero]))
        let swapped = [(0, 1), (1, 0), (2, 2)].map { Bundle.Leaf(index: $0, entry: sound.leaves[$1].entry) }
        #expect(!changed(leaves: swapped))
        let foreign = try testEntry("a/x", ms: 500, author: other.publicKey)
        #expect(!changed(leaves: sound.leaves.dropLast() + [Bundle.Leaf(index: 2, entry: foreign)]))
        let unsigned = try testEntry("a/x", ms: 500, author: key.publicKey)
        #expect(!changed(leaves: sound.leaves.dropLast() + [Bundle.Leaf(index: 2, entry: unsigned)]))
        var bits = sound.signature.bytes
        bits[40] ^= 1
        #expect(!changed(signature: Signature(bits)))
    }

    /// The author signs stamp order; a bundle that is signed in another order is none.
    @Test func signedInTheWrongOrder() throws {
        let entries = try Array(entries(3).reversed())
        #expect(!Bundle(signing: entries, by: key, workspace: workspace).verifies(workspace: workspace))
        let twice = try [self.entries(1)[0], self.entries(1)[0]]
        #expect(!Bundle(signing: twice, by: key, workspace: workspace).verifies(workspace: workspace))
    }

    /// Somebody signs another's entry with his own key.
    @Test func signedBySomebodyElse() throws {
        let entries = try entries(1, author: Bytes32(repeating: 9))
        #expect(!Bundle(signing: entries, by: key, workspace: workspace).verifies(workspace: workspace))
    }
}
