internal import CLimit
internal import ControlAPI
internal import Glibc

/// How long a daemon takes until clients can attach, and two fresh ones until the first message is across.
struct StartBench {
    private static let starts = 20
    private static let pairs = 10
    private static let messages = 1_000_000
    private static let emptyMs = 15.0
    private static let fullMs = 30.0
    private static let acrossMs = 2500.0

    private let bench: Bench
    private var program: String { bench.program }

    init(_ bench: Bench) { self.bench = bench }

    func measure() throws {
        let many = bench.count(Self.messages)
        let starts = bench.isQuick ? Self.starts / 5 : Self.starts
        let full = bench.scratch.path + "/full"
        try bench.archives.prepare(program, home: full, many)
        var (fresh, existing, large, cpu, limit) = (Samples(), Samples(), Samples(), Samples(), Samples())
        for number in 0..<starts {
            let home = bench.scratch.path + "/start\(number)"
            fresh.add(ns: try start(home).readyNs)
            let times = try start(home)
            existing.add(ns: times.readyNs)
            cpu.add(ns: times.cpuNs)
            large.add(ns: try start(full).readyNs)
            limit.add(ns: try emptyProgram())
            ScratchFolder.remove(home)
        }
        var across = Samples()
        for number in 0..<(bench.isQuick ? 2 : Self.pairs) {
            across.add(ns: try firstMessage(bench.scratch.path + "/pair\(number)"))
        }
        bench.report.heading("start (limit: a program that does nothing, until its end)")
        add("fresh", "exec → ready, fresh home", fresh, Self.emptyMs, limit)
        add("existing", "exec → ready, existing home", existing, Self.emptyMs, limit)
        add("full", "exec → ready, \(Report.decimal(Double(many), 0)) messages", large, Self.fullMs, limit)
        bench.report.add(
            Figure(
                key: "start.cpu.p50", name: "processor time until then, existing home, p50", value: cpu.ms(50),
                unit: .milliseconds))
        add("across", "two fresh starts → message across", across, Self.acrossMs, nil)
    }

    private func add(_ key: String, _ name: String, _ times: Samples, _ aimMs: Double, _ limit: Samples?) {
        bench.report.add(
            Figure(
                key: "start.\(key).p50", name: name + ", p50", value: times.ms(50), unit: .milliseconds,
                limit: limit?.ms(50), aim: .atMost(aimMs)))
        bench.report.add(
            Figure(
                key: "start.\(key).longest", name: name + ", longest", value: times.ms(100), unit: .milliseconds,
                limit: limit?.ms(100)))
    }

    /// A program of the C library and nothing else, from before it is started until it has ended.
    private func emptyProgram() throws(BenchError) -> Int64 {
        let start = limit_now_ns()
        var child: pid_t = 0
        let arguments: [UnsafeMutablePointer<CChar>?] = unsafe [strdup("true"), nil]
        defer { unsafe free(arguments[0]) }
        let error = unsafe posix_spawn(&child, "/bin/true", nil, nil, arguments, environ)
        guard error == 0 else { throw .system(doing: "starting /bin/true", errno: error) }
        var status: Int32 = 0
        guard unsafe waitpid(child, &status, 0) == child, status == 0 else { throw .current("waiting for /bin/true") }
        return limit_now_ns() - start
    }

    private func start(_ home: String) throws -> (readyNs: Int64, cpuNs: Int64) {
        let daemon = try DaemonUnderTest(program, home: home, port: DaemonUnderTest.freePort(), peer: nil)
        defer { daemon.end() }
        return (daemon.readyNs, try daemon.cpuNs())
    }

    /// From before the first daemon is started until a client of the second one has what a client of the first one
    /// sent.
    private func firstMessage(_ folder: String) throws -> Int64 {
        let start = limit_now_ns()
        let (a, b) = try DaemonUnderTest.pair(program, in: folder)
        defer {
            a.end()
            b.end()
            ScratchFolder.remove(folder)
        }
        let (sender, receiver) = (try a.client(), try b.client())
        try receiver.call("message.observe", ["in": "#general"])
        try sender.write(sender.request("message.send", ["to": "#general", "text": "hello"]))
        while try LineClient.messageText(try receiver.line()) != "hello" {}
        return limit_now_ns() - start
    }
}
