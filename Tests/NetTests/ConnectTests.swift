import Glibc
import Testing

@testable import Net

@Suite(.timeLimit(.minutes(1)))
struct ConnectTests {
    typealias Outcome = Result<StreamSocket, NetError>

    @Test func connectsAndTalks() async throws {
        try await withLoop { loop in
            let (there, here) = (Witness(), Witness())
            let outcome = Promise<Outcome>()
            let listener = try await loop.run {
                let listener = try StreamListener.tcp(.loopback(port: 0), on: loop) { socket in
                    there.attach(to: socket)
                    socket.send(Array("welcome".utf8))
                }
                StreamSocket.connect(to: .loopback(port: listener.port), timeoutMs: 1000, on: loop) { result in
                    if case .success(let socket) = result {
                        here.attach(to: socket, expecting: 7)
                        socket.send([1])
                    }
                    outcome.fulfil(result)
                }
                return listener
            }
            let socket = try await outcome.value.get()
            _ = await here.received.value
            _ = await there.received.value
            #expect(here.text == "welcome")
            try await loop.run {
                #expect(socket.peerAddress == listener.address)
                socket.close()
            }
            #expect(await there.closed.value == .ended)
        }
    }

    @Test func connectsOverIPv6() async throws {
        try await withLoop { loop in
            let any = try #require(SocketAddress("[::1]:0"))
            guard let listener = try? await loop.run({ try StreamListener.tcp(any, on: loop) { _ in } }) else {
                // A host without IPv6: the rest of the suite covers it.
                return
            }
            let outcome = Promise<Outcome>()
            let address = any.with(port: listener.port)
            try await loop.run {
                _ = StreamSocket.connect(to: address, timeoutMs: 1000, on: loop) { outcome.fulfil($0) }
            }
            #expect(try await outcome.value.get().peerAddress == address)
        }
    }

    @Test func refusalIsTold() async throws {
        try await withLoop { loop in
            let outcome = Promise<Outcome>()
            // Bound but not listening: nobody else can get the port meanwhile.
            let bound = RawSocket(socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0))
            let any = SocketAddress.loopback(port: 0)
            #expect(unsafe any.withSockaddr { unsafe bind(bound.descriptor, $0, $1) } == 0)
            let address = try #require(unsafe SocketAddress.filled { unsafe getsockname(bound.descriptor, $0, $1) })
            try await loop.run {
                _ = StreamSocket.connect(to: address, timeoutMs: 1000, on: loop) { outcome.fulfil($0) }
            }
            #expect(code(await outcome.value) == .refused)
        }
    }

    @Test func addressThatCannotBeDialledFailsOutsideTheCall() async throws {
        try await withLoop { loop in
            let outcome = Promise<Outcome>()
            let order = Recorder<Int>()
            let broadcast = try #require(SocketAddress("255.255.255.255:1"))
            try await loop.run {
                StreamSocket.connect(to: broadcast, timeoutMs: 1000, on: loop) { result in
                    order.append(2)
                    outcome.fulfil(result)
                }
                order.append(1)
            }
            #expect(code(await outcome.value) != nil)
            #expect(order.all == [1, 2])
        }
    }

    @Test func silenceEndsAtTheTimeGiven() async throws {
        try await withLoop { loop in
            let silent = try SilentListener()
            let outcome = Promise<Outcome>()
            let start = EventLoop.monotonicMs()
            try await loop.run {
                _ = StreamSocket.connect(to: silent.address, timeoutMs: 40, on: loop) { outcome.fulfil($0) }
            }
            #expect(code(await outcome.value) == .timedOut)
            #expect((40..<10_000).contains(EventLoop.monotonicMs() - start))
        }
    }

    @Test func cancelledAttemptIsNeverHeardOfAgain() async throws {
        try await withLoop { loop in
            let silent = try SilentListener()
            let outcomes = Recorder<Int>()
            let later = Promise<Bool>()
            try await loop.run {
                let attempt = StreamSocket.connect(to: silent.address, timeoutMs: 5, on: loop) { _ in outcomes.append(1)
                }
                attempt.cancel()
                let listener = try StreamListener.tcp(.loopback(port: 0), on: loop) { _ in }
                StreamSocket.connect(to: .loopback(port: listener.port), timeoutMs: 5, on: loop) { _ in
                    outcomes.append(2)
                }.cancel()
                loop.schedule(afterMs: 15) { later.fulfil(true) }
            }
            _ = await later.value
            #expect(outcomes.all.isEmpty)
        }
    }

    /// A port whose queue of connections is full, so that the kernel drops further attempts without an answer.
    private final class SilentListener: Sendable {
        let address: SocketAddress
        private let sockets: [RawSocket]

        init() throws {
            let listener = RawSocket(socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0))
            let any = SocketAddress.loopback(port: 0)
            guard unsafe any.withSockaddr({ unsafe bind(listener.descriptor, $0, $1) }) == 0,
                listen(listener.descriptor, 0) == 0,
                let address = unsafe SocketAddress.filled(by: { unsafe getsockname(listener.descriptor, $0, $1) })
            else { throw NetError.current("listen") }
            self.address = address
            // A queue of 0 holds one connection; the second one's handshake is never finished.
            let first = RawSocket(socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0))
            let second = RawSocket(try SocketOption.nonBlockingNumber())
            for raw in [first, second] {
                _ = unsafe address.withSockaddr { unsafe connect(raw.descriptor, $0, $1) }
            }
            sockets = [listener, first, second]
        }
    }

    private func code(_ outcome: Outcome) -> NetError.Code? {
        if case .failure(let error) = outcome { error.code } else { nil }
    }
}

