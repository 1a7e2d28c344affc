internal import Seal
public import Tree

extension MemoryStore {
    public func digest(of bucket: TimeBucket) -> BucketDigest {
        guard bucket.level > TimeBucket.storedLevelMax else { return digests[bucket] ?? .empty }
        var digest = BucketDigest.empty
        for item in timed[timeRange(bucket)] { digest.add(item.entry.id) }
        return digest
    }

    public func children(of bucket: TimeBucket) -> [(bucket: TimeBucket, digest: BucketDigest)] {
        guard bucket.level < TimeBucket.levelMax else { return [] }
        var children: [(bucket: TimeBucket, digest: BucketDigest)] = []
        var index = timeIndex(bucket.lowerBound, .zero)
        let end = timeRange(bucket).upperBound
        while index < end {
            let child = TimeBucket(level: bucket.level + 1, containing: timed[index].entry.hlc)
            children.append((child, digest(of: child)))
            index = timeIndex(after: child.upperBound)
        }
        return children
    }

    public func references(in bucket: TimeBucket, after: EntryReference?, limit: Int) -> [EntryReference] {
        var range = timeRange(bucket)
        if let after, after.hlc >= bucket.lowerBound {
            let first = timeIndex(after) + items(after).count
            range = min(first, range.upperBound)..<range.upperBound
        }
        return timed[range].prefix(max(0, limit)).map(\.entry.reference)
    }

    public func contains(_ reference: EntryReference) -> Bool { !items(reference).isEmpty }

    public func bundles(
        for references: [EntryReference], bytesMax: Int
    ) throws -> (bundles: [Bundle], gone: [EntryReference], taken: Int) {
        try assemble(references, bytesMax: bytesMax)
    }

    public func keyedDigest(nonce: [UInt8], of bucket: TimeBucket) throws -> BucketDigest {
        guard nonce.count <= Self.nonceBytesMax else { throw StoreError(.other, detail: "the nonce is too long") }
        var digest = BucketDigest.empty
        for item in timed[timeRange(bucket)] { digest.add(BLAKE2b.hash(item.entry.id.bytes, key: nonce)) }
        return digest
    }

    /// The entries that a reference names.
    func items(_ reference: EntryReference) -> ArraySlice<Item> {
        timed[timeIndex(reference)...].prefix { $0.entry.reference == reference }
    }
}
