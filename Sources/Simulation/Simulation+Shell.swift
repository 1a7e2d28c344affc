public import Replication
internal import Store
public import Tree
internal import Seal
internal import Wire

/// What the daemon's shell does: it starts the machine, feeds it and carries out its effects.
extension Simulation {
    /// Dead entries removed in one transaction, and how often that is looked for.
    static let sweepMax = 1000
    static let maintenanceMs: UInt64 = 10_000
    static let busyMaintenanceMs: UInt64 = 50

    func moment(_ node: SimulatedNode) -> Moment {
        Moment(
            monotonicMs: nowMs &- node.sleptMs &+ 1, wallMs: wallMs(node), isSynchronised: node.isSynchronised,
            sleptMs: node.sleptMs)
    }

    /// What a node's wall clock shows.
    public func wallMs(_ node: SimulatedNode) -> UInt64 {
        UInt64(clamping: Int64(clamping: Simulation.epochMs &+ nowMs) &+ node.skewMs)
    }

    /// Begins a process over what the store holds.
    func start(_ node: SimulatedNode) {
        node.starts += 1
        node.instance = random.next()
        node.state = .running
        node.timerMs = nil
        node.crashPlan = nil
        node.dialsEverybody = true
        node.isHostOff = false
        guard node.intruder == nil else { return }
        let base = max(wallMs(node), SimulatedNode.buildMs)
        let greatest = node.store.greatestHLC(notAfter: HLC.greatest)
        node.told = (try? node.store.toldTime()) ?? .zero
        node.clock = HybridClock(workspaceMs: base, greatestStored: greatest, randomness: random.next())
        node.replicator = Replicator(
            workspace: workspace, key: node.key, instance: node.instance,
            clock: ClockEstimate(buildMs: SimulatedNode.buildMs), highWater: greatest, softAfter: node.clock.last)
        let signatures = signatures
        node.replicator.verify = { signatures.verify($0, $1, by: $2) }
        node.replicator.start(moment(node))
        watcher?.started(node)
        queue.insert(.maintain(node.index, start: node.starts), atMs: nowMs + Simulation.maintenanceMs)
    }

    /// Feeds an event to a node's machine and carries out its effects.
    public func feed(_ node: SimulatedNode, _ event: Replicator.Event) {
        guard node.intruder == nil, node.state == .running else { return }
        node.traffic.happened(atMs: nowMs)
        let start = node.starts
        var events = [event]
        var index = 0
        while index < events.count {
            let effects: [Replicator.Effect]
            do {
                effects = try node.replicator.step(moment(node), events[index], node.store)
            } catch {
                let failure = error as? StepFailure
                node.errors.append(failure?.cause ?? error)
                effects = failure?.effects ?? []
            }
            for effect in effects {
                perform(effect, node, &events)
                crashIfPlanned(node)
                guard node.starts == start, node.state == .running else { return }
            }
            index += 1
        }
        schedule(node)
    }

    private func perform(_ effect: Replicator.Effect, _ node: SimulatedNode, _ events: inout [Replicator.Event]) {
        switch effect {
        case .send(let link, let message): send(message, node, link)
        case .commit(let link, let bundles): events.append(commit(bundles, from: link, node))
        case .close(let link, _): close(link, node)
        case .awaitDrain(let link): awaitDrain(link, node)
        case .demote(let link):
            node.links[link]?.isDemoted = true
            close(link, node)
        case .connect(let address): connect(node, to: address)
        case .connectAny(let count): connectAny(count, node)
        case .dialEverybody(let isOn): dialsEverybody(isOn, node)
        case .learned(let addresses):
            for address in addresses { if let other = index(address.address) { tell(node.index, of: other) } }
        case .adopt(let link, let seal):
            events.append(.adopted(link, seal, (try? node.store.adopt(seal, workspace: workspace)) ?? .ignored))
        case .contact, .alone, .clockFell: follow(effect, node)
        case .softChanged, .verified, .notice, .aboutKey, .clonesChanged, .contactLost, .forged: break
        }
    }

    /// Checks what a peer sent and stores what passes.
    private func commit(_ bundles: [Bundle], from link: LinkID, _ node: SimulatedNode) -> Replicator.Event {
        let outcome = Admission.judge(bundles, workspace: workspace) { signatures.verify($0, $1, by: $2) }
        node.refusedCount += outcome.denied.count + outcome.unsigned.count
        var result = CommitResult()
        if !node.isDiskFull {
            do {
                result = try node.store.commit(outcome.admitted, heldAfter: heldAfter(node))
            } catch {
                node.errors.append(error)
            }
            trace(result, node)
            observe(result, node)
            flush(node)
        }
        return .committed(
            link, admitted: outcome.admitted, result: result, denied: outcome.denied, unsigned: outcome.unsigned)
    }

