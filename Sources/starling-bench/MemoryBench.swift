internal import ControlAPI

/// What an idle daemon holds in memory.
struct MemoryBench {
    static let messages = 100_000
    /// Requests under way at once.
    private static let window = 500
    /// How long a daemon is left alone before it is looked at.
    private static let idleMs: Int32 = 10_000
    private static let aimMB = 18.0

    private let program: String
    private let scratch: ScratchFolder

    init(_ program: String, _ scratch: ScratchFolder) {
        self.program = program
        self.scratch = scratch
    }

    func measure(_ report: Report) throws {
        report.heading("memory of an idle daemon")
        let home = scratch.path + "/memory"
        let first = try DaemonUnderTest(program, home: home, port: DaemonUnderTest.freePort(), peer: nil)
        defer { first.end() }
        try look(first, "empty", "empty workspace", report)
        try fill(first)
        try look(first, "written", "after writing 100,000 messages", report)
        first.end()
        let second = try DaemonUnderTest(program, home: home, port: DaemonUnderTest.freePort(), peer: nil)
        defer { second.end() }
        try look(second, "full", "started with 100,000 messages", report)
    }

    private func fill(_ daemon: DaemonUnderTest) throws(BenchError) {
        let client = try daemon.client()
        let text = String(repeating: "x", count: 100)
        for first in stride(from: 0, to: Self.messages, by: Self.window) {
            try Interruption.check()
            var lines: [UInt8] = []
            for number in first..<(first + Self.window) {
                lines += client.request("message.send", ["to": "#general", "text": .string("\(number) \(text)")])
            }
            try client.write(lines)
            for _ in 0..<Self.window { _ = try LineClient.result(try client.line()) }
        }
    }

    private func look(_ daemon: DaemonUnderTest, _ key: String, _ name: String, _ report: Report) throws {
        try Interruption.sleep(ms: Self.idleMs)
        let process = daemon.process
        report.add(
            Figure(
                key: "memory.\(key).rss", name: name + ", VmRSS",
                value: try ProcFile.megabytes("VmRSS", "/proc/\(process)/status"), unit: .megabytes,
                aim: .atMost(Self.aimMB)))
        report.add(
            Figure(
                key: "memory.\(key).pss", name: name + ", PSS",
                value: try ProcFile.megabytes("Pss", "/proc/\(process)/smaps_rollup"), unit: .megabytes))
    }
}
