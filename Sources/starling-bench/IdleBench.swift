internal import CLimit
internal import ControlAPI

/// What a daemon with 5 peers costs while nothing happens; the mean of all six, of which each has 5.
struct IdleBench {
    private static let daemons = 6
    /// Until what follows a start is over.
    private static let settleMs: Int32 = 15_000
    private static let watchMs: Int32 = 30_000

    private let bench: Bench

    init(_ bench: Bench) { self.bench = bench }

    func measure() throws {
        var ports: [UInt16] = []
        var daemons: [DaemonUnderTest] = []
        defer { for daemon in daemons { daemon.end() } }
        for number in 0..<Self.daemons {
            let port = try DaemonUnderTest.freePort()
            daemons.append(
                try DaemonUnderTest(
                    bench.program, home: bench.scratch.path + "/idle\(number)", port: port, peers: ports))
            ports.append(port)
        }
        for daemon in daemons { try daemon.waitForPeers(Self.daemons - 1) }
        try Interruption.sleep(ms: bench.isQuick ? Self.settleMs / 3 : Self.settleMs)

        let bytes = try Connection.bytes(ports: ports)
        let cpu = try daemons.map { try $0.allCpuNs() }
        let wakeUps = try daemons.map { try $0.wakeUps() }
        let start = limit_now_ns()
        try Interruption.sleep(ms: bench.isQuick ? Self.watchMs / 3 : Self.watchMs)
        let seconds = Double(limit_now_ns() - start) / 1e9
        let spentBytes = try Connection.bytes(ports: ports) - bytes
        let spentNs = try daemons.map { try $0.allCpuNs() }.reduce(0, +) - cpu.reduce(0, +)
        let woken = try daemons.map { try $0.wakeUps() }.reduce(0, +) - wakeUps.reduce(0, +)

        let count = Double(daemons.count)
        let links = Double(Self.daemons * (Self.daemons - 1) / 2)
        bench.report.heading("an idle daemon with \(Self.daemons - 1) peers")
        func add(_ key: String, _ name: String, _ value: Double, _ unit: Figure.Unit, _ most: Double) {
            bench.report.add(
                Figure(
                    key: "idle.\(key)", name: name, value: value, unit: unit, aim: .atMost(most), isOfMachine: false))
        }
        add("cpu", "of a core", 100 * Double(spentNs) / 1e9 / seconds / count, .percent, 0.1)
        add("bytes", "sent and received, of each peer", Double(spentBytes) / seconds / links, .bytesPerSecond, 100)
        // More of it is worse, unlike other numbers a second.
        add("wakeUps", "wake-ups a second", Double(woken) / seconds / count, .count, 3)
    }
}
