public import Seal
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

    public func references(in range: ReferenceRange, newest limit: Int) -> [EntryReference] {
        newest(limit, in: range).map(\.entry.reference)
    }

    public func references(in range: ReferenceRange, oldest limit: Int) -> [EntryReference] {
        timed[indices(of: range)].prefix(max(0, limit)).map(\.entry.reference)
    }

    public func ids(in range: ReferenceRange, newest limit: Int) -> [(hlc: HLC, id: Bytes32)] {
        newest(limit, in: range).map { ($0.entry.hlc, $0.entry.id) }
    }

    private func newest(_ limit: Int, in range: ReferenceRange) -> some Sequence<Item> {
        timed[indices(of: range)].suffix(max(0, limit)).reversed()
    }

    private func indices(of range: ReferenceRange) -> Range<Int> {
        let first = timeIndex(range.after) + items(range.after).count
        let end = timeIndex(range.through) + items(range.through).count
        return first..<max(first, end)
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
