internal import CPosix
internal import Glibc

/// Watches for what makes a node look for its peers anew: changed interfaces or addresses, and waking from suspend.
///
/// `@unchecked Sendable`: confined to the loop's thread, which its calls check.
public final class NetworkMonitor: @unchecked Sendable {
    public enum Change: Sendable, Equatable {
        /// The interfaces as they are now; they differ from what was reported or seen at the start. Of a burst of
        /// changes there are several.
        case interfaces([NetworkInterface])
        /// The machine was suspended, or this process stopped, for about so long.
        case resumed(suspendedMs: UInt64)
    }

    /// An address that is taken away and given again, or moved to another interface, is one change. Joining a network
    /// brings changes over one or two seconds: what is dear is to be put off until it is over, what a person waits for
    /// is not.
    public static let debounceMsDefault: UInt64 = 200
    /// How often the clocks are compared. They also are when the machine wakes, if it slept for longer.
    public static let clockCheckMs: UInt64 = 15_000
    /// A look at the clocks that comes this much too late means that the process was stopped: longer than links live
    /// without an answer.
    public static let stoppedMsMin: UInt64 = 12_000

    /// What was seen last.
    public private(set) var interfaces: [NetworkInterface]

    private let loop: EventLoop
    private let debounceMs: UInt64
    private let onChange: @Sendable (Change) -> Void
    private var netlink: Descriptor?
    private var watch: Watch?
    private var debounce: LoopTimer?
    private var clockTimer: BootTimer?
    private var clocksDueMs: UInt64?
    private var suspend = SuspendDetector()

    /// Starts watching. `onChange` runs on the loop, at most `debounceMs` after a change. The kernel repeats addresses
    /// that only had their lifetime renewed (IPv6 router advertisements): those are no change. Only on the loop.
    ///
    /// Throws when the system gives no netlink socket or no list of interfaces.
    public init(
        on loop: EventLoop, debounceMs: UInt64 = NetworkMonitor.debounceMsDefault,
        onChange: @escaping @Sendable (Change) -> Void
    ) throws(NetError) {
        loop.preconditionOnLoop()
        self.loop = loop
        self.debounceMs = debounceMs
        self.onChange = onChange
        let socket = try Descriptor(starling_netlink_open(), operation: "netlink")
        let number = socket.number
        netlink = consume socket
        // After the socket is open, so that no change falls between.
        interfaces = try NetworkInterface.all()
        watch = try loop.watch(number, for: Readiness.readable, self)
        clockTimer = try BootTimer(on: loop) { [weak self] in self?.checkClocks() }
        checkClocks()
    }

    /// Ends watching; nothing is reported after this.
    public func stop() {
        loop.preconditionOnLoop()
        debounce?.cancel()
        clockTimer?.cancel()
        clockTimer = nil
        if let watch { loop.unwatch(watch) }
        watch = nil
        netlink = nil
    }

    private func checkClocks() {
        guard watch != nil else { return }
        let (bootMs, nowMs) = (Clock.nowNs(CLOCK_BOOTTIME) / 1_000_000, EventLoop.monotonicMs())
        let lateMs = clocksDueMs.map { nowMs > $0 ? nowMs - $0 : 0 } ?? 0
        let awayMs = suspend.step(bootMs: bootMs, monotonicMs: nowMs) ?? (lateMs > Self.stoppedMsMin ? lateMs : nil)
        clocksDueMs = nowMs &+ Self.clockCheckMs
        clockTimer?.set(afterMs: Self.clockCheckMs)
        if let awayMs { onChange(.resumed(suspendedMs: awayMs)) }
    }

    /// Counted from the first change of a burst, so that an interface that flaps for ever is reported all the same.
    private func noteChange() {
        guard debounce == nil else { return }
        debounce = loop.schedule(afterMs: debounceMs) { [weak self] in self?.report() }
    }

    private func report() {
        debounce = nil
        guard watch != nil, let now = try? NetworkInterface.all(), now != interfaces else { return }
        interfaces = now
        onChange(.interfaces(now))
    }
}

extension NetworkMonitor: DescriptorHandler {
    func descriptorReady(_ events: UInt32) {
        guard let watch else { return }
        if starling_netlink_drain(watch.descriptor) != 0 { noteChange() }
    }

    func loopStopped() {
        stop()
    }
}

/// Finds out that the machine was suspended: CLOCK_BOOTTIME goes on meanwhile, CLOCK_MONOTONIC does not
/// (clock_gettime(2)).
struct SuspendDetector {
    /// Shorter ones leave connections and sightings as they were.
    static let jumpMsMin: UInt64 = 20_000

    private var offsetMs: UInt64?

    /// Takes both clocks, read one right after the other; how long the machine was suspended since the last step, if
    /// that was over 20 s.
    mutating func step(bootMs: UInt64, monotonicMs: UInt64) -> UInt64? {
        let offset = bootMs >= monotonicMs ? bootMs - monotonicMs : 0
        defer { offsetMs = offset }
        guard let before = offsetMs, offset > before, offset - before > Self.jumpMsMin else { return nil }
        return offset - before
    }
}
