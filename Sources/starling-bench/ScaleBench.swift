internal import Simulation

/// What a network of many nodes costs and achieves: the daemon's machines over a simulated network, in virtual time.
/// The figures are those of the protocol, not of this machine, and the same each time.
struct ScaleBench {
    private static let seed: UInt64 = 4
    private static let idleMs: UInt64 = 15_000

    func measure(_ report: Report) throws(BenchError) {
        report.heading("scale, simulated")
        try spread(report)
        for count in [10, 32, 100] { try idle(try formed(count), report) }
        let thousand = try formed(1000)
        try idle(thousand, report)
        try die(thousand, isPower: true, report)
        try die(try formed(1000), isPower: false, report)
    }

    private func formed(_ count: Int) throws(BenchError) -> ScaleRun {
        try Interruption.check()
        let run = ScaleRun(nodes: count, seed: ScaleBench.seed)
        run.form(apartMs: UInt64(max(1, 10_000 / count)), settleMs: 20_000)
        try Interruption.check()
        return run
    }

    private func idle(_ run: ScaleRun, _ report: Report) throws(BenchError) {
        let count = run.simulation.nodes.count
        // One message shows the links which of them the tree needs.
        _ = run.spread(messages: 10, apartMs: 300)
        run.simulation.run(forMs: 2000)
        let idle = run.idle(forMs: ScaleBench.idleMs)
        let name = "idle node of \(count)"
        let key = "scale.idle.\(count)"
        report.add(
            Figure(key: key + ".bytes", name: name + ": received", value: idle.bytes, unit: .bytesPerSecond))
        report.add(
            Figure(
                key: key + ".soft", name: name + ": presence of it", value: idle.softBytes, unit: .bytesPerSecond))
        report.add(
            Figure(key: key + ".wakeUps", name: name + ": wake-ups", value: idle.wakeUps, unit: .perSecond))
        report.add(Figure(key: key + ".links", name: name + ": links, mean", value: idle.linksMean, unit: .count))
        report.add(
            Figure(
                key: key + ".linksMax", name: name + ": links, most", value: Double(idle.linksMax), unit: .count,
                aim: .atMost(count > 32 ? 10 : 31)))
        report.add(
            Figure(
                key: key + ".presence", name: name + ": does not see everybody",
                value: run.seesEverybody ? 0 : 1, unit: .count, aim: .atMost(0)))
    }

    private func spread(_ report: Report) throws(BenchError) {
        let run = try formed(500)
        _ = run.spread(messages: 50, apartMs: 200)
        let spread = run.spread(messages: 100, apartMs: 200)
        for (percent, aim) in [(50, nil), (99, 15.0), (100, nil)] {
            report.add(
                Figure(
                    key: "scale.message.p\(percent)", name: "500 nodes, 1 ms links: a message to all, p\(percent)",
                    value: Double(spread.latencyMs(percent: percent)), unit: .milliseconds, aim: aim.map { .atMost($0) }
                ))
        }
        report.add(
            Figure(
                key: "scale.message.copies", name: "its copies a node", value: spread.copies, unit: .count,
                aim: .atMost(1.3)))
        report.add(
            Figure(
                key: "scale.message.missed", name: "nodes it has not reached", value: Double(spread.missed),
                unit: .count, aim: .atMost(0)))
    }

    private func die(_ run: ScaleRun, isPower: Bool, _ report: Report) throws(BenchError) {
        _ = run.spread(messages: 20, apartMs: 200)
        let after = run.dieHalf(isPower ? .powerFailure : .kill, limitMs: 60_000)
        let name = isPower ? "half of 1,000 lose power" : "half of 1,000 are killed"
        let key = isPower ? "scale.power" : "scale.kill"
        report.add(
            Figure(
                key: key + ".connected", name: name + ": connected", value: Double(after.connectedMs ?? 999_999),
                unit: .milliseconds, aim: .atMost(10_000)))
        report.add(
            Figure(
                key: key + ".equal", name: name + ": equal", value: Double(after.equalMs ?? 999_999),
                unit: .milliseconds))
        report.add(
            Figure(
                key: key + ".lost", name: name + ": messages lost", value: Double(after.lost), unit: .count,
                aim: .atMost(0)))
    }
}
