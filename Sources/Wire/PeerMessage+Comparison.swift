internal import CBOR
public import Seal
public import Tree

/// What one side has in a bucket.
public struct BucketSummary: Sendable, Hashable {
    /// Index of the bucket on its level.
    public let index: UInt64
    public let digest: DigestPrefix
    /// All its children that are not empty, or none: whether they differ only the asker can tell.
    public let children: [BucketSummary]

    public init(index: UInt64, digest: DigestPrefix, children: [BucketSummary] = []) {
        self.index = index
        self.digest = digest
        self.children = children
    }
}

/// Asks for what is missing in a range by naming in four bytes each what is there.
public struct Sift: Sendable, Hashable {
    public let range: ReferenceRange
    public let salt: Salt
    /// Bytes of entries that the asker takes.
    public let bytesMax: Int
    /// Fingerprints of what the asker has in the range, ascending.
    public let known: [UInt32]

    public init(range: ReferenceRange, salt: Salt, bytesMax: Int, known: [UInt32]) {
        self.range = range
        self.salt = salt
        self.bytesMax = bytesMax
        self.known = known
    }
}

/// Mixed into fingerprints. Drawn anew for each comparison: two ids with one fingerprint have two the next time.
public enum Salt: Sendable, Hashable {
    case quick(UInt64)
    /// For what nobody must be able to forge, at the price of a hash for each id.
    case keyed(Bytes32)
}

/// Asks for the last children of a path and everything below them.
public struct Tail: Sendable, Hashable {
    public let path: Path
    /// Children that are wanted, 1…``PeerMessage/tailMax``.
    public let count: Int
    public let salt: UInt64
    /// Fingerprints of what the asker has there, ascending.
    public let known: [UInt32]

    public init(path: Path, count: Int, salt: UInt64, known: [UInt32]) {
        self.path = path
        self.count = count
        self.salt = salt
        self.known = known
    }
}

/// An entry of a range in four bytes.
public enum Fingerprint {
    /// A mixture of salt and id, so that nobody can prepare two entries of which one hides the other.
    public static func of(_ reference: EntryReference, salt: UInt64) -> UInt32 {
        var mixed = reference.idPrefix ^ salt
        mixed = (mixed ^ (mixed >> 32)) &* 0xD6E8_FEB8_6659_FD93
        mixed = (mixed ^ (mixed >> 32)) &* 0xD6E8_FEB8_6659_FD93
        return UInt32(truncatingIfNeeded: mixed >> 32)
    }

    public static func of(_ id: Bytes32, key: [UInt8]) -> UInt32 {
        UInt32(truncatingIfNeeded: BLAKE2b.hash(id.bytes, key: key).prefix64 >> 32)
    }

    /// Ascending, as messages carry them.
    public static func of(_ references: [EntryReference], salt: UInt64) -> [UInt32] {
        references.map { of($0, salt: salt) }.sorted()
    }

    /// Whether ascending fingerprints contain one.
    public static func contains(_ known: [UInt32], _ fingerprint: UInt32) -> Bool {
        var (low, high) = (0, known.count)
        while low < high {
            let middle = (low + high) / 2
            if known[middle] < fingerprint { low = middle + 1 } else { high = middle }
        }
        return low < known.count && known[low] == fingerprint
    }
}

extension CBORWriter {
    /// Indices count from the first child of the bucket above, so that they take a byte or two.
    mutating func summaries(_ list: [BucketSummary], below bucket: TimeBucket) {
        let first = bucket.firstChildIndex
        array(list.count)
        for summary in list {
            array(4)
            unsigned(summary.index &- first)
            unsigned(UInt64(clamping: summary.digest.count))
            unsigned(summary.digest.sum)
            guard let child = TimeBucket(level: bucket.level + 1, index: summary.index) else {
                array(0)
                continue
            }
            summaries(summary.children, below: child)
        }
    }

    /// A number, or 32 bytes.
    mutating func salt(_ salt: Salt) {
        switch salt {
        case .quick(let number): unsigned(number)
        case .keyed(let key): byteString(key.bytes)
        }
    }

    mutating func fingerprints(_ list: [UInt32]) {
        var packed: [UInt8] = []
        packed.reserveCapacity(list.count * 4)
        for fingerprint in list {
            for shift in [24, 16, 8, 0] as [UInt32] { packed.append(UInt8(truncatingIfNeeded: fingerprint >> shift)) }
        }
        byteString(packed)
    }

    mutating func path(_ path: Path) {
        array(path.depth)
        for key in path.keys { text(key.text) }
    }
}

extension CBORReader {
    /// - `left`: summaries that may still follow in the message.
    mutating func summaries(below bucket: TimeBucket, left: inout Int) throws -> [BucketSummary] {
        let count = try array()
        guard count <= left else { throw WireError.tooMany }
        left -= count
        var list: [BucketSummary] = []
        for _ in 0..<count {
            try array(of: 4)
            let (index, overflows) = bucket.firstChildIndex.addingReportingOverflow(try unsigned())
            guard !overflows, let child = TimeBucket(level: bucket.level + 1, index: index), bucket.isParent(of: child)
            else { throw WireError.malformed }
            let digest = DigestPrefix(count: try self.count(max: 1 << 40), sum: try unsigned())
            let children = try summaries(below: child, left: &left)
            guard list.last.map({ $0.index < index }) ?? true else { throw WireError.malformed }
            list.append(BucketSummary(index: index, digest: digest, children: children))
        }
        return list
    }

    mutating func salt() throws -> Salt {
        guard try peekType() == .bytes else { return .quick(try unsigned()) }
        guard let key = Bytes32(try byteString()) else { throw WireError.malformed }
        return .keyed(key)
    }

    mutating func fingerprints() throws -> [UInt32] {
        let packed = try byteString()
        guard packed.count % 4 == 0 else { throw WireError.malformed }
        guard packed.count / 4 <= PeerMessage.fingerprintsMax else { throw WireError.tooMany }
        var list: [UInt32] = []
        list.reserveCapacity(packed.count / 4)
        var value: UInt32 = 0
        for (offset, byte) in packed.enumerated() {
            value = value << 8 | UInt32(byte)
            if offset % 4 == 3 {
                guard list.last.map({ $0 <= value }) ?? true else { throw WireError.malformed }
                list.append(value)
            }
        }
        return list
    }

    mutating func path() throws -> Path {
        let depth = try array()
        guard depth <= Path.depthMax else { throw WireError.malformed }
        var keys: [Key] = []
        for _ in 0..<depth {
            guard let key = Key(try text()) else { throw WireError.malformed }
            keys.append(key)
        }
        guard let path = Path(keys) else { throw WireError.malformed }
        return path
    }
}
