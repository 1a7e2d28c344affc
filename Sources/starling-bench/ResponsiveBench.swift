internal import CLimit
internal import ControlAPI
internal import Glibc
internal import Seal
internal import Tree

/// How long somebody who writes has to wait for the answer while his node is busy with something large: it catches up,
/// or an entry has killed everything in a channel.
struct ResponsiveBench {
    /// Between an answer and the next message.
    private static let pauseMs: Int32 = 5
    /// Messages between two looks at whether the large thing is over.
    private static let lookEvery = 20
    /// A bulk transaction takes no longer.
    private static let blockedMsMax = 50.0
    private static let patienceMs: Int64 = 600_000

    private let program: String
    private let scratch: ScratchFolder

    init(_ program: String, _ scratch: ScratchFolder) {
        self.program = program
        self.scratch = scratch
    }

    /// What kills many entries.
    private enum Kill: String, CaseIterable {
        /// A channel of one's own keeps nothing from before now.
        case retention
        /// It is removed.
        case removal
        /// A place is removed where anybody may write, so that what others wrote there is kept for a while.
        case openPlace = "open"

        var name: String {
            switch self {
            case .retention: "a retention ends them"
            case .removal: "their channel is removed"
            case .openPlace: "an open place is removed"
            }
        }
    }

    func measure(messages count: Int, _ report: Report) throws {
        report.heading("send → answer, \(Report.decimal(Double(count), 0)) messages")
        tell("idle", "with nothing else to do", try idle(), report)
        tell("catchup", "while they come from a peer", try catchUp(count), report)
        for kill in Kill.allCases {
            let run = try self.kill(kill, count)
            tell(kill.rawValue, "while \(kill.name)", run.times, report)
            report.add(
                Figure(
                    key: "responsive.\(kill.rawValue).write", name: "the write that does it",
                    value: Double(run.writeNs) / 1e6, unit: .milliseconds, aim: .atMost(Self.blockedMsMax)))
            report.add(
                Figure(
                    key: "responsive.\(kill.rawValue).seconds", name: "until all have left the store",
                    value: Double(run.allNs) / 1e9, unit: .seconds))
        }
    }

    private func tell(_ key: String, _ name: String, _ times: Samples, _ report: Report) {
        for (part, percent) in [("p50", 50), ("p99", 99), ("max", 100)] {
            report.add(
                Figure(
                    key: "responsive.\(key).\(part)", name: "\(name), \(part)", value: times.ms(percent),
                    unit: .milliseconds, aim: part == "p50" ? nil : .atMost(Self.blockedMsMax)))
        }
    }

    /// Sends messages one after another until something is over; at least one.
    private func send(_ client: LineClient, until isOver: () throws -> Bool) throws -> Samples {
        var times = Samples()
        let begin = limit_now_ns()
        repeat {
            for number in 0..<Self.lookEvery {
                let text = "\(number) " + String(repeating: "x", count: 50)
                let line = client.request("message.send", ["to": "#general", "text": .string(text)])
                let start = limit_now_ns()
                try client.write(line)
                let answer = try client.line()
                times.add(ns: limit_now_ns() - start)
                _ = try LineClient.result(answer)
                try Interruption.sleep(ms: Self.pauseMs)
            }
            guard limit_now_ns() - begin < Self.patienceMs * 1_000_000 else {
                throw BenchError.unexpected("it does not come to an end")
            }
        } while try !isOver()
        return times
    }

    private func idle() throws -> Samples {
        let daemon = try DaemonUnderTest(
            program, home: scratch.path + "/responsive-idle", port: try DaemonUnderTest.freePort(), peer: nil)
        defer { daemon.end() }
        var looks = 0
        return try send(try daemon.client()) {
            looks += 1
            return looks == 10
        }
    }

    private func catchUp(_ count: Int) throws -> Samples {
        let folder = scratch.path + "/responsive-catchup"
        defer { ScratchFolder.remove(folder) }
        let (portA, portB) = (try DaemonUnderTest.freePort(), try DaemonUnderTest.freePort())
        let home = folder + "/a"
        try DaemonUnderTest(program, home: home, port: portA, peer: nil).end()
        var archive = try MessageArchive(count, workspace: CatchUpData.workspace)
        try archive.write(count, together: true, to: home + "/workspace.db")
        let full = try DaemonUnderTest(program, home: home, port: portA, peer: nil)
        defer { full.end() }
        let empty = try DaemonUnderTest(program, home: folder + "/b", port: portB, peer: portA)
        defer { empty.end() }
        let client = try empty.client()
        return try send(client) { try Self.status(client)["entries"]?.int ?? 0 >= Int64(count) }
    }

    private static func status(_ client: LineClient) throws -> JSON { try client.call("node.status", [:]) }

    private struct Run {
        let times: Samples
        let writeNs: Int64
        let allNs: Int64
    }

    private func kill(_ kill: Kill, _ count: Int) throws -> Run {
        let home = scratch.path + "/responsive-\(kill.rawValue)"
        defer { ScratchFolder.remove(home) }
        let port = try DaemonUnderTest.freePort()
        let first = try DaemonUnderTest(program, home: home, port: port, peer: nil)
        let answer = try first.client().call("channel.create", ["name": "bench", "own": true])
        first.end()
        guard let channel = answer["key"]?.string else { throw BenchError.unexpected("a channel without a key") }
        let place = kill == .openPlace ? "apps/bench" : "channels/\(channel)/messages"
        var archive = try MessageArchive(
            count, workspace: CatchUpData.workspace, place: try Path(parsing: place))
        try archive.write(count, together: true, to: home + "/workspace.db", isIndexed: true)
        let daemon = try DaemonUnderTest(program, home: home, port: port, peer: nil)
        defer { daemon.end() }
        let (client, killer) = (try daemon.client(), try daemon.client())
        // What a node does after its start is not what is measured.
        try Interruption.sleep(ms: 1000)
        let start = limit_now_ns()
        switch kill {
        case .retention:
            // A little before now: nobody ends what is still to come.
            let now = try Self.status(killer)["offsetMs"]?.int ?? 0
            try killer.call("channel.retain", ["channel": .string(channel), "before": .int(Self.wallMs + now - 1000)])
        case .removal: try killer.call("tree.remove", ["path": .string("channels/\(channel)")])
        case .openPlace: try killer.call("tree.remove", ["path": .string(place)])
        }
        let writeNs = limit_now_ns() - start
        let times = try send(client) { try Self.status(client)["storage"]?["waiting"]?.int ?? 0 == 0 }
        return Run(times: times, writeNs: writeNs, allNs: limit_now_ns() - start)
    }

    private static var wallMs: Int64 {
        var now = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &now)
        return Int64(now.tv_sec) * 1000 + Int64(now.tv_nsec) / 1_000_000
    }
}
