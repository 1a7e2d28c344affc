import Glibc
import Testing

@testable import Net

@Suite(.timeLimit(.minutes(1)))
struct StreamSocketTests {
    @Test func bytesGoBothWaysInOrder() async throws {
        try await withLoop { loop in
            let (socket, witness, raw) = try await makePair(on: loop, expecting: 10)
            raw.write("hello")
            raw.write("world")
            _ = await witness.received.value
            #expect(witness.text == "helloworld")
            try await loop.run {
                for number in 0..<100 { socket.send([UInt8(number)]) }
                socket.closeAfterFlush()
            }
            #expect(raw.readToEnd() == (0..<100).map(UInt8.init))
            raw.close()
            #expect(await witness.closed.value == .closedHere)
            #expect(witness.closes.all.count == 1)
        }
    }

    @Test func bytesThatComeBeforeTheCallbackWait() async throws {
        try await withLoop { loop in
            var ends: [Int32] = [-1, -1]
            #expect(unsafe socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
            let (ours, raw) = (ends[0], RawSocket(ends[1]))
            raw.write("early")
            raw.close()
            let socket = try await loop.run { try StreamSocket(adopting: ours, on: loop) }
            // Two turns, in which the hang-up is reported to nobody.
            try await loop.run {}
            try await loop.run {}
            let witness = Witness()
            try await loop.run { witness.attach(to: socket) }
            #expect(await witness.closed.value == .ended)
            #expect(witness.text == "early")
        }
    }

    @Test func closeIsReportedToWhoAsksLater() async throws {
        try await withLoop { loop in
            var ends: [Int32] = [-1, -1]
            #expect(unsafe socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
            let (ours, raw) = (ends[0], RawSocket(ends[1]))
            let socket = try await loop.run { try StreamSocket(adopting: ours, on: loop) }
            try await loop.run { socket.close() }
            try await loop.run {}
            let witness = Witness()
            try await loop.run { witness.attach(to: socket) }
            #expect(await witness.closed.value == .closedHere)
            #expect(raw.readToEnd() == [])
        }
    }

    @Test func callbacksNeverRunInsideACall() async throws {
        try await withLoop { loop in
            let (socket, witness, raw) = try await makePair(on: loop)
            try await loop.run {
                raw.close()
                socket.send([1])
                socket.close()
                socket.close()
                #expect(witness.closes.all.isEmpty)
                #expect(socket.isClosed)
                socket.send([2])
                socket.pauseReading()
                socket.resumeReading()
                socket.closeAfterFlush()
            }
            _ = await witness.closed.value
            try await loop.run {}
            #expect(witness.closes.all.count == 1)
        }
    }

    @Test func closingInsideACallbackStopsDelivery() async throws {
        try await withLoop { loop in
            let (socket, witness, raw) = try await makePair(on: loop)
            let calls = Recorder<Int>()
            try await loop.run {
                socket.onReceive = { bytes in
                    calls.append(bytes.count)
                    socket.close()
                }
                // More than one read's worth, so that the socket would go on reading.
                raw.write([UInt8](repeating: 0, count: ReadBuffer.size + 1000))
            }
            #expect(await witness.closed.value == .closedHere)
            #expect(calls.all == [ReadBuffer.size])
        }
    }

