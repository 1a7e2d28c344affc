internal import Seal
internal import Tree

extension Merger {
    /// What a transaction changes of a stored bundle.
    struct TouchedBundle {
        let stored: [Span: Bytes32]
        var proofs: ProofSet
        /// Nothing of it was here before.
        let isNew: Bool
        /// Hashes that came with transfers, also those of leaves that were not stored.
        var gained: [Span: Bytes32] = [:]
        /// Leaves that have come.
        var came: [Int] = []
        /// Of those that were here, the ids of the leaves that have died.
        var died: [(leaf: Int, id: Bytes32)] = []
    }

    /// Makes entries that are signed singly leaves of a bundle: those of its stamps that a slice names.
    mutating func adopt(_ head: BundleHead, _ stamps: [Stamp], _ slice: Range<Int>) throws {
        var stored: Int64?
        for index in slice.clamped(to: stamps.indices) {
            guard let record = try storage.record(stamps[index]), record.bundle == nil else { continue }
            let id = try stored ?? open(head)
            stored = id
            touched[id]?.came.append(index)
            try storage.move(record, toBundle: id, leaf: index)
        }
        guard let stored else { return }
        for (index, stamp) in stamps.enumerated() {
            touched[stored]?.gained[Span(start: index, count: 1)] = MerkleTree.leaf(stamp.id)
        }
    }

    /// The row of a bundle, made where there is none.
    mutating func open(_ head: BundleHead) throws -> Int64 {
        if let id = try storage.bundle(like: head) {
            try touch(id)
            return id
        }
        let id = try storage.addBundle(head)
        touched[id] = TouchedBundle(stored: [:], proofs: ProofSet(count: head.count, hashes: [:]), isNew: true)
        return id
    }

    mutating func touch(_ bundle: Int64) throws {
        guard touched[bundle] == nil else { return }
        let stored = try storage.proofs(ofBundle: bundle)
        let count = try storage.head(ofBundle: bundle).count
        touched[bundle] = TouchedBundle(
            stored: stored, proofs: ProofSet(count: count, hashes: stored), isNew: false)
    }
}
