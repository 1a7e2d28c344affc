internal import Seal
internal import Tree
internal import Wire

/// What the pull from one peer looks at.
struct PeerPull: PullSource {
    let replica: any ReplicaReader
    /// Entries that are not here and not wanted from anybody, and not from this peer.
    let remembered: RememberedReferences
    let refused: RememberedReferences?
    /// Pulls from other peers.
    let others: [Reconciler]
    let nowMs: UInt64

    func digest(of bucket: TimeBucket) throws -> DigestPrefix { DigestPrefix(try replica.digest(of: bucket)) }

    func children(of bucket: TimeBucket) throws -> [ChildDigest] { try ChildDigest.children(of: bucket, replica) }

    func last(in range: ReferenceRange) throws -> EntryReference? {
        try replica.references(in: range, newest: 1).first
    }

    func named(in range: ReferenceRange, salt: Salt, newest limit: Int) throws -> NamedRange {
        var own = try Fingerprinted.entries(of: range, salt: salt, newest: limit, replica)
        var named = NamedRange(range: range, count: own.count)
        if own.count == limit, let oldest = own.popLast()?.reference {
            // The last one comes again with the rest, and with it all that the same reference names.
            while own.last?.reference == oldest { own.removeLast() }
            named.range = ReferenceRange(after: oldest, through: range.through)
            named.rest = ReferenceRange(after: range.after, through: oldest)
        }
        named.known = own.map(\.fingerprint)
        if case .quick(let salt) = salt {
            let unwanted = remembered.references(in: named.range) + (refused?.references(in: named.range) ?? [])
            let room = PeerMessage.fingerprintsMax - named.known.count
            named.known += unwanted.prefix(room).map { Fingerprint.of($0, salt: salt) }
        }
        named.known.sort()
        return named
    }

    func isTaken(_ range: ReferenceRange) -> Bool { others.contains { $0.pulls(range, nowMs: nowMs) } }
}

/// An entry of a range as a question names it.
struct Fingerprinted {
    let reference: EntryReference
    let fingerprint: UInt32

    /// The youngest first.
    static func entries(
        of range: ReferenceRange, salt: Salt, newest limit: Int, _ replica: any ReplicaReader
    ) throws -> [Fingerprinted] {
        switch salt {
        case .quick(let salt):
            return try replica.references(in: range, newest: limit).map {
                Fingerprinted(reference: $0, fingerprint: Fingerprint.of($0, salt: salt))
            }
        case .keyed(let key):
            let key = key.bytes
            return try replica.ids(in: range, newest: limit).map { hlc, id in
                Fingerprinted(
                    reference: EntryReference(hlc: hlc, idPrefix: id.prefix64),
                    fingerprint: Fingerprint.of(id, key: key))
            }
        }
    }
}

extension ChildDigest {
    static func children(of bucket: TimeBucket, _ replica: any ReplicaReader) throws -> [ChildDigest] {
        try replica.children(of: bucket).map { ChildDigest(index: $0.bucket.index, digest: DigestPrefix($0.digest)) }
    }
}

/// References of entries that are not wanted, by time; forgets the oldest beyond a bound.
struct RememberedReferences: Sendable {
    private var all: BoundedSet<EntryReference>
    /// Those in each bucket of the second level.
    private var buckets: [TimeBucket: [EntryReference]] = [:]
    private static let level = 2
    /// Buckets of a range that are looked up one by one.
    private static let bucketsMax: UInt64 = 64

    init(capacity: Int) { all = BoundedSet(capacity: capacity) }

    var count: Int { all.count }

    func contains(_ reference: EntryReference) -> Bool { all.contains(reference) }

    mutating func insert(_ reference: EntryReference) {
        guard !all.contains(reference) else { return }
        let bucket = TimeBucket(level: RememberedReferences.level, containing: reference.hlc)
        if let forgotten = all.insert(reference) {
            let old = TimeBucket(level: RememberedReferences.level, containing: forgotten.hlc)
            buckets[old]?.removeAll { $0 == forgotten }
            if buckets[old]?.isEmpty == true { buckets[old] = nil }
        }
        buckets[bucket, default: []].append(reference)
    }

    /// Those in a range, in no particular order.
    func references(in range: ReferenceRange) -> [EntryReference] {
        guard !buckets.isEmpty else { return [] }
        let first = TimeBucket(level: RememberedReferences.level, containing: range.after.hlc).index
        let last = TimeBucket(level: RememberedReferences.level, containing: range.through.hlc).index
        guard last >= first, last - first <= RememberedReferences.bucketsMax else {
            return buckets.values.flatMap { $0.filter(range.contains) }.sorted()
        }
        return (first...last).flatMap { index -> [EntryReference] in
            guard let bucket = TimeBucket(level: RememberedReferences.level, index: index) else { return [] }
            return buckets[bucket]?.filter(range.contains) ?? []
        }
    }
}