extension SocketOption {
    /// A non-blocking IPv4 stream socket that the caller closes.
    fileprivate static func nonBlockingNumber() throws -> Int32 {
        let number = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
        guard number >= 0 else { throw NetError.current("socket") }
        return number
    }
}

/// One at a time: the bound on waiting look-ups is the process's.
@Suite(.serialized, .timeLimit(.minutes(1)))
struct ResolverTests {
    @Test(arguments: ["127.0.0.1", "::1"])
    func addressNeedsNoLookUp(host: String) async throws {
        try await withLoop { loop in
            let outcome = Promise<Result<[SocketAddress], NetError>>()
            Resolver.resolve(host: host, port: 47474, on: loop) { outcome.fulfil($0) }
            let expected = try #require(SocketAddress(ip: host, port: 47474))
            #expect(try await outcome.value.get() == [expected])
        }
    }

    @Test func localhostIsLoopbackAndAnswersOnTheLoop() async throws {
        try await withLoop { loop in
            let outcome = Promise<Result<[SocketAddress], NetError>>()
            let onLoop = Promise<Bool>()
            Resolver.resolve(host: "localhost", port: 7, on: loop) { result in
                onLoop.fulfil(loop.isOnLoop)
                outcome.fulfil(result)
            }
            let addresses = try await outcome.value.get()
            #expect(!addresses.isEmpty)
            #expect(addresses.allSatisfy { $0.isLoopback && $0.port == 7 })
            #expect(Set(addresses).count == addresses.count)
            #expect(await onLoop.value)
        }
    }

    @Test(arguments: ["", "two words", "a\0b", "grüße", String(repeating: "a", count: 254), "\u{1B}[2J"])
    func whatIsNoHostNameIsUnknown(host: String) async throws {
        try await withLoop { loop in
            let outcome = Promise<Result<[SocketAddress], NetError>>()
            Resolver.resolve(host: host, port: 1, on: loop) { outcome.fulfil($0) }
            let result = await outcome.value
            #expect(result == .failure(NetError(.unknownHost, operation: "getaddrinfo")))
        }
    }

    @Test func everyLookUpOfABurstIsAnsweredOnce() async throws {
        try await withLoop { loop in
            let count = Resolver.concurrentMax + Resolver.waitingMax + 20
            let outcomes = Recorder<Bool>()
            let done = Promise<Bool>()
            try await loop.run {
                for _ in 0..<count {
                    Resolver.resolve(host: "localhost", port: 1, on: loop) { result in
                        let isExpected =
                            switch result {
                            case .success: true
                            case .failure(let error): error.code == .busy
                            }
                        outcomes.append(isExpected)
                        if outcomes.all.count == count { done.fulfil(true) }
                    }
                }
            }
            _ = await done.value
            #expect(outcomes.all.allSatisfy { $0 })
        }
    }

    @Test func timeLimitEndsALookUp() async throws {
        try await withLoop { loop in
            let outcomes = Recorder<Bool>()
            let done = Promise<Bool>()
            Resolver.resolve(host: "localhost", port: 1, on: loop, timeoutMs: 0) { result in
                outcomes.append(true)
                done.fulfil(true)
            }
            _ = await done.value
            let later = Promise<Bool>()
            loop.schedule(afterMs: 20) { later.fulfil(true) }
            _ = await later.value
            #expect(outcomes.all.count == 1)
        }
    }
}
