internal import CPosix
internal import Glibc

/// A listening TCP or Unix socket on an ``EventLoop``, whose thread it is confined to.
///
/// When the process or the system is out of descriptors it refuses one connection with the descriptor kept for this,
/// and listens again 100 ms later: callers are turned away instead of left hanging, and the loop does not spin.
///
/// `@unchecked Sendable`: the state belongs to the loop's thread, which every public call checks.
public final class StreamListener: @unchecked Sendable {
    /// Connections the kernel holds for us: more than peers and clients together are ever allowed.
    public static let backlogDefault: Int32 = 128
    /// Connections accepted in one turn of the loop, so that a storm of them does not hold up what is connected.
    static let acceptTurnMax = 16
    /// Pause after running out of descriptors.
    static let pauseMs: UInt64 = 100

    public let loop: EventLoop
    /// Where it listens, with the port the system chose; nil for a Unix socket.
    public let address: SocketAddress?
    /// Path of a Unix socket.
    public let path: String?

    private let onAccept: @Sendable (StreamSocket) -> Void
    private let identity: UnixSocketFile.Identity?
    private var descriptor: Descriptor?
    private var watch: Watch?
    private var spare: Descriptor?
    private var pause: LoopTimer?

    /// TCP port it listens on; 0 for a Unix socket.
    public var port: UInt16 {
        address?.port ?? 0
    }

    /// Listens on a TCP address. Port 0 lets the system choose. `[::]` accepts IPv4 as well (dual-stack), whose peers
    /// then have IPv4 addresses. `onAccept` runs on the loop. Only on the loop.
    ///
    /// Errors: `addressInUse`, `addressNotAvailable` (also when the host has no IPv6), `permissionDenied`,
    /// `tooManyDescriptors`.
    public static func tcp(
        _ address: SocketAddress, on loop: EventLoop, backlog: Int32 = backlogDefault,
        onAccept: @escaping @Sendable (StreamSocket) -> Void
    ) throws(NetError) -> StreamListener {
        let socket = try SocketOption.streamSocket(address.isIPv4 ? AF_INET : AF_INET6)
        let number = socket.number
        // A restarted daemon takes its port again while old connections are in TIME_WAIT.
        SocketOption.set(number, SOL_SOCKET, SO_REUSEADDR, 1)
        if !address.isIPv4 { SocketOption.set(number, Int32(IPPROTO_IPV6), IPV6_V6ONLY, 0) }
        guard unsafe address.withSockaddr({ unsafe bind(number, $0, $1) }) == 0 else { throw NetError.current("bind") }
        guard listen(number, backlog) == 0 else { throw NetError.current("listen") }
        return try StreamListener(socket, path: nil, identity: nil, on: loop, onAccept: onAccept)
    }

    /// Listens on every address of this host: dual-stack, or on IPv4 only where the host has no IPv6.
    public static func tcp(
        port: UInt16, on loop: EventLoop, onAccept: @escaping @Sendable (StreamSocket) -> Void
    ) throws(NetError) -> StreamListener {
        do throws(NetError) {
            return try tcp(.anyIPv6(port: port), on: loop, onAccept: onAccept)
        } catch {
            guard error.code == .addressNotAvailable else { throw error }
            return try tcp(.anyIPv4(port: port), on: loop, onAccept: onAccept)
        }
    }

    /// Listens on a Unix socket. The file gets `mode` from its first moment on; the caller vouches for the directory.
    /// A socket of this user that stands there is replaced, so the caller must hold the lock that says it is stale;
    /// anything else is an error. The file is removed on ``close()`` if it is still ours. Only on the loop.
    ///
    /// Errors: `badPath`, `foreignFile`, `permissionDenied`, `tooManyDescriptors`.
    public static func unix(
        path: String, mode: UInt32 = 0o600, on loop: EventLoop, backlog: Int32 = backlogDefault,
        onAccept: @escaping @Sendable (StreamSocket) -> Void
    ) throws(NetError) -> StreamListener {
        let socket = try SocketOption.streamSocket(AF_UNIX)
        let identity = try UnixSocketFile.bind(socket.number, path: path, mode: mode)
        guard listen(socket.number, backlog) == 0 else {
            let error = NetError.current("listen")
            UnixSocketFile.remove(path, if: identity)
            throw error
        }
        return try StreamListener(socket, path: path, identity: identity, on: loop, onAccept: onAccept)
    }

    private init(
        _ descriptor: consuming Descriptor, path: String?, identity: UnixSocketFile.Identity?, on loop: EventLoop,
        onAccept: @escaping @Sendable (StreamSocket) -> Void
    ) throws(NetError) {
        loop.preconditionOnLoop()
        self.loop = loop
        self.path = path
        self.identity = identity
        self.onAccept = onAccept
        let number = descriptor.number
        address = unsafe SocketAddress.filled { unsafe getsockname(number, $0, $1) }
        self.descriptor = consume descriptor
        keepSpare()
        watch = try loop.watch(number, for: Readiness.readable, self)
    }

    /// Stops listening; connections that were accepted stay.
    public func close() {
        loop.preconditionOnLoop()
        guard let watch else { return }
        pause?.cancel()
        loop.unwatch(watch)
        self.watch = nil
        if let path, let identity { UnixSocketFile.remove(path, if: identity) }
        descriptor = nil
        spare = nil
    }

    private func keepSpare() {
        guard spare == nil else { return }
        let number = unsafe open("/dev/null", O_RDONLY | O_CLOEXEC)
        if number >= 0 { spare = Descriptor(owning: number) }
    }

    private func accept() -> Int32 {
        guard let watch else { return -1 }
        return starling_accept(watch.descriptor)
    }

    private func outOfDescriptors() {
        spare = nil
        let number = accept()
        if number >= 0 { _ = Descriptor(owning: number) }
        keepSpare()
        setWatched(0)
        pause = loop.schedule(afterMs: Self.pauseMs) { [weak self] in
            self?.keepSpare()
            self?.setWatched(Readiness.readable)
        }
    }

    private func setWatched(_ events: UInt32) {
        guard var watch else { return }
        // Changing what a member of the set is watched for cannot fail (epoll_ctl(2)).
        try? loop.change(&watch, to: events)
        self.watch = watch
    }
}

extension StreamListener: DescriptorHandler {
    func descriptorReady(_ events: UInt32) {
        for _ in 0..<Self.acceptTurnMax {
            let number = accept()
            guard number < 0 else {
                // Fails only when the kernel has no memory to watch it; then the connection is closed.
                if let stream = try? StreamSocket(Descriptor(owning: number), on: loop) { onAccept(stream) }
                continue
            }
            switch errno {
            case EMFILE, ENFILE, ENOBUFS, ENOMEM: return outOfDescriptors()
            case EAGAIN: return
            // Errors of the one connection, already pending on it (accept(2)): the next may be fine.
            default: continue
            }
        }
    }

    func loopStopped() {
        close()
    }
}
