internal import CBOR
internal import Seal
internal import Tree

extension DatabaseStore: Tables {
    // MARK: Entries

    func live(at path: PathKey) throws -> Record? {
        try unlessVacant(path) {
            try statements.recordAtPath.first(.blob(path.bytes)) { row in
                let bundle = try bundle(of: row, 5)
                return Record(row: row.integer(0), path: path, stamp: try stamp(row), bundle: bundle)
            }
        }
    }

    func live(from lower: PathKey, to upper: PathKey, limit: Int) throws -> [Record] {
        try statements.recordsBelow.all(.blob(lower.bytes), .blob(upper.bytes), .integer(limit)) { row in
            let bundle = try bundle(of: row, 5)
            return Record(row: row.integer(0), path: PathKey(bytes: row.blob(1)), stamp: try stamp(row), bundle: bundle)
        }
    }

    private func stamp(_ row: borrowing Row) throws -> Stamp {
        Stamp(hlc: try hlc(row.integer(2)), author: try author(row.integer(3)), id: try row.bytes32(4))
    }

    private func bundle(of row: borrowing Row, _ column: Int32) throws -> (id: Int64, leaf: Int)? {
        row.isNull(column) ? nil : (row.integer(column), try row.count(column + 1))
    }

    func contains(_ stamp: Stamp) throws -> Bool {
        try statements.containsEntry.first(column(stamp.hlc), .bytes(stamp.id)) { _ in true } ?? false
    }

    func insert(_ entry: Entry, path: PathKey, held: Bool, proof: Proof) throws {
        if !held { occupy(path) }
        var writer = CBORWriter(reserving: entry.encoded.count)
        entry.value.encode(to: &writer)
        let bundle: SQLValue
        let leaf: SQLValue
        let signature: SQLValue
        switch proof {
        case .single(let single): (bundle, leaf, signature) = (.null, .null, .blob(single.bytes))
        case .leaf(let id, let index): (bundle, leaf, signature) = (.integer(id), .integer(index), .null)
        }
        try statements.insertEntry.run(
            .blob(path.bytes), column(entry.hlc), .integer(try number(ofAuthor: entry.author)), .bytes(entry.id),
            .integer(Int64(bitPattern: entry.kind)), .integer(held ? 1 : 0), bundle, leaf, signature,
            .blob(writer.bytes))
    }

    func remove(_ record: Record) throws { try statements.deleteEntry.run(.integer(record.row)) }

    func held(notAfter limit: HLC, count: Int) throws -> [(record: Record, entry: Entry)] {
        let held = try statements.heldEntries.all(column(limit), .integer(count)) { row in
            let entry = try entry(row)
            let bundle = try bundle(of: row, 7)
            let path = PathKey(bytes: row.blob(1))
            return (
                record: Record(row: row.integer(0), path: path, stamp: entry.stamp, bundle: bundle), entry: entry
            )
        }
        // Authors are numbered in the order of their arrival here, so the index cannot hold stamp order.
        return held.sorted { $0.record.stamp < $1.record.stamp }
    }

    func makeLive(_ record: Record) throws {
        occupy(record.path)
        try statements.makeLive.run(.integer(record.row))
    }

    // MARK: Digests

    func change(_ bucket: TimeBucket, by change: DigestChange) throws {
        let level = SQLValue.integer(bucket.level)
        let index = SQLValue.integer(Int64(bitPattern: bucket.index))
        let before = try digest(of: bucket)
        let count = before.count + change.count
        let sum = before.sum &+ change.sum
        digests[bucket] = nil
        if count > 0 {
            try statements.setDigest.run(level, index, .integer(count), .bytes(sum))
            if digests.count >= Self.cachedDigestsMax { digests = [:] }
            digests[bucket] = BucketDigest(count: count, sum: sum)
        } else {
            try statements.deleteDigest.run(level, index)
        }
    }

    // MARK: Bundles

    func bundle(like head: BundleHead) throws -> Int64? {
        guard let author = try knownAuthor(head.author) else { return nil }
        return try statements.bundleID.first(.bytes(head.root), .integer(author), .integer(head.count)) {
            $0.integer(0)
        }
    }

    func addBundle(_ head: BundleHead) throws -> Int64 {
        let author = SQLValue.integer(try number(ofAuthor: head.author))
        let id = try statements.addBundle.first(
            .bytes(head.root), author, .integer(head.count), .blob(head.signature.bytes)
        ) { $0.integer(0) }
        guard let id else { throw StoreError(.other, detail: "a bundle got no number") }
        return id
    }

    func head(ofBundle id: Int64) throws -> BundleHead {
        let head = try statements.bundleHead.first(.integer(id)) { row in
            BundleHead(
                root: try row.bytes32(0), author: try author(row.integer(1)), count: try row.count(2),
                signature: try row.signature(3))
        }
        guard let head else { throw StoreError(.corrupt, detail: "a bundle is missing") }
        return head
    }

    func removeBundle(_ id: Int64) throws {
        try statements.deleteProofs.run(.integer(id))
        try statements.deleteBundle.run(.integer(id))
    }

    func leaves(ofBundle id: Int64) throws -> [(index: Int, id: Bytes32)] {
        try statements.bundleLeaves.all(.integer(id)) { (index: try $0.count(0), id: try $0.bytes32(1)) }
    }

    func hasLeaves(bundle id: Int64) throws -> Bool {
        try statements.hasLeaves.first(.integer(id)) { _ in true } ?? false
    }

    func proofs(ofBundle id: Int64) throws -> [Span: Bytes32] {
        var proofs: [Span: Bytes32] = [:]
        try statements.proofs.each([.integer(id)]) { row in
            proofs[Span(start: try row.count(0), count: try row.count(1))] = try row.bytes32(2)
            return true
        }
        return proofs
    }

    func replaceProofs(ofBundle id: Int64, _ old: [Span: Bytes32], by new: [Span: Bytes32]) throws {
        for span in old.keys where new[span] == nil {
            try statements.deleteProof.run(.integer(id), .integer(span.start), .integer(span.count))
        }
        for (span, hash) in new where old[span] == nil {
            try statements.setProof.run(.integer(id), .integer(span.start), .integer(span.count), .bytes(hash))
        }
    }

    // MARK: Sweeps

    func setSweep(_ path: PathKey, next: PathKey) throws {
        try statements.setSweep.run(.blob(path.bytes), .blob(next.bytes))
    }

    func firstSweep() throws -> (path: PathKey, next: PathKey)? {
        try statements.firstSweep.first { (path: PathKey(bytes: $0.blob(0)), next: PathKey(bytes: $0.blob(1))) }
    }

    func removeSweep(_ path: PathKey) throws { try statements.deleteSweep.run(.blob(path.bytes)) }

    // MARK: Stored entries

    func stored(_ reference: EntryReference) throws -> [(entry: Entry, proof: Proof)] {
        let (lower, upper) = idRange(reference)
        return try statements.storedEntry.all(column(reference.hlc), lower, upper) { row in
            let entry = try entry(row)
            if let (id, leaf) = try bundle(of: row, 7) { return (entry, .leaf(bundle: id, index: leaf)) }
            return (entry, .single(try row.signature(9)))
        }
    }

    /// All ids that begin with the eight bytes of a reference.
    func idRange(_ reference: EntryReference) -> (lower: SQLValue, upper: SQLValue) {
        let prefix = stride(from: UInt64(56), through: 0, by: -8).map { shift in
            UInt8(truncatingIfNeeded: reference.idPrefix >> shift)
        }
        return (.blob(prefix), .blob(prefix + [UInt8](repeating: 0xFF, count: 24)))
    }
}
