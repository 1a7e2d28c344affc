internal import CPosix
internal import Glibc

/// A connected TCP or Unix stream on an ``EventLoop``.
///
/// Everything here is confined to the loop's thread. Callbacks run there too, and never inside a call made to the
/// socket: `send` or `close` cannot re-enter their caller. An actor that runs on the loop enters itself with
/// `assumeIsolated`.
///
/// Bytes that arrive before ``onReceive`` is set wait in the kernel; nothing is lost by setting it late. An open socket
/// is kept alive by its loop, so it has to be closed; with ``onClose`` all callbacks are released, and later ones
/// dropped.
///
/// `@unchecked Sendable`: the state belongs to the loop's thread, which every public call checks.
public final class StreamSocket: @unchecked Sendable {
    /// A socket reads at most this much in one turn of the loop (four reads), so that one flood does not hold up
    /// others.
    public static let readTurnMax = 256 * 1024
    /// Twice the greatest message of the peer protocol (4 MiB): one may be under way while the next is made.
    public static let queueMaxDefault = 8 * 1024 * 1024
    /// How long TCP tries without an acknowledgement. Above the 12 s after which peers call a link dead, so that they
    /// decide.
    public static let userTimeoutMs: Int32 = 20_000
    /// How long ``closeAfterFlush(timeoutMs:)`` waits for the other side by default.
    public static let flushTimeoutMs: UInt64 = 5_000

    /// Time between two calls of ``onMove``.
    public static let moveNoticeMs: UInt64 = 1_000

    public let loop: EventLoop
    /// The other end of a TCP connection; nil for a Unix stream.
    public let peerAddress: SocketAddress?
    /// This end of a TCP connection; nil for a Unix stream.
    public let localAddress: SocketAddress?

    /// What arrives, in order, never empty. While nil, nothing is read.
    public var onReceive: (@Sendable (_ bytes: [UInt8]) -> Void)? {
        didSet {
            if isCloseReported { onReceive = nil }
            updateInterest()
        }
    }
    /// The other side has finished sending but may still read. When set, the owner decides when to close; otherwise the
    /// socket closes by itself after sending what is queued.
    public var onEnd: (@Sendable () -> Void)? {
        didSet { if isCloseReported { onEnd = nil } }
    }
    /// Everything queued has been handed to the kernel, after something had to wait.
    public var onDrained: (@Sendable () -> Void)? {
        didSet { if isCloseReported { onDrained = nil } }
    }
    /// The kernel has taken more of what had to wait, so the other side reads; called at most every
    /// ``moveNoticeMs``.
    public var onMove: (@Sendable () -> Void)? {
        didSet { if isCloseReported { onMove = nil } }
    }
    /// The socket is closed. Called exactly once, whoever closed it, and last of all callbacks; when set after the
    /// fact, soon after.
    public var onClose: (@Sendable (_ reason: CloseReason) -> Void)? {
        didSet {
            if isCloseReported { onClose = nil }
            if closeReason != nil, onClose != nil { reportClose() }
        }
    }

    /// More waiting bytes than this close the socket (``CloseReason/slowReader``).
    public var queueMax = StreamSocket.queueMaxDefault

    private var descriptor: Descriptor?
    private var watch: Watch?
    private var queue = SendQueue()
    private var isPaused = false
    /// The other side has finished sending.
    private var peerEnded = false
    /// The kernel reported the end of both directions while nobody was reading.
    private var hungUp = false
    /// Sending failed for this reason; what arrived before can still be read.
    private var brokenBy: CloseReason?
    /// Set from closeAfterFlush on: what arrives is discarded, nothing more is accepted for sending.
    private var closingAs: CloseReason?
    private var hasSentEnd = false
    private var flushTimer: LoopTimer?
    private var movedMs: UInt64 = 0
    private var closeReason: CloseReason?
    private var isCloseReported = false

    /// Takes over a connected socket. Throws, and closes it, when the loop cannot watch it.
    init(_ descriptor: consuming Descriptor, on loop: EventLoop) throws(NetError) {
        loop.preconditionOnLoop()
        self.loop = loop
        let number = descriptor.number
        peerAddress = unsafe SocketAddress.filled { unsafe getpeername(number, $0, $1) }
        localAddress = unsafe SocketAddress.filled { unsafe getsockname(number, $0, $1) }
        self.descriptor = consume descriptor
        if localAddress != nil { Self.setOptions(number) }
        watch = try loop.watch(number, for: 0, self)
    }

