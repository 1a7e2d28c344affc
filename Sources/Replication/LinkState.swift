internal import Seal
internal import Tree
internal import Wire

/// What is known of the peer at the other end of one link.
struct LinkState: Sendable {
    /// A link is pinged after this much silence, and in any case this long after the last ping.
    static let silenceMs: UInt64 = 5000
    static let pingMs: UInt64 = 15_000
    /// A link that has been silent for this long is dead.
    static let deadMs: UInt64 = 12_000
    /// Delay before differing roots are compared again, doubled while comparing does not help.
    static let compareDelayMs: UInt64 = 1000
    static let compareDelayMsMax: UInt64 = 600_000

    let peer: Bytes32
    let instance: UInt64
    var reconciler = Reconciler()
    var connected: Set<Bytes32> = []
    var vitals: (received: Vitals, atMs: UInt64)?
    var rttMs: UInt64?
    var pingSentMs: UInt64?
    var lastPingMs: UInt64
    var heardMs: UInt64
    /// Differing roots are not compared before this.
    var compareAtMs: UInt64 = 0
    var compareDelayMs = LinkState.compareDelayMs
    /// When to ask for the peer's root again, because it differed too early to compare.
    var recheckMs: UInt64?
    /// Entries the peer asked for and has not got yet, oldest first.
    var owed: [EntryReference] = []
    /// Whether answers are waiting in the shell's queue; more are given when they have left.
    var isDraining = false
    var refusals = 0
    /// Entries that came from this peer without a valid signature. They are not wanted from it again, but from others:
    /// who spoils a copy must not be able to keep the entry from arriving.
    var refused = BoundedSet<EntryReference>(capacity: Replicator.refusalsMax)
    /// After a pull that stalled the peer's offers are not believed before this.
    var offersAtMs: UInt64 = 0
    /// Addresses that the peer has told and that are not looked at yet, and when the next are.
    var told: [PeerAddress]?
    var learnAtMs: UInt64 = 0
    /// Counts of the last finished comparison.
    var compared: (lacks: Int, ahead: Int)?

    init(peer: Bytes32, instance: UInt64, nowMs: UInt64) {
        self.peer = peer
        self.instance = instance
        heardMs = nowMs
        lastPingMs = nowMs
    }

    var nextDeadlineMs: UInt64 {
        let silent = pingSentMs == nil ? heardMs &+ LinkState.silenceMs : heardMs &+ LinkState.deadMs
        let learn = told == nil ? .max : learnAtMs
        return min(silent, lastPingMs &+ LinkState.pingMs, recheckMs ?? .max, learn)
    }

    mutating func extend(byMs lagMs: UInt64) {
        heardMs &+= lagMs
        reconciler.extend(byMs: lagMs)
    }

    func clockSample(nowMs: UInt64) -> ClockEstimate.Sample? {
        guard let (received, atMs) = vitals else { return nil }
        return ClockEstimate.Sample(
            clockMs: received.clockMs &+ (nowMs &- atMs) &+ (rttMs ?? 0) / 2,
            isSynchronised: received.isSynchronised, highWaterMs: received.highWater.ms)
    }
}
