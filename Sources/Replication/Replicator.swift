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
    /// How long the machine has slept since it started; the monotonic clock stood still then.
    public var sleptMs: UInt64

    public init(monotonicMs: UInt64, wallMs: UInt64, isSynchronised: Bool, sleptMs: UInt64 = 0) {
        self.monotonicMs = monotonicMs
        self.wallMs = wallMs
        self.isSynchronised = isSynchronised
        self.sleptMs = sleptMs
    }

    /// Time that has really passed, sleep included: what workspace time runs by.
    var elapsedMs: UInt64 { monotonicMs &+ sleptMs }
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
        /// The peer's end takes what had to wait: it is there, though its answer may stand behind much else.
        case moves(LinkID)
        /// Entries of this node were committed.
        case localCommit([Bundle])
        /// The outcome of an earlier ``Effect/commit(_:_:)``.
        case committed(
            LinkID, admitted: [Bundle], result: CommitResult, denied: [EntryReference], unsigned: [EntryReference])
        /// What became of a bundle that a peer has announced (``Effect/adopt(_:_:)``), or this node, without a link.
        case adopted(LinkID?, BundleSeal, Adoption)
        /// Held entries came due.
        case released(CommitResult)
        /// Sets or, with nil, ends soft state of this node; `ttlMs` is its life, and it is refreshed at half of it.
        case setSoft(Path, Value?, ttlMs: UInt64, isRefreshed: Bool)
        /// Somebody wants to know what has arrived where.
        case askRoots
        /// Somebody wants to know whether it has arrived anywhere: one peer is asked.
        case askRoot
        /// The network has changed where these links are: whoever does not answer soon is not there any more.
        case probe([LinkID])
        /// Compare with all peers now.
        case compareNow
        /// Compare with a peer by sums that nobody can have prepared for; ``Effect/verified(_:_:)`` tells the outcome.
        case verify(LinkID)
        /// The places of messages (`channels/{cid}/messages`) that somebody reads, the most important one first: their
        /// ends are pulled before anything else.
        case focus([Path])
        /// Addresses of nodes that the shell knows to work, to be told to others.
        case addresses([PeerAddress])
        /// What this node wrote alone was looked through, as ``Effect/contact`` asks.
        case contacted
        /// This node's hybrid clock was set back; with the greatest time applied.
        case clockSet(HLC)
        /// Nobody could be reached at an address that ``Effect/connect(_:)`` named.
        case unreachable(String)
        /// The program ends: say so.
        case shutdown
        case tick
    }

    public enum Effect: Sendable {
        case send(LinkID, PeerMessage)
        /// Check, store, and feed ``Event/committed(_:admitted:result:denied:unsigned:)`` back.
        case commit(LinkID, [Bundle])
        /// Check the announced bundle, adopt it if exactly its entries are here, feed
        /// ``Event/adopted(_:_:_:)`` back.
        case adopt(LinkID, BundleSeal)
        /// Soft state of an author changed at these places.
        case softChanged([SoftState.Place])
        case close(LinkID, String)
        /// A peer has sent so many records of soft state with signatures that are none.
        case forged(LinkID, Int)
        /// Feed ``Event/drained(_:)`` when everything sent to the link has left its queue, which may be now.
        case awaitDrain(LinkID)
        /// What a comparison by keyed sums has found; what it found missing is being pulled.
        case verified(LinkID, KeyedOutcome)
        case learned([PeerAddress])
        /// Dial this node now.
        case connect(PeerAddress)
        /// Dial so many of the addresses heard of, whoever is there.
        case connectAny(Int)
        /// Close a link with which nothing is wrong: not a failure, and not to be dialled again at once.
        case demote(LinkID)
        /// True: dial every address heard of, as at the start. False: only what `connect` and `connectAny` ask for.
        case dialEverybody(Bool)
        case notice(LinkID, String)
        /// A message about the workspace's key, which is none of this machine's business.
        case aboutKey(LinkID, PeerMessage)
        /// The first contact after this node was alone: workspace time is known now. Issue anew what it wrote beyond
        /// the limit and nobody has seen, remember that others see everything from here on, and feed
        /// ``Event/contacted`` back. Until then no entry leaves this node.
        case contact
        /// The last link went before ``Event/contacted``: nobody has seen anything.
        case contactLost
        /// The last link is gone: what is written from here on nobody sees.
        case alone
        /// Workspace time was stepped back: the hybrid clock may be too far ahead of it.
        case clockFell
        /// ``Replicator/clonedKeys`` has changed.
        case clonesChanged
    }

    /// Up to so many nodes everybody links to everybody: some messages a second at each link are no burden yet, and a
    /// message needs one hop.
    public static let everybodyMax = 32
    /// A peer whose entry was refused this often is not asked for entries any more; see ``PeerAccount``.
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
    var remembered = RememberedReferences(capacity: Replicator.rememberedMax)
    /// Channels that somebody looks at, the most important one first.
    var focus: [Path] = []
    var random: PeerRandom
    /// When the next slice of a keyed scan is due, and whose turn was last.
    var sliceDueMs: UInt64?
    var sliceLink: LinkID?
    /// When roots are compared with the next peer drawn at random.
    var drawDueMs: UInt64?
    var inFlight: [EntryReference: (link: LinkID, sinceMs: UInt64)] = [:]
    var addresses: [PeerAddress] = []
    /// Bundles that were announced lately and that this node has, the newest last.
    var seals: [BundleSeal] = []
    /// Of announcements in vain, of all peers.
    var vainSeals = Allowance(SealQuota.vainOfAll, nowMs: 0)
    var accounts = PeerAccounts()
    /// Of soft state of peers that are new here.
    var newcomersSoft = Allowance(SoftQuota.ofNewcomers, nowMs: 0)
    var overlay: Overlay
    var dissemination = Dissemination()
    var overlaySeen = OverlayView()
    var overlayDueMs: UInt64?
    var highWater: HLC
    var pushLimits = PushQuota.Limits()
    /// When this node wrote something last.
    var ownTalkMs: UInt64?
    /// What the others are known to hold.
    public var held = HeldMarks()
    var clones: CloneWatch
    var contact = Contact.alone
    /// What checks a signature over a message by an author: Ed25519, or what remembers its answers.
    public var verify: @Sendable (Signature, [UInt8], Bytes32) -> Bool = { Ed25519.verify($0, $1, by: $2) }
    /// The last attempt to store something has failed.
    var isStoreFailing = false
    private var promisedMs: UInt64?
    /// The earliest deadline of a link, or before it; nil after what may have made it earlier.
    private var linksDueMs: UInt64?

    struct LocalSoft: Sendable {
        var value: Value
        var ttlMs: UInt64
        var refreshMs: UInt64?
        var endsMs: UInt64?
        var publishedMs: UInt64
    }

    /// - `softAfter`: later than all soft state that an earlier start of this node can have published, or others would
    ///   take its first words for old ones.
    /// - `seed`: what the choice of neighbours is drawn from, together with `instance`.
    /// - `everybodyMax`: up to so many nodes everybody links to everybody.
    public init(
        workspace: Bytes32, key: SigningKey, instance: UInt64, clock: ClockEstimate, highWater: HLC,
        softAfter: HLC = .zero, seed: UInt64 = 0, everybodyMax: Int = Replicator.everybodyMax
    ) {
        self.workspace = workspace
        self.key = key
        self.instance = instance
        self.clock = clock
        self.highWater = highWater
        softClock = softAfter
        clones = CloneWatch(own: key.publicKey, instance: instance)
        random = PeerRandom(key: key, instance: instance)
        overlay = Overlay(own: key.publicKey, seed: instance ^ seed, everybodyMax: everybodyMax)
    }

    /// Links in a fixed order.
    var orderedLinks: [LinkID] { links.keys.sorted() }

    /// Takes one event.
    ///
    /// - Throws: ``StepFailure`` where the store could not be read. What it says is to be done all the same, and the
    ///   machine may be given the next event; what it could not do it tries again later.
    public mutating func step(
        _ moment: Moment, _ event: Event, _ replica: any ReplicaReader
    ) throws -> [Effect] {
        var output = Output(moment: moment)
        var failure: (any Error)?
        let cloned = clones.clones
        notice(lag: moment.monotonicMs)
        do { try noteRoot(replica) } catch { failure = error }
        if isDue(moment.monotonicMs) || !event.isSoft { linksDueMs = nil }
        do {
            try take(event, replica, &output)
        } catch {
            failure = error
            noticeFailure(event.link, moment.monotonicMs)
        }
        do {
            try timers(replica, &output)
            try keyedTimers(replica, &output)
            try drawTimer(replica, &output)
        } catch {
            failure = error
            scheduleSlice(moment.monotonicMs)
        }
        watchClones(before: cloned, &output)
        linksDueMs = linksDueMs ?? linkDeadlineMs
        // What has become due in this step is due now, not since the time that stands in it.
        promisedMs = nextDeadlineMs.map { max($0, output.nowMs) }
        if let failure { throw StepFailure(effects: output.effects, cause: failure) }
        return output.effects
    }

    private mutating func take(_ event: Event, _ replica: any ReplicaReader, _ output: inout Output) throws {
        switch event {
        case .linkUp(let link, let peer, let instance): try up(link, peer, instance, replica, &output)
        case .linkDown(let link): down(link, &output)
        case .received(let link, let message): try received(link, message, replica, &output)
        case .drained(let link):
            links[link]?.isDraining = false
            try serve(link, replica, &output)
            try pushWaiting(link, replica, &output)
        case .moves(let link):
            links[link]?.heardMs = output.nowMs
            links[link]?.probedUntilMs = nil
        case .localCommit(let bundles):
            noticeStoring(output.nowMs)
            ownTalkMs = output.nowMs
            localCommit(bundles, &output)
        case .committed(let link, let admitted, let result, let denied, let unsigned):
            noticeCommit(link, admitted, result, output.nowMs)
            relay(link, admitted, result, refused: denied + unsigned, &output)
            try committed(link, result, denied, unsigned, replica, &output)
        case .adopted(let link, let seal, let adoption): adopted(link, seal, adoption, &output)
        case .released(let result): observe(result.applied, &output)
        case .setSoft(let path, let value, let ttlMs, let isRefreshed):
            setSoft(path, value, ttlMs, isRefreshed, &output)
        case .askRoots: try askRoots(replica, &output)
        case .askRoot: try askRoots(replica, &output, countMax: 1)
        case .probe(let links): try probe(links, replica, &output)
        case .compareNow:
            try withEachLink(output.nowMs) { machine, link in
                if machine.trusts(link) { try machine.startComparison(link, replica, &output) }
            }
        case .verify(let link): startKeyed(link, &output)
        case .focus(let paths): try setFocus(paths, replica, &output)
        case .addresses(let list):
            addresses = list
            overlay.addresses = Dictionary(list.map { ($0.node, $0.address) }) { first, _ in first }
            peersDueMs = min(peersDueMs ?? .max, output.nowMs &+ Replicator.peersDelayMs)
        case .contacted: try opened(replica, &output)
        case .clockSet(let greatest): clockWasSet(greatest, &output)
        case .unreachable(let address): overlay.unreachable(address, nowMs: output.nowMs)
        case .shutdown: shutdown(&output)
        case .tick: break
        }
    }

    /// When the next `tick` is due, in monotonic milliseconds; nil if nothing waits.
    public var nextDeadlineMs: UInt64? {
        var due = min(soft.nextDeadlineMs ?? .max, offersDueMs ?? .max, peersDueMs ?? .max, overlayDeadlineMs)
        due = min(due, sliceDueMs ?? .max, drawDueMs ?? .max, clones.nextDeadlineMs ?? .max)
        due = min(due, linksDueMs ?? linkDeadlineMs)
        for local in localSoft.values { due = min(due, local.refreshMs ?? .max, local.endsMs ?? .max) }
        return due == .max ? nil : due
    }

    private var linkDeadlineMs: UInt64 {
        links.values.reduce(.max) { min($0, $1.nextDeadlineMs, $1.reconciler.deadlineMs ?? .max) }
    }

    /// Whether something that was waited for is due.
    func isDue(_ nowMs: UInt64) -> Bool { nowMs >= promisedMs ?? 0 }

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
        clock.workspaceMs(ownClockMs: moment.wallMs, nowMs: moment.elapsedMs)
    }

    mutating func refreshClock(_ moment: Moment) {
        let own = ClockEstimate.Sample(
            clockMs: moment.wallMs, isSynchronised: moment.isSynchronised, highWaterMs: highWater.ms)
        // One voice a node, however many links it has opened.
        var heard: Set<Bytes32> = [key.publicKey]
        let peers = orderedLinks.compactMap { link -> ClockEstimate.Sample? in
            guard let state = links[link], let sample = state.clockSample(nowMs: moment.elapsedMs),
                heard.insert(state.peer).inserted
            else { return nil }
            return sample
        }
        clock.update(own: own, peers: peers, nowMs: moment.elapsedMs)
    }

    /// What a peer is told of this node. While much waits to be pushed to him there is nothing to compare yet: the root
    /// is that of nothing.
    func vitals(_ link: LinkID, _ moment: Moment, _ replica: any ReplicaReader) throws -> Vitals {
        let isEarly = links[link]?.backlog.waits(nowMs: moment.monotonicMs) ?? false
        return Vitals(
            clockMs: moment.wallMs, isSynchronised: moment.isSynchronised, highWater: highWater,
            root: isEarly ? DigestPrefix(count: 0, sum: 0) : DigestPrefix(try replica.digest(of: .root)))
    }

    /// Collects the effects of one step.
    struct Output {
        let moment: Moment
        var effects: [Effect] = []
        /// Links on which a PING is sent.
        var pinged: [LinkID] = []

        var nowMs: UInt64 { moment.monotonicMs }

        mutating func send(_ link: LinkID, _ message: PeerMessage) {
            if case .ping = message { pinged.append(link) }
            effects.append(.send(link, message))
        }
    }
}
