internal import Replication
internal import Store
internal import Tree

/// What the daemon's shell does about clocks, in the simulation.
extension Simulation {
    /// Entries issued anew in one transaction: few, so that runs have several.
    private static let renewalStep = 3

    func follow(_ effect: Replicator.Effect, _ node: SimulatedNode) {
        switch effect {
        case .contact:
            if node.clock.last > heldAfter(node) { renew(node) }
            try? node.store.beginContact()
            feed(node, .contacted)
        case .alone:
            node.told = max(node.clock.last, node.store.greatestHLC(notAfter: HLC.greatest))
            try? node.store.endContact(told: node.told)
        case .clockFell: setClockBack(node)
        default: break
        }
    }

    private func renew(_ node: SimulatedNode) {
        var state = RenewalState(told: node.told, limit: heldAfter(node))
        var isMoreLeft = true
        while isMoreLeft {
            let result = try? node.store.renew(
                &state, by: node.key, workspace: workspace, workspaceMs: workspaceMs(node),
                limit: Simulation.renewalStep)
            if let result { watcher?.renewed(result, at: node) }
            isMoreLeft = result?.isMoreLeft ?? false
        }
        setClockBack(node)
    }

    private func setClockBack(_ node: SimulatedNode) {
        let limit = heldAfter(node)
        guard node.clock.last > limit else { return }
        node.clock = HybridClock(
            workspaceMs: workspaceMs(node), greatestStored: node.store.greatestHLC(notAfter: limit),
            randomness: random.next())
        feed(node, .clockSet(node.store.greatestHLC(notAfter: HLC.greatest)))
    }
}
