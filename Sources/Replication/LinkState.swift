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
    /// One that the network's changes may have cut has this long to answer: several round trips of a bad wireless one.
    /// Too short costs a handshake, too long a person's patience.
    static let probeMs: UInt64 = 1_500
    /// Delay before differing roots are compared again, doubled while comparing does not help.
    static let compareDelayMs: UInt64 = 1000
    static let compareDelayMsMax: UInt64 = 600_000

    let peer: Bytes32
    let instance: UInt64
    var reconciler = Reconciler()
    /// Of what is pushed to it.
    var backlog = PushBacklog()
    /// When it pushed something last.
    var talkMs: UInt64?
    var connected: Set<Bytes32> = []
    var vitals: (received: Vitals, atMs: UInt64)?
    var rttMs: UInt64?
    var pingSentMs: UInt64?
    var lastPingMs: UInt64
    var heardMs: UInt64
    /// When the link is dead if nothing has been heard, because there is reason to doubt it.
    var probedUntilMs: UInt64?
    /// Differing roots are not compared before this.
    var compareAtMs: UInt64 = 0
    var compareDelayMs = LinkState.compareDelayMs
    /// The last comparison has brought something: if the peer still has more, the next one follows at once. The running
    /// one is such a one, and is followed by none.
    var followsUp = false
    var isFollowUp = false
    /// When to ask for the peer's root again, because it differed too early to compare.
    var recheckMs: UInt64?
    /// What the peer asked for and has not got yet.
    var debt = Debt()
    /// When the peer last compared or asked for something; at first when it connected.
    var askedMs: UInt64
    /// The comparison by keyed sums that this node has begun, and when it begins the next one by itself.
    var keyed: KeyedComparison?
    var keyedAtMs: UInt64 = .max
    /// Of the one that the peer has begun: its key, what is to be added up and what is being.
    var keyedKey: Bytes32?
    var keyedQuestions: [TimeBucket] = []
    var keyedScan: KeyedScan?
    /// Channels whose last messages the peer was asked for.
    var tails: Set<Path> = []
    /// Whether answers are waiting in the shell's queue; more are given when they have left.
    var isDraining = false
    /// When that is to be looked at again, because the store could not be read.
    var drainAgainMs: UInt64?
    /// The peer has come since the latest bundles were announced.
    var owesSeals = true
    /// After a pull that stalled the peer's offers are not believed before this.
    var offersAtMs: UInt64 = 0
    /// Addresses that the peer has told and that are not looked at yet, and when the next are.
    var told: [PeerAddress]?
    var learnAtMs: UInt64 = 0
    var saidGoodbye = false
    /// Something has changed here that the peer was not told, and that its next comparison is to find.
    var hasMissed = false
    /// What the peer asked before this node was ready to answer.
    var questions: [PeerMessage] = []
    /// Counts of the last finished comparison.
    var compared: (lacks: Int, ahead: Int)?

    init(peer: Bytes32, instance: UInt64, nowMs: UInt64) {
        self.peer = peer
        self.instance = instance
        heardMs = nowMs
        lastPingMs = nowMs
        askedMs = nowMs
    }

    var nextDeadlineMs: UInt64 {
        let silent = pingSentMs == nil ? heardMs &+ LinkState.silenceMs : heardMs &+ LinkState.deadMs
        let learn = told == nil ? .max : learnAtMs
        let again = min(recheckMs ?? .max, drainAgainMs ?? .max)
        return min(silent, lastPingMs &+ LinkState.pingMs, again, learn, probedUntilMs ?? .max)
    }

    /// Since when nothing has been heard, if an answer is due.
    var unansweredSinceMs: UInt64? { pingSentMs == nil ? nil : heardMs }

    mutating func extend(byMs lagMs: UInt64) {
        heardMs &+= lagMs
        probedUntilMs = probedUntilMs.map { $0 &+ lagMs }
        reconciler.extend(byMs: lagMs)
    }

    func clockSample(nowMs: UInt64) -> ClockEstimate.Sample? {
        guard let (received, atMs) = vitals else { return nil }
        return ClockEstimate.Sample(
            clockMs: received.clockMs &+ (nowMs &- atMs) &+ (rttMs ?? 0) / 2,
            isSynchronised: received.isSynchronised, highWaterMs: received.highWater.ms)
    }
}
