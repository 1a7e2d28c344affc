internal import Seal
internal import Tree

/// A subtree of a bundle's Merkle tree: the leaves `start..<start + count`.
struct Span: Hashable {
    let start: Int
    let count: Int

    /// The two halves, nil for a single leaf.
    var halves: (left: Span, right: Span)? {
        guard count > 1 else { return nil }
        let half = MerkleTree.split(count)
        return (Span(start: start, count: half), Span(start: start + half, count: count - half))
    }
}

/// What is kept of the leaves of a bundle that are not here: the hashes of the maximal subtrees without a leaf that is.
///
/// With the ids of the leaves that are here these give the root, so any of them can be proved.
struct ProofSet {
    let count: Int
    private(set) var hashes: [Span: Bytes32]

    init(count: Int, hashes: [Span: Bytes32]) {
        self.count = count
        self.hashes = hashes
    }

    /// Keeps the hash of a leaf that has just died, and joins it with neighbours that are gone as well.
    mutating func leafDied(_ index: Int, id: Bytes32) {
        var span = Span(start: index, count: 1)
        hashes[span] = MerkleTree.leaf(id)
        for parent in ancestors(of: span) {
            guard let (left, right) = parent.halves, let first = hashes[left], let second = hashes[right] else {
                return
            }
            hashes[left] = nil
            hashes[right] = nil
            hashes[parent] = MerkleTree.node(first, second)
            span = parent
        }
    }

    /// The subtrees around a span, smallest first.
    private func ancestors(of span: Span) -> [Span] {
        var chain: [Span] = []
        var current = Span(start: 0, count: count)
        while current != span, let (left, right) = current.halves {
            chain.append(current)
            current = span.start < right.start ? left : right
        }
        return chain.reversed()
    }

    /// Takes over what another transfer of the same bundle brought.
    ///
    /// - Parameters:
    ///   - known: hashes of subtrees left out of the transfer, and of its leaves that were not stored.
    ///   - present: indices of all leaves that are here now, ascending.
    mutating func complete(with known: [Span: Bytes32], present: [Int]) {
        var known = known
        known.merge(hashes) { first, _ in first }
        var result: [Span: Bytes32] = [:]
        func visit(_ span: Span, _ present: ArraySlice<Int>) {
            if present.isEmpty {
                if let hash = ProofSet.hash(span, known, leaf: { _ in nil }) { result[span] = hash }
            } else if let (left, right) = span.halves {
                let cut = present.firstIndex { $0 >= right.start } ?? present.endIndex
                visit(left, present[..<cut])
                visit(right, present[cut...])
            }
        }
        visit(Span(start: 0, count: count), present[...])
        hashes = result
    }

    /// The hash of a subtree from hashes that are known and from leaves.
    static func hash(_ span: Span, _ known: [Span: Bytes32], leaf: (Int) -> Bytes32?) -> Bytes32? {
        if let hash = known[span] { return hash }
        guard let (left, right) = span.halves else { return leaf(span.start).map(MerkleTree.leaf) }
        guard let first = hash(left, known, leaf: leaf), let second = hash(right, known, leaf: leaf) else { return nil }
        return MerkleTree.node(first, second)
    }
}
