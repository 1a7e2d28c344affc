internal import CLimit
internal import ControlAPI

/// Two fresh starts on hosts of their own, which find each other through their Avahis, until the first message is
/// across; beside the same with addresses that are given.
struct DiscoveryBench {
    private static let rounds = 3
    private static let port: UInt16 = 7717
    private static let acrossMs = 2500.0

    private let bench: Bench

    init(_ bench: Bench) { self.bench = bench }

    func measure() throws {
        bench.report.heading("two hosts, fresh starts → message across (limit: addresses given)")
        if let reason = try Hosts.unavailableReason {
            bench.report.absent("discovery", "found through Avahi", reason)
            return
        }
        var (found, given) = (Samples(), Samples())
        for round in 0..<(bench.isQuick ? 1 : Self.rounds) {
            given.add(
                ns: try firstMessage("given\(round)") { other in
                    ["--no-discovery", "--peer", "\(Hosts.address(other)):\(Self.port)"]
                })
            found.add(ns: try firstMessage("found\(round)") { _ in [] })
        }
        for (percent, name) in [(50, "p50"), (100, "longest")] {
            bench.report.add(
                Figure(
                    key: "discovery.\(name)", name: "found through Avahi, \(name)", value: found.ms(percent),
                    unit: .milliseconds, limit: given.ms(percent), aim: percent == 50 ? .atMost(Self.acrossMs) : nil))
        }
    }

    /// On hosts that are new each time: an Avahi that has heard of the daemons before would know them at once.
    private func firstMessage(_ name: String, _ arguments: (_ other: Int) -> [String]) throws -> Int64 {
        try Interruption.check()
        let hosts = try Hosts(2, in: bench.scratch)
        let programs = try [1, 2].map { try hosts.program(bench.program, on: $0) }
        let start = limit_now_ns()
        var daemons: [DaemonUnderTest] = []
        defer {
            for daemon in daemons {
                daemon.end()
                ScratchFolder.remove(daemon.home)
            }
        }
        for host in [1, 2] {
            let more = ["--name", "bench\(host)", "--listen", "\(Hosts.address(host)):\(Self.port)"]
            daemons.append(
                try DaemonUnderTest(
                    programs[host - 1], home: "\(bench.scratch.path)/\(name)-\(host)", listensAt: Self.port,
                    more + arguments(3 - host)))
        }
        let (sender, receiver) = (try daemons[0].client(), try daemons[1].client())
        try receiver.call("message.observe", ["in": "#general"])
        try sender.write(sender.request("message.send", ["to": "#general", "text": "hello"]))
        while try LineClient.messageText(try receiver.line()) != "hello" {}
        return limit_now_ns() - start
    }
}
