public import Net
internal import ControlAPI
internal import Discovery
internal import CPosix
internal import Replication
public import Seal
internal import Store
internal import Tree
internal import Wire

/// One node: the shell around the pure machines. It owns the store, the sockets and the clients, feeds events to the
/// machines and carries out their effects.
///
/// Its executor is the event loop, so what sockets and timers report runs on the actor without a hop.
public actor Node {
    public nonisolated let loop: EventLoop
    public nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    public nonisolated let uid: Bytes32
    let options: NodeOptions
    let log: Log
    let key: SigningKey
    var membership: Membership
    var workspace: Workspace { membership.workspace }
    /// The present key of a private workspace, sealed to its members; nil before the first change.
    var epochRecord: EpochRecord?
    var networks = NetworkWatch()
    let instance: UInt64
    let isNewIdentity: Bool
    private var lock: FileLock.Held?
    var store: DatabaseStore
    var replaceNotBeforeMs: UInt64 = 0
    var replaceMs = Node.replaceMsDefault
    var clock: HybridClock
    /// While this node is alone: up to which time others may have seen what it wrote.
    var told: HLC
    /// Entries that are being issued anew, and how many were so far.
    var renewal: RenewalState?
    var renewed = 0
    var isClockSynchronised = starling_clock_is_synchronised() == 1
    var clockCheckedMs = EventLoop.monotonicMs()
    var replicator: Replicator
    var stepTimer: (timer: LoopTimer, atMs: UInt64)?
    /// After an error of the store the machine's timers wait until then.
    var stepNotBeforeMs: UInt64 = 0
    var maintenanceTimer: LoopTimer?
    /// Dead entries, leaves of adopted bundles, and entries of peers in one transaction.
    var sweepPace = SlicePace(100...Node.sweepMax)
    var adoptionPace = SlicePace(100...DatabaseStore.adoptionSlice)
    var intakePace = SlicePace(Intake.togetherMin...Intake.togetherMax)
    /// Of bundles that come in parts.
    let knownSignatures = VerifiedSignatures()

    // Peers
    var listener: StreamListener?
    var links: [LinkID: PeerLink] = [:]
    /// Links that are given up but still open, to send what was queued.
    var closing: [LinkID: StreamSocket] = [:]
    var linkMemory = LinkMemory()
    var otherVersions = OtherVersions()
    var distrust = Distrust()
    var knocks = Knocks()
    var nextLink = 0
    var dialer = Dialer()
    var dialTimer: (timer: LoopTimer, atMs: UInt64)?
    /// Connections that are being made.
    var attempts: [SocketAddress: ConnectAttempt] = [:]
    /// When discovery begins anew because the network has changed.
    var rebuildTimer: LoopTimer?
    var named: [HostPort] = []
    /// What they were resolved to last.
    var namedAddresses: [HostPort: [SocketAddress]] = [:]
    var namedLookups: [HostPort: NamedLookup] = [:]
    var networkMonitor: NetworkMonitor?
    var interfaces: [NetworkInterface] = []
    var discovery: DiscoveryStatus = .off
    var discoveryService: DiscoveryService?
    /// The name under which this node is announced, while it is.
    var announced: String?
    var heard = HeardInstances()

    // Clients
    var clientListener: StreamListener?
    var sessions: [Int: ControlSession] = [:]
    var nextSession = 0
    var writePurpose = WritePurpose.itself
    var writeGroup = WriteGroup()
    /// The store may hold what sessions have left that are no more.
    var hasDisconnectsLeft = true
    let soft = SoftEntries()
    /// What the observers of `.info` were told last, while there are any.
    var toldInfo: NodeInfo?
    var subscriptions = SubscriptionTable()
    /// Clients that have been told something which is not sent yet.
    var waiting: [ControlSession] = []
    /// More requests of a client are at hand than the one that is carried out.
    var isServing = false
    var nextSubscription = 0
    /// Channels that the machine was told somebody looks at.
    var focus: [Key] = []
    var readLately: [Key] = []
    var verification: Verification?
    /// Bundles from peers that are verified beside the loop, and the bytes of all of them.
    var intakes: [LinkID: Intake] = [:]
    var intakeBytes = 0
    /// When entries were stored last.
    var storedAtMs: UInt64 = 0
    /// How long bulk waits for a client that is behind, in milliseconds.
    var lagPatienceMs = Node.lagPatienceMsDefault
    /// What has been verified and is stored next, in one transaction.
    var judgedTogether: [(link: LinkID, outcome: Admission.Outcome)] = []
    /// When entries arrived or were asked for in bulk; nil when the store's memory for it was given back. Whether it
    /// has more of it.
    var bulkAtMs: UInt64?
    var isBulk = false
    var adoptions: [RunningAdoption] = []
    /// Timers that are set for the next slice of one: one, as long as there is any.
    var adoptionTimers = 0
    /// The store's last change when the own entries were looked at last.
    var bundlingChange: Int64 = -1
    var searches: [RunningSearch] = []
    var indexTimer: LoopTimer?
    var reads: [RunningRead] = []
    /// Subscriptions whose window is to be read anew.
    var refills: [FollowedWindow.Key] = []
    var isReadingLater = false
    var indexPace = IndexPace()
    var lastClientMs: UInt64 = 0
    var isAway = false
    var presenceSinceMs: UInt64 = 0

    // What every message needs again; see Node+Names
    var certifiedChannels: [String: Key] = [:]
    var storedNames: [Bytes32: String] = [:]

    var statusWaits: [WaitingStatus] = []
    /// What of who holds what the followers of messages' status were told last.
    var progressVersion = 0
    /// When somebody is asked for his root because a message is not known to be anywhere else, and how long that waits.
    var progressTimer: (timer: LoopTimer, atMs: UInt64)?
    var progressAskMs: UInt64 = 0
    /// What was written last of who holds what, and when.
    var heldWritten: (version: Int, atMs: UInt64) = (0, 0)
    /// Channels whose receipt was written lately, and until when no other is.
    var receipts: [Key: UInt64] = [:]
    var receiptTimers: Set<Key> = []
    /// When this user's rules of retention are looked at next.
    var retentionDueMs: UInt64 = 0
    var notices = Notices()
    var acquaintances = Acquaintances()
    /// The keys that two live nodes have, as was told last.
    var clones: Set<Bytes32> = []

    // Counters since the start, for `status`
    var denied = 0
    var deniedBy = DeniedCounts()
    /// Nothing could be stored when it was tried last; it is tried again at every maintenance.
    var isDiskFull = false
    var logBudget = LogBudget()
    var isStopping = false
    /// The store is closed: whatever still happens has no effect.
    private(set) var isClosed = false
    var onStopped: (@Sendable () -> Void)?
    /// Called when a client asks the daemon to stop.
    var onStopRequest: (@Sendable () -> Void)?
    /// Called when the node is to be stopped and another to take its place, with the identity that its home has then.
    var onRestartRequest: (@Sendable () -> Void)?
    /// This node's identity has given way to another.
    var isRetired = false
    /// The disk was full when the name was to be taken.
    var isNameDue = false

    /// No clock is right that shows a time before this: milliseconds of 2026-11-01.
    static let buildMs: UInt64 = 1_793_491_200_000
    /// An entry further ahead of workspace time than this is held until it is due.
    static let heldMs: UInt64 = 24 * 3600 * 1000

    /// Opens the home: lock, identity and database. Touches no network; ``open()`` does.
    ///
    /// - Throws: ``NodeError`` in words for the person who starts it.
    public init(_ options: NodeOptions, loop: EventLoop) throws {
        self.options = options
        self.loop = loop
        log = options.log
        try options.home.prepare()
        guard let lock = try FileLock.tryLock(path: options.home.lockPath) else {
            let holder = FileLock.holder(path: options.home.lockPath).map { " (process \($0))" } ?? ""
            throw NodeError(.alreadyRunning, "a daemon already runs for \(options.home.dataDirectory)\(holder)")
        }
        self.lock = lock
        (key, isNewIdentity) = try IdentityFile.loadOrCreate(options.home.identityPath)
        uid = key.publicKey
        instance = SecureRandom.uint64()
        let membership = try Node.membership(of: options)
        self.membership = membership
        let workspace = membership.workspace
        store = try Node.openStore(for: workspace, options.home, uid: uid, options.log)
        epochRecord = try Node.storedEpoch(store)
        let base = max(WallClock.milliseconds(), Node.buildMs)
        let greatest = try store.greatestHLC(notAfter: HLC.greatest)
        told = try store.toldTime()
        clock = HybridClock(workspaceMs: base, greatestStored: greatest, randomness: SecureRandom.uint64())
        replicator = Replicator(
            workspace: workspace.id, key: key, instance: instance, clock: ClockEstimate(buildMs: Node.buildMs),
            highWater: greatest, softAfter: clock.last, seed: SecureRandom.uint64(),
            everybodyMax: options.everybodyMax)
    }

    /// Begins to listen, to serve clients and to look for peers. After it returns clients can attach.
    public func open() throws {
        lastClientMs = EventLoop.monotonicMs()
        presenceSinceMs = WallClock.milliseconds()
        replicator.start(moment)
        recallHeld()
        try takeNameSoon()
        takeStoredEpoch()
        recallNetworks()
        try recallAcquaintances()
        carryOutWhatIsLeft()
        try listenForPeers()
        try listenForClients()
        try watchNetwork()
        recallPeers()
        recallNamed()
        for peer in options.peers { addPeer(peer) }
        dialInvited()
        focusChanged()
        publishPresence()
        startDiscovery()
        scheduleMaintenance()
        scheduleBundling()
        indexSoon()
    }

    var moment: Moment {
        let now = EventLoop.monotonicMs()
        // Unlike the clocks it takes a system call, and it hardly ever changes.
        if now &- clockCheckedMs >= Node.clockCheckMs {
            isClockSynchronised = starling_clock_is_synchronised() == 1
            clockCheckedMs = now
        }
        return Moment(
            monotonicMs: now, wallMs: WallClock.milliseconds(), isSynchronised: isClockSynchronised,
            sleptMs: WallClock.sleptMs())
    }

    /// How old the kernel's word on its clock may be.
    static let clockCheckMs: UInt64 = 1000

    /// The TCP port that peers connect to.
    public var port: UInt16 { listener?.port ?? 0 }

    /// Says goodbye, closes everything and calls back when all has been written, after 300 ms at most.
    public func stop(_ completion: @escaping @Sendable () -> Void) {
        guard !isStopping else { return }
        isStopping = true
        onStopped = completion
        for id in sessions.keys.sorted() { sessions[id].map(carryOutDisconnect(of:)) }
        step(.shutdown)
        rememberPeers()
        rememberHeld(isLast: true)
        discoveryService?.stop()
        listener?.close()
        clientListener?.close()
        networkMonitor?.stop()
        maintenanceTimer?.cancel()
        indexTimer?.cancel()
        progressTimer?.timer.cancel()
        stepTimer?.timer.cancel()
        dialTimer?.timer.cancel()
        rebuildTimer?.cancel()
        for link in links.values { link.socket.closeAfterFlush(timeoutMs: Node.flushMs) }
        for session in sessions.values {
            session.flush()
            session.socket.closeAfterFlush(timeoutMs: Node.flushMs)
        }
        finishIfFlushed()
        _ = loop.schedule(afterMs: Node.flushMs) { self.assumeIsolated { $0.finish() } }
    }

    /// What is still to be written when the node stops gets this long.
    static let flushMs: UInt64 = 300

    func finishIfFlushed() {
        if isStopping, links.isEmpty, sessions.isEmpty { finish() }
    }

    private func finish() {
        guard let completion = onStopped else { return }
        onStopped = nil
        isClosed = true
        verification = nil
        for link in links.values { link.socket.close() }
        for session in sessions.values { session.socket.close() }
        links = [:]
        sessions = [:]
        store.close()
        // Their callbacks hold this node, and the lock is given back with it.
        (listener, clientListener, networkMonitor, discoveryService) = (nil, nil, nil, nil)
        (onStopRequest, onRestartRequest, lock) = (nil, nil, nil)
        completion()
    }
}
