public import Seal
public import Tree
public import Wire

/// Names a link for as long as it is up; given by the shell, never reused.
public struct LinkID: Sendable, Hashable, Comparable {
    public let rawValue: Int

    public init(_ rawValue: Int) { self.rawValue = rawValue }

    public static func < (a: LinkID, b: LinkID) -> Bool { a.rawValue < b.rawValue }
}

/// The time of a step: this node's monotonic clock, its raw wall clock, and whether the kernel trusts the latter.
public struct Moment: Sendable {
    public var monotonicMs: UInt64
    public var wallMs: UInt64
    public var isSynchronised: Bool

    public init(monotonicMs: UInt64, wallMs: UInt64, isSynchronised: Bool) {
        self.monotonicMs = monotonicMs
        self.wallMs = wallMs
        self.isSynchronised = isSynchronised
    }
}

/// All of replication as a value: links, reconciliation, live dissemination, soft state and workspace time.
///
/// `step` takes one event and returns what the shell is to do. There is no socket, clock, thread or randomness in here,
/// and nothing depends on the order of a hash table, so the daemon and the simulator run the same code and a run can be
/// repeated from its inputs.
public struct Replicator: Sendable {
    public enum Event: Sendable {
        /// A handshake is complete.
        case linkUp(LinkID, peer: Bytes32, instance: UInt64)
        case linkDown(LinkID)
        case received(LinkID, PeerMessage)
        /// What the shell has written to a link has left its queue.
        case drained(LinkID)
        /// Entries of this node were committed.
        case localCommit([Bundle])
        /// The outcome of an earlier ``Effect/commit(_:_:)``.
        case committed(
            LinkID, admitted: [Bundle], result: CommitResult, denied: [EntryReference], unsigned: [EntryReference])
        /// Held entries came due.
        case released(CommitResult)
        /// Sets or, with nil, ends soft state of this node; `ttlMs` is its life, and it is refreshed at half of it.
        case setSoft(Path, Value?, ttlMs: UInt64, isRefreshed: Bool)
        /// Compare with all peers now.
        case compareNow
        /// Addresses of nodes that the shell knows to work, to be told to others.
        case addresses([PeerAddress])
        /// The program ends: say so.
        case shutdown
        case tick
    }

    public enum Effect: Sendable {
        case send(LinkID, PeerMessage)
        /// Check, store, and feed ``Event/committed(_:admitted:result:denied:unsigned:)`` back.
        case commit(LinkID, [Bundle])
        /// Soft state of an author changed at these places.
        case softChanged([SoftState.Place])
        case close(LinkID, String)
        /// Feed ``Event/drained(_:)`` when everything sent to the link has left its queue, which may be now.
        case awaitDrain(LinkID)
        /// A peer asks for this node's keyed sum.
        case answerVerify(LinkID, nonce: [UInt8])
        /// A peer answered.
        case verified(LinkID, nonce: [UInt8], answer: [UInt8], count: Int, sum: Bytes32)
        case learned([PeerAddress])
        case notice(LinkID, String)
    }

    /// A peer whose entry was refused this often is not asked for entries any more until it connects anew.
    static let refusalsMax = 1000
    /// Ids that arrived dead or whose author may not write there are remembered, so that they are not wanted again.
    static let rememberedMax = 65_536
    /// New entries are offered to those their author cannot reach after this long: time for a direct push to arrive.
    static let offerDelayMs: UInt64 = 50
    /// Above this many entries at once nothing is offered singly: a comparison finds them.
    static let offersMax = 4096
    static let peersDelayMs: UInt64 = 100
    /// Addresses that a peer tells are looked at this often at most.
    static let learnMs: UInt64 = 1000
    /// An entry asked for at one peer may be asked for at another after this long.
    static let claimMs: UInt64 = 10_000
    /// A late step beyond this means that this node was stopped, not the others.
    static let lagMsMax: UInt64 = 1000

    public let workspace: Bytes32
    let key: SigningKey
    let instance: UInt64
    public internal(set) var soft = SoftState()
    public internal(set) var clock: ClockEstimate
    var links: [LinkID: LinkState] = [:]
    var localSoft: [Path: LocalSoft] = [:]
    var softClock: HLC = .zero
    var offers: [(reference: EntryReference, author: Bytes32, source: LinkID?)] = []
    var offersDueMs: UInt64?
    var peersDueMs: UInt64?
    var remembered = BoundedSet<EntryReference>(capacity: Replicator.rememberedMax)
    var inFlight: [EntryReference: (link: LinkID, sinceMs: UInt64)] = [:]
    var addresses: [PeerAddress] = []
    var highWater: HLC
    private var promisedMs: UInt64?

    struct LocalSoft: Sendable {
        var value: Value
        var ttlMs: UInt64
        var refreshMs: UInt64?
        var endsMs: UInt64?
        var publishedMs: UInt64
    }

    /// - `softAfter`: later than all soft state that an earlier start of this node can have published, or others would
    ///   take its first words for old ones.
    public init(
        workspace: Bytes32, key: SigningKey, instance: UInt64, clock: ClockEstimate, highWater: HLC,
        softAfter: HLC = .zero
    ) {
        self.workspace = workspace
        self.key = key
        self.instance = instance
        self.clock = clock
        self.highWater = highWater
        softClock = softAfter
    }

