internal import Net
internal import Replication
internal import Seal
internal import Store
internal import Tree

/// A bundle that is being adopted, slice by slice.
struct RunningAdoption {
    /// Who announced it; nil for this node itself.
    let link: LinkID?
    let seal: BundleSeal
    let stamps: [Stamp]
    var done = 0
}

/// What was signed singly is signed together when it is some minutes old, so that whoever comes later verifies one
/// signature for thousands of entries.
extension Node {
    /// Announced bundles that wait. What is let pass does no harm: its entries stay signed singly here.
    static let adoptionsMax = 64
    /// How often the own entries are looked at: what has not changed since the last look is idle.
    static let bundlingMs: UInt64 = 10_000

    func scheduleBundling() {
        guard !isStopping else { return }
        _ = loop.schedule(afterMs: min(Node.bundlingMs, max(50, options.bundlingAgeMs))) {
            self.assumeIsolated { node in
                node.bundleOldEntries()
                node.scheduleBundling()
            }
        }
    }

    /// Looks whether enough of the own entries have become old, while nothing else is to be done.
    private func bundleOldEntries() {
        let isIdle = store.lastChange == bundlingChange
        bundlingChange = store.lastChange
        let workspaceMs = replicator.workspaceMs(moment)
        guard isIdle, adoptions.isEmpty, intakes.isEmpty, !isStopping, !isDiskFull, workspaceMs > options.bundlingAgeMs
        else { return }
        do {
            let old = HLC(ms: workspaceMs - options.bundlingAgeMs)
            let stamps = try store.singles(of: uid, from: .zero, through: old, limit: Bundle.countMax)
            guard stamps.count >= options.bundlingCountMin,
                let seal = BundleSeal(signing: stamps, by: key, workspace: workspace.id)
            else { return }
            begin(RunningAdoption(link: nil, seal: seal, stamps: stamps))
        } catch {
            report(error, "signing entries together")
        }
    }

    /// A peer has announced a bundle.
    func adopt(_ seal: BundleSeal, from id: LinkID) -> Replicator.Event? {
        do {
            guard try !store.knows(seal), adoptions.count < Node.adoptionsMax,
                !adoptions.contains(where: { $0.seal == seal })
            else { return nil }
            guard seal.verifies(workspace: workspace.id) else {
                denied += 1
                noteForged(1, from: source(of: id))
                logOutside(.warning, "peer \(name(of: id)): refused an announced bundle without a valid signature")
                return .adopted(id, seal, .forged)
            }
            guard let stamps = try store.singles(of: seal) else { return .adopted(id, seal, .ignored) }
            begin(RunningAdoption(link: id, seal: seal, stamps: stamps))
        } catch {
            report(error, "adopting a bundle")
        }
        return nil
    }

    private func begin(_ adoption: RunningAdoption) {
        adoptions.append(adoption)
        if adoptionTimers == 0 { adoptNextSoon() }
    }

    /// With a pause before each slice, so that it never takes more than a part of the time.
    private func adoptNextSoon() {
        adoptionTimers += 1
        _ = loop.schedule(afterMs: Node.busyMaintenanceMs) { self.assumeIsolated { $0.adoptNext() } }
    }

    private func adoptNext() {
        adoptionTimers -= 1
        guard !isStopping, var running = adoptions.first else { return }
        let end = min(running.done + adoptionPace.count, running.stamps.count)
        do {
            let long = try adoptionPace.run {
                try store.adopt(running.seal, running.stamps, slice: running.done..<end)
            }
            noteLong(long, "moving \(end - running.done) entries to a bundle")
            running.done = end
        } catch {
            report(error, "adopting a bundle")
            adoptions.removeFirst()
            if !adoptions.isEmpty { adoptNextSoon() }
            return
        }
        if end == running.stamps.count {
            adoptions.removeFirst()
            step(.adopted(running.link, running.seal, .adopted))
        } else {
            adoptions[0] = running
        }
        if !adoptions.isEmpty { adoptNextSoon() }
        // Last, for what it begins has a timer of its own.
        if running.link == nil, end == running.stamps.count { bundleOldEntries() }
    }
}
