internal import Replication
internal import Seal
internal import Simulation
internal import Store
internal import Tree

/// Three nodes in memory, and what the input says they do and happens to them, three bytes a step. Afterwards
/// everything is mended, and all three must hold and read the same.
final class SequenceRun {
    /// Steps of one input: enough for two faults to meet, few enough for many inputs a second.
    private static let stepsMax = 48
    /// Once everything is mended, all are equal after this virtual time at the latest.
    private static let healMsMax: UInt64 = 120_000
    /// Less than what an entry may lie ahead, so that nothing is held: that would be no difference to be mended.
    private static let skewHoursMax: Int64 = 6

    private let simulation: Simulation
    private var steps: ArraySlice<UInt8>
    private var backup: (node: Int, image: DiskImage)?
    private let paths: [Path]

    init(_ input: [UInt8]) throws {
        var options = Simulation.Options()
        options.dials = true
        options.losesUnflushed = true
        simulation = Simulation(nodes: 3, seed: UInt64(input.first ?? 0), options: options)
        steps = input.dropFirst().prefix(3 * SequenceRun.stepsMax)
        paths = try ["apps/t", "apps/t/a", "apps/t/a/b", "apps/t/b", "apps/t/a/1", "apps/u"].map(Path.init(parsing:))
        simulation.connectAll()
        simulation.run(forMs: 300)
    }

    func run() throws {
        while steps.count >= 3, let kind = steps.popFirst(), let who = steps.popFirst(), let what = steps.popFirst() {
            try step(kind, Int(who), Int(what))
        }
        mend()
        let isEqual = simulation.run(atMostMs: SequenceRun.healMsMax, everyMs: 250) { isConverged }
        let counts = simulation.nodes.map { "\($0.store.entryCount)" }.joined(separator: ", ")
        try require(isEqual, "not equal \(SequenceRun.healMsMax / 1000) s after everything was mended: \(counts)")
        try check()
    }

    private var isConverged: Bool {
        simulation.isConverged && simulation.nodes.allSatisfy { $0.state == .running }
    }

    private func step(_ kind: UInt8, _ who: Int, _ what: Int) throws {
        let (x, y) = (who % 3, (who / 3) % 3)
        switch kind % 20 {
        case 0...5: try write(x, what)
        case 6: try writeMany(x, what)
        case 7: simulation.disconnect(x, y)
        case 8: simulation.connect(x, y)
        case 9: simulation.partition([what % 2, what / 2 % 2, what / 4 % 2], isNoticed: who % 2 == 0)
        case 10: if what % 2 == 0 { simulation.silence(from: x, to: y) } else { simulation.endSilence(from: x, to: y) }
        case 11:
            let faults = LinkFaults(
                lostPerMille: what % 4 * 60, doubledPerMille: what / 4 % 4 * 100, delayedPerMille: what / 16 % 4 * 100)
            if x != y { simulation.setFaults(faults, x, y) }
        case 12: if simulation.nodes[x].state == .asleep { simulation.wake(x) } else { simulation.suspend(x) }
        case 13: simulation.stop(x, what % 2 == 0 ? .kill : .powerFailure)
        case 14: simulation.boot(x)
        case 15: simulation.planCrash(x, afterEffects: 1 + what % 16, what < 128 ? .kill : .powerFailure)
        case 16:
            if let backup, what % 2 == 1 { simulation.restore(backup.node, backup.image) }
            backup = (x, simulation.backup(x))
        case 17:
            let hours = Int64(what) % (2 * SequenceRun.skewHoursMax + 1) - SequenceRun.skewHoursMax
            simulation.setSkew(x, ms: hours * 3_600_000)
        case 18: simulation.nodes[x].isDiskFull = what % 2 == 0
        default: simulation.run(forMs: UInt64(what * what))
        }
        simulation.run(forMs: UInt64(what % 8) * 5)
    }

    private func write(_ index: Int, _ what: Int) throws {
        guard simulation.nodes[index].state == .running else { return }
        let value: Value = [.null, .integer(Int64(what)), .string("\(what)"), object(what)][what / 64]
        try simulation.write(index, [(paths[what % paths.count], value)])
    }

    private func object(_ what: Int) -> Value {
        .object(ObjectValue([Key("a"), Key("b")].compactMap { $0 }.map { ($0, .integer(Int64(what))) }))
    }

    /// More than a leaf of the digests holds.
    private func writeMany(_ index: Int, _ what: Int) throws {
        guard simulation.nodes[index].state == .running else { return }
        let writes = (0...(what / 4)).compactMap { number in
            Key("\(number)").flatMap { paths[5].appending($0) }.map { ($0, Value.integer(Int64(what))) }
        }
        try simulation.write(index, writes)
    }

    private func references(_ node: SimulatedNode) -> [EntryReference] {
        node.store.references(in: ReferenceRange(.root), newest: .max).sorted()
    }

    private func mend() {
        simulation.heal()
        for node in simulation.nodes {
            node.isDiskFull = false
            simulation.setSkew(node.index, ms: 0)
            simulation.wake(node.index)
            simulation.boot(node.index)
        }
    }

    private func check() throws {
        let first = simulation.nodes[0]
        let tree = try first.value(at: .root)
        for node in simulation.nodes {
            try require(node.errors.isEmpty, "node \(node.index): \(node.errors.first.map { "\($0)" } ?? "")")
            try require(node.refusedCount == 0, "node \(node.index) refused \(node.refusedCount) entries")
            try require(try node.value(at: .root) == tree, "nodes 0 and \(node.index) read other trees")
            let references = references(node)
            try require(references == self.references(first), "nodes 0 and \(node.index) hold other entries")
            let (bundles, gone) = try node.store.bundles(for: references)
            try require(gone.isEmpty, "node \(node.index): \(gone.count) entries cannot be given away")
            try require(bundles.allSatisfy(simulation.verifies), "node \(node.index): a bundle does not verify")
        }
    }
}
