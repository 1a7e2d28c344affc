internal import CPosix
internal import Glibc
internal import Synchronization

/// One thread that waits for descriptors, timers and work, and runs all of it in turn.
///
/// It is a `SerialExecutor`: an actor that returns the loop as its `unownedExecutor` runs on this thread, so callbacks
/// of sockets and timers enter it with `assumeIsolated`, without a hop. Nothing that blocks may run here.
///
/// A turn is: events (at most 64), timers that are due, then the work that was queued when the turn reached it. Work
/// queued meanwhile runs in the next turn, so neither sockets nor work can starve the other.
///
/// A loop lives until ``stop()``; dropping the last reference before leaks its thread.
///
/// `@unchecked Sendable`: `batch`, `timers`, `watches` and `readBuffer` belong to the loop's thread, which
/// ``preconditionOnLoop()`` enforces; everything else is immutable, atomic or behind a lock.
public final class EventLoop: SerialExecutor, @unchecked Sendable {
    private enum Work {
        case job(UnownedJob)
        case body(@Sendable () -> Void)
    }

    private struct Inbox {
        var work: [Work] = []
        var isStopping = false
        /// Nothing is taken any more: the loop has ended.
        var isClosed = false
    }

    /// A burst may have grown the queue; beyond this its memory is given back.
    private static let batchCapacityMax = 1024
    /// While stopping, work may queue more work (an actor finishing); after so many rounds it is cut off.
    private static let stopRoundsMax = 1000
    /// Token of the wake-up descriptor; no slot of the table can have it.
    private static let wakeToken = UInt64.max

    public let name: String

    private let epoll: Descriptor
    private let wake: Descriptor
    private let inbox = Lock(Inbox())
    private let isSleeping = Atomic<Bool>(false)
    /// pthread_self of the loop's thread; 0 when there is none yet or it has ended.
    private let owner = Atomic<UInt>(0)
    private let timerSequence = Atomic<UInt64>(0)
    private let thread = Lock<pthread_t?>(nil)
    private let hasOwnThread: Bool

    private var batch: [Work] = []
    private var timers = TimerHeap()
    private var watches = WatchTable()
    let readBuffer = ReadBuffer()

    /// Starts the loop on a thread of its own, called `name` (first 15 bytes); or, with `startsThread: false`, makes
    /// the calling thread the loop's thread at once, which then has to call ``runHere()``.
    ///
    /// Throws when the process has no descriptors or threads left.
    public init(name: String, startsThread: Bool = true) throws(NetError) {
        self.name = name
        epoll = try Descriptor(starling_epoll_create(), operation: "epoll_create1")
        wake = try Descriptor(starling_eventfd_create(), operation: "eventfd")
        hasOwnThread = startsThread
        guard starling_epoll_add(epoll.number, wake.number, Readiness.readable, Self.wakeToken) == 0 else {
            throw NetError.current("epoll_ctl")
        }
        if startsThread {
            let identifier = try LoopThread.start(name: name) { [self] in
                owner.store(UInt(pthread_self()), ordering: .releasing)
                run()
            }
            thread.withLock { $0 = identifier }
        } else {
            owner.store(UInt(pthread_self()), ordering: .releasing)
        }
    }

    deinit {
        if let thread = thread.withLock({ $0 }) { pthread_detach(thread) }
    }

    /// Runs the loop on the calling thread until ``stop()``. Only for a loop made with `startsThread: false`, on the
    /// thread that made it, once.
    public func runHere() {
        precondition(!hasOwnThread && isOnLoop, "event loop \(name): runHere on another thread, or run already")
        run()
    }

    /// Ends the loop: everything open on it is closed, work that is queued still runs, timers are dropped. Called on
    /// the loop it returns at once and the loop ends after this turn; elsewhere it waits for the loop's own thread to
    /// end. Jobs that reach the loop later never run.
    public func stop() {
        inbox.withLock { $0.isStopping = true }
        guard !isOnLoop else { return }
        starling_eventfd_signal(wake.number)
        // Held while joining, so that a second caller waits as well.
        thread.withLock { thread in
            if let identifier = thread { pthread_join(identifier, nil) }
            thread = nil
        }
    }

