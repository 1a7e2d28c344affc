import Glibc
import Synchronization
import Testing

@testable import Net

@Suite(.timeLimit(.minutes(1)))
struct EventLoopTests {
    /// Counts on the loop; callbacks enter it without a hop.
    actor Counter {
        let loop: EventLoop
        private(set) var count = 0
        private(set) var wasOffLoop = false

        init(loop: EventLoop) {
            self.loop = loop
        }

        nonisolated var unownedExecutor: UnownedSerialExecutor {
            unsafe loop.asUnownedSerialExecutor()
        }

        func increment() {
            count += 1
            if !loop.isOnLoop { wasOffLoop = true }
        }
    }

    @Test func actorOfTheLoopIsEnteredFromItsCallbacksWithoutAHop() async throws {
        try await withLoop { loop in
            let counter = Counter(loop: loop)
            let fired = Promise<Bool>()
            loop.execute { counter.assumeIsolated { $0.increment() } }
            loop.schedule(afterMs: 1) {
                counter.assumeIsolated { $0.increment() }
                fired.fulfil(true)
            }
            _ = await fired.value
            await counter.increment()
            #expect(await counter.count == 3)
            #expect(await !counter.wasOffLoop)
        }
    }

    @Test func tasksOfManyCallersRunOneAfterTheOther() async throws {
        try await withLoop { loop in
            let counter = Counter(loop: loop)
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<20 {
                    group.addTask {
                        for _ in 0..<50 { await counter.increment() }
                    }
                }
            }
            #expect(await counter.count == 1000)
            #expect(await !counter.wasOffLoop)
        }
    }

    @Test func tenThousandExecutesFromManyThreadsAllRunInEachThreadsOrder() async throws {
        try await withLoop { loop in
            let threads = 8
            let each = 1250
            let seen = Recorder<(thread: Int, number: Int)>()
            let done = Promise<Bool>()
            let left = Atomic(threads * each)
            for thread in 0..<threads {
                let identifier = try LoopThread.start(name: "caller") {
                    for number in 0..<each {
                        loop.execute {
                            seen.append((thread, number))
                            if left.subtract(1, ordering: .relaxed).newValue == 0 { done.fulfil(true) }
                        }
                    }
                }
                pthread_detach(identifier)
            }
            _ = await done.value
            for thread in 0..<threads {
                let numbers = seen.all.filter { $0.thread == thread }.map(\.number)
                #expect(numbers == Array(0..<each))
            }
        }
    }

    @Test func executeNeverRunsInsideTheCall() async throws {
        try await withLoop { loop in
            let order = Recorder<Int>()
            let done = Promise<Bool>()
            loop.execute {
                loop.execute {
                    order.append(2)
                    done.fulfil(true)
                }
                order.append(1)
            }
            _ = await done.value
            #expect(order.all == [1, 2])
        }
    }

    @Test func workThatQueuesWorkDoesNotStarveTimers() async throws {
        try await withLoop { loop in
            let fired = Atomic(false)
            let done = Promise<Bool>()
            @Sendable func again() {
                if fired.load(ordering: .relaxed) { done.fulfil(true) } else { loop.execute { again() } }
            }
            loop.execute { again() }
            loop.schedule(afterMs: 2) { fired.store(true, ordering: .relaxed) }
            #expect(await done.value)
        }
    }

    // MARK: Timers

    @Test func timersFireInTheOrderOfDeadlineThenScheduling() async throws {
        try await withLoop { loop in
            let order = Recorder<String>()
            let done = Promise<Bool>()
            try await loop.run {
                loop.schedule(afterMs: 30) { done.fulfil(true) }
                loop.schedule(afterMs: 20) { order.append("20") }
                loop.schedule(afterMs: 5) { order.append("5 first") }
                loop.schedule(afterMs: 5) { order.append("5 second") }
                loop.schedule(afterMs: 0) { order.append("0") }
            }
            _ = await done.value
            #expect(order.all == ["0", "5 first", "5 second", "20"])
        }
    }

    @Test(arguments: [UInt64](arrayLiteral: 0, 1, 7, 25))
    func timerNeverFiresEarly(afterMs: UInt64) async throws {
        try await withLoop { loop in
            let start = EventLoop.monotonicNs()
            let fired = Promise<UInt64>()
            loop.schedule(afterMs: afterMs) { fired.fulfil(EventLoop.monotonicNs()) }
            #expect(await fired.value - start >= afterMs * 1_000_000)
        }
    }

    @Test(arguments: [true, false])
    func cancelledTimerNeverFiresAndReleasesItsBody(onLoop: Bool) async throws {
        final class Token: Sendable {}
        try await withLoop { loop in
            weak var released: Token?
            let fired = Recorder<Int>()
            let timer: LoopTimer
            do {
                let token = Token()
                released = token
                timer = loop.schedule(afterMs: 5) { withExtendedLifetime(token) { fired.append(1) } }
            }
            if onLoop { try await loop.run { timer.cancel() } } else { timer.cancel() }
            #expect(released == nil)
            let later = Promise<Bool>()
            loop.schedule(afterMs: 10) { later.fulfil(true) }
            _ = await later.value
            timer.cancel()
            #expect(fired.all.isEmpty)
        }
    }

    @Test func timerFarBeyondTheClockDoesNotOverflow() async throws {
        try await withLoop { loop in
            let timer = loop.schedule(afterMs: .max) {}
            let soon = Promise<Bool>()
            loop.schedule(afterMs: 1) { soon.fulfil(true) }
            #expect(await soon.value)
            timer.cancel()
        }
    }

    @Test(arguments: 0..<20)
    func heapGivesTimersInOrderAndLosesCancelledOnes(run: Int) async throws {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        try await withLoop { loop in
            var heap = TimerHeap()
            var expected: [LoopTimer] = []
            for sequence in 0..<200 {
                let deadline = UInt64.random(in: 0..<50, using: &random)
                let timer = LoopTimer(loop: loop, deadlineNs: deadline, sequence: UInt64(sequence)) {}
                heap.insert(timer)
                expected.append(timer)
                if Bool.random(using: &random), let index = expected.indices.randomElement(using: &random) {
                    heap.remove(expected.remove(at: index))
                }
            }
            expected.sort { $0.isBefore($1) }
            var taken: [LoopTimer] = []
            while let first = heap.first {
                heap.remove(first)
                taken.append(first)
            }
            let isSame = taken.count == expected.count && zip(taken, expected).allSatisfy { $0 === $1 }
            #expect(isSame, "seed \(seed)")
        }
    }

    // MARK: Ending

    @Test func stopRunsWhatIsQueuedAndWaitsForTheThread() throws {
        let loop = try EventLoop(name: "stop")
        let ran = Recorder<Int>()
        for number in 0..<100 { loop.execute { ran.append(number) } }
        loop.stop()
        #expect(ran.all == Array(0..<100))
        loop.execute { ran.append(-1) }
        loop.stop()
        #expect(ran.all.count == 100)
    }

    @Test func stopOnTheLoopEndsItAfterTheTurn() async throws {
        let loop = try EventLoop(name: "stop")
        try await loop.run { loop.stop() }
        loop.stop()
        #expect(!loop.isOnLoop)
    }

    @Test func stopClosesWhatIsOpenAndSaysSo() async throws {
        let loop = try EventLoop(name: "stop")
        let (socket, witness, raw) = try await makePair(on: loop)
        loop.stop()
        #expect(await witness.closed.value == .closedHere)
        #expect(socket.isClosed)
        #expect(raw.readToEnd() == [])
    }

    @Test func loopWithoutThreadRunsOnItsCaller() async throws {
        let ran = Promise<Bool>()
        let thread = try LoopThread.start(name: "main") {
            guard let loop = try? EventLoop(name: "here", startsThread: false) else { return ran.fulfil(false) }
            let onLoop = loop.isOnLoop
            loop.schedule(afterMs: 1) {
                ran.fulfil(onLoop && loop.isOnLoop)
                loop.stop()
            }
            loop.runHere()
        }
        #expect(await ran.value)
        pthread_join(thread, nil)
    }

    @Test func whatIsConfinedToTheLoopTrapsElsewhere() async {
        await #expect(processExitsWith: .failure) {
            let loop = try EventLoop(name: "confined")
            let (socket, _, _) = try await makePair(on: loop)
            socket.send([1])
        }
    }

    @Test func staleTokenFindsNobodyInAReusedSlot() {
        final class Handler: DescriptorHandler {
            func descriptorReady(_ events: UInt32) {}
            func loopStopped() {}
        }
        var table = WatchTable()
        let first = table.insert(Handler())
        table.remove(first)
        let second = table.insert(Handler())
        #expect(table.handler(first) == nil)
        #expect(table.handler(second) != nil)
        table.remove(first)
        #expect(table.handler(second) != nil)
        #expect(table.handler(.max) == nil)
    }
}
