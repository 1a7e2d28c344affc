internal import Seal
internal import Tree

extension Tables {
    /// Values one bundle of a transfer carries, unless a single entry is larger: a frame stays small, and what is lost
    /// with a link is little.
    static var transferBytesMax: Int { 64 << 10 }

    /// Bytes that reading one leaf of a bundle for its proofs counts as.
    private static var leafBytes: Int { 32 }

    /// The named entries as signed bundles with their proofs, and the references that are not here, until entries and
    /// the bundles that have to be read for their proofs make `bytesMax`.
    func assemble(
        _ references: [EntryReference], bytesMax: Int
    ) throws -> (bundles: [Bundle], gone: [EntryReference], taken: Int) {
        var bundles: [Bundle] = []
        var gone: [EntryReference] = []
        var leaves: [Int64: [Int: Bundle.Leaf]] = [:]
        var order: [Int64] = []
        var seen: Set<EntryReference> = []
        var bytes = 0
        var taken = 0
        for reference in references {
            guard bytes < bytesMax || taken == 0 else { break }
            taken += 1
            guard seen.insert(reference).inserted else { continue }
            let stored = try stored(reference)
            if stored.isEmpty { gone.append(reference) }
            for (entry, proof) in stored {
                bytes += entry.encoded.count
                switch proof {
                case .single(let signature):
                    let leaf = Bundle.Leaf(index: 0, entry: entry)
                    bundles.append(
                        Bundle(author: entry.author, count: 1, signature: signature, leaves: [leaf], omitted: []))
                case .leaf(let bundle, let index):
                    if leaves[bundle] == nil {
                        order.append(bundle)
                        bytes += try head(ofBundle: bundle).count * Self.leafBytes
                    }
                    leaves[bundle, default: [:]][index] = Bundle.Leaf(index: index, entry: entry)
                }
            }
        }
        for id in order {
            let wanted = (leaves[id] ?? [:]).values.sorted { $0.index < $1.index }
            bundles.append(contentsOf: try assemble(id, wanted))
        }
        return (bundles, gone, taken)
    }

    /// Leaves of one stored bundle in transfers of a bounded size.
    private func assemble(_ id: Int64, _ wanted: [Bundle.Leaf]) throws -> [Bundle] {
        let head = try head(ofBundle: id)
        let proofs = try proofs(ofBundle: id)
        let ids = Dictionary(try leaves(ofBundle: id).map { ($0.index, $0.id) }) { first, _ in first }
        var bundles: [Bundle] = []
        var rest = wanted[...]
        while !rest.isEmpty {
            var bytes = 0
            let part = rest.prefix { leaf in
                defer { bytes += leaf.entry.encoded.count }
                return bytes == 0 || bytes + leaf.entry.encoded.count <= Self.transferBytesMax
            }
            rest = rest.dropFirst(part.count)
            let omitted = MerkleTree.omitted(count: head.count, wanted: part.map(\.index)) { start, count in
                ProofSet.hash(Span(start: start, count: count), proofs) { ids[$0] }
            }
            guard let omitted else { throw StoreError(.corrupt, detail: "a bundle lacks a proof") }
            bundles.append(
                Bundle(
                    author: head.author, count: head.count, signature: head.signature, leaves: Array(part),
                    omitted: omitted))
        }
        return bundles
    }
}
