public import Seal

/// RFC 6962's tree over entry ids, with BLAKE2b-256: leaf H(0 ‖ id), node H(1 ‖ left ‖ right).
public enum MerkleTree {
    /// The hash of a leaf.
    public static func leaf(_ id: Bytes32) -> Bytes32 {
        var input: [UInt8] = [0]
        id.append(to: &input)
        return BLAKE2b.hash(input)
    }

    /// The hash of an inner node.
    public static func node(_ left: Bytes32, _ right: Bytes32) -> Bytes32 {
        var input: [UInt8] = [1]
        input.reserveCapacity(65)
        left.append(to: &input)
        right.append(to: &input)
        return BLAKE2b.hash(input)
    }

    /// Leaves on the left of a node over `count` ≥ 2 leaves: the greatest power of two below `count`.
    public static func split(_ count: Int) -> Int {
        var half = 1
        while half * 2 < count { half *= 2 }
        return half
    }

    /// The root over all ids, which must be at least one.
    public static func root(_ ids: [Bytes32]) -> Bytes32 { root(ids[...]) }

    private static func root(_ ids: ArraySlice<Bytes32>) -> Bytes32 {
        guard ids.count > 1 else { return ids.first.map(leaf) ?? .zero }
        let middle = ids.startIndex + split(ids.count)
        return node(root(ids[..<middle]), root(ids[middle...]))
    }

    /// The hashes of the maximal subtrees without a wanted leaf, left to right: with the wanted leaves they give the
    /// root.
    ///
    /// - `wanted`: leaf indices, ascending.
    /// - `hash`: the hash of the subtree over leaves `start..<start + count`; nil where it is not known.
    /// - Returns: nil where a hash is not known.
    public static func omitted(
        count: Int, wanted: [Int], hash: (_ start: Int, _ count: Int) -> Bytes32?
    ) -> [Bytes32]? {
        var result: [Bytes32] = []
        func visit(_ start: Int, _ count: Int, _ wanted: ArraySlice<Int>) -> Bool {
            if wanted.isEmpty {
                guard let known = hash(start, count) else { return false }
                result.append(known)
                return true
            }
            if count == 1 { return true }
            let half = split(count)
            let cut = wanted.firstIndex { $0 >= start + half } ?? wanted.endIndex
            return visit(start, half, wanted[..<cut]) && visit(start + half, count - half, wanted[cut...])
        }
        return visit(0, count, wanted[...]) ? result : nil
    }

    /// Recomputes the root from leaves and omitted subtrees; nil unless exactly these leaves and hashes fit.
    ///
    /// - `onSubtree`: called with each omitted subtree, so that a receiver can keep it for later proofs.
    public static func root(
        count: Int, leaves: [(index: Int, id: Bytes32)], omitted: [Bytes32],
        onSubtree: (_ start: Int, _ count: Int, _ hash: Bytes32) -> Void = { _, _, _ in }
    ) -> Bytes32? {
        guard count >= 1, let last = leaves.last, last.index < count else { return nil }
        guard zip(leaves, leaves.dropFirst()).allSatisfy({ $0.index < $1.index }), leaves[0].index >= 0 else {
            return nil
        }
        var rest = omitted[...]
        func visit(_ start: Int, _ count: Int, _ leaves: ArraySlice<(index: Int, id: Bytes32)>) -> Bytes32? {
            guard let first = leaves.first else {
                guard let hash = rest.popFirst() else { return nil }
                onSubtree(start, count, hash)
                return hash
            }
            if count == 1 { return leaf(first.id) }
            let half = split(count)
            let cut = leaves.firstIndex { $0.index >= start + half } ?? leaves.endIndex
            guard let left = visit(start, half, leaves[..<cut]) else { return nil }
            guard let right = visit(start + half, count - half, leaves[cut...]) else { return nil }
            return node(left, right)
        }
        let root = visit(0, count, leaves[...])
        return rest.isEmpty ? root : nil
    }
}
