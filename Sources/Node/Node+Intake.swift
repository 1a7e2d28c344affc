internal import Net
internal import Replication
internal import Seal
internal import Store
internal import Tree
internal import Wire

/// Bundles are read and verified on the concurrent pool, on as many threads as there are cores, and come back to the
/// loop to be stored. The machine hears of a message when that is so, as if it had been under way for so long; what has
/// come after it on the same link waits, so the order stays.
extension Node {
    /// Whether no more of what a peer sends is taken for now.
    func isIntakeFull(_ id: LinkID) -> Bool {
        guard let intake = intakes[id] else { return intakeBytes >= Intake.totalBytesMax }
        return intake.byteCount >= Intake.bytesMax || intakeBytes >= Intake.totalBytesMax
    }

    /// Takes a message that is worth a hop to another thread, or that has come after one; false for any other.
    func takesBeside(_ bytes: [UInt8], from id: LinkID) -> Bool {
        let isBundles = PeerMessage.isBundles(bytes)
        guard intakes[id] != nil || (isBundles && bytes.count > Intake.inlineBytesMax) else { return false }
        let number = intakes[id, default: Intake(from: source(of: id))].append(byteCount: bytes.count)
        intakeBytes += bytes.count
        let (loop, workspace, known) = (loop, workspace.id, knownSignatures)
        guard isBundles else {
            intakes[id]?.set(number, Intake.Judged(bytes, workspace: workspace, known: known))
            return true
        }
        noteBulk(arrives: true)
        Task.detached {
            let judged = Intake.Judged(bytes, workspace: workspace, known: known)
            loop.execute { self.assumeIsolated { $0.judged(number, judged, from: id) } }
        }
        return true
    }

    private func judged(_ number: Int, _ judged: Intake.Judged, from id: LinkID) {
        intakes[id]?.set(number, judged)
        takeJudged(from: id)
    }

    /// Takes what has come back, and stores it in one transaction.
    private func takeJudged(from id: LinkID) {
        guard !isClosed else { return }
        let start = EventLoop.monotonicNs()
        var (count, vainSignatures) = (0, 0)
        let source = intakes[id]?.source
        let isBrief = replicator.othersTalk(besides: id, nowMs: EventLoop.monotonicMs())
        let most = isBrief ? min(Intake.togetherBriefMax, intakePace.count) : intakePace.count
        while count < most, let before = intakes[id]?.byteCount, let judged = intakes[id]?.next() {
            intakeBytes -= before - (intakes[id]?.byteCount ?? 0)
            if intakes[id]?.isEmpty == true { intakes[id] = nil }
            if case .bundles(let bundles, let outcome) = judged {
                count += bundles.reduce(0) { $0 + $1.leaves.count }
                vainSignatures += outcome.vainSignatures
            }
            take(judged, from: id, source)
        }
        storeTogether()
        noteForged(vainSignatures, from: source)
        let ns = EventLoop.monotonicNs() &- start
        // What is smaller than it might have been says nothing of the next one.
        if count >= intakePace.count { intakePace.took(ns: ns) }
        noteLong(ns > Node.longNs ? ns : nil, "storing \(count) entries of a peer")
        if intakes[id]?.isReady == true {
            loop.execute { self.assumeIsolated { $0.takeJudged(from: id) } }
        }
        for other in links.keys.sorted() where links[other]?.isHeldUp == true && !isIntakeFull(other) {
            links[other]?.isHeldUp = false
            takeRest(other)
        }
    }

    private func take(_ judged: Intake.Judged, from id: LinkID, _ source: LinkSource?) {
        switch judged {
        case .bundles(let bundles, var outcome):
            if links[id] != nil { return step(.received(id, .bundles(bundles)), judged: outcome) }
            // The peer has gone meanwhile; what it said last counts all the same, within its quota.
            if let source {
                outcome.admitted = replicator.takenLast(
                    outcome.admitted, of: source.node, on: id, nowMs: EventLoop.monotonicMs())
            }
            judgedTogether.append((id, outcome))
        case .message(let message):
            if let message, links[id] != nil { step(.received(id, message)) }
        case .malformed(let error):
            guard let link = links[id] else { return }
            try? link.send(.notice("\(error)"))
            closeLink(id, reason: "\(LinkError(.malformed))")
        }
    }

    private func storeTogether() {
        guard let last = judgedTogether.indices.last else { return }
        let together = judgedTogether
        judgedTogether = []
        let result = store(together.flatMap(\.outcome.admitted))
        // What was stored is told with the last of them. The others were not in vain either.
        var earlier = CommitResult()
        if result.applied.count + result.held.count + result.dead.count + result.known > 0 { earlier.known = 1 }
        for (index, (id, outcome)) in together.enumerated() {
            noteRefused(outcome, from: id)
            step(
                .committed(
                    id, admitted: outcome.admitted, result: index == last ? result : earlier,
                    denied: outcome.denied, unsigned: outcome.unsigned))
        }
    }

    // MARK: Memory for it

    /// What bulk takes is given back when there was none for so long.
    private static let bulkMs: UInt64 = 10_000

    /// Many entries arrive, or are asked for.
    func noteBulk(arrives: Bool) {
        bulkAtMs = EventLoop.monotonicMs()
        guard arrives, !isBulk || store.hasReaders == subscriptions.isEmpty else { return }
        store.hasReaders = !subscriptions.isEmpty
        isBulk = true
        do { try store.expectMuch(true) } catch { report(error, "preparing for many entries") }
    }

    func endBulk() {
        guard let since = bulkAtMs, EventLoop.monotonicMs() &- since > Node.bulkMs else { return }
        (bulkAtMs, isBulk) = (nil, false)
        do { try store.expectMuch(false) } catch { report(error, "giving memory back") }
    }

    // MARK: Quiet

    /// Nothing has been stored for so long.
    private static let quietMs: UInt64 = 1_000

    /// What writing leaves for later is done while nobody waits.
    func restIfQuiet() {
        guard EventLoop.monotonicMs() &- storedAtMs > Node.quietMs else { return }
        do { try store.rest() } catch { report(error, "writing the log back") }
    }
}
