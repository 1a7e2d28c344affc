internal import CLimit
internal import ControlAPI

/// From a client's send to the event at a client of the other node, and to the answer.
struct LatencyBench {
    static let messages = 2000
    /// Messages of each kind between two turns of the limit.
    private static let block = 100
    private static let channel = "#general"
    /// What a chat on screen follows.
    private static let window: Int64 = 50

    private let program: String
    private let scratch: ScratchFolder

    init(_ program: String, _ scratch: ScratchFolder) {
        self.program = program
        self.scratch = scratch
    }

    private struct Times {
        var bare = Samples(), honest = Samples(), honestBurst = Samples()
        var event = Samples(), answer = Samples(), burst = Samples()
    }

    /// - Parameter seconds: how long to measure; nil until ``messages``.
    func measure(seconds: Int?, _ report: Report) throws {
        let (a, b) = try DaemonUnderTest.pair(program, in: scratch.path + "/latency")
        defer {
            a.end()
            b.end()
        }
        try a.waitForPeers(1)
        let (sender, receiver) = (try a.client(), try b.client())
        try receiver.observe(Self.channel, limit: Self.window)
        let bare = try LimitChain(in: scratch, isHonest: false)
        let honest = try LimitChain(in: scratch, isHonest: true)

        var warmUp = Times()
        try round(sender, receiver, bare, honest, &warmUp)
        var times = Times()
        let cpuBefore = (a: try a.cpuNs(), b: try b.cpuNs(), honest: try honest.cpuNs())
        let start = limit_now_ns()
        while true {
            try round(sender, receiver, bare, honest, &times)
            let elapsed = limit_now_ns() - start
            if let seconds {
                if elapsed >= Int64(seconds) * 1_000_000_000 { break }
            } else if times.event.ns.count >= Self.messages {
                break
            }
        }
        tell(times, report)
        let sent = Int64(times.event.ns.count + times.answer.ns.count + times.burst.ns.count * Self.block)
        let (ofA, ofB) = ((try a.cpuNs() - cpuBefore.a) / sent, (try b.cpuNs() - cpuBefore.b) / sent)
        let relayed = Int64(times.honest.ns.count + times.honestBurst.ns.count * Self.block)
        tell("sender", ofA, nil, report)
        tell("receiver", ofB, nil, report)
        tell("both", ofA + ofB, (try honest.cpuNs() - cpuBefore.honest) / relayed, report)
    }

    /// Of all figures the ones that other programs on the machine disturb least.
    private func tell(_ side: String, _ cpuNs: Int64, _ limitNs: Int64?, _ report: Report) {
        report.add(
            Figure(
                key: "latency.cpu.\(side)", name: "processor time a message, \(side)", value: Double(cpuNs) / 1000,
                unit: .microseconds, limit: limitNs.map { Double($0) / 1000 }))
    }

    private func round(
        _ sender: LineClient, _ receiver: LineClient, _ bare: LimitChain, _ honest: LimitChain, _ times: inout Times
    ) throws(BenchError) {
        try Interruption.check()
        for _ in 0..<Self.block { times.bare.add(ns: try bare.send(1)) }
        for _ in 0..<Self.block { times.honest.add(ns: try honest.send(1)) }
        for _ in 0..<Self.block { times.event.add(ns: try send(sender, receiver, untilAnswer: false)) }
        for _ in 0..<Self.block { times.answer.add(ns: try send(sender, receiver, untilAnswer: true)) }
        times.honestBurst.add(ns: try honest.send(Int32(Self.block)))
        times.burst.add(ns: try burst(sender, receiver))
    }

    /// About as long as a limit's message, once it is a request.
    private func text(_ number: Int64) -> String { "\(number) " + String(repeating: "x", count: 100) }

    private func request(_ sender: LineClient) -> (line: [UInt8], text: String) {
        let text = text(limit_now_ns())
        return (sender.request("message.send", ["to": .string(Self.channel), "text": .string(text)]), text)
    }

    /// One message. Only what is measured is waited for first, so that the other does not disturb it.
    private func send(
        _ sender: LineClient, _ receiver: LineClient, untilAnswer: Bool
    ) throws(BenchError) -> Int64 {
        let (line, text) = request(sender)
        let start = limit_now_ns()
        try sender.write(line)
        let first = try (untilAnswer ? sender : receiver).line()
        let elapsed = limit_now_ns() - start
        let second = try (untilAnswer ? receiver : sender).line()
        _ = try LineClient.result(untilAnswer ? first : second)
        guard try LineClient.messageText(untilAnswer ? second : first) == text else {
            throw .unexpected("another message arrived than was sent")
        }
        return elapsed
    }

    private func burst(_ sender: LineClient, _ receiver: LineClient) throws(BenchError) -> Int64 {
        var lines: [UInt8] = []
        var texts: [String] = []
        for _ in 0..<Self.block {
            let (line, text) = request(sender)
            lines += line
            texts.append(text)
        }
        var arrived: [[UInt8]] = []
        let start = limit_now_ns()
        try sender.write(lines)
        for _ in 0..<Self.block { arrived.append(try receiver.line()) }
        let elapsed = limit_now_ns() - start
        for _ in 0..<Self.block { _ = try LineClient.result(try sender.line()) }
        for (line, text) in zip(arrived, texts) where try LineClient.messageText(line) != text {
            throw .unexpected("a burst arrived in another order than it was sent")
        }
        return elapsed
    }

    private func tell(_ times: Times, _ report: Report) {
        report.heading("latency, between two nodes (limit: honest chain)")
        func add(_ key: String, _ name: String, _ value: Double, _ limit: Double?, _ aim: Figure.Aim? = nil) {
            report.add(
                Figure(
                    key: "latency.\(key)", name: name, value: value, unit: .microseconds, limit: limit, aim: aim))
        }
        let (event, answer, honest) = (times.event, times.answer, times.honest)
        add("event.p50", "send → event at the other node, p50", event.us(50), honest.us(50), .ratioAtMost(1.5))
        add("event.p99", "send → event at the other node, p99", event.us(99), honest.us(99), .ratioAtMost(2.5))
        add("event.bare.p50", "the same beside the bare chain, p50", event.us(50), times.bare.us(50))
        add("answer.p50", "send → answer, p50", answer.us(50), nil)
        add("answer.p99", "send → answer, p99", answer.us(99), nil)
        func rate(_ times: Samples) -> Double { Double(Self.block) * 1e6 / times.us(50) }
        report.add(
            Figure(
                key: "latency.burst", name: "bursts of \(Self.block), messages across", value: rate(times.burst),
                unit: .perSecond, limit: rate(times.honestBurst)))
    }
}
