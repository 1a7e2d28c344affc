public import Seal
public import Tree

extension DatabaseStore {
    public func digest(of bucket: TimeBucket) throws -> BucketDigest {
        guard bucket.level <= TimeBucket.storedLevelMax else { return try sum(bucket) { $0 } }
        if let known = digests[bucket] { return known }
        let index = SQLValue.integer(Int64(bitPattern: bucket.index))
        return try statements.digest.first(.integer(bucket.level), index) { row in
            BucketDigest(count: try row.count(0), sum: try row.bytes32(1))
        } ?? .empty
    }

    public func children(of bucket: TimeBucket) throws -> [(bucket: TimeBucket, digest: BucketDigest)] {
        guard bucket.level < TimeBucket.levelMax else { return [] }
        let level = bucket.level + 1
        if level > TimeBucket.storedLevelMax {
            var children: [(bucket: TimeBucket, digest: BucketDigest)] = []
            try ids(in: bucket) { hlc, id in
                let child = TimeBucket(level: level, containing: hlc)
                if children.last?.bucket != child { children.append((child, .empty)) }
                children[children.count - 1].digest.add(id)
            }
            return children
        }
        let lower = TimeBucket(level: level, containing: bucket.lowerBound).index
        let upper = TimeBucket(level: level, containing: bucket.upperBound).index
        return try statements.digests.all(
            .integer(level), .integer(Int64(bitPattern: lower)), .integer(Int64(bitPattern: upper))
        ) { row in
            guard let child = TimeBucket(level: level, index: UInt64(bitPattern: row.integer(0))) else {
                throw StoreError(.corrupt, detail: "no bucket")
            }
            return (child, BucketDigest(count: try row.count(1), sum: try row.bytes32(2)))
        }
    }

    public func references(in range: ReferenceRange, newest limit: Int) throws -> [EntryReference] {
        try each(statements.references, in: range, limit) { row in
            EntryReference(hlc: try hlc(row.integer(0)), idPrefix: row.prefix64(1))
        }
    }

    public func references(in range: ReferenceRange, oldest limit: Int) throws -> [EntryReference] {
        try each(statements.oldestReferences, in: range, limit) { row in
            EntryReference(hlc: try hlc(row.integer(0)), idPrefix: row.prefix64(1))
        }
    }

    public func ids(in range: ReferenceRange, newest limit: Int) throws -> [(hlc: HLC, id: Bytes32)] {
        try each(statements.ids, in: range, limit) { row in (try hlc(row.integer(0)), try row.id(1)) }
    }

    private func each<Item>(
        _ statement: Statement, in range: ReferenceRange, _ limit: Int, _ read: (borrowing Row) throws -> Item
    ) throws -> [Item] {
        guard limit > 0, !range.isEmpty else { return [] }
        return try statement.all(
            column(range.after.hlc), .prefix(range.after.idPrefix), column(range.through.hlc),
            .prefix(range.through.idPrefix), .integer(limit), read: read)
    }

    public func contains(_ reference: EntryReference) throws -> Bool {
        try statements.containsReference.first(column(reference.hlc), .prefix(reference.idPrefix)) { _ in true }
            ?? false
    }

    public func bundles(
        for references: [EntryReference], bytesMax: Int
    ) throws -> (bundles: [Bundle], gone: [EntryReference], taken: Int) {
        try assemble(references, bytesMax: bytesMax)
    }

    public func keyedDigest(nonce: [UInt8], of bucket: TimeBucket) throws -> BucketDigest {
        guard nonce.count <= Self.nonceBytesMax else { throw StoreError(.other, detail: "the nonce is too long") }
        return try sum(bucket) { BLAKE2b.hash($0.bytes, key: nonce) }
    }

    private func sum(_ bucket: TimeBucket, _ transform: (Bytes32) -> Bytes32) throws -> BucketDigest {
        var digest = BucketDigest.empty
        try ids(in: bucket) { digest.add(transform($1)) }
        return digest
    }

    private func ids(in bucket: TimeBucket, _ body: (HLC, Bytes32) throws -> Void) throws {
        try statements.idsInRange.each([column(bucket.lowerBound), column(bucket.upperBound)]) { row in
            try body(hlc(row.integer(0)), row.id(1))
            return true
        }
    }
}
