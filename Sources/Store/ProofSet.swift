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

    /// Makes room for leaves that have come: what was left out with them is kept in smaller subtrees.
    ///
    /// - Parameters:
    ///   - came: their indices, ascending.
    ///   - gained: hashes of subtrees left out of the transfers that brought them, and of leaves that were not stored.
    ///   - isNew: nothing of the bundle was here before.
    mutating func leavesCame(_ came: [Int], gained: [Span: Bytes32], isNew: Bool) {
        for span in isNew ? [Span(start: 0, count: count)] : Array(hashes.keys) {
            let first = came.partitioningIndex { $0 >= span.start }
            let end = came.partitioningIndex { $0 >= span.start + span.count }
            guard isNew || first < end else { continue }
            hashes[span] = nil
            split(span, came[first..<end], gained)
        }
    }

    private mutating func split(_ span: Span, _ present: ArraySlice<Int>, _ gained: [Span: Bytes32]) {
        if present.count == span.count { return }
        if present.isEmpty {
            if let hash = ProofSet.hash(span, gained, leaf: { _ in nil }) { hashes[span] = hash }
        } else if let (left, right) = span.halves {
            let cut = present.partitioningIndex { $0 >= right.start }
            split(left, present[..<cut], gained)
            split(right, present[cut...], gained)
        }
    }

    /// The hash of a subtree from hashes that are known and from leaves.
    static func hash(_ span: Span, _ known: [Span: Bytes32], leaf: (Int) -> Bytes32?) -> Bytes32? {
        if let hash = known[span] { return hash }
        guard let (left, right) = span.halves else { return leaf(span.start).map(MerkleTree.leaf) }
        guard let first = hash(left, known, leaf: leaf), let second = hash(right, known, leaf: leaf) else { return nil }
        return MerkleTree.node(first, second)
    }
}

extension RandomAccessCollection where Index == Int {
    /// Index of the first element of which `isBeyond` holds, where it holds of all that follow.
    fileprivate func partitioningIndex(_ isBeyond: (Element) -> Bool) -> Int {
        var (low, high) = (startIndex, endIndex)
        while low < high {
            let middle = low + (high - low) / 2
            if isBeyond(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