    /// What had to wait and is taken says that the other side reads; what the kernel takes at once says nothing.
    @Test func aQueueThatMovesIsToldOf() async throws {
        try await withLoop { loop in
            let (socket, witness, raw) = try await makePair(on: loop)
            let moves = Recorder<Int>()
            try await loop.run {
                socket.onMove = { moves.append(1) }
                socket.send([1, 2, 3])
                #expect(socket.queuedBytes == 0)
                socket.send([UInt8](repeating: 4, count: 4_000_000))
                #expect(socket.queuedBytes > 0)
            }
            try await loop.run {}
            #expect(moves.all.isEmpty)
            var count = 0
            while count < 4_000_003 { count += try #require(raw.read(65_536)).count }
            #expect(await witness.drained.value)
            #expect(!moves.all.isEmpty)
        }
    }

    @Test func callbacksAreReleasedAfterTheClose() async throws {
        final class Token: Sendable {}
        try await withLoop { loop in
            let (socket, witness, raw) = try await makePair(on: loop)
            weak var released: Token?
            do {
                let token = Token()
                released = token
                try await loop.run { socket.onDrained = { withExtendedLifetime(token) {} } }
            }
            try await loop.run { socket.close() }
            _ = await witness.closed.value
            try await loop.run {}
            #expect(released == nil)
            do {
                let token = Token()
                released = token
                try await loop.run { socket.onDrained = { withExtendedLifetime(token) {} } }
                try await loop.run {}
            }
            #expect(released == nil)
            withExtendedLifetime(raw) {}
        }
    }

    @Test func descriptorIsClosedOnceTheSocketIs() async throws {
        try await withLoop { loop in
            let (socket, witness, raw) = try await makePair(on: loop)
            try await loop.run { socket.close() }
            #expect(raw.readToEnd() == [])
            #expect(await witness.closed.value == .closedHere)
        }
    }

    // MARK: The other side's end

    @Test func endOfStreamClosesAfterWhatIsQueued() async throws {
        try await withLoop { loop in
            let (socket, witness, raw) = try await makePair(on: loop, expecting: 4)
            let answer = [UInt8](repeating: 7, count: 2_000_000)
            try await loop.run {
                socket.onReceive = { _ in socket.send(answer) }
            }
            raw.write("more")
            shutdown(raw.descriptor, Int32(SHUT_WR))
            #expect(raw.readToEnd() == answer)
            #expect(await witness.closed.value == .ended)
        }
    }

    @Test func halfClosedSocketAnswersWhenItsOwnerIsReady() async throws {
        try await withLoop { loop in
            let (socket, witness, raw) = try await makePair(on: loop, keepsOpenAtEnd: true)
            raw.write("question")
            shutdown(raw.descriptor, Int32(SHUT_WR))
            _ = await witness.ended.value
            #expect(witness.text == "question")
            try await loop.run {
                socket.send(Array("answer".utf8))
                socket.closeAfterFlush()
            }
            #expect(raw.readToEnd() == Array("answer".utf8))
            #expect(await witness.closed.value == .closedHere)
        }
    }

    @Test func halfClosedSocketEndsWhenTheOtherSideIsGone() async throws {
        try await withLoop { loop in
            let (_, witness, raw) = try await makePair(on: loop, keepsOpenAtEnd: true)
            shutdown(raw.descriptor, Int32(SHUT_WR))
            _ = await witness.ended.value
            raw.close()
            #expect(await witness.closed.value == .ended)
        }
    }

    @Test func requestsOfAPeerThatWentAwayAreStillRead() async throws {
        try await withLoop { loop in
            let (socket, witness, raw) = try await makePair(on: loop)
            try await loop.run {
                raw.write("last words")
                raw.close()
                socket.send([1])
                #expect(!socket.isClosed)
            }
            #expect(await witness.closed.value == .reset)
            #expect(witness.text == "last words")
        }
    }

    @Test func resetIsTold() async throws {
        try await withLoop { loop in
            let (_, witness, raw) = try await makeTCPPair(on: loop)
            SocketOption.resetOnClose(raw.descriptor)
            raw.close()
            #expect(await witness.closed.value == .reset)
        }
    }

    @Test func resetIsToldWhileReadingIsPaused() async throws {
        try await withLoop { loop in
            let (socket, witness, raw) = try await makeTCPPair(on: loop)
            try await loop.run { socket.pauseReading() }
            SocketOption.resetOnClose(raw.descriptor)
            raw.close()
            #expect(await witness.closed.value == .reset)
        }
    }

    @Test func hangUpWhilePausedDoesNotSpinAndLosesNothing() async throws {
        try await withLoop { loop in
            let (socket, witness, raw) = try await makePair(on: loop)
            try await loop.run { socket.pauseReading() }
            raw.write("kept")
            raw.close()
            let before = threadTimeNs(try await loop.run { pthread_self() })
            let later = Promise<Bool>()
            loop.schedule(afterMs: 30) { later.fulfil(true) }
            _ = await later.value
            let spent = threadTimeNs(try await loop.run { pthread_self() }) - before
            #expect(spent < 10_000_000, "spent \(spent) ns in 30 ms")
            #expect(witness.closes.all.isEmpty)
            try await loop.run { socket.resumeReading() }
            #expect(await witness.closed.value == .ended)
            #expect(witness.text == "kept")
        }
    }

    @Test func closeAfterFlushDoesNotWaitForEver() async throws {
        try await withLoop { loop in
            let (socket, witness, raw) = try await makePair(on: loop)
            try await loop.run {
                socket.send([UInt8](repeating: 0, count: 4_000_000))
                socket.closeAfterFlush(timeoutMs: 20)
            }
            #expect(await witness.closed.value == .closedHere)
            withExtendedLifetime(raw) {}
        }
    }

    @Test func closeAfterFlushDiscardsInputSoThatTheLastWordsArrive() async throws {
        try await withLoop { loop in
            let (socket, witness, raw) = try await makeTCPPair(on: loop)
            try await loop.run { socket.pauseReading() }
            raw.write([UInt8](repeating: 1, count: 10_000))
            try await loop.run {
                socket.send(Array("goodbye".utf8))
                socket.closeAfterFlush()
            }
            raw.write([UInt8](repeating: 1, count: 10_000))
            #expect(raw.readToEnd() == Array("goodbye".utf8))
            raw.close()
            #expect(await witness.closed.value == .closedHere)
            #expect(witness.text.isEmpty)
        }
    }

    // MARK: Who is there

    @Test func credentialsOfAUnixPeerAreThoseOfItsProcess() async throws {
        try await withLoop { loop in
            let (socket, _, raw) = try await makePair(on: loop)
            try await loop.run {
                let credentials = socket.peerCredentials
                #expect(credentials?.pid == getpid())
                #expect(credentials?.uid == geteuid())
                #expect(credentials?.gid == getegid())
                #expect(socket.peerAddress == nil)
                socket.close()
                #expect(socket.peerCredentials == nil)
            }
            withExtendedLifetime(raw) {}
        }
    }

    @Test func addressesOfATCPPeerAreKnownAndItHasNoCredentials() async throws {
        try await withLoop { loop in
            let (socket, _, raw) = try await makeTCPPair(on: loop)
            try await loop.run {
                let own = unsafe SocketAddress.filled { unsafe getsockname(raw.descriptor, $0, $1) }
                #expect(socket.peerAddress == own)
                #expect(socket.localAddress?.isLoopback == true)
                #expect(socket.peerCredentials == nil)
            }
        }
    }
}

/// CPU time a thread has used, in nanoseconds.
func threadTimeNs(_ thread: pthread_t) -> UInt64 {
    var clock = clockid_t()
    guard unsafe pthread_getcpuclockid(thread, &clock) == 0 else { return 0 }
    return Clock.nowNs(clock)
}

/// A TCP connection over loopback: the accepted end on the loop with a witness, the other blocking.
func makeTCPPair(
    on loop: EventLoop, expecting: Int = 1
) async throws -> (StreamSocket, Witness, RawSocket) {
    let accepted = Promise<StreamSocket>()
    let witness = Witness()
    let listener = try await loop.run {
        try StreamListener.tcp(.loopback(port: 0), on: loop) { socket in
            witness.attach(to: socket, expecting: expecting)
            accepted.fulfil(socket)
        }
    }
    guard let raw = listener.address.flatMap(RawSocket.connected(to:)) else { throw NetError.current("connect") }
    let socket = await accepted.value
    try await loop.run { listener.close() }
    return (socket, witness, raw)
}
