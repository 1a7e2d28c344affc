internal import CLimit
internal import ControlAPI

/// From a write to the event at another client of the same node.
struct LocalBench {
    /// Writes of each kind, and between two turns of the limit.
    private static let writes = 2000
    private static let block = 100
    private static let window: Int64 = 50
    private static let channel = "#general"
    private static let place = "apps/bench/write"

    private let bench: Bench

    init(_ bench: Bench) { self.bench = bench }

    func measure() throws {
        let daemon = try DaemonUnderTest(
            bench.program, home: bench.scratch.path + "/local", port: DaemonUnderTest.freePort(), peer: nil)
        defer { daemon.end() }
        let (writer, reader, follower) = (try daemon.client(), try daemon.client(), try daemon.client())
        try ObserveBench.fill(writer, Self.place)
        try ObserveBench.observe(
            reader, Self.place, query: ObserveBench.lastChildren(Self.window), children: Self.window)
        try follower.observe(Self.channel, limit: Self.window)
        let eventBytes = try Self.write(ObserveBench.push(writer, Self.place), writer, reader).eventBytes
        let fan = try LimitFan(in: bench.scratch, commits: true, connections: 1, observers: 1, eventBytes: eventBytes)
        let text = JSON.string(String(repeating: "x", count: 100))
        var (event, message, limit) = (Samples(), Samples(), Samples())
        let rounds = (bench.isQuick ? Self.writes / 10 : Self.writes) / Self.block
        for run in 0...rounds {
            try Interruption.check()
            for _ in 0..<Self.block {
                let ns = try Self.write(ObserveBench.push(writer, Self.place), writer, reader).ns
                if run > 0 { event.add(ns: ns) }
            }
            for _ in 0..<Self.block {
                let request = writer.request("message.send", ["to": .string(Self.channel), "text": text])
                let ns = try Self.write(request, writer, follower).ns
                if run > 0 { message.add(ns: ns) }
            }
            for _ in 0..<Self.block {
                let ns = try fan.send(1)
                if run > 0 { limit.add(ns: ns) }
            }
        }
        bench.report.heading("a local write (limit: round trip, commit)")
        tell("message", "message.send → event elsewhere", message, limit)
        tell("write", "tree.push → event elsewhere", event, limit)
    }

    /// One write; the answer is read once the event is there.
    private static func write(
        _ request: [UInt8], _ writer: LineClient, _ reader: LineClient
    ) throws(BenchError) -> (ns: Int64, eventBytes: Int) {
        let start = limit_now_ns()
        try writer.write(request)
        let line = try reader.line()
        let ns = limit_now_ns() - start
        _ = try LineClient.result(try writer.line())
        return (ns, line.count + 1)
    }

    private func tell(_ key: String, _ name: String, _ times: Samples, _ limit: Samples) {
        for percent in [50, 99] {
            bench.report.add(
                Figure(
                    key: "local.\(key).p\(percent)", name: "\(name), p\(percent)", value: times.us(percent),
                    unit: .microseconds, limit: limit.us(percent), aim: percent == 50 ? .ratioAtMost(1.5) : nil))
        }
    }
}
