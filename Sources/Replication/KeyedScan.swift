internal import Seal
internal import Tree
internal import Wire

/// Adds up BLAKE2b(key: key, id) for each child of a bucket, a slice at a time: a scan of a million entries takes more
/// than a second, and nobody shall wait that long.
struct KeyedScan: Sendable {
    let bucket: TimeBucket
    private let key: [UInt8]
    private var through: EntryReference
    private var sums: [UInt64: BucketDigest] = [:]
    private(set) var isDone = false

    init(_ bucket: TimeBucket, key: Bytes32) {
        self.bucket = bucket
        self.key = key.bytes
        through = ReferenceRange(bucket).through
    }

    /// Looks at up to so many entries more.
    mutating func advance(_ limit: Int, _ replica: any ReplicaReader) throws {
        guard !isDone else { return }
        let range = ReferenceRange(after: ReferenceRange(bucket).after, through: through)
        var page = try replica.ids(in: range, newest: limit)
        if page.count < limit {
            isDone = true
        } else if let last = page.last.map({ EntryReference(hlc: $0.hlc, idPrefix: $0.id.prefix64) }) {
            // What has the same reference as the last one may go on behind the page: it comes with the next.
            let end = page.firstIndex { EntryReference(hlc: $0.hlc, idPrefix: $0.id.prefix64) == last } ?? 0
            if end > 0 { page.removeSubrange(end...) }
            through = end > 0 ? last : last.predecessor
        }
        for (hlc, id) in page {
            let child = TimeBucket(level: bucket.level + 1, containing: hlc)
            sums[child.index, default: .empty].add(BLAKE2b.hash(id.bytes, key: key))
        }
    }

    /// The children that are not empty, oldest first.
    var summaries: [BucketSummary] {
        sums.keys.sorted().compactMap { index in
            sums[index].map { BucketSummary(index: index, digest: DigestPrefix($0)) }
        }
    }
}

/// A comparison by sums of ids hashed with a key that both sides drew: nobody can have prepared entries for it.
struct KeyedComparison: Sendable {
    /// A bucket that differs and has no more entries than this on either side is mended whole.
    static let mendMax = Reconciler.siftMax
    /// Children that a bucket can have: those of the root are 16 bits of the time.
    static let childrenMax = 1 << 16

    let nonce: [UInt8]
    private(set) var key: Bytes32?
    private var buckets: [TimeBucket] = []
    private(set) var bucket: TimeBucket?
    var scan: KeyedScan?
    private var answer: [BucketSummary] = []
    private var isAnswered = false
    private(set) var mends: [(bucket: TimeBucket, ours: Int, theirs: Int)] = []
    private(set) var outcome = KeyedOutcome()

    init(nonce: [UInt8]) { self.nonce = nonce }

    /// Takes the peer's nonce, once.
    mutating func begin(answer: [UInt8]) {
        guard key == nil, let key = Bytes32(nonce + answer) else { return }
        self.key = key
        buckets = [.root]
    }

    /// What to ask for and to scan next; nil if it waits or has ended.
    mutating func next() -> (key: Bytes32, bucket: TimeBucket)? {
        guard bucket == nil, let key, let next = buckets.popLast() else { return nil }
        bucket = next
        scan = KeyedScan(next, key: key)
        return (key, next)
    }

    var isDone: Bool { key != nil && bucket == nil && buckets.isEmpty }

    mutating func take(_ bucket: TimeBucket, _ summaries: [BucketSummary]) {
        guard bucket == self.bucket, !isAnswered else { return }
        answer += summaries
        // The root has more children than one message carries. No bucket has more than this.
        isAnswered = summaries.count < PeerMessage.summariesMax || answer.count > KeyedComparison.childrenMax
    }

    /// Compares, once both sides have been added up; true if it did.
    mutating func compare() -> Bool {
        guard let bucket, isAnswered, let scan, scan.isDone else { return false }
        var own: [UInt64: DigestPrefix] = [:]
        for summary in scan.summaries { own[summary.index] = summary.digest }
        if bucket == .root {
            outcome.ours = own.values.reduce(0) { $0 + $1.count }
            outcome.theirs = answer.reduce(0) { $0 &+ $1.digest.count }
        }
        for theirs in answer {
            let ours = own.removeValue(forKey: theirs.index) ?? DigestPrefix(count: 0, sum: 0)
            guard ours != theirs.digest, let child = TimeBucket(level: bucket.level + 1, index: theirs.index) else {
                continue
            }
            outcome.isEqual = false
            if child.level == TimeBucket.levelMax || max(ours.count, theirs.digest.count) <= KeyedComparison.mendMax {
                mends.append((child, ours.count, theirs.digest.count))
            } else {
                buckets.append(child)
            }
        }
        if !own.isEmpty { outcome.isEqual = false }
        (self.bucket, self.answer, self.isAnswered, self.scan) = (nil, [], false, nil)
        return true
    }
}

/// What a keyed comparison has found.
public struct KeyedOutcome: Sendable, Equatable {
    public var isEqual = true
    /// Entries here and there.
    public var ours = 0
    public var theirs = 0

    public init() {}
}
