internal import CLimit
internal import ControlAPI

/// As much as goes through: a burst from one client to one of the other node, and many clients of one node. What a
/// burst loses on its way to a client is counted, and so is the time until the other node has all of it.
struct ThroughputBench {
    private static let messages = 100_000
    private static let textBytes = 100
    private static let burstAim = 40_000.0
    private static let channel = "#general"
    private static let window: Int64 = 50
    /// Messages that the limit's chain takes at once, and how often.
    private static let limitBlock: Int32 = 250
    private static let limitBlocks = 100

    private static let readers = 50
    private static let perSecond = 1000
    private static let crowdSeconds = 5

    private let bench: Bench

    init(_ bench: Bench) { self.bench = bench }

    func measure() throws {
        try burst()
        try crowd()
    }

    // MARK: A burst

    private func burst() throws {
        let (a, b) = try DaemonUnderTest.pair(bench.program, in: bench.scratch.path + "/burst")
        defer {
            a.end()
            b.end()
        }
        try a.waitForPeers(1)
        let (sender, receiver) = (try a.client(), try b.client())
        try receiver.observe(Self.channel, limit: Self.window)
        let limit = try limitRate()

        let count = bench.count(Self.messages)
        let eventBytes = try warmUp(sender, receiver)
        var requests: [UInt8] = []
        for number in 0..<count {
            requests += sender.request(
                "message.send", ["to": .string(Self.channel), "text": .string(Self.text(number))])
        }
        let before = (a: try a.allCpuNs(), b: try b.allCpuNs())
        let equality = try Equality(a, b)
        let burst = try sender.burst(requests, count: count, to: receiver, eventBytes: eventBytes + 64) {
            try equality.isReached
        }
        let equalNs = try equality.wait()
        let cpu = (a: try a.allCpuNs() - before.a, b: try b.allCpuNs() - before.b)
        try tell(burst, equalNs, count, limit, cpu)
    }

    private func tell(
        _ burst: LineClient.Burst, _ equalNs: Int64, _ count: Int, _ limit: Double, _ cpu: (a: Int64, b: Int64)
    ) throws {
        let (delivered, misplaced) = try check(burst.events)
        let report = bench.report
        report.heading("a burst of \(Report.decimal(Double(count), 0)) messages (limit: honest chain)")
        report.add(
            Figure(
                key: "throughput.burst", name: "messages told to a client of the other node",
                value: Double(delivered) * 1e9 / Double(burst.ns), unit: .perSecond, limit: limit,
                aim: .atLeast(Self.burstAim)))
        report.add(
            Figure(
                key: "throughput.burst.missing", name: "of them missing", value: Double(count - delivered),
                unit: .count, aim: .atMost(0), isOfMachine: false))
        report.add(
            Figure(
                key: "throughput.burst.misplaced", name: "told twice or out of order", value: Double(misplaced),
                unit: .count, aim: .atMost(0), isOfMachine: false))
        report.add(
            Figure(
                key: "throughput.burst.stored", name: "messages stored by the other node, until equal",
                value: Double(count) * 1e9 / Double(equalNs), unit: .perSecond, limit: limit))
        for (side, ns) in [("sender", cpu.a), ("receiver", cpu.b)] {
            report.add(
                Figure(
                    key: "throughput.burst.cpu.\(side)", name: "processor time a message, \(side), all threads",
                    value: Double(ns) / 1000 / Double(count), unit: .microseconds))
        }
    }

    private static func text(_ number: Int) -> String {
        let digits = String(number)
        return digits + " " + String(repeating: "x", count: textBytes - digits.utf8.count - 1)
    }

    /// One message; returns what its event takes with the end of the line.
    private func warmUp(_ sender: LineClient, _ receiver: LineClient) throws -> Int {
        try sender.write(
            sender.request("message.send", ["to": .string(Self.channel), "text": .string(Self.text(0))]))
        let bytes = try receiver.line().count + 1
        _ = try LineClient.result(try sender.line())
        return bytes
    }

    /// How many different messages came, and how many events were not of a later one than all before.
    private func check(_ events: [UInt8]) throws -> (delivered: Int, misplaced: Int) {
        var seen: Set<Int> = []
        var (last, misplaced) = (-1, 0)
        for line in events.split(separator: UInt8(ascii: "\n")) {
            guard let text = try LineClient.messageText(Array(line)), let number = Int(text.prefix { $0 != " " }),
                text == Self.text(number)
            else { throw BenchError.unexpected("a burst brought something else than was sent") }
            if number <= last { misplaced += 1 }
            last = max(last, number)
            seen.insert(number)
        }
        return (seen.count, misplaced)
    }

    private func limitRate() throws(BenchError) -> Double {
        let chain = try LimitChain(in: bench.scratch, isHonest: true)
        var ns: Int64 = 0
        for _ in 0..<Self.limitBlocks { ns += try chain.send(Self.limitBlock) }
        return Double(Self.limitBlocks) * Double(Self.limitBlock) * 1e9 / Double(ns)
    }

    // MARK: A crowd

    private func crowd() throws {
        let daemon = try DaemonUnderTest(
            bench.program, home: bench.scratch.path + "/crowd", port: DaemonUnderTest.freePort(), peer: nil)
        defer { daemon.end() }
        let writer = try daemon.client()
        var readers: [LineClient] = []
        for _ in 0..<Self.readers {
            let reader = try daemon.client()
            try reader.observe(Self.channel, limit: Self.window)
            readers.append(reader)
        }
        let fan = try LimitFan(
            in: bench.scratch, commits: true, connections: Self.readers, observers: Self.readers, eventBytes: 350)
        var limit = Samples()
        for _ in 0..<500 { limit.add(ns: try fan.send(1)) }

        let messages = Self.perSecond * (bench.isQuick ? 1 : Self.crowdSeconds)
        let (start, cpu) = (limit_now_ns(), try daemon.allCpuNs())
        let crowd = try writer.crowd(
            Self.channel, perSecond: Self.perSecond, messages: messages, textBytes: Self.textBytes, to: readers)
        let cores = Double(try daemon.allCpuNs() - cpu) / Double(limit_now_ns() - start)
        let report = bench.report
        report.heading("50 clients that see 1,000 messages a second each (limit: one commit, 50 sends)")
        for (percent, aim) in [(50, nil), (99, Figure.Aim.atMost(20_000))] {
            report.add(
                Figure(
                    key: "throughput.crowd.p\(percent)", name: "due → event at a client, p\(percent)",
                    value: crowd.latencies.us(percent), unit: .microseconds, limit: limit.us(percent), aim: aim))
        }
        report.add(
            Figure(
                key: "throughput.crowd.dropped", name: "events missing or out of order", value: Double(crowd.dropped),
                unit: .count, aim: .atMost(0)))
        report.add(
            Figure(
                key: "throughput.crowd.cores", name: "processor time of the daemon", value: cores, unit: .cores,
                aim: .atMost(1), isOfMachine: false))
    }
}
