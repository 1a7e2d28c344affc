internal import CLimit
internal import ControlAPI
internal import Glibc
internal import Store

/// What it costs two nodes to become equal when one of them lacks a part.
struct CatchUpBench {
    static let messagesDefault = 1_000_000
    private static let missing = 10_000
    /// How long two daemons may take before it counts as a failure.
    private static let equalMs: Int64 = 120_000
    private static let pollMs: Int32 = 3

    private let program: String
    private let scratch: ScratchFolder

    init(_ program: String, _ scratch: ScratchFolder) {
        self.program = program
        self.scratch = scratch
    }

    func measure(messages: Int?, _ report: Report) throws {
        let messages = messages ?? Self.messagesDefault
        let missing = min(Self.missing, messages / 10)
        report.heading("catching up: \(Report.decimal(Double(missing), 0)) of \(Report.decimal(Double(messages), 0))")
        for spread in CatchUpData.Spread.allCases {
            let folder = "\(scratch.path)/\(spread.rawValue)"
            unsafe mkdir(folder, 0o700)
            defer { ScratchFolder.remove(folder) }
            let data = try CatchUpData(spread, messages: messages, missing: missing)
            try data.make(in: folder)
            try model(data, folder, report)
            try daemons(data, folder, report)
        }
    }

    /// Bytes and round trips, on virtual time.
    private func model(_ data: CatchUpData, _ folder: String, _ report: Report) throws {
        let spare = try DatabaseStore(path: CatchUpData.database(folder, "spare"))
        defer { spare.close() }
        let whole = try DatabaseStore(path: CatchUpData.database(folder, "b"))
        defer { whole.close() }
        let outcome = try CatchUpModel(spare, whole, wallMs: data.endMs + 1000).run()
        let key = "catchup.\(data.spread.rawValue)"
        let isNewest = data.spread == .newest
        report.add(
            Figure(
                key: "\(key).roundtrips", name: data.spread.name + ", round trips", value: outcome.roundTrips,
                unit: .count, aim: isNewest ? .atMost(4) : nil))
        if isNewest {
            report.add(
                Figure(
                    key: "\(key).overhead", name: data.spread.name + ", over the payload",
                    value: 100 * Double(outcome.overhead) / Double(max(1, outcome.payload)), unit: .percent,
                    aim: .atMost(5)))
        } else {
            report.add(
                Figure(
                    key: "\(key).overhead", name: data.spread.name + ", over the payload",
                    value: Double(outcome.overhead) / 1e6, unit: .millionBytes, aim: .atMost(7)))
        }
        report.add(
            Figure(
                key: "\(key).payload", name: data.spread.name + ", payload a message",
                value: Double(outcome.payload) / Double(data.missing), unit: .bytes))
        guard isNewest else { return }
        let equal = try CatchUpModel(spare, whole, wallMs: data.endMs + 1000).run()
        report.add(
            Figure(
                key: "catchup.equal.bytes", name: "two equal nodes compare, both directions",
                value: Double(equal.comparing), unit: .bytes, aim: .atMost(200)))
        report.add(
            Figure(
                key: "catchup.equal.link", name: "all that their new link carries", value: Double(equal.bytes),
                unit: .bytes))
    }

    /// Time, with two daemons.
    private func daemons(_ data: CatchUpData, _ folder: String, _ report: Report) throws {
        let (portA, portB) = (try DaemonUnderTest.freePort(), try DaemonUnderTest.freePort())
        let b = try DaemonUnderTest(program, home: folder + "/b", port: portB, peer: nil)
        defer { b.end() }
        let a = try DaemonUnderTest(program, home: folder + "/a", port: portA, peer: nil)
        defer { a.end() }
        let (reader, atA, atB) = (try a.client(), try a.client(), try b.client())
        try reader.observe("#general", limit: 200)
        // Both have just started: what they do then is not what is measured.
        try Interruption.sleep(ms: 1000)
        let start = limit_now_ns()
        try atA.call("node.addPeer", ["address": .string("127.0.0.1:\(portB)")])
        var tailNs: Int64?
        var equalNs: Int64?
        while equalNs == nil {
            guard limit_now_ns() - start < Self.equalMs * 1_000_000 else {
                throw BenchError.unexpected("two daemons did not become equal; see \(folder)/a/starlingd.log")
            }
            while tailNs == nil, try reader.hasLine(waitMs: Self.pollMs) {
                if let text = try LineClient.messageText(try reader.line()), data.isLast(text) {
                    tailNs = limit_now_ns() - start
                }
            }
            if tailNs != nil { try Interruption.sleep(ms: Self.pollMs) }
            let roots = try [atA, atB].map { try $0.call("node.status", [:])["root"]?.string }
            if roots[0] == roots[1] { equalNs = limit_now_ns() - start }
            // Where the last message was there from the start there is nothing to wait for.
            if data.spread != .newest { tailNs = tailNs ?? 0 }
        }
        let key = "catchup.\(data.spread.rawValue)"
        let isNewest = data.spread == .newest
        if isNewest, let tailNs {
            report.add(
                Figure(
                    key: "\(key).tail", name: data.spread.name + ", the end readable", value: Double(tailNs) / 1e6,
                    unit: .milliseconds, aim: .atMost(150)))
        }
        report.add(
            Figure(
                key: "\(key).time", name: data.spread.name + ", two daemons equal",
                value: Double(equalNs ?? 0) / 1e6, unit: .milliseconds, aim: .atMost(isNewest ? 500 : 1500)))
    }
}