    /// Whether a bundle's author has signed it; checked once, however often it is asked.
    public func verifies(_ bundle: Bundle) -> Bool {
        bundle.verifies(workspace: workspace) { signatures.verify($0, $1, by: $2) }
    }

    private func trace(_ result: CommitResult, _ node: SimulatedNode) {
        trace.mix(node.index << 8 | 1)
        for entry in result.applied { trace.mix(entry.id.prefix64) }
        for entry in result.held { trace.mix(entry.id.prefix64) }
    }

    /// Entries after this time are held.
    func heldAfter(_ node: SimulatedNode) -> HLC { HLC(ms: workspaceMs(node) &+ SimulatedNode.heldMs) }

    /// Workspace time as a node sees it.
    public func workspaceMs(_ node: SimulatedNode) -> UInt64 { node.replicator.workspaceMs(moment(node)) }

    private func observe(_ result: CommitResult, _ node: SimulatedNode) {
        for entry in result.applied { node.clock.observe(entry.hlc) }
        watcher?.applied(result, at: node)
    }

    /// Now and then the system writes its cache to the disk.
    private func flush(_ node: SimulatedNode) {
        guard options.losesUnflushed, UInt64.random(in: 0..<4, using: &random) == 0 else { return }
        node.durable = image(of: node)
    }

    func schedule(_ node: SimulatedNode) {
        guard node.state == .running, let deadline = node.replicator.nextDeadlineMs, deadline != .max else { return }
        let atMs = max(deadline &- 1 &+ node.sleptMs, nowMs)
        if let timer = node.timerMs, timer <= atMs { return }
        node.timerMs = atMs
        queue.insert(.timer(node.index), atMs: atMs)
    }

    /// Held entries that came due, and the dead that are left.
    func maintain(_ node: SimulatedNode) {
        guard node.intruder == nil, node.state == .running else { return }
        var isBusy = false
        if !node.isDiskFull {
            if let due = node.store.nextHeldDue, due <= heldAfter(node),
                let result = try? node.store.release(heldAfter: heldAfter(node))
            {
                trace(result, node)
                observe(result, node)
                flush(node)
                feed(node, .released(result))
            }
            isBusy = (try? node.store.sweep(limit: Simulation.sweepMax)) ?? false
            isBusy = node.store.expireGraves(nowMs: wallMs(node), limit: Simulation.sweepMax) || isBusy
            if let due = node.store.nextHeldDue, due <= heldAfter(node) { isBusy = true }
        }
        let delayMs = isBusy ? Simulation.busyMaintenanceMs : Simulation.maintenanceMs
        queue.insert(.maintain(node.index, start: node.starts), atMs: nowMs + delayMs)
    }

    // MARK: Clients

    /// The next time for a write of a node; nil while its clock is too far ahead.
    public func tick(_ index: Int) -> HLC? {
        let node = nodes[index]
        node.clock.pass(node.replicator.softTime)
        return node.clock.tick(workspaceMs: node.replicator.workspaceMs(moment(node)))
    }

    /// A key that certifies a node, drawn from its clock.
    public func newKey(_ index: Int) -> AutoID? {
        tick(index).map { AutoID(hlc: $0, author: nodes[index].author) }
    }

    /// Writes as a client of a node would, all or nothing; false if the node may not write there, or cannot.
    @discardableResult
    public func write(_ index: Int, _ writes: [(Path, Value)]) throws -> Bool {
        guard let hlc = tick(index) else { return false }
        return try write(
            index, writes.map { try Entry(path: $0.0, hlc: hlc, author: nodes[index].author, value: $0.1) })
    }

    /// Writes entries of a node, all or nothing; false if it may not write there, or cannot. After true the client was
    /// told that it is done.
    @discardableResult
    public func write(_ index: Int, _ entries: [Entry]) throws -> Bool {
        let node = nodes[index]
        guard node.state == .running, node.intruder == nil, !entries.isEmpty else { return false }
        guard entries.allSatisfy({ Ownership.denial(of: $0) == nil }), !node.isDiskFull else { return false }
        let sorted = entries.sorted { $0.stamp < $1.stamp }
        let bundle = Bundle(signing: sorted, by: node.key, workspace: workspace)
        let result = try node.store.commit([bundle], heldAfter: HLC(ms: HLC.msMax))
        trace.mix(index << 8 | 2)
        for entry in sorted { trace.mix(entry.id.prefix64) }
        watcher?.applied(result, at: node)
        flush(node)
        let start = node.starts
        crashIfPlanned(node)
        guard node.starts == start, node.state == .running else { return false }
        feed(node, .localCommit([bundle]))
        return node.starts == start && node.state == .running
    }
}
