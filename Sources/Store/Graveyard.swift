public import Seal
public import Tree

/// An entry that somebody else overwrote in an open place: this node keeps it for a while, so that it can be looked at
/// and written again. It is in no digest and no count, and no other node gets it.
public struct Grave: Sendable, Equatable {
    /// Rises in the order of the deaths on this node.
    public let number: Int64
    /// The id of the dead entry.
    public let id: Bytes32
    public let path: Path
    public let value: Value
    public let author: Bytes32
    public let hlc: HLC
    public let killer: Killer
    /// What this machine's clock showed when it died here.
    public let diedMs: UInt64
}

/// Who ended an entry, and when he wrote what did.
public struct Killer: Sendable, Hashable {
    public let author: Bytes32
    public let hlc: HLC

    init(author: Bytes32, hlc: HLC) { (self.author, self.hlc) = (author, hlc) }

    init(_ stamp: Stamp) { self.init(author: stamp.author, hlc: stamp.hlc) }

    /// Whether he was somebody else, and later.
    func overwrote(_ stamp: Stamp) -> Bool {
        author != stamp.author && (stamp.hlc, stamp.author) < (hlc, author)
    }
}

/// The bounds of the graveyard.
public enum Graveyard {
    /// How long a grave is kept: seven days.
    public static let keptMs: UInt64 = 7 * 24 * 3600 * 1000
    /// What one look at the clock ages the graves by at most: a day. The time that the node was not running counts up
    /// to it, and a clock that jumps ahead by a year costs no more.
    public static let gapMsMax: UInt64 = 24 * 3600 * 1000
    /// What all graves may take: whoever overwrites as fast as he can fills no disk.
    public static let bytesMax = 64 << 20
    /// What a grave counts beside its path and its value: about what its row and its places in indexes take. So there
    /// are at most 131,072.
    public static let overheadBytes = 512
    /// When there are too many, this much is freed at once, because finding out whose turn it is takes time.
    static let slackBytes = 1 << 20
    /// Bytes that one transaction buries or removes: a death copies the value, and none may keep others waiting.
    static let sliceBytes = 4 << 20
    /// How often the clock is written down.
    static let clockMs: UInt64 = 3600 * 1000

    static func size(path: PathKey, valueBytes: Int) -> Int { path.bytes.count + valueBytes + overheadBytes }
}

/// The time by which graves age: this machine's clock without its jumps. Peers have no part in it.
struct GraveClock: Equatable {
    /// What the machine's clock showed last.
    private(set) var wallMs: UInt64
    /// Means something only in comparison.
    private(set) var agedMs: UInt64

    init(wallMs: UInt64 = 0, agedMs: UInt64 = 0) { (self.wallMs, self.agedMs) = (wallMs, agedMs) }

    mutating func advance(to wallMs: UInt64) {
        let passedMs = wallMs > self.wallMs ? wallMs - self.wallMs : 0
        agedMs &+= min(passedMs, Graveyard.gapMsMax)
        self.wallMs = wallMs
    }

    /// Whether a grave of that age has been kept long enough.
    func isOver(_ agedMs: UInt64) -> Bool { self.agedMs >= agedMs && self.agedMs - agedMs >= Graveyard.keptMs }
}

/// What the graves of each author take.
struct GraveTotals: Equatable {
    private(set) var byAuthor: [Bytes32: Int] = [:]
    private(set) var bytes = 0
    private(set) var count = 0

    mutating func add(_ bytes: Int, of author: Bytes32, count: Int = 1) {
        byAuthor[author, default: 0] += bytes
        self.bytes += bytes
        self.count += count
    }

    mutating func remove(_ bytes: Int, of author: Bytes32) {
        let left = (byAuthor[author] ?? 0) - bytes
        byAuthor[author] = left > 0 ? left : nil
        self.bytes -= bytes
        count -= 1
    }

    /// What each author may keep so that all together keep at most `target`: those who have much give way first.
    func share(of target: Int) -> Int {
        var left = target
        let sizes = byAuthor.values.sorted()
        for (index, size) in sizes.enumerated() {
            let share = left / (sizes.count - index)
            guard size <= share else { return share }
            left -= size
        }
        return target
    }
}

extension Tables {
    /// Removes graves while they take too much: of the authors who have most, the oldest.
    func trimGraveyard() throws {
        let totals = try graveTotals
        guard totals.bytes > Graveyard.bytesMax else { return }
        let share = totals.share(of: Graveyard.bytesMax - Graveyard.slackBytes)
        for (author, bytes) in totals.byAuthor where bytes > share { try removeGraves(of: author, downTo: share) }
    }
}
