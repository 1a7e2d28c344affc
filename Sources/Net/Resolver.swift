internal import Glibc

/// Looks host names up without holding the loop up.
///
/// getaddrinfo(3) blocks, for many seconds when a name server is silent, so it runs on threads of its own, which
/// nothing waits for.
public enum Resolver {
    /// Threads at the same time: enough for the few names a user gives, however many of them hang.
    public static let concurrentMax = 4
    /// Look-ups that may wait for a thread; more are refused with `busy`.
    public static let waitingMax = 64
    /// Addresses of one answer that are kept, the system's preferred ones first.
    public static let addressesMax = 16
    /// Longest DNS name in text form (RFC 1035 2.3.4).
    public static let hostSizeMax = 253
    /// Time within which an answer has to come. The thread may go on longer, and counts as busy so long.
    public static let timeoutMs: UInt64 = 10_000

    private struct State {
        var running = 0
        var waiting: [@Sendable () -> Void] = []
    }

    private static let state = Lock(State())

    /// Looks up the addresses of `host` (a name, or an address as text, which needs no look-up). `completion` runs on
    /// the loop exactly once, with at least one address in order of preference, without duplicates. From any thread.
    ///
    /// Errors: `unknownHost`, `timedOut`, `busy`.
    public static func resolve(
        host: String, port: UInt16, on loop: EventLoop, timeoutMs: UInt64 = Resolver.timeoutMs,
        completion: @escaping @Sendable (Result<[SocketAddress], NetError>) -> Void
    ) {
        if let address = SocketAddress(ip: host, port: port) {
            loop.execute { completion(.success([address])) }
            return
        }
        guard (1...hostSizeMax).contains(host.utf8.count), host.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            loop.execute { completion(.failure(NetError(.unknownHost, operation: "getaddrinfo"))) }
            return
        }
        let once = Once(completion)
        let timer = loop.schedule(afterMs: timeoutMs) {
            once.take()?(.failure(NetError(.timedOut, operation: "getaddrinfo")))
        }
        let finish: @Sendable (Result<[SocketAddress], NetError>) -> Void = { result in
            loop.execute {
                timer.cancel()
                once.take()?(result)
            }
        }
        let isAccepted = submit {
            // A look-up whose time passed while it waited is not worth starting.
            if once.isPending { finish(lookUp(host, port: port)) }
        }
        if !isAccepted { finish(.failure(NetError(.busy, operation: "getaddrinfo"))) }
    }

    /// A completion that can be taken only once.
    private final class Once: Sendable {
        typealias Completion = @Sendable (Result<[SocketAddress], NetError>) -> Void
        private let completion: Lock<Completion?>

        init(_ completion: @escaping Completion) {
            self.completion = Lock(completion)
        }

        var isPending: Bool {
            completion.withLock { $0 != nil }
        }

        func take() -> Completion? {
            completion.withLock { completion in
                defer { completion = nil }
                return completion
            }
        }
    }

    /// Runs `work` on a thread, now or when one is free. False when too many wait.
    private static func submit(_ work: @escaping @Sendable () -> Void) -> Bool {
        let needsThread: Bool? = state.withLock { state in
            if state.running < concurrentMax {
                state.running += 1
                return true
            }
            guard state.waiting.count < waitingMax else { return nil }
            state.waiting.append(work)
            return false
        }
        guard let needsThread else { return false }
        guard needsThread else { return true }
        do throws(NetError) {
            let thread = try LoopThread.start(name: "resolver") { runThread(first: work) }
            pthread_detach(thread)
            return true
        } catch {
            state.withLock { $0.running -= 1 }
            return false
        }
    }

    private static func runThread(first: @Sendable () -> Void) {
        first()
        while let next = nextWaiting() { next() }
    }

    private static func nextWaiting() -> (@Sendable () -> Void)? {
        state.withLock { state in
            guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
            state.running -= 1
            return nil
        }
    }

    private static func lookUp(_ host: String, port: UInt16) -> Result<[SocketAddress], NetError> {
        var hints = unsafe addrinfo()
        // One entry per address instead of one per socket type.
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard unsafe getaddrinfo(host, nil, &hints, &list) == 0 else {
            return .failure(NetError(.unknownHost, operation: "getaddrinfo"))
        }
        defer { unsafe freeaddrinfo(list) }
        var addresses: [SocketAddress] = []
        var next = unsafe list
        while let entry = unsafe next, addresses.count < addressesMax {
            let address = unsafe SocketAddress(entry.pointee.ai_addr)?.with(port: port)
            if let address, !addresses.contains(address) { addresses.append(address) }
            unsafe next = entry.pointee.ai_next
        }
        return addresses.isEmpty ? .failure(NetError(.unknownHost, operation: "getaddrinfo")) : .success(addresses)
    }
}
