internal import CLimit
internal import ControlAPI

/// What a daemon holds in memory: idle, with many messages, and while they arrive.
struct MemoryBench {
    private static let messages = 1_000_000
    /// How long a daemon is left alone before it is looked at.
    private static let idleMs: Int32 = 10_000
    private static let emptyMB = 16.0
    private static let fullMB = 30.0
    private static let arrivingMB = 100.0
    private static let patienceMs = 600_000

    private let bench: Bench

    init(_ bench: Bench) { self.bench = bench }

    func measure() throws {
        bench.report.heading("memory of a daemon")
        let count = bench.count(Self.messages)
        let many = Report.decimal(Double(count), 0)
        let (portA, portB) = (try DaemonUnderTest.freePort(), try DaemonUnderTest.freePort())
        let empty = try DaemonUnderTest(bench.program, home: bench.scratch.path + "/empty", port: portB, peer: nil)
        defer { empty.end() }
        try look(empty, "empty", "idle, empty workspace", Self.emptyMB)
        empty.end()

        let full = try bench.archives.daemon(bench.program, home: bench.scratch.path + "/full", port: portA, count)
        defer { full.end() }
        try look(full, "full", "idle, \(many) messages", Self.fullMB)

        let arriving = try DaemonUnderTest(
            bench.program, home: bench.scratch.path + "/arriving", port: portB, peer: portA)
        defer { arriving.end() }
        try waitUntilEqual(full, arriving, count)
        for (daemon, key, name) in [
            (arriving, "arriving", "while \(many) arrive"), (full, "leaving", "while it sends them"),
        ] {
            bench.report.add(
                Figure(
                    key: "memory.\(key).peak", name: name + ", VmHWM",
                    value: try ProcFile.megabytes("VmHWM", "/proc/\(daemon.process)/status"), unit: .megabytes,
                    aim: .atMost(Self.arrivingMB)))
        }
    }

    private func waitUntilEqual(_ full: DaemonUnderTest, _ empty: DaemonUnderTest, _ count: Int) throws {
        let (client, other) = (try empty.client(), try full.client())
        let start = limit_now_ns()
        while true {
            let status = try client.call("node.status", [:])
            if status["entries"]?.int ?? 0 >= count,
                status["root"]?.string == (try other.call("node.status", [:])["root"]?.string)
            {
                return
            }
            guard limit_now_ns() - start < Int64(Self.patienceMs) * 1_000_000 else {
                throw BenchError.unexpected("\(count) messages did not arrive; see \(empty.home)/starlingd.log")
            }
            try Interruption.sleep(ms: 50)
        }
    }

    private func look(_ daemon: DaemonUnderTest, _ key: String, _ name: String, _ aimMB: Double) throws {
        try Interruption.sleep(ms: bench.isQuick ? Self.idleMs / 5 : Self.idleMs)
        bench.report.add(
            Figure(
                key: "memory.\(key).rss", name: name + ", VmRSS",
                value: try ProcFile.megabytes("VmRSS", "/proc/\(daemon.process)/status"), unit: .megabytes,
                aim: .atMost(aimMB)))
        bench.report.add(
            Figure(
                key: "memory.\(key).pss", name: name + ", PSS",
                value: try ProcFile.megabytes("Pss", "/proc/\(daemon.process)/smaps_rollup"), unit: .megabytes))
    }
}