    /// Takes over a connected stream socket made elsewhere (socketpair(2), socket activation); it becomes non-blocking
    /// and close-on-exec and belongs to the `StreamSocket` from here on, even when this throws.
    public convenience init(adopting descriptor: Int32, on loop: EventLoop) throws(NetError) {
        let owned = Descriptor(owning: descriptor)
        guard fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0,
            fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK) == 0
        else { throw NetError.current("fcntl") }
        try self.init(owned, on: loop)
    }

    /// Best effort: a connection without them works as well, only less well.
    private static func setOptions(_ descriptor: Int32) {
        // Messages are small and written whole; Nagle would hold them back for a round trip.
        SocketOption.set(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
        SocketOption.set(descriptor, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, userTimeoutMs)
    }

    public var isClosed: Bool {
        closeReason != nil
    }

    /// The process at the other end of a Unix stream, as it was when it connected (SO_PEERCRED, unix(7)); nil for TCP
    /// and when closed.
    public var peerCredentials: (pid: Int32, uid: UInt32, gid: UInt32)? {
        loop.preconditionOnLoop()
        guard localAddress == nil, let number = watch?.descriptor else { return nil }
        var (pid, uid, gid): (Int32, UInt32, UInt32) = (0, 0, 0)
        guard unsafe starling_peer_credentials(number, &pid, &uid, &gid) == 0 else { return nil }
        return (pid, uid, gid)
    }

    // MARK: Sending

    /// Bytes that wait for the kernel to take them.
    public var queuedBytes: Int {
        queue.count
    }

    /// Sends bytes after all sent before: at once as far as the kernel takes them, the rest when it does. Does nothing
    /// on a socket that is closed or closing. Closes it when more than ``queueMax`` bytes would wait.
    public func send(_ bytes: [UInt8]) {
        loop.preconditionOnLoop()
        guard watch != nil, closingAs == nil, brokenBy == nil else { return }
        let sent = queue.isEmpty ? write(bytes, from: 0) : 0
        guard sent < bytes.count, watch != nil, brokenBy == nil else { return }
        guard bytes.count - sent <= queueMax - queue.count else {
            // Reset rather than end: the kernel shall not go on feeding a reader that does not read.
            if let number = watch?.descriptor { SocketOption.resetOnClose(number) }
            finish(.slowReader)
            return
        }
        queue.append(bytes, from: sent)
        updateInterest()
    }

    /// One send(2); how much the kernel took.
    private func write(_ bytes: [UInt8], from offset: Int) -> Int {
        guard let number = watch?.descriptor, offset < bytes.count else { return 0 }
        while true {
            let count = unsafe bytes.withUnsafeBytes { buffer in
                let rest = unsafe UnsafeRawBufferPointer(rebasing: buffer[offset...])
                return unsafe Glibc.send(number, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
            }
            if count >= 0 { return count }
            switch errno {
            case EINTR: continue
            case EAGAIN: break
            case let error: sendingFailed(CloseReason(errno: error))
            }
            return 0
        }
    }

    /// The other side may have sent requests before it went, which are worth reading; then their end closes the socket.
    private func sendingFailed(_ reason: CloseReason) {
        queue.removeAll()
        brokenBy = reason
        if wantsInput, closingAs == nil {
            updateInterest()
        } else {
            finish(reason)
        }
    }

    private func flush() {
        let wasWaiting = !queue.isEmpty
        var budget = Self.readTurnMax
        while !queue.isEmpty, budget > 0 {
            let (bytes, offset) = queue.next
            let sent = write(bytes, from: offset)
            guard sent > 0 else { break }
            queue.advance(by: sent)
            budget -= sent
        }
        guard watch != nil else { return }
        if closingAs != nil {
            if queue.isEmpty { sendEnd() }
        } else if wasWaiting, brokenBy == nil {
            if budget < Self.readTurnMax { moved() }
            if queue.isEmpty { onDrained?() }
        }
        updateInterest()
    }

    private func moved() {
        let nowMs = EventLoop.monotonicMs()
        guard nowMs >= movedMs &+ Self.moveNoticeMs else { return }
        movedMs = nowMs
        onMove?()
    }

    // MARK: Receiving

    /// Stops reading: the kernel's buffer fills and the other side has to wait. At most the read under way is still
    /// delivered.
    public func pauseReading() {
        loop.preconditionOnLoop()
        isPaused = true
        updateInterest()
    }

    public func resumeReading() {
        loop.preconditionOnLoop()
        isPaused = false
        updateInterest()
    }

    private var wantsInput: Bool {
        !peerEnded && (closingAs != nil || onReceive != nil && !isPaused)
    }

    private func receive() {
        var budget = Self.readTurnMax
        while budget > 0, wantsInput, let number = watch?.descriptor {
            switch loop.readBuffer.receive(from: number) {
            case .bytes(let bytes):
                budget -= bytes.count
                if closingAs == nil { onReceive?(bytes) }
                // Less than asked for: the kernel has no more, and another call would only say so.
                if bytes.count < ReadBuffer.size { return }
            case .end: return receivedEnd()
            case .wouldBlock: return
            case .failed(let errno): return finish(brokenBy ?? CloseReason(errno: errno))
            }
        }
    }

    private func receivedEnd() {
        peerEnded = true
        if let brokenBy { return finish(brokenBy) }
        if let closingAs {
            if hasSentEnd { return finish(closingAs) }
        } else if let onEnd {
            onEnd()
        } else {
            close(afterFlushAs: .ended, timeoutMs: Self.flushTimeoutMs)
        }
        updateInterest()
    }

    // MARK: Closing

    /// Closes at once; what is queued is lost.
    public func close() {
        loop.preconditionOnLoop()
        finish(.closedHere)
    }

    /// Sends what is queued, then the end of the stream, waits until the other side ends as well, and closes. What
    /// arrives meanwhile is discarded: closing with unread input would make TCP throw away what the other side has not
    /// read yet. Closes after `timeoutMs` in any case.
    public func closeAfterFlush(timeoutMs: UInt64 = StreamSocket.flushTimeoutMs) {
        loop.preconditionOnLoop()
        close(afterFlushAs: .closedHere, timeoutMs: timeoutMs)
    }

    private func close(afterFlushAs reason: CloseReason, timeoutMs: UInt64) {
        guard watch != nil, closingAs == nil else { return }
        if brokenBy != nil || hungUp { return finish(brokenBy ?? reason) }
        closingAs = reason
        flushTimer = loop.schedule(afterMs: timeoutMs) { [weak self] in self?.finish(reason) }
        if queue.isEmpty { sendEnd() }
        updateInterest()
    }

    private func sendEnd() {
        guard !hasSentEnd, let number = watch?.descriptor else { return }
        hasSentEnd = true
        if peerEnded || shutdown(number, Int32(SHUT_WR)) != 0 {
            finish(closingAs ?? .closedHere)
        }
    }

    private func finish(_ reason: CloseReason) {
        guard closeReason == nil else { return }
        closeReason = reason
        if let watch { loop.unwatch(watch) }
        watch = nil
        descriptor = nil
        queue.removeAll()
        flushTimer?.cancel()
        flushTimer = nil
        reportClose()
    }

    private func reportClose() {
        loop.execute { [self] in
            guard !isCloseReported, let closeReason, let onClose else { return }
            isCloseReported = true
            releaseCallbacks()
            onClose(closeReason)
        }
    }

    private func releaseCallbacks() {
        onReceive = nil
        onEnd = nil
        onDrained = nil
        onMove = nil
        onClose = nil
    }

    // MARK: Readiness

    private func updateInterest() {
        // Setting a callback comes here as well.
        loop.preconditionOnLoop()
        guard var watch else { return }
        var events: UInt32? = (wantsInput ? Readiness.readable : 0) | (queue.isEmpty ? 0 : Readiness.writable)
        if hungUp, !wantsInput { events = nil }
        do throws(NetError) {
            try loop.change(&watch, to: events)
            self.watch = watch
        } catch {
            finish(.failed(errno: error.errno))
        }
    }
}

extension StreamSocket: DescriptorHandler {
    func descriptorReady(_ events: UInt32) {
        let isOver = events & (Readiness.failed | Readiness.hungUp) != 0
        if isOver, !wantsInput {
            overWhileNotReading(failed: events & Readiness.failed != 0)
            return
        }
        if events & Readiness.writable != 0 { flush() }
        if isOver || events & Readiness.readable != 0 { receive() }
    }

    func loopStopped() {
        finish(.closedHere)
    }

    private func overWhileNotReading(failed: Bool) {
        let error = failed ? watch.map { SocketOption.pendingError($0.descriptor) } ?? 0 : 0
        if error != 0 {
            finish(CloseReason(errno: error))
        } else if peerEnded || closingAs != nil {
            finish(closingAs ?? .ended)
        } else {
            // What arrived before is still there for when reading resumes. Sending has become pointless.
            hungUp = true
            queue.removeAll()
            updateInterest()
        }
    }
}
