public import Seal
public import Tree
public import Wire

/// Typing and presence as this node sees them: signed records that live until their time is up.
///
/// The greater time wins. A record counts from its receipt here, by the monotonic clock, so nobody's wrong wall clock
/// makes it live longer; a record whose own time is older than its life plus a minute is a replay and is dropped.
public struct SoftState: Sendable {
    /// Tolerance for the age of a record by workspace time.
    static let replayMsMax: UInt64 = 60_000
    /// Records kept; the table holds a few for each node, so this is far above any honest network.
    public static let recordsMax = 16_384

    public struct Place: Hashable, Sendable, Comparable {
        public let author: Bytes32
        public let path: Path

        public static func < (a: Place, b: Place) -> Bool {
            a.author != b.author ? a.author < b.author : PathKey(a.path) < PathKey(b.path)
        }
    }

    public struct Live: Sendable {
        public let record: SoftRecord
        /// Monotonic milliseconds at which it ends.
        public var expiresMs: UInt64
    }

    private var records: [Place: Live] = [:]
    /// Times of records that ended, so that an older one that arrives late does not come back.
    private var ended: [Place: (hlc: HLC, untilMs: UInt64)] = [:]

    public init() {}

    /// The live records, in a fixed order.
    public var live: [SoftRecord] { records.keys.sorted().compactMap { records[$0]?.record } }

    public func record(author: Bytes32, path: Path) -> SoftRecord? {
        records[Place(author: author, path: path)]?.record
    }

    /// When the next record ends.
    public var nextDeadlineMs: UInt64? { records.values.map(\.expiresMs).min() }

    /// Takes a record whose signature was checked; false if a newer one is known or it is too old.
    public mutating func insert(_ record: SoftRecord, nowMs: UInt64, workspaceMs: UInt64) -> Bool {
        let place = Place(author: record.author, path: record.path)
        if record.hlc.ms &+ record.ttlMs &+ SoftState.replayMsMax < workspaceMs { return false }
        if let known = records[place], known.record.hlc >= record.hlc { return false }
        if let past = ended[place], past.hlc >= record.hlc { return false }
        if record.ttlMs == 0 {
            records[place] = nil
            remember(place, record.hlc, nowMs)
            return true
        }
        guard records[place] != nil || records.count < SoftState.recordsMax else { return false }
        records[place] = Live(record: record, expiresMs: nowMs &+ record.ttlMs)
        return true
    }

    private mutating func remember(_ place: Place, _ hlc: HLC, _ nowMs: UInt64) {
        ended[place] = (hlc, nowMs &+ SoftRecord.ttlMsMax)
        if ended.count > SoftState.recordsMax { ended = ended.filter { $0.value.untilMs > nowMs } }
        if ended.count > SoftState.recordsMax { ended = [:] }
    }

    /// Ends one record before its time; true if there was one.
    public mutating func end(author: Bytes32, path: Path, notAfter hlc: HLC, nowMs: UInt64) -> Bool {
        let place = Place(author: author, path: path)
        guard let live = records[place], live.record.hlc <= hlc else { return false }
        records[place] = nil
        remember(place, max(live.record.hlc, hlc), nowMs)
        return true
    }

    /// Removes what has ended and returns it, in a fixed order.
    public mutating func expire(nowMs: UInt64) -> [SoftRecord] {
        let over = records.filter { $0.value.expiresMs <= nowMs }.keys.sorted()
        return over.compactMap { place in
            let record = records.removeValue(forKey: place)?.record
            if let record { remember(place, record.hlc, nowMs) }
            return record
        }
    }

    /// Gives all records more time: this node itself was late, not the others.
    public mutating func extend(byMs lagMs: UInt64) {
        for place in records.keys.sorted() { records[place]?.expiresMs &+= lagMs }
    }
}
