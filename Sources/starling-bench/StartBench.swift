internal import CLimit
internal import ControlAPI

/// How long a daemon takes until clients can attach, and two fresh ones until the first message is across.
struct StartBench {
    private static let starts = 20
    private static let pairs = 10
    private static let readyMs = 20.0
    private static let acrossMs = 2500.0

    private let program: String
    private let scratch: ScratchFolder

    init(_ program: String, _ scratch: ScratchFolder) {
        self.program = program
        self.scratch = scratch
    }

    func measure(_ report: Report) throws {
        report.heading("start")
        var fresh = Samples()
        var existing = Samples()
        for number in 0..<Self.starts {
            let home = scratch.path + "/start\(number)"
            fresh.add(ns: try start(home))
            existing.add(ns: try start(home))
            ScratchFolder.remove(home)
        }
        var across = Samples()
        for number in 0..<Self.pairs { across.add(ns: try firstMessage(scratch.path + "/pair\(number)")) }
        add("fresh", "exec → ready, fresh home", fresh, Self.readyMs, report)
        add("existing", "exec → ready, existing home", existing, Self.readyMs, report)
        add("across", "two fresh starts → message across", across, Self.acrossMs, report)
    }

    private func add(_ key: String, _ name: String, _ times: Samples, _ aimMs: Double, _ report: Report) {
        report.add(
            Figure(
                key: "start.\(key).p50", name: name + ", p50", value: times.ms(50), unit: .milliseconds,
                aim: .atMost(aimMs)))
        report.add(
            Figure(
                key: "start.\(key).longest", name: name + ", longest", value: times.ms(100), unit: .milliseconds))
    }

    private func start(_ home: String) throws -> Int64 {
        let daemon = try DaemonUnderTest(program, home: home, port: DaemonUnderTest.freePort(), peer: nil)
        daemon.end()
        return daemon.readyNs
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
