internal import Seal
internal import Tree

extension Tables {
    /// Values one bundle of a transfer carries, unless a single entry is larger: a frame stays small, and what is lost
    /// with a link is little.
    static var transferBytesMax: Int { 64 << 10 }

    /// Bytes that reading one leaf of a bundle counts as, where its tree is not remembered.
    private static var leafBytes: Int { 32 }

    /// The named entries as signed bundles with their proofs, and the references that are not here, until entries and
    /// the bundles that have to be read for their proofs make `bytesMax`.
    func assemble(
        _ references: [EntryReference], bytesMax: Int
    ) throws -> (bundles: [Bundle], gone: [EntryReference], taken: Int) {
        var bundles: [Bundle] = []
        var gone: [EntryReference] = []
        var parts: [(bundle: Int64, leaves: [Bundle.Leaf])] = []
        var numbers: [Int64: Int] = [:]
        // Ranges are asked for in order; then nothing is named twice.
        let isOrdered = Self.isOrdered(references)
        var seen: Set<EntryReference> = []
        var bytes = 0
        var taken = 0
        for reference in references {
            guard bytes < bytesMax || taken == 0 else { break }
            taken += 1
            guard isOrdered || seen.insert(reference).inserted else { continue }
            let stored = try stored(reference)
            if stored.isEmpty { gone.append(reference) }
            for (entry, proof) in stored {
                bytes += entry.transferSize
                switch proof {
                case .single(let signature):
                    let leaf = Bundle.Leaf(index: 0, entry: entry)
                    bundles.append(
                        Bundle(author: entry.author, count: 1, signature: signature, leaves: [leaf], omitted: []))
                case .leaf(let bundle, let index):
                    let number = numbers[bundle] ?? parts.count
                    if number == parts.count {
                        numbers[bundle] = number
                        parts.append((bundle, []))
                        if !trees.knows(bundle) { bytes += try head(ofBundle: bundle).count * Self.leafBytes }
                    }
                    parts[number].leaves.append(Bundle.Leaf(index: index, entry: entry))
                }
            }
        }
        for (bundle, leaves) in parts {
            bundles.append(contentsOf: try assemble(bundle, leaves.sorted { $0.index < $1.index }))
        }
        return (bundles, gone, taken)
    }

    private static func isOrdered(_ references: [EntryReference]) -> Bool {
        let pairs = zip(references, references.dropFirst())
        return pairs.allSatisfy { $0 < $1 } || pairs.allSatisfy { $1 < $0 }
    }

    /// Leaves of one stored bundle in transfers of a bounded size.
    private func assemble(_ id: Int64, _ wanted: [Bundle.Leaf]) throws -> [Bundle] {
        let head = try head(ofBundle: id)
        let proofs = try proofs(ofBundle: id)
        let tree = try tree(ofBundle: id, count: head.count, proofs)
        var ids: [Int: Bytes32] = [:]
        var blocks: Set<Int> = []
        var failure: (any Error)?
        func hash(_ span: Span) -> Bytes32? {
            if let known = tree[span] ?? proofs[span] { return known }
            guard span.count < BundleTrees.blockCount else { return nil }
            // Never across the end of a block: subtrees begin at multiples of their size.
            let first = span.start / BundleTrees.blockCount * BundleTrees.blockCount
            if failure == nil, blocks.insert(first).inserted {
                do {
                    for leaf in try leaves(ofBundle: id, in: first..<first + BundleTrees.blockCount) {
                        ids[leaf.index] = leaf.id
                    }
                } catch {
                    failure = error
                }
            }
            return ProofSet.hash(span, proofs) { ids[$0] }
        }
        var bundles: [Bundle] = []
        var rest = wanted[...]
        while !rest.isEmpty {
            var bytes = 0
            let part = rest.prefix { leaf in
                let size = leaf.entry.transferSize
                defer { bytes += size }
                return bytes == 0 || bytes + size <= Self.transferBytesMax
            }
            rest = rest.dropFirst(part.count)
            let omitted = MerkleTree.omitted(count: head.count, wanted: part.map(\.index)) { start, count in
                hash(Span(start: start, count: count))
            }
            if let failure { throw failure }
            guard let omitted else { throw StoreError(.corrupt, detail: "a bundle lacks a proof") }
            bundles.append(
                Bundle(
                    author: head.author, count: head.count, signature: head.signature, leaves: Array(part),
                    omitted: omitted))
        }
        return bundles
    }

    /// The hashes of the large subtrees of a bundle, remembered or made of all its leaves.
    private func tree(ofBundle id: Int64, count: Int, _ proofs: [Span: Bytes32]) throws -> [Span: Bytes32] {
        if let known = trees[id] { return known }
        guard count > BundleTrees.blockCount else { return [:] }
        let ids = Dictionary(try leaves(ofBundle: id).map { ($0.index, $0.id) }) { first, _ in first }
        var tree: [Span: Bytes32] = [:]
        func hash(_ span: Span) -> Bytes32? {
            let found: Bytes32?
            if let proof = proofs[span] {
                found = proof
            } else if let (left, right) = span.halves {
                // Both sides: each is wanted for itself.
                let (first, second) = (hash(left), hash(right))
                found = if let first, let second { MerkleTree.node(first, second) } else { nil }
            } else {
                found = ids[span.start].map(MerkleTree.leaf)
            }
            if span.count >= BundleTrees.blockCount, let found { tree[span] = found }
            return found
        }
        _ = hash(Span(start: 0, count: count))
        trees[id] = tree
        return tree
    }
}
