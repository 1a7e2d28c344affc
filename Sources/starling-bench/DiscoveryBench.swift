internal import CLimit
internal import ControlAPI
internal import Lab

/// Two fresh starts on hosts of their own, which find each other through their Avahis, until the first message is
/// across; beside the same with addresses that are given.
struct DiscoveryBench {
    private static let rounds = 5
    private static let port = 7717
    private static let acrossMs = 2500.0
    private static let patienceMs: Int64 = 30_000

    private let bench: Bench

    init(_ bench: Bench) { self.bench = bench }

    func measure() throws {
        bench.report.heading("two hosts, fresh starts → message across (limit: addresses given)")
        if let reason = Lab.unavailableReason {
            bench.report.absent("discovery", "found through Avahi", reason)
            return
        }
        let lab = try Lab(hosts: 2)
        defer { lab.down() }
        var (found, given) = (Samples(), Samples())
        for round in 0..<(bench.isQuick ? 1 : Self.rounds) {
            given.add(
                ns: try firstMessage(lab, "given\(round)") { other in
                    ["--no-discovery", "--peer", "\(lab[other].address):\(Self.port)"]
                })
            found.add(ns: try firstMessage(lab, "found\(round)") { _ in [] })
        }
        for (percent, name) in [(50, "p50"), (100, "longest")] {
            bench.report.add(
                Figure(
                    key: "discovery.\(name)", name: "found through Avahi, \(name)", value: found.ms(percent),
                    unit: .milliseconds, limit: given.ms(percent), aim: percent == 50 ? .atMost(Self.acrossMs) : nil))
        }
    }

    private func firstMessage(_ lab: Lab, _ name: String, _ arguments: (Int) -> [String]) throws -> Int64 {
        try Interruption.check()
        let homes = [1, 2].map { "\(bench.scratch.path)/\(name)-\($0)" }
        let start = limit_now_ns()
        let daemons = try [1, 2].map { host in
            try lab[host].spawn(
                [
                    bench.program, "--home", homes[host - 1], "--name", "bench\(host)", "--log", "warning", "--listen",
                    "\(lab[host].address):\(Self.port)",
                ] + arguments(3 - host))
        }
        defer {
            for daemon in daemons { daemon.terminate() }
            while daemons.contains(where: \.isRunning) { try? Interruption.sleep(ms: 10) }
            for home in homes { ScratchFolder.remove(home) }
        }
        let (sender, receiver) = (try client(homes[0], start), try client(homes[1], start))
        try receiver.call("message.observe", ["in": "#general"])
        try sender.write(sender.request("message.send", ["to": "#general", "text": "hello"]))
        while try LineClient.messageText(try receiver.line()) != "hello" {}
        return limit_now_ns() - start
    }

    /// As soon as the daemon's socket is there.
    private func client(_ home: String, _ start: Int64) throws -> LineClient {
        let path = home + "/starling.sock"
        while true {
            if let client = try? LineClient(path: path) { return client }
            guard limit_now_ns() - start < Self.patienceMs * 1_000_000 else {
                throw BenchError.unexpected("no daemon answers at \(path)")
            }
            try Interruption.sleep(ms: 1)
        }
    }
}
