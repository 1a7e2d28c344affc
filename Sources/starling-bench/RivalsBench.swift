internal import CLimit
internal import ControlAPI

/// Starling beside what a user would pick instead, on the same machine at the same time. Each rival is driven by a
/// script (`Benchmarks/rivals.py`), as it comes: most neither encrypt nor sign nor store.
struct RivalsBench {
    private static let messages = 1000
    private static let burst = 100_000
    private static let channel = "#general"
    private static let window: Int64 = 50

    private struct Rival {
        let name: String
        /// What it leaves out that Starling does.
        let about: String
        var isBulk = false
        /// Whether Starling is to be ahead of its burst.
        var isToBeBeaten = false
    }

    private static let rivals = [
        Rival(name: "ngircd", about: "IRC server"), Rival(name: "nats", about: "NATS, core"),
        Rival(name: "mosquitto", about: "MQTT, QoS 0"), Rival(name: "redis", about: "Redis, pub/sub"),
        Rival(name: "zenoh", about: "zenoh, two peers"),
        Rival(name: "toxcore", about: "toxcore, two instances", isToBeBeaten: true),
        Rival(name: "syncthing", about: "Syncthing, one file", isBulk: true),
        Rival(name: "pycrdt", about: "pycrdt, without network", isBulk: true),
    ]

    private let bench: Bench

    init(_ bench: Bench) { self.bench = bench }

    func measure() throws {
        let report = bench.report
        let burst = bench.count(Self.burst)
        let own = try own(burst)
        let bulk = try NewNodeBench(bench.program, bench.scratch).run(burst, "rivals", true).seconds
        report.heading("Starling, of which the limit is what the rival takes")
        let script = bench.scratch.path + "/rivals.py"
        try ProcFile.make(PackageResources.rivals_py, script)
        for rival in Self.rivals {
            try Interruption.check()
            let line = try CommandOutput.of(
                "python3 \(script) \(rival.name) \(bench.scratch.path) \(Self.messages) \(burst)")
            let key = "rivals.\(rival.name)"
            guard let result = try? JSON.parse(line), result["absent"] == nil else {
                let reason = (try? JSON.parse(line))?["absent"]?.string ?? "python3 does not run the script"
                report.absent(key, rival.about, reason)
                continue
            }
            if rival.isBulk {
                let name = "\(rival.about): \(Report.decimal(Double(burst), 0)) at once"
                add("\(key).bulk", name, bulk, .seconds, result["seconds"]?.double)
                continue
            }
            add("\(key).p50", "\(rival.about): one message, p50", own.event.us(50), .microseconds, result["p50_us"])
            add("\(key).p99", "\(rival.about): one message, p99", own.event.us(99), .microseconds, result["p99_us"])
            add(
                "\(key).burst", "\(rival.about): burst", own.rate, .perSecond, result["rate"]?.double,
                rival.isToBeBeaten ? .ratioAtMost(1) : nil)
        }
    }

    private func add(_ key: String, _ name: String, _ value: Double, _ unit: Figure.Unit, _ limit: JSON?) {
        add(key, name, value, unit, limit?.double)
    }

    private func add(
        _ key: String, _ name: String, _ value: Double, _ unit: Figure.Unit, _ limit: Double?, _ aim: Figure.Aim? = nil
    ) {
        bench.report.add(Figure(key: key, name: name, value: value, unit: unit, limit: limit, aim: aim))
    }

    /// What Starling takes for the same.
    private func own(_ burst: Int) throws -> (event: Samples, rate: Double) {
        let (a, b) = try DaemonUnderTest.pair(bench.program, in: bench.scratch.path + "/own")
        defer {
            a.end()
            b.end()
        }
        try a.waitForPeers(1)
        let (sender, receiver) = (try a.client(), try b.client())
        try receiver.observe(Self.channel, limit: Self.window)
        var times = Samples()
        var eventBytes = 0
        func request() -> [UInt8] {
            sender.request(
                "message.send", ["to": .string(Self.channel), "text": .string(String(repeating: "x", count: 100))])
        }
        for number in 0..<(Self.messages + 50) {
            let line = request()
            let start = limit_now_ns()
            try sender.write(line)
            eventBytes = try receiver.line().count + 1
            let ns = limit_now_ns() - start
            _ = try LineClient.result(try sender.line())
            if number >= 50 { times.add(ns: ns) }
        }
        var requests: [UInt8] = []
        for _ in 0..<burst { requests += request() }
        let equality = try Equality(a, b)
        _ = try sender.burst(requests, count: burst, to: receiver, eventBytes: eventBytes + 64) {
            try equality.isReached
        }
        // Until all is there, whether or not a client was told of each.
        return (times, Double(burst) * 1e9 / Double(try equality.wait()))
    }
}
