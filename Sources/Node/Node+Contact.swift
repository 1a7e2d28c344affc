internal import ControlAPI
internal import Net
internal import Replication
internal import Seal
internal import Store
internal import Tree

/// What a node does when it meets others after it was alone, perhaps with a clock that was far ahead.
extension Node {
    /// Entries that are issued anew in one transaction: some 10 ms, most of it for their signatures.
    private static let renewalStep = 100

    /// Others are there, and workspace time is known: what nobody has seen and all would hold is issued anew.
    func contactBegins() {
        noticeClock()
        guard clock.last > heldAfter else { return openContact() }
        renewal = RenewalState(told: told, limit: heldAfter)
        renewSome()
    }

    /// They went before they saw anything.
    func contactIsLost() { renewal = nil }

    private func renewSome() {
        guard var state = renewal, !isStopping else { return }
        do {
            store.tellTime(WallClock.milliseconds())
            let result = try store.renew(
                &state, by: key, workspace: workspace.id, workspaceMs: replicator.workspaceMs(moment),
                limit: Node.renewalStep)
            renewal = state
            renewed += result.added.count
            notifyObservers((result.removed + result.added).map { [$0.path] })
            indexSoon()
            guard result.isMoreLeft else { return endRenewal() }
            loop.execute { self.assumeIsolated { $0.renewSome() } }
        } catch {
            report(error, "issuing entries anew")
            _ = loop.schedule(afterMs: Node.stepPauseMs) { self.assumeIsolated { $0.renewSome() } }
        }
    }

    private func endRenewal() {
        renewal = nil
        if renewed > 0 {
            log.warning("\(renewed) entries that this node wrote while its clock was ahead have the present's time now")
            renewed = 0
        }
        setClockBack()
        openContact()
    }

    /// From here on what this node writes may have been seen.
    private func openContact() {
        do {
            try store.beginContact()
        } catch {
            report(error, "remembering that others are there")
        }
        step(.contacted)
    }

    /// From here on nobody sees what this node writes.
    func contactEnds() {
        do {
            told = max(clock.last, try store.greatestHLC(notAfter: HLC.greatest))
            try store.endContact(told: told)
        } catch {
            report(error, "remembering that nobody is there")
        }
    }

    /// Own entries that came due are known to whoever they came from.
    func released(_ result: CommitResult) {
        guard connectedNodes.isEmpty,
            let latest = result.applied.lazy.filter({ $0.author == self.uid }).map(\.hlc).max(), latest > told
        else { return }
        contactEnds()
    }

    /// A clock that is further ahead of workspace time than what others hold is set back: what is written from here on
    /// is seen.
    func setClockBack() {
        let (workspaceMs, limit) = (replicator.workspaceMs(moment), heldAfter)
        guard clock.last > limit else { return }
        do {
            let greatest = try store.greatestHLC(notAfter: limit)
            let applied = try store.greatestHLC(notAfter: HLC.greatest)
            clock = HybridClock(
                workspaceMs: workspaceMs, greatestStored: greatest, randomness: SecureRandom.uint64())
            step(.clockSet(applied))
        } catch {
            report(error, "setting the clock back")
        }
    }

    /// The key that has taken the place of one that was issued anew.
    func renewedKey(_ text: String) throws -> String? {
        guard let id = AutoID(text), id.isCertified(by: uid) else { return nil }
        return try store.renewedTime(ofKey: id.hlc).map { AutoID(hlc: $0, author: uid).text }
    }
}
