internal import Replication
internal import Seal
internal import Simulation
internal import Store
internal import Tree

/// What goes wrong.
extension Scenario {
    /// One fault, or the end of one; nothing where the profile has none.
    func disturb() throws {
        let possible = Profile.Fault.allCases.filter(profile.has)
        guard let fault = possible.randomElement(using: &random) else { return }
        guard profile.isLarge, Scenario.single.contains(fault) else { return try disturb(fault) }
        for _ in 0...below(profile.nodeCount / 16) { try disturb(fault) }
    }

    /// What happens to one node or link at a time; in a large network to many.
    private static let single: Set<Profile.Fault> = [
        .flaps, .silence, .badLinks, .sleep, .jumps, .kill, .powerFailure, .midStep, .diskFull,
    ]

    private func disturb(_ fault: Profile.Fault) throws {
        var (x, y) = (below(simulation.nodes.count), below(simulation.nodes.count))
        if profile.isLarge {
            // Of two nodes hardly any have a link.
            x = pick(honest).index
            y = simulation.nodes[x].neighbours.randomElement(using: &random) ?? y
        }
        switch fault {
        case .flaps:
            note("the link between \(x) and \(y) breaks")
            simulation.disconnect(x, y)
        case .partitions: partition()
        case .silence: silence(x, y)
        case .badLinks: spoilLink(x, y)
        case .sleep: sleepOrWake()
        case .weeks: try passWeeks()
        case .jumps: jump()
        case .kill, .powerFailure, .midStep: crash(fault)
        case .diskFull: fillDisk()
        case .clone: cloneDisk()
        case .restore: backUpOrRestore()
        case .skew, .years, .deadBattery, .oldVersion, .unknownKinds, .hostile, .bulk, .soft: bootSomebody()
        }
    }

    private func partition() {
        let isNoticed = chance(2)
        let parts = simulation.nodes.map { _ in chance(3) ? 0 : below(3) }
        note("the network falls apart: \(parts)\(isNoticed ? "" : ", which nobody notices")")
        simulation.partition(parts, isNoticed: isNoticed)
    }

    private func silence(_ x: Int, _ y: Int) {
        if chance(3) {
            note("what \(x) says to \(y) arrives again")
            simulation.endSilence(from: x, to: y)
        } else {
            note("nothing that \(x) says to \(y) arrives")
            simulation.silence(from: x, to: y)
        }
    }

    private func spoilLink(_ x: Int, _ y: Int) {
        guard x != y else { return }
        let faults = LinkFaults(
            lostPerMille: pick([0, 20, 200]), doubledPerMille: pick([0, 50, 300]), delayedPerMille: pick([0, 50, 300]))
        note("links between \(x) and \(y): \(faults)")
        simulation.setFaults(chance(3) ? .none : faults, x, y)
    }

    private func sleepOrWake() {
        guard let node = honest.randomElement(using: &random) else { return }
        if node.state == .asleep {
            note("node \(node.index) wakes")
            simulation.wake(node.index)
        } else {
            note("node \(node.index) falls asleep")
            simulation.suspend(node.index)
        }
    }

    /// Nobody is there for weeks; some machines sleep, the others are off.
    private func passWeeks() throws {
        let ms = UInt64.random(in: 1...8, using: &random) * 7 * 24 * 3_600_000
        note("\(ms / 24 / 3_600_000) days pass")
        for node in simulation.nodes {
            if node.intruder == nil, chance(2) { simulation.suspend(node.index) } else { simulation.stop(node.index) }
        }
        try pass(ms: ms)
        for node in simulation.nodes where node.intruder != nil || !chance(4) {
            simulation.wake(node.index)
            simulation.boot(node.index)
        }
    }

    /// A clock is set while the machine runs.
    private func jump() {
        guard let node = honest.randomElement(using: &random) else { return }
        let hourMs: Int64 = 3_600_000
        let hours = profile.has(.years) ? 365 * 24 : Int64(10)
        let ms = chance(3) ? 0 : Int64.random(in: -hours...hours, using: &random) * hourMs
        note("node \(node.index): its clock is set, skew \(ms / 1000) s")
        simulation.setSkew(node.index, ms: ms)
    }

    private func crash(_ fault: Profile.Fault) {
        guard let node = honest.randomElement(using: &random) else { return }
        if node.state == .off {
            note("node \(node.index) starts")
            return simulation.boot(node.index)
        }
        let cause: Simulation.Crash = profile.has(.powerFailure) && chance(2) ? .powerFailure : .kill
        if fault == .midStep {
            let effects = 1 + below(12)
            note("node \(node.index) is to end after \(effects) effects: \(cause)")
            return simulation.planCrash(node.index, afterEffects: effects, cause)
        }
        note("node \(node.index) ends: \(cause)")
        simulation.stop(node.index, cause)
        if chance(2) { simulation.boot(node.index, afterMs: UInt64(below(20_000))) }
    }

    private func bootSomebody() {
        for node in honest where node.state == .off && chance(2) {
            note("node \(node.index) starts")
            simulation.boot(node.index)
        }
    }

    private func fillDisk() {
        guard let node = honest.randomElement(using: &random) else { return }
        node.isDiskFull.toggle()
        note("node \(node.index): the disk \(node.isDiskFull ? "is full" : "has room")")
    }

    private func cloneDisk() {
        guard simulation.nodes.count < profile.nodeCount + 3, let node = honest.randomElement(using: &random) else {
            return
        }
        let twin = simulation.clone(node.index, skewMs: node.skewMs)
        note("node \(twin.index) begins with a copy of the disk of \(node.index)")
    }

    private func backUpOrRestore() {
        guard let node = honest.randomElement(using: &random) else { return }
        if let backup = backups.randomElement(using: &random), chance(2) {
            note("node \(backup.node) goes back to a backup")
            simulation.restore(backup.node, backup.image)
        } else {
            note("node \(node.index) makes a backup")
            backups.append((node.index, simulation.backup(node.index)))
        }
    }
}
