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
    let workspace: Workspace
    let instance: UInt64
    let isNewIdentity: Bool
    private var lock: FileLock.Held?
    var store: DatabaseStore
    var replaceNotBeforeMs: UInt64 = 0
    var clock: HybridClock
    var isClockSynchronised = starling_clock_is_synchronised() == 1
    var clockCheckedMs = EventLoop.monotonicMs()
    var replicator: Replicator
    var stepTimer: (timer: LoopTimer, atMs: UInt64)?
    /// After an error of the store the machine's timers wait until then.
    var stepNotBeforeMs: UInt64 = 0
    var maintenanceTimer: LoopTimer?

    // Peers
    var listener: StreamListener?
    var links: [LinkID: PeerLink] = [:]
    /// Links that are given up but still open, to send what was queued.
    var closing: Set<LinkID> = []
    var nextLink = 0
    var dialer = Dialer()
    var dialTimer: (timer: LoopTimer, atMs: UInt64)?
    var named: [HostPort] = []
    /// What they were resolved to last.
    var namedAddresses: [HostPort: [SocketAddress]] = [:]
    var networkMonitor: NetworkMonitor?
    var interfaces: [NetworkInterface] = []
    var discovery: DiscoveryStatus = .off
    var discoveryService: DiscoveryService?

    // Clients
    var clientListener: StreamListener?
    var sessions: [Int: ControlSession] = [:]
    var nextSession = 0
    var subscriptions: [Int: Subscription] = [:]
    var nextSubscription = 0
    var verification: Verification?
    /// Peers that ask for this node's keyed sum; when the next is answered, and who was last.
    var verifyQuestions: [LinkID: [UInt8]] = [:]
    var verifyTimer: LoopTimer?
    var verifyNotBeforeMs: UInt64 = 0
    var verifyAnswered = LinkID(0)
    var lastClientMs: UInt64 = 0
    var isAway = false
    var presenceSinceMs: UInt64 = 0

    // What every message needs again; see Node+Names
    var certifiedChannels: [String: Key] = [:]
    var storedNames: [Bytes32: String] = [:]

    // Counters since the start, for `status`
    var denied = 0
    var isDiskFull = false
    var logBudget = LogBudget()
    var isStopping = false
    /// The store is closed: whatever still happens has no effect.
    private(set) var isClosed = false
    var onStopped: (@Sendable () -> Void)?
    /// Called when a client asks the daemon to stop.
    var onStopRequest: (@Sendable () -> Void)?
    var signals: SignalSource?

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
        workspace = options.workspace
        try options.home.prepare()
        guard let lock = try FileLock.tryLock(path: options.home.lockPath) else {
            let holder = FileLock.holder(path: options.home.lockPath).map { " (process \($0))" } ?? ""
            throw NodeError(.alreadyRunning, "a daemon already runs for \(options.home.dataDirectory)\(holder)")
        }
        self.lock = lock
        (key, isNewIdentity) = try IdentityFile.loadOrCreate(options.home.identityPath)
        uid = key.publicKey
        instance = SecureRandom.uint64()
        store = try Node.openStore(options.home.databasePath, options.log)
        let wallMs = WallClock.milliseconds()
        let base = max(wallMs, Node.buildMs)
        let greatest = try store.greatestHLC(notAfter: HLC(ms: base &+ Node.heldMs))
        clock = HybridClock(workspaceMs: base, greatestStored: greatest, randomness: SecureRandom.uint64())
        replicator = Replicator(
            workspace: workspace.id, key: key, instance: instance, clock: ClockEstimate(buildMs: Node.buildMs),
            highWater: greatest, softAfter: clock.last)
    }

    /// Begins to listen, to serve clients and to look for peers. After it returns clients can attach.
    public func open() throws {
        lastClientMs = EventLoop.monotonicMs()
        presenceSinceMs = WallClock.milliseconds()
        replicator.start(moment)
        try takeName()
        try listenForPeers()
        try listenForClients()
        try watchNetwork()
        recallPeers()
        recallNamed()
        for peer in options.peers { addPeer(peer) }
        publishPresence()
        startDiscovery()
        scheduleMaintenance()
    }

    var moment: Moment {
        let now = EventLoop.monotonicMs()
        // Unlike the clocks it takes a system call, and it hardly ever changes.
        if now &- clockCheckedMs >= Node.clockCheckMs {
            isClockSynchronised = starling_clock_is_synchronised() == 1
            clockCheckedMs = now
        }
        return Moment(monotonicMs: now, wallMs: WallClock.milliseconds(), isSynchronised: isClockSynchronised)
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
        step(.shutdown)
        rememberPeers()
        discoveryService?.stop()
        listener?.close()
        clientListener?.close()
        networkMonitor?.stop()
        maintenanceTimer?.cancel()
        stepTimer?.timer.cancel()
        dialTimer?.timer.cancel()
        for link in links.values { link.socket.closeAfterFlush(timeoutMs: Node.flushMs) }
        for session in sessions.values { session.socket.closeAfterFlush(timeoutMs: Node.flushMs) }
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
        (signals, onStopRequest, lock) = (nil, nil, nil)
        completion()
    }
}
