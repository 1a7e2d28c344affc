internal import Seal

/// Hashes of the subtrees of bundles that were served lately: a peer asks for a bundle's entries part by part, and
/// reading all its leaves for each part would cost more than the entries.
///
/// What dies does not change them: its hash stays in the tree that was signed. Where leaves come they are made anew,
/// for nothing was known below a hash that stood for them.
struct BundleTrees {
    /// Leaves below which a subtree is computed anew.
    static let blockCount = 16
    /// Bundles that are remembered, at most about 30 KB each: somebody who catches up goes by time, and so through the
    /// bundles of all authors at once.
    static let bundlesMax = 128

    private var trees: [Int64: (hashes: [Span: Bytes32], usedAt: Int)] = [:]
    private var uses = 0

    /// Whether the tree of a bundle is remembered.
    func knows(_ bundle: Int64) -> Bool { trees[bundle] != nil }

    subscript(bundle: Int64) -> [Span: Bytes32]? {
        mutating get {
            guard let hashes = trees[bundle]?.hashes else { return nil }
            uses += 1
            trees[bundle]?.usedAt = uses
            return hashes
        }
        set {
            guard let newValue else {
                trees[bundle] = nil
                return
            }
            if trees.count >= BundleTrees.bundlesMax, let oldest = trees.min(by: { $0.value.usedAt < $1.value.usedAt })
            {
                trees[oldest.key] = nil
            }
            uses += 1
            trees[bundle] = (newValue, uses)
        }
    }

    mutating func removeAll() { trees = [:] }
}
