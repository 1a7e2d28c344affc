internal import Seal
internal import Tree

extension DatabaseStore: Tables {
    // MARK: Entries

    func live(at path: PathKey) throws -> Record? {
        try unlessVacant(path) {
            guard let stored = try stored(path) else { return nil }
            return try statements.recordAtPath.first(.blob(stored)) { try record($0, path) }
        }
    }

    func live(from lower: PathKey, to upper: PathKey, limit: Int) throws -> [Record] {
        try all(statements.recordsBelow, from: lower, to: upper, limit: limit) { try record($0) }
    }

    /// The record of a row that begins with the statements' record columns.
    func record(_ row: borrowing Row, _ path: PathKey? = nil) throws -> Record {
        let bundle = try bundle(of: row, 6)
        return Record(
            row: row.integer(0), path: try path ?? self.path(row.blob(1)), stamp: try stamp(row), bundle: bundle,
            arrival: row.isNull(8) ? nil : row.integer(8), size: try size(of: row, 9))
    }

    func stamp(_ row: borrowing Row) throws -> Stamp {
        Stamp(hlc: try hlc(row.integer(2)), author: try author(row.integer(3)), id: try row.id(4))
    }

    /// From the columns of ``Schema/talliedColumns`` on.
    func size(of row: borrowing Row, _ column: Int32) throws -> Record.Size {
        Record.Size(
            isHeld: row.integer(column) != 0, valueBytes: try row.count(column + 1),
            isTombstone: row.integer(column + 2) != 0)
    }

    private func bundle(of row: borrowing Row, _ column: Int32) throws -> (id: Int64, leaf: Int)? {
        row.isNull(column) ? nil : (row.integer(column), try row.count(column + 1))
    }

    func contains(_ stamp: Stamp) throws -> Bool {
        try statements.containsEntry.first(
            column(stamp.hlc), .prefix(stamp.id.prefix64), .hashRest(stamp.id)
        ) { _ in true } ?? false
    }

    func remember(_ entry: Entry) { recent.insert(entry) }
    var rememberedOfBundle: Int { recent.ofBundle }

    func insert(_ entry: Entry, path: PathKey, held: Bool, proof: Proof) throws -> Int {
        if !held { occupy(path) }
        let bundle: SQLValue
        let leaf: SQLValue
        let signature: SQLValue
        switch proof {
        case .single(let single): (bundle, leaf, signature) = (.null, .null, .blob(single.bytes))
        case .leaf(let id, let index): (bundle, leaf, signature) = (.integer(id), .integer(index), .null)
        }
        lastChange += 1
        let stored = try storedAnew(path)
        let message = held ? nil : message(entry, path, stored)
        let value = StoredValue.bytes(of: entry)
        try statements.insertEntry.run(
            .integer(lastChange), .blob(stored), column(entry.hlc),
            .integer(try number(ofAuthor: entry.author)), .prefix(entry.id.prefix64), .hashRest(entry.id),
            .integer(Int64(bitPattern: entry.kind)), .integer(held ? 1 : 0), bundle, leaf,
            message.map { .integer($0.container) } ?? .null, message.map { .integer($0.arrival) } ?? .null, signature,
            .slice(value))
        return value.count
    }

    /// The container and arrival number of an entry that becomes live with the row given out last, if it is a message.
    private func message(
        _ entry: Entry, _ path: PathKey, _ stored: [UInt8]
    ) -> (container: Int64, arrival: Int64)? {
        let carried = carried
        self.carried = nil
        guard let container = StoredPaths.number(stored), MessagePlace.isMessage(entry) else { return nil }
        guard let carried, carried.path == path else { return (container, lastChange) }
        return (container, carried.arrival)
    }

    func remove(_ record: Record, isReplaced: Bool) throws {
        if isReplaced, let arrival = record.arrival { carried = (record.path, arrival) }
        forget(record.path)
        try rememberWords(of: record)
        try statements.deleteEntry.run(.integer(record.row))
    }

    func held(notAfter limit: HLC, count: Int) throws -> [(record: Record, entry: Entry)] {
        let held = try statements.heldEntries.all(column(limit), .integer(count)) { row in
            let entry = try entry(row)
            let bundle = try bundle(of: row, 8)
            return (
                record: Record(
                    row: row.integer(0), path: try path(row.blob(1)), stamp: entry.stamp, bundle: bundle, arrival: nil,
                    size: try size(of: row, 10)),
                entry: entry
            )
        }
        // Authors are numbered in the order of their arrival here, so the index cannot hold stamp order.
        return held.sorted { $0.record.stamp < $1.record.stamp }
    }

    func makeLive(_ record: Record, _ entry: Entry) throws {
        occupy(record.path)
        // A new row, as if it had just arrived: whoever follows the rows has passed the old one.
        lastChange += 1
        let message = message(entry, record.path, try storedAnew(record.path))
        try statements.makeLive.run(
            .integer(lastChange), message.map { .integer($0.container) } ?? .null,
            message.map { .integer($0.arrival) } ?? .null, .integer(record.row))
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
        trees[id] = nil
        try statements.deleteProofs.run(.integer(id))
        try statements.deleteBundle.run(.integer(id))
    }

    func leaves(ofBundle id: Int64) throws -> [(index: Int, id: Bytes32)] {
        try statements.bundleLeaves.all(.integer(id)) { (index: try $0.count(0), id: try $0.id(1)) }
    }

    func leaves(ofBundle id: Int64, in range: Range<Int>) throws -> [(index: Int, id: Bytes32)] {
        try statements.bundleLeavesInRange.all(
            .integer(id), .integer(range.lowerBound), .integer(range.upperBound)
        ) { (index: try $0.count(0), id: try $0.id(1)) }
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

    func setSweep(_ sweep: Sweep) throws {
        dead?.set(sweep)
        let killer = try sweep.killer.map { SQLValue.integer(try number(ofAuthor: $0.author)) } ?? .null
        try sweeps.set.run(
            .blob(sweep.path.bytes), .blob(sweep.next.bytes), killer, sweep.killer.map { column($0.hlc) } ?? .null)
    }

    func firstSweep() throws -> Sweep? { try sweeps.first.first { try sweep($0) } }

    func sweep(at path: PathKey) throws -> Sweep? {
        try sweeps.atPath.first(.blob(path.bytes)) { try sweep($0) }
    }

    func sweep(_ row: borrowing Row) throws -> Sweep {
        let isUnknown = row.isNull(2) || row.isNull(3)
        let killer = isUnknown ? nil : Killer(author: try author(row.integer(2)), hlc: try hlc(row.integer(3)))
        return Sweep(path: PathKey(bytes: row.blob(0)), next: PathKey(bytes: row.blob(1)), killer: killer)
    }

    func removeSweep(_ path: PathKey) throws {
        dead?.remove(path)
        try sweeps.delete.run(.blob(path.bytes))
    }

    // MARK: Stored entries

    func stored(_ reference: EntryReference) throws -> [(entry: Entry, proof: Proof)] {
        try statements.storedEntry.all(column(reference.hlc), .prefix(reference.idPrefix)) { row in
            let entry = try entry(row)
            if let (id, leaf) = try bundle(of: row, 8) { return (entry, .leaf(bundle: id, index: leaf)) }
            return (entry, .single(try row.signature(10)))
        }
    }
}
