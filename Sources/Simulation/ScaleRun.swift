internal import Replication
internal import Seal
public import Store
public import Tree
internal import Wire

/// A network of many nodes of which each knows a few others at first, and what it costs and achieves: the figures that
/// are to hold at every size. In virtual time, from a seed.
public final class ScaleRun: SimulationWatcher {
    /// What a node spends while nobody writes, a second.
    public struct Idle: Sendable {
        /// Payload bytes received: messages without frames.
        public let bytes: Double
        /// Bytes of soft state among them, with what announces it.
        public let softBytes: Double
        /// Milliseconds in which something arrived or a timer fired.
        public let wakeUps: Double
        public let linksMean: Double
        public let linksMax: Int
    }

    /// How messages spread.
    public struct Spread: Sendable {
        /// From the write until a node has it, each node but the author and each message, ascending.
        public let latenciesMs: [UInt64]
        /// Copies that reach a node of each message.
        public let copies: Double
        /// Nodes that did not get one in time.
        public let missed: Int

        public func latencyMs(percent: Int) -> UInt64 {
            latenciesMs.isEmpty ? 0 : latenciesMs[min(latenciesMs.count - 1, latenciesMs.count * percent / 100)]
        }
    }

    /// What follows after half of the nodes have died.
    public struct Survival: Sendable {
        /// Until the links that lead to living nodes connect all of them; nil if they do not in time.
        public let connectedMs: UInt64?
        /// Until all hold the same, among it everything that any of them held or has written since.
        public let equalMs: UInt64?
        /// Messages that no survivor holds although one had written it or held it.
        public let lost: Int
    }

    public let simulation: Simulation
    private var presence: [Path?] = []
    /// When each entry was written, while that is measured.
    private var writtenMs: [EntryReference: UInt64] = [:]
    private var latenciesMs: [UInt64] = []

    /// - `knows`: how many others a node has heard of when it starts.
    public init(nodes count: Int, seed: UInt64, delayMs: ClosedRange<UInt64> = 1...1, knows: Int = 3) {
        var options = Simulation.Options()
        options.delayMs = delayMs
        options.transfer = .counted
        options.dials = true
        options.knows = knows
        simulation = Simulation(nodes: count, seed: seed, options: options)
        simulation.watcher = self
        presence = simulation.nodes.map { try? Path(parsing: "presence/\(UID.text($0.author))") }
    }

    public func applied(_ result: CommitResult, at node: SimulatedNode) {
        for entry in result.applied where entry.author != node.author {
            if let sentMs = writtenMs[entry.reference] { latenciesMs.append(simulation.nowMs - sentMs) }
        }
    }

    public func renewed(_ result: RenewalResult, at node: SimulatedNode) {}
    public func started(_ node: SimulatedNode) {}
    public func wentBack(_ node: SimulatedNode, from before: MemoryStore) {}

    /// Starts the nodes one after the other and lets them find each other.
    ///
    /// - `apartMs`: how far apart they start.
    public func form(apartMs: UInt64, settleMs: UInt64) {
        for node in simulation.nodes {
            if let path = presence[node.index], let state = Key("state") {
                let value = Value.object(ObjectValue([(state, .string("online"))]))
                simulation.feed(node, .setSoft(path, value, ttlMs: 30_000, isRefreshed: true))
            }
            simulation.dial(node.index)
            simulation.run(forMs: apartMs)
        }
        simulation.run(forMs: settleMs)
    }

    // MARK: Figures

    private var running: [SimulatedNode] { simulation.nodes.filter { $0.state == .running } }

    public func idle(forMs durationMs: UInt64) -> Idle {
        let nodes = running
        let before = nodes.map(\.traffic)
        simulation.run(forMs: durationMs)
        let seconds = Double(durationMs) / 1000 * Double(max(1, nodes.count))
        func sum(_ part: (SimulatedNode.Traffic) -> Int) -> Double {
            Double(zip(nodes, before).reduce(0) { $0 + part($1.0.traffic) - part($1.1) }) / seconds
        }
        let links = nodes.map { $0.neighbours.count }
        return Idle(
            bytes: sum(\.bytes), softBytes: sum(\.softBytes), wakeUps: sum(\.moments),
            linksMean: Double(links.reduce(0, +)) / Double(max(1, links.count)), linksMax: links.max() ?? 0)
    }

    /// Whether each node sees the presence of all.
    public var seesEverybody: Bool {
        running.allSatisfy { $0.replicator.soft.liveAuthorCount >= running.count }
    }

    private func write(_ node: SimulatedNode) -> EntryReference? {
        guard let key = simulation.newKey(node.index), let hlc = simulation.tick(node.index),
            let path = try? Path(parsing: "channels/---------lunchlunchlun/messages/\(key)"),
            let entry = try? Entry(
                path: path, hlc: hlc, author: node.author, value: .string(String(repeating: "x", count: 100)))
        else { return nil }
        writtenMs[entry.reference] = simulation.nowMs
        return (try? simulation.write(node.index, [entry])) == true ? entry.reference : nil
    }

    /// Messages of random authors, one after the other.
    public func spread(messages: Int, apartMs: UInt64) -> Spread {
        let nodes = running
        let before = nodes.reduce(0) { $0 + $1.traffic.entries }
        latenciesMs = []
        writtenMs = [:]
        for _ in 0..<messages {
            if let author = nodes.randomElement(using: &simulation.random) { _ = write(author) }
            simulation.run(forMs: apartMs)
        }
        simulation.run(forMs: 2000)
        let copies = nodes.reduce(0) { $0 + $1.traffic.entries } - before
        let expected = max(1, messages * (nodes.count - 1))
        return Spread(
            latenciesMs: latenciesMs.sorted(), copies: Double(copies) / Double(expected),
            missed: expected - latenciesMs.count)
    }

    /// Lets half of the nodes die at once while messages are on their way.
    public func dieHalf(_ cause: Simulation.Crash, limitMs: UInt64) -> Survival {
        let doomed = running.shuffled(using: &simulation.random).prefix(running.count / 2).map(\.index).sorted()
        let authors = running
        for _ in 0..<20 {
            if let author = authors.randomElement(using: &simulation.random) { _ = write(author) }
            simulation.run(forMs: 1)
        }
        for index in doomed { simulation.stop(index, cause) }
        let startMs = simulation.nowMs
        var kept = Set(writtenMs.keys.filter { reference in running.contains { $0.store.contains(reference) } })
        var (connectedMs, equalMs): (UInt64?, UInt64?)
        for round in 0..<Int(limitMs / 100) {
            if round % 10 == 0, let author = running.randomElement(using: &simulation.random),
                simulation.nowMs < startMs + 5000, let reference = write(author)
            {
                kept.insert(reference)
            }
            simulation.run(forMs: 100)
            if connectedMs == nil, isConnected { connectedMs = simulation.nowMs - startMs }
            guard connectedMs != nil, simulation.nowMs > startMs + 5000, simulation.isConverged else { continue }
            equalMs = simulation.nowMs - startMs
            break
        }
        let lost = kept.count { reference in running.contains { !$0.store.contains(reference) } }
        return Survival(connectedMs: connectedMs, equalMs: equalMs, lost: lost)
    }

    /// Whether the links between running nodes connect them all.
    public var isConnected: Bool {
        let nodes = running
        guard let first = nodes.first else { return true }
        var seen: Set<Int> = [first.index]
        var edge = [first]
        while let node = edge.popLast() {
            for other in node.neighbours where simulation.nodes[other].state == .running {
                if seen.insert(other).inserted { edge.append(simulation.nodes[other]) }
            }
        }
        return seen.count == nodes.count
    }
}
