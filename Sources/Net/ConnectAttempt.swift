internal import Glibc

extension StreamSocket {
    /// Connects to a TCP address. `completion` runs on the loop exactly once, never inside this call, after at most
    /// `timeoutMs`; after ``ConnectAttempt/cancel()`` not at all. Only on the loop.
    ///
    /// Errors: `refused`, `unreachable`, `timedOut`, `tooManyDescriptors`, `addressNotAvailable`, `permissionDenied`.
    @discardableResult
    public static func connect(
        to address: SocketAddress, timeoutMs: UInt64, on loop: EventLoop,
        completion: @escaping @Sendable (Result<StreamSocket, NetError>) -> Void
    ) -> ConnectAttempt {
        ConnectAttempt(to: address, timeoutMs: timeoutMs, on: loop, completion: completion)
    }
}

/// A TCP connection being made. The loop keeps it alive until it has ended.
///
/// `@unchecked Sendable`: confined to the loop's thread, which its calls check.
public final class ConnectAttempt: @unchecked Sendable {
    public let address: SocketAddress

    private let loop: EventLoop
    private var completion: (@Sendable (Result<StreamSocket, NetError>) -> Void)?
    private var descriptor: Descriptor?
    private var watch: Watch?
    private var timer: LoopTimer?

    fileprivate init(
        to address: SocketAddress, timeoutMs: UInt64, on loop: EventLoop,
        completion: @escaping @Sendable (Result<StreamSocket, NetError>) -> Void
    ) {
        loop.preconditionOnLoop()
        self.address = address
        self.loop = loop
        self.completion = completion
        do throws(NetError) {
            try start()
            timer = loop.schedule(afterMs: timeoutMs) { [self] in
                end(.failure(NetError(.timedOut, errno: ETIMEDOUT, operation: "connect")))
            }
        } catch {
            loop.execute { [self] in end(.failure(error)) }
        }
    }

    /// Gives up; the completion is never called after this.
    public func cancel() {
        loop.preconditionOnLoop()
        completion = nil
        release()
    }

    private func start() throws(NetError) {
        let socket = try SocketOption.streamSocket(address.isIPv4 ? AF_INET : AF_INET6)
        let number = socket.number
        let result = unsafe address.withSockaddr { unsafe Glibc.connect(number, $0, $1) }
        // EINTR: the connection goes on being made as after EINPROGRESS (connect(2)).
        guard result == 0 || errno == EINPROGRESS || errno == EINTR else { throw NetError.current("connect") }
        descriptor = consume socket
        watch = try loop.watch(number, for: Readiness.writable, self)
    }

    private func release() {
        timer?.cancel()
        timer = nil
        if let watch { loop.unwatch(watch) }
        watch = nil
        descriptor = nil
    }

    private func end(_ result: Result<StreamSocket, NetError>) {
        let completion = completion
        self.completion = nil
        release()
        completion?(result)
    }

    private func connected() throws(NetError) -> StreamSocket {
        guard let watch, let socket = descriptor.take() else { throw NetError(.other, operation: "connect") }
        loop.unwatch(watch)
        self.watch = nil
        let error = SocketOption.pendingError(socket.number)
        guard error == 0 else { throw NetError(errno: error, operation: "connect") }
        let stream = try StreamSocket(socket, on: loop)
        // A port of this host that nobody listens on can be chosen as our own, and then TCP connects to itself.
        guard stream.peerAddress != stream.localAddress else {
            stream.close()
            throw NetError(.refused, errno: ECONNREFUSED, operation: "connect")
        }
        return stream
    }
}

extension ConnectAttempt: DescriptorHandler {
    func descriptorReady(_ events: UInt32) {
        do throws(NetError) {
            end(.success(try connected()))
        } catch {
            end(.failure(error))
        }
    }

    func loopStopped() {
        cancel()
    }
}