    /// Links in a fixed order.
    var orderedLinks: [LinkID] { links.keys.sorted() }

    /// Takes one event. Throws only what `replica` throws: the store cannot be read.
    public mutating func step(
        _ moment: Moment, _ event: Event, _ replica: any ReplicaReader
    ) throws -> [Effect] {
        var output = Output(moment: moment)
        notice(lag: moment.monotonicMs)
        switch event {
        case .linkUp(let link, let peer, let instance): try up(link, peer, instance, replica, &output)
        case .linkDown(let link): down(link, &output)
        case .received(let link, let message): try received(link, message, replica, &output)
        case .drained(let link):
            links[link]?.isDraining = false
            try serve(link, replica, &output)
        case .localCommit(let bundles): localCommit(bundles, &output)
        case .committed(let link, _, let result, let denied, let unsigned):
            try committed(link, result, denied, unsigned, replica, &output)
        case .released(let result): observe(result.applied, &output)
        case .setSoft(let path, let value, let ttlMs, let isRefreshed):
            setSoft(path, value, ttlMs, isRefreshed, &output)
        case .compareNow:
            for link in orderedLinks {
                guard links[link].map({ $0.refusals < Replicator.refusalsMax }) ?? false else { continue }
                links[link]?.reconciler.start(nowMs: output.nowMs)
                try pump(link, replica, &output)
            }
        case .addresses(let list):
            addresses = list
            peersDueMs = min(peersDueMs ?? .max, output.nowMs &+ Replicator.peersDelayMs)
        case .shutdown: shutdown(&output)
        case .tick: break
        }
        try timers(replica, &output)
        promisedMs = nextDeadlineMs
        return output.effects
    }

    /// When the next `tick` is due, in monotonic milliseconds; nil if nothing waits.
    public var nextDeadlineMs: UInt64? {
        var deadlines: [UInt64?] = [soft.nextDeadlineMs, offersDueMs, peersDueMs]
        for link in links.values { deadlines += [link.nextDeadlineMs, link.reconciler.deadlineMs] }
        for local in localSoft.values { deadlines += [local.refreshMs, local.endsMs] }
        return deadlines.compactMap { $0 }.min()
    }

    /// If this step comes long after the time that was promised, this node was stopped: others get the time back.
    private mutating func notice(lag nowMs: UInt64) {
        guard let promisedMs, nowMs > promisedMs &+ Replicator.lagMsMax else { return }
        let lagMs = nowMs - promisedMs
        soft.extend(byMs: lagMs)
        for link in orderedLinks { links[link]?.extend(byMs: lagMs) }
    }

    /// Takes the first reading of the own clock, before any event.
    public mutating func start(_ moment: Moment) { refreshClock(moment) }

    /// The time of the soft state that this node published last.
    public var softTime: HLC { softClock }

    /// Workspace time now.
    public mutating func workspaceMs(_ moment: Moment) -> UInt64 {
        clock.workspaceMs(ownClockMs: moment.wallMs, nowMs: moment.monotonicMs)
    }

    mutating func refreshClock(_ moment: Moment) {
        let own = ClockEstimate.Sample(
            clockMs: moment.wallMs, isSynchronised: moment.isSynchronised, highWaterMs: highWater.ms)
        // One voice a node, however many links it has opened.
        var heard: Set<Bytes32> = [key.publicKey]
        let peers = orderedLinks.compactMap { link -> ClockEstimate.Sample? in
            guard let state = links[link], let sample = state.clockSample(nowMs: moment.monotonicMs),
                heard.insert(state.peer).inserted
            else { return nil }
            return sample
        }
        clock.update(own: own, peers: peers, nowMs: moment.monotonicMs)
    }

    func vitals(_ moment: Moment, _ replica: any ReplicaReader) throws -> Vitals {
        Vitals(
            clockMs: moment.wallMs, isSynchronised: moment.isSynchronised, highWater: highWater,
            root: DigestPrefix(try replica.digest(of: .root)))
    }

    /// Collects the effects of one step.
    struct Output {
        let moment: Moment
        var effects: [Effect] = []

        var nowMs: UInt64 { moment.monotonicMs }

        mutating func send(_ link: LinkID, _ message: PeerMessage) { effects.append(.send(link, message)) }
    }
}

/// A set that forgets its oldest members beyond a bound.
struct BoundedSet<Element: Hashable & Sendable>: Sendable {
    private let capacity: Int
    private var members: Set<Element> = []
    private var order: [Element] = []
    private var head = 0

    init(capacity: Int) { self.capacity = capacity }

    func contains(_ element: Element) -> Bool { members.contains(element) }

    mutating func insert(_ element: Element) {
        guard members.insert(element).inserted else { return }
        order.append(element)
        if members.count > capacity {
            members.remove(order[head])
            head += 1
            if head > capacity {
                order.removeFirst(head)
                head = 0
            }
        }
    }
}
