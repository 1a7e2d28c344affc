internal import Replication
internal import Seal
package import Simulation
internal import Store
internal import Tree

/// One run from one seed: nodes write while the network, the machines and somebody hostile do what they do; then
/// everything is mended, and all have to be equal.
package final class Scenario {
    package struct Outcome: Sendable {
        package var violations: [String] = []
        /// False if it was ended before its time; then nothing was checked at the end.
        package var isComplete = true
        package var traceHash: UInt64 = 0
        package var eventCount = 0
        package var entryCount = 0
        /// Virtual time from the mending of the network until all were equal.
        package var healedAfterMs: UInt64 = 0
        package var log: [String] = []
    }

    /// Once the network is whole, all nodes are equal after this virtual time at the latest.
    package static let healMsMax: UInt64 = 120_000

    let seed: UInt64
    package let profile: Profile
    package let simulation: Simulation
    let records: Records
    let channels: [Path]
    var random: SplitMix64
    /// Of who signs together what he has signed singly, in every second seed. Drawn apart from the rest, so that the
    /// other seeds are what they were before it.
    var bundling: SplitMix64?
    var hostile: HostileMember?
    /// Copies of disks that may be put back.
    var backups: [(node: Int, image: DiskImage)] = []
    /// Nodes that have said that they are there, by the number of their start.
    var present: [Int: UInt64] = [:]
    private let isLogging: Bool
    private let goesOn: @Sendable () -> Bool
    private(set) var log: [String] = []

    /// - `nodes`: how many there are; nil for as many as the seed says.
    /// - `isLogging`: writing down what happens takes time, so only a failure is played again with it.
    /// - `goesOn`: asked again and again; no ends the run.
    package init(
        seed: UInt64, nodes: Int? = nil, isLogging: Bool = false, goesOn: @escaping @Sendable () -> Bool = { true }
    ) throws {
        self.seed = seed
        self.isLogging = isLogging
        self.goesOn = goesOn
        random = SplitMix64(seed: seed)
        profile = Profile(seed: seed, nodes: nodes, &random)
        var options = Simulation.Options()
        options.dials = true
        options.losesUnflushed = profile.has(.powerFailure)
        options.transfer = profile.nodeCount > 6 ? .values : .encoded
        simulation = Simulation(nodes: 0, seed: random.next(), options: options)
        channels = try ["channels/---------lunchlunchlun", "channels/--------anybodyanybo"].map(Path.init(parsing:))
        records = Records(simulation, channels: channels)
        simulation.watcher = records
        if seed % 2 == 0 { bundling = SplitMix64(seed: ~seed) }
        note(profile.words + (bundling == nil ? "" : ", signing together"))
        for _ in 0..<profile.nodeCount { addNode() }
        if profile.has(.hostile) {
            let node = simulation.addNode(key: SigningKey(seed: Bytes32(repeating: 0x66)))
            hostile = HostileMember(
                seed: random.next(), node: node, liesAboutTime: hasRightClocks && profile.nodeCount > 3)
            hostile?.sealing = bundling
        }
        // What it held before it held anything: a database that was deleted.
        if profile.has(.restore) { backups = honest.map { ($0.index, simulation.backup($0.index)) } }
    }

    /// Others that a node of a large network has heard of when it starts.
    private static let knows = 4

    /// Everybody starts at once, and some time later whatever happens begins to.
    private func formViews() throws {
        simulation.letKnow(Scenario.knows)
        announce()
        try pass(ms: UInt64(below(10_000)))
    }

    private func addNode() {
        var skewMs: Int64 = 0
        let hourMs: Int64 = 3_600_000
        if profile.has(.years), chance(3) {
            skewMs = Int64.random(in: -365 * 24...365 * 24, using: &random) * hourMs
        } else if profile.has(.deadBattery), chance(3) {
            skewMs = Simulation.deadBatteryMs
        } else if profile.has(.skew) {
            skewMs = Int64.random(in: -10 * hourMs...10 * hourMs, using: &random)
        }
        let node = simulation.addNode(skewMs: skewMs)
        if profile.has(.oldVersion), chance(2) {
            node.tagMax = profile.isLarge ? Scenario.oldViewsTagMax : Scenario.oldTagMax
        }
        note("node \(node.index): skew \(skewMs / 1000) s\(node.tagMax == nil ? "" : ", an older version")")
    }

    /// The greatest tag of the first version of the protocol, and of the first with views of a large network.
    static let oldTagMax: UInt64 = 17
    static let oldViewsTagMax: UInt64 = 29

    func note(_ words: @autoclosure () -> String) {
        guard isLogging else { return }
        let ms = simulation.nowMs
        let fraction = "00\(ms % 1000)".suffix(3)
        log.append("\(ms / 1000).\(fraction) s  \(words())")
    }

    // MARK: Chance

    func below(_ n: Int) -> Int { Int.random(in: 0..<max(1, n), using: &random) }
    func chance(_ n: Int) -> Bool { below(n) == 0 }
    func pick<T>(_ list: [T]) -> T { list[below(list.count)] }

    /// Nodes that run a machine.
    var honest: [SimulatedNode] { simulation.nodes.filter { $0.intruder == nil } }
    var running: [SimulatedNode] { honest.filter { $0.state == .running } }

    // MARK: The run

    private struct Ended: Error {}

    package func run() -> Outcome {
        var outcome = Outcome()
        do {
            try run(&outcome)
        } catch is Ended {
            outcome.isComplete = false
        } catch {
            records.complain("\(error)")
        }
        for node in honest where !node.errors.isEmpty {
            records.complain("node \(node.index): \(node.errors.count) errors, first \(node.errors[0])")
        }
        outcome.violations = records.complaints
        outcome.traceHash = simulation.traceHash
        outcome.eventCount = simulation.eventCount
        outcome.entryCount = honest.first?.store.entryCount ?? 0
        outcome.log = log
        return outcome
    }

    private func run(_ outcome: inout Outcome) throws {
        if profile.isLarge { try formViews() } else { simulation.connectAll() }
        for _ in 0..<profile.stepCount {
            try step()
            try pass(ms: pauseMs())
        }
        mend()
        let healedMs = simulation.nowMs
        let isEqual = try settle()
        outcome.healedAfterMs = isEqual ? simulation.nowMs - healedMs : 0
        if isEqual || hasOtherTimes { try checkAll(isEqual: isEqual) } else { complainUnequal() }
    }

    /// Virtual milliseconds that a network of a thousand nodes takes about a second for.
    private static let pieceMs: UInt64 = 250

    func pass(ms: UInt64) throws {
        let end = simulation.nowMs + ms
        repeat {
            guard goesOn() else { throw Ended() }
            simulation.run(forMs: min(Scenario.pieceMs, end - simulation.nowMs))
        } while simulation.nowMs < end
    }

    private func pauseMs() -> UInt64 {
        if profile.isLarge { return UInt64.random(in: 0..<pick([100, 100, 100, 2000, 2000, 8000]), using: &random) }
        switch below(100) {
        case ..<50: return UInt64.random(in: 0..<100, using: &random)
        case ..<85: return UInt64.random(in: 0..<3000, using: &random)
        case ..<98: return UInt64.random(in: 0..<30_000, using: &random)
        default: return UInt64.random(in: 0..<(profile.isSlow ? 300_000 : 30_000), using: &random)
        }
    }

    private func step() throws {
        if profile.has(.soft) { announce() }
        hostile?.act(simulation)
        try signTogether()
        let isWrite = below(10) < 7
        // More happens at a time where there are more whom it may happen to.
        for _ in 0..<(profile.isLarge ? 1 + below(3) : 1) { if isWrite { try write() } else { try disturb() } }
        if chance(20) { checkSizes() }
    }

    /// Everything is repaired but the clocks, and whoever is hostile stays so.
    private func mend() {
        note("everything is mended")
        hostile?.isCalm = true
        simulation.heal()
        for node in simulation.nodes {
            node.isDiskFull = false
            simulation.wake(node.index)
            simulation.boot(node.index)
        }
        if profile.has(.soft) { announce() }
    }

    /// Until all are equal, and remain so.
    private func settle() throws -> Bool {
        let end = simulation.nowMs + Scenario.healMsMax
        while simulation.nowMs < end {
            if isConverged { return true }
            hostile?.act(simulation)
            try pass(ms: 500)
        }
        return isConverged
    }

    var isConverged: Bool { simulation.isConverged && honest.allSatisfy { $0.state == .running } }

    /// Whether everybody has the right time, and nobody lies about it.
    var hasRightClocks: Bool {
        hostile == nil && profile.faults.isDisjoint(with: [.skew, .years, .jumps, .deadBattery])
    }

    /// Whether what one node has applied is in the far future of another: what it has killed there is alive here until
    /// then.
    var hasOtherTimes: Bool { !hasRightClocks && honest.contains { $0.store.heldCount > 0 } }

    private func complainUnequal() {
        var holders: [Int: [Int]] = [:]
        for node in honest { holders[node.store.entryCount, default: []].append(node.index) }
        let counts = holders.sorted { $0.key < $1.key }.map { count, nodes in
            nodes.count > 4 ? "\(count) at \(nodes.count) nodes" : "\(count) at \(nodes)"
        }.joined(separator: ", ")
        for node in honest {
            let counts = "\(node.store.entryCount) entries, \(node.store.heldCount) held"
            note("node \(node.index): \(counts), \(node.replicator.sizes)")
        }
        noteDifferences()
        records.complain("not equal \(Scenario.healMsMax / 1000) s after the network was mended; entries \(counts)")
    }
}
