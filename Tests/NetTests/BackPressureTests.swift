import Glibc
import Synchronization
import Testing

@testable import Net

@Suite(.timeLimit(.minutes(1)))
struct BackPressureTests {
    @Test func bigTransferWaitsForASlowReaderAndArrivesWhole() async throws {
        try await withLoop { loop in
            let (socket, witness, raw) = try await makePair(on: loop)
            var pattern: [UInt8] = []
            for block in 0..<6000 { pattern += [UInt8](repeating: UInt8(truncatingIfNeeded: block), count: 1000) }
            let bytes = pattern
            try await loop.run {
                socket.send(Array(bytes[..<5_000_000]))
                // Small ones behind a large one are gathered.
                for start in stride(from: 5_000_000, to: 6_000_000, by: 1000) {
                    socket.send(Array(bytes[start..<start + 1000]))
                }
                #expect(socket.queuedBytes > 0)
            }
            var received: [UInt8] = []
            while received.count < bytes.count, let part = raw.read(70_000), !part.isEmpty { received += part }
            #expect(isSame(received, bytes))
            #expect(await witness.drained.value)
            #expect(socket.queuedBytes == 0)
        }
    }

    @Test func slowReaderIsDroppedAlone() async throws {
        try await withLoop { loop in
            let (slow, slowWitness, slowRaw) = try await makeTCPPair(on: loop)
            let (quick, quickWitness, quickRaw) = try await makePair(on: loop)
            try await loop.run {
                slow.queueMax = 1_000_000
                for _ in 0..<1000 where !slow.isClosed { slow.send([UInt8](repeating: 0, count: 100_000)) }
                #expect(slow.isClosed)
                quick.send([1, 2, 3])
            }
            #expect(await slowWitness.closed.value == .slowReader)
            #expect(quickRaw.read(3) == [1, 2, 3])
            #expect(quickWitness.closes.all.isEmpty)
            // The kernel's buffers are cut off too: a reader that wakes up late does not get an end it could trust.
            #expect(slowRaw.readToEnd() == nil)
        }
    }

    @Test func queueOfExactlyTheMostIsKept() async throws {
        try await withLoop { loop in
            let (socket, witness, raw) = try await makePair(on: loop)
            try await loop.run {
                // Fills the kernel's buffer, so that everything after this waits.
                socket.send([UInt8](repeating: 0, count: 2_000_000))
                let waiting = socket.queuedBytes
                socket.queueMax = waiting + 10
                socket.send([UInt8](repeating: 0, count: 10))
                #expect(socket.queuedBytes == waiting + 10)
                socket.send([])
                #expect(!socket.isClosed)
                socket.send([0])
                #expect(socket.isClosed)
            }
            #expect(await witness.closed.value == .slowReader)
            withExtendedLifetime(raw) {}
        }
    }

    @Test func pausedReaderHoldsTheOtherSideUpUntilItResumes() async throws {
        try await withLoop { loop in
            let (socket, witness, raw) = try await makePair(on: loop, expecting: 3_000_000)
            let counted = Atomic(0)
            try await loop.run {
                let receive = socket.onReceive
                socket.onReceive = { bytes in
                    receive?(bytes)
                    // Pauses after every read and resumes in the next turn.
                    if counted.wrappingAdd(1, ordering: .relaxed).oldValue % 2 == 0 {
                        socket.pauseReading()
                        loop.execute { socket.resumeReading() }
                    }
                }
            }
            let sender = try LoopThread.start(name: "sender") {
                var sent = 0
                while sent < 3_000_000 {
                    let count = raw.write([UInt8](repeating: 9, count: min(50_000, 3_000_000 - sent)))
                    guard count > 0 else { return }
                    sent += count
                }
            }
            _ = await witness.received.value
            pthread_join(sender, nil)
            #expect(witness.bytes.withLock { $0.count } == 3_000_000)
        }
    }

    @Test func nothingIsReadWhilePaused() async throws {
        try await withLoop { loop in
            let (socket, witness, raw) = try await makePair(on: loop)
            try await loop.run { socket.pauseReading() }
            raw.write("later")
            for _ in 0..<3 { try await loop.run {} }
            #expect(witness.text.isEmpty)
            try await loop.run { socket.resumeReading() }
            _ = await witness.received.value
            #expect(witness.text == "later")
        }
    }

    @Test func oneFloodDoesNotStarveAnother() async throws {
        try await withLoop { loop in
            let (flood, floodWitness, floodRaw) = try await makePair(on: loop)
            let (_, calmWitness, calmRaw) = try await makePair(on: loop)
            // The flooded end makes its own flood: each read is followed by more to read.
            let chunk = [UInt8](repeating: 0, count: ReadBuffer.size)
            let most = Atomic(0)
            try await loop.run {
                var size = Int32(4_000_000)
                _ = unsafe setsockopt(floodRaw.descriptor, SOL_SOCKET, SO_SNDBUF, &size, 4)
                floodRaw.write(chunk)
                calmRaw.write("calm")
                flood.onReceive = { bytes in
                    let total = most.wrappingAdd(bytes.count, ordering: .relaxed).newValue
                    if calmWitness.text.isEmpty, total < 100 * StreamSocket.readTurnMax { floodRaw.write(chunk) }
                }
            }
            _ = await calmWitness.received.value
            #expect(most.load(ordering: .relaxed) <= 2 * StreamSocket.readTurnMax)
            #expect(floodWitness.closes.all.isEmpty)
        }
    }

    @Test(arguments: 0..<20)
    func queueGivesBackWhatWasPutIn(run: Int) {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        var queue = SendQueue()
        var expected: [UInt8] = []
        var taken: [UInt8] = []
        for step in 0..<200 {
            let count = [0, 1, 10, 1000, 70_000].randomElement(using: &random) ?? 0
            let bytes = [UInt8](repeating: UInt8(step), count: count)
            let offset = Int.random(in: 0...count, using: &random)
            queue.append(bytes, from: offset)
            expected += bytes[offset...]
            while Bool.random(using: &random), !queue.isEmpty {
                let (chunk, start) = queue.next
                let sent = Int.random(in: 1...(chunk.count - start), using: &random)
                taken += chunk[start..<start + sent]
                queue.advance(by: sent)
            }
        }
        while !queue.isEmpty {
            let (chunk, start) = queue.next
            taken += chunk[start...]
            queue.advance(by: chunk.count)
        }
        #expect(isSame(taken, expected), "seed \(seed)")
        #expect(queue.count == 0)
    }
}
