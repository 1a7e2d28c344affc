internal import CLimit
internal import ControlAPI

/// How much longer messages take between two nodes while a third one floods the receiver.
struct FloodBench {
    private static let runs = 5
    /// Messages of a run without the flood, and with it.
    private static let block = 400
    private static let channel = "#general"
    private static let window: Int64 = 50
    /// What is there to be asked for.
    private static let messages = 20_000
    /// Requests under way while it is filled in.
    private static let pending = 500
    /// The flood has been going on for so long before others are looked at.
    private static let leadMs: Int32 = 300
    /// What a flood may add: others take at most so many times as long.
    private static let ratioMax = 2.0

    private let program: String
    private let scratch: ScratchFolder

    init(_ program: String, _ scratch: ScratchFolder) {
        self.program = program
        self.scratch = scratch
    }

    private struct Times {
        var quiet = Samples(), flooded = Samples()
        var quietMedian = Samples(), floodedMedian = Samples()
        var sent: Int64 = 0
        var ns: Int64 = 0
    }

    func measure(_ report: Report) throws {
        report.heading("a flood of one peer, and the others (limit: without it)")
        let (a, b) = try DaemonUnderTest.pair(program, in: scratch.path + "/flood")
        defer {
            a.end()
            b.end()
        }
        try a.waitForPeers(1)
        let (sender, receiver) = (try a.client(), try b.client())
        try fill(sender)
        try receiver.observe(Self.channel, limit: Self.window)
        _ = try block(sender, receiver)
        for kind in Flood.Kind.allCases {
            var times = Times()
            for _ in 0..<Self.runs {
                let quiet = try block(sender, receiver)
                let flood = try Flood(kind, port: b.port)
                try flood.begin()
                defer { flood.end() }
                try Interruption.sleep(ms: Self.leadMs)
                let before = (count: flood.sentCount, ns: limit_now_ns())
                let flooded = try block(sender, receiver)
                times.sent += flood.sentCount - before.count
                times.ns += limit_now_ns() - before.ns
                flood.end()
                try settle(sender, receiver)
                times.quiet.add(ns: Int64(quiet.us(99) * 1000))
                times.flooded.add(ns: Int64(flooded.us(99) * 1000))
                times.quietMedian.add(ns: Int64(quiet.us(50) * 1000))
                times.floodedMedian.add(ns: Int64(flooded.us(50) * 1000))
            }
            tell(kind, times, report)
        }
    }

    private func tell(_ kind: Flood.Kind, _ times: Times, _ report: Report) {
        func add(_ part: String, _ flooded: Samples, _ quiet: Samples, _ aim: Figure.Aim?) {
            report.add(
                Figure(
                    key: "flood.\(kind.rawValue).\(part)", name: "\(kind.name), send → event, \(part)",
                    value: flooded.us(50), unit: .microseconds, limit: quiet.us(50), aim: aim,
                    range: flooded.us(0)...flooded.us(100)))
        }
        add("p50", times.floodedMedian, times.quietMedian, nil)
        add("p99", times.flooded, times.quiet, .ratioAtMost(Self.ratioMax))
        report.add(
            Figure(
                key: "flood.\(kind.rawValue).rate", name: "\(kind.unit) that came meanwhile",
                value: Double(times.sent) * 1e9 / Double(max(times.ns, 1)), unit: .perSecond))
    }

    private func fill(_ client: LineClient) throws(BenchError) {
        let text = String(repeating: "x", count: 100)
        for first in stride(from: 0, to: Self.messages, by: Self.pending) {
            try Interruption.check()
            var lines: [UInt8] = []
            for number in first..<(first + Self.pending) {
                lines += client.request("message.send", ["to": "#general", "text": .string("\(number) \(text)")])
            }
            try client.write(lines)
            for _ in 0..<Self.pending { _ = try LineClient.result(try client.line()) }
        }
    }

    /// One message after another, each from before it is sent until it is at the other client.
    private func block(_ sender: LineClient, _ receiver: LineClient) throws(BenchError) -> Samples {
        var samples = Samples()
        for _ in 0..<Self.block {
            try Interruption.check()
            samples.add(ns: try send(sender, receiver))
        }
        return samples
    }

    private func send(_ sender: LineClient, _ receiver: LineClient) throws(BenchError) -> Int64 {
        let text = "\(limit_now_ns()) " + String(repeating: "x", count: 100)
        let line = sender.request("message.send", ["to": .string(Self.channel), "text": .string(text)])
        let start = limit_now_ns()
        try sender.write(line)
        // Messages that were under way come before it.
        while try LineClient.messageText(try receiver.line()) != text {}
        let elapsed = limit_now_ns() - start
        _ = try LineClient.result(try sender.line())
        return elapsed
    }

    /// Until what the flood has left behind is done with.
    private func settle(_ sender: LineClient, _ receiver: LineClient) throws(BenchError) {
        try Interruption.sleep(ms: Self.leadMs)
        for _ in 0..<20 { _ = try send(sender, receiver) }
    }
}
