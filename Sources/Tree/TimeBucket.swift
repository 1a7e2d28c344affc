public import Seal

/// A bucket of the digest tree: all entries whose milliseconds share their leading bits.
///
/// Level 0 is everything, 1 is ms>>32 (49.7 days), 2 is >>24 (4.7 hours), 3 is >>16 (65 s), 4 is >>8 (256 ms). The
/// shape is fixed by time, so two nodes compare the same buckets without agreeing on anything.
public struct TimeBucket: Sendable, Hashable {
    public static let levelMax = 4
    /// Levels whose digests a store keeps; the finer one is computed from the time index.
    public static let storedLevelMax = 3
    private static let shifts: [UInt64] = [48, 32, 24, 16, 8]

    /// 0…4.
    public let level: Int
    /// Milliseconds without the low bits of the level.
    public let index: UInt64

    public static let root = TimeBucket(uncheckedLevel: 0, index: 0)

    private init(uncheckedLevel level: Int, index: UInt64) {
        self.level = level
        self.index = index
    }

    /// Nil for a level or an index that does not exist.
    public init?(level: Int, index: UInt64) {
        guard (0...TimeBucket.levelMax).contains(level), index <= HLC.msMax >> TimeBucket.shifts[level] else {
            return nil
        }
        self.init(uncheckedLevel: level, index: index)
    }

    /// The bucket of a level in which a time lies.
    public init(level: Int, containing hlc: HLC) {
        let level = min(max(level, 0), TimeBucket.levelMax)
        self.init(uncheckedLevel: level, index: hlc.ms >> TimeBucket.shifts[level])
    }

    /// The first time in the bucket.
    public var lowerBound: HLC { HLC(ms: index << TimeBucket.shifts[level]) }
    /// The last time in the bucket.
    public var upperBound: HLC {
        HLC(ms: (index << TimeBucket.shifts[level]) | (1 << TimeBucket.shifts[level] - 1), counter: HLC.counterMax)
    }

    public func contains(_ hlc: HLC) -> Bool { hlc.ms >> TimeBucket.shifts[level] == index }

    /// Index of the first bucket directly below this one, whether or not anything is in it.
    public var firstChildIndex: UInt64 {
        let below = min(level + 1, TimeBucket.levelMax)
        return index << (TimeBucket.shifts[level] - TimeBucket.shifts[below])
    }

    /// The bucket directly above; nil for the root.
    public var parent: TimeBucket? {
        guard level > 0 else { return nil }
        let shift = TimeBucket.shifts[level - 1] - TimeBucket.shifts[level]
        return TimeBucket(uncheckedLevel: level - 1, index: index >> shift)
    }

    /// Whether `child` lies directly below this bucket.
    public func isParent(of child: TimeBucket) -> Bool {
        child.level == level + 1
            && child.index >> (TimeBucket.shifts[level] - TimeBucket.shifts[child.level]) == index
    }
}

/// The entries of a bucket in 40 bytes: how many, and the sum of their ids modulo 2^256.
public struct BucketDigest: Sendable, Hashable {
    public var count: Int
    public var sum: Bytes32

    public static let empty = BucketDigest(count: 0, sum: .zero)

    public init(count: Int, sum: Bytes32) {
        self.count = count
        self.sum = sum
    }

    public mutating func add(_ id: Bytes32) {
        count += 1
        sum = sum &+ id
    }

    public mutating func remove(_ id: Bytes32) {
        count -= 1
        sum = sum &- id
    }

    public var isEmpty: Bool { count == 0 }

    /// 16 hexadecimal digits of count and 64 of sum: equal for two nodes that hold the same entries.
    public var hex: String {
        let digits = String(UInt64(clamping: count), radix: 16)
        return String(repeating: "0", count: max(0, 16 - digits.count)) + digits + sum.hex
    }
}