    // MARK: Work

    public func enqueue(_ job: consuming ExecutorJob) {
        submit(.job(UnownedJob(job)))
    }

    /// Runs `body` on the loop, after everything queued before; from any thread. Never runs it inside this call.
    /// After the loop's end `body` is dropped.
    public func execute(_ body: @escaping @Sendable () -> Void) {
        submit(.body(body))
    }

    private func submit(_ work: Work) {
        let isAccepted = inbox.withLock { inbox in
            guard !inbox.isClosed else { return false }
            inbox.work.append(work)
            return true
        }
        guard isAccepted, !isOnLoop else { return }
        if isSleeping.exchange(false, ordering: .sequentiallyConsistent) {
            starling_eventfd_signal(wake.number)
        }
    }

    // MARK: Isolation

    /// Whether the caller runs on the loop's thread.
    public var isOnLoop: Bool {
        owner.load(ordering: .acquiring) == UInt(pthread_self())
    }

    public func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        unsafe UnownedSerialExecutor(ordinary: self)
    }

    public func checkIsolated() {
        preconditionOnLoop()
    }

    public func isIsolatingCurrentContext() -> Bool? {
        isOnLoop
    }

    /// Traps unless called on the loop's thread: what is confined to the loop checks with this, in release builds too,
    /// because a race is worse than a crash and the check costs about a nanosecond.
    public func preconditionOnLoop() {
        precondition(isOnLoop, "not on event loop \(name)")
    }

    // MARK: Time

    /// CLOCK_MONOTONIC in nanoseconds: never jumps, stands still while the machine is suspended (clock_gettime(2)).
    public static func monotonicNs() -> UInt64 {
        Clock.nowNs(CLOCK_MONOTONIC)
    }

    /// CLOCK_MONOTONIC in milliseconds.
    public static func monotonicMs() -> UInt64 {
        monotonicNs() / 1_000_000
    }

    /// Runs `body` on the loop once, at least `afterMs` milliseconds from now; from any thread. Timers of one deadline
    /// run in the order of their scheduling. Never runs `body` inside this call, not even for 0.
    @discardableResult
    public func schedule(afterMs: UInt64, _ body: @escaping @Sendable () -> Void) -> LoopTimer {
        let (delayNs, overflow) = afterMs.multipliedReportingOverflow(by: 1_000_000)
        let now = Self.monotonicNs()
        let deadline = overflow || delayNs > UInt64.max - now ? UInt64.max : now + delayNs
        let sequence = timerSequence.wrappingAdd(1, ordering: .relaxed).oldValue
        let timer = LoopTimer(loop: self, deadlineNs: deadline, sequence: sequence, body: body)
        if isOnLoop {
            timers.insert(timer)
        } else {
            execute { [self] in
                if !timer.isCancelled { timers.insert(timer) }
            }
        }
        return timer
    }

    func forget(_ timer: LoopTimer) {
        timers.remove(timer)
    }

    // MARK: Descriptors

    /// Watches a descriptor until ``unwatch(_:)``, and keeps `handler` alive so long.
    func watch(_ descriptor: Int32, for events: UInt32, _ handler: any DescriptorHandler) throws(NetError) -> Watch {
        preconditionOnLoop()
        let token = watches.insert(handler)
        guard starling_epoll_add(epoll.number, descriptor, events, token) == 0 else {
            let error = NetError.current("epoll_ctl")
            watches.remove(token)
            throw error
        }
        return Watch(descriptor: descriptor, token: token, events: events)
    }

    /// Changes what is waited for. nil takes the descriptor out of the epoll set, because errors and hang-ups are
    /// reported for every member, asked for or not, and would keep the loop spinning while nobody wants to read.
    func change(_ watch: inout Watch, to events: UInt32?) throws(NetError) {
        guard events != watch.events else { return }
        let result =
            switch (watch.events, events) {
            case (nil, let events?): starling_epoll_add(epoll.number, watch.descriptor, events, watch.token)
            case (_, let events?): starling_epoll_change(epoll.number, watch.descriptor, events, watch.token)
            case (_, nil): starling_epoll_remove(epoll.number, watch.descriptor)
            }
        guard result == 0 else { throw NetError.current("epoll_ctl") }
        watch.events = events
    }

    /// Ends watching; the descriptor has to be open still.
    func unwatch(_ watch: Watch) {
        if watch.events != nil { _ = starling_epoll_remove(epoll.number, watch.descriptor) }
        watches.remove(watch.token)
    }

    // MARK: The loop itself

    private func run() {
        var ready = [starling_ready](repeating: starling_ready(), count: Int(STARLING_READY_MAX))
        while true {
            runTimers()
            runInbox()
            guard let timeoutMs = timeoutMs() else { break }
            let count = unsafe starling_epoll_wait(epoll.number, &ready, Int32(ready.count), timeoutMs)
            isSleeping.store(false, ordering: .relaxed)
            // EBADF and EINVAL are the only errors left, and both mean that this code is wrong.
            precondition(count >= 0, "event loop \(name): epoll_wait failed, errno \(errno)")
            for event in ready.prefix(Int(count)) {
                if event.token == Self.wakeToken {
                    starling_eventfd_drain(wake.number)
                } else {
                    watches.handler(event.token)?.descriptorReady(event.events)
                }
            }
        }
        finish()
    }

    /// How long the next wait may last; nil to end. Announces the sleep before it looks at the inbox, so that whoever
    /// adds work after the look sees the announcement and wakes the loop.
    private func timeoutMs() -> Int32? {
        isSleeping.store(true, ordering: .sequentiallyConsistent)
        let (isStopping, isEmpty) = inbox.withLock { ($0.isStopping, $0.work.isEmpty) }
        if isStopping { return nil }
        guard isEmpty else {
            isSleeping.store(false, ordering: .relaxed)
            return 0
        }
        guard let first = timers.first else { return -1 }
        let now = Self.monotonicNs()
        guard first.deadlineNs > now else { return 0 }
        let waitNs = first.deadlineNs - now
        // Rounded up, so that a timer never fires early.
        let waitMs = waitNs / 1_000_000 + (waitNs % 1_000_000 == 0 ? 0 : 1)
        return Int32(clamping: waitMs)
    }

    private func runTimers() {
        guard timers.first != nil else { return }
        let now = Self.monotonicNs()
        while let timer = timers.first, timer.deadlineNs <= now {
            timers.remove(timer)
            timer.takeBody()?()
        }
    }

    private func runInbox() {
        inbox.withLock { swap(&$0.work, &batch) }
        guard !batch.isEmpty else { return }
        let executor = unsafe asUnownedSerialExecutor()
        for work in batch {
            switch work {
            case .job(let job): unsafe job.runSynchronously(on: executor)
            case .body(let body): body()
            }
        }
        batch.removeAll(keepingCapacity: batch.capacity <= Self.batchCapacityMax)
    }

    private func finish() {
        for handler in watches.all { handler.loopStopped() }
        var rounds = 0
        while rounds < Self.stopRoundsMax, inbox.withLock({ !$0.work.isEmpty }) {
            runInbox()
            rounds += 1
        }
        let dropped = inbox.withLock { inbox in
            inbox.isClosed = true
            defer { inbox.work = [] }
            return inbox.work
        }
        // Released outside the lock, while this thread still counts as the loop: their deinit may run anything.
        _ = consume dropped
        for timer in timers.removeAll() { _ = timer.takeBody() }
        owner.store(0, ordering: .releasing)
    }
}
