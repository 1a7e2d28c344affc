internal import CPosix
internal import Glibc

/// Fires once after a time in which the machine may have been suspended: at once when it wakes, if it became due
/// meanwhile. Timers of an ``EventLoop`` stand still then.
///
/// `@unchecked Sendable`: confined to the loop's thread, which its calls check.
final class BootTimer: @unchecked Sendable {
    private let loop: EventLoop
    private let onFire: @Sendable () -> Void
    private var timer: Descriptor?
    private var watch: Watch?

    /// A timer that is not set. `onFire` runs on the loop. Only on the loop.
    init(on loop: EventLoop, onFire: @escaping @Sendable () -> Void) throws(NetError) {
        loop.preconditionOnLoop()
        self.loop = loop
        self.onFire = onFire
        let timer = try Descriptor(starling_boot_timer_open(), operation: "timerfd_create")
        let number = timer.number
        self.timer = consume timer
        watch = try loop.watch(number, for: Readiness.readable, self)
    }

    /// Sets it, whatever it was set to before.
    ///
    /// - Parameter delayMs: at least 1.
    func set(afterMs delayMs: UInt64) {
        loop.preconditionOnLoop()
        guard let watch else { return }
        _ = starling_boot_timer_set(watch.descriptor, max(delayMs, 1))
    }

    /// It never fires after this.
    func cancel() {
        loop.preconditionOnLoop()
        if let watch { loop.unwatch(watch) }
        watch = nil
        timer = nil
    }
}

extension BootTimer: DescriptorHandler {
    func descriptorReady(_ events: UInt32) {
        guard let watch else { return }
        var count: UInt64 = 0
        // Nothing to read: it was set anew since.
        guard unsafe read(watch.descriptor, &count, MemoryLayout<UInt64>.size) > 0 else { return }
        onFire()
    }

    func loopStopped() {
        cancel()
    }
}
