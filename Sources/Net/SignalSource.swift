internal import CPosix
internal import Glibc

/// Delivers signals of the process on an ``EventLoop``.
///
/// A handler writes into a pipe that the loop reads, rather than a signalfd: that would need the signals blocked in
/// every thread of the process, which neither Swift's pool nor a child process would undo.
///
/// `@unchecked Sendable`: confined to the loop's thread, which its calls check.
public final class SignalSource: @unchecked Sendable {
    private let loop: EventLoop
    private let signals: [Int32]
    private let onSignal: @Sendable (Int32) -> Void
    private var routed: [Int32] = []
    private var reading: Descriptor?
    private var writing: Descriptor?
    private var watch: Watch?

    /// Takes over `signals` (SIGTERM …) until ``cancel()``. `onSignal` runs on the loop; several of one kind may arrive
    /// as one. Only on the loop. Throws `other` (EBUSY) when one of them has a source already.
    public init(
        _ signals: [Int32], on loop: EventLoop, onSignal: @escaping @Sendable (_ signal: Int32) -> Void
    ) throws(NetError) {
        loop.preconditionOnLoop()
        self.loop = loop
        self.signals = signals
        self.onSignal = onSignal
        var ends: [Int32] = [-1, -1]
        guard unsafe starling_pipe(&ends) == 0 else { throw NetError.current("pipe2") }
        reading = Descriptor(owning: ends[0])
        writing = Descriptor(owning: ends[1])
        watch = try loop.watch(ends[0], for: Readiness.readable, self)
        for signal in signals {
            guard starling_signal_route(signal, ends[1]) == 0 else {
                let error = NetError.current("sigaction")
                cancel()
                throw error
            }
            routed.append(signal)
        }
    }

    /// Gives the signals back to whoever had them before.
    public func cancel() {
        loop.preconditionOnLoop()
        for signal in routed { _ = starling_signal_restore(signal) }
        routed = []
        if let watch { loop.unwatch(watch) }
        watch = nil
        reading = nil
        writing = nil
    }
}

extension SignalSource: DescriptorHandler {
    func descriptorReady(_ events: UInt32) {
        guard let watch else { return }
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = unsafe read(watch.descriptor, &bytes, bytes.count)
        guard count > 0 else { return }
        let arrived = Set(bytes.prefix(count).map(Int32.init))
        for signal in signals where arrived.contains(signal) && self.watch != nil { onSignal(signal) }
    }

    func loopStopped() {
        cancel()
    }
}
