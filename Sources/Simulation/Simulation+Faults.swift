internal import Store
internal import Replication
internal import Tree

extension Simulation {
    // MARK: The end of a process

    /// Ends a node as kill -9 does and starts it again: memory and links are gone, what was stored is there.
    public func crash(_ index: Int) {
        end(nodes[index], .kill)
        boot(index)
    }

    /// Ends a node, which stays off until it is started again.
    public func stop(_ index: Int, _ cause: Crash = .kill) { end(nodes[index], cause) }

    /// Starts a node that is off.
    public func boot(_ index: Int) {
        let node = nodes[index]
        guard node.state == .off else { return }
        trace.mix(index << 8 | 4)
        start(node)
        schedule(node)
        dial(node)
    }

    public func boot(_ index: Int, afterMs delayMs: UInt64) { queue.insert(.boot(index), atMs: nowMs + delayMs) }

    /// Lets a node crash after it has carried out so many more effects, wherever that is within a step.
    public func planCrash(_ index: Int, afterEffects effects: Int, _ cause: Crash) {
        nodes[index].crashPlan = (max(1, effects), cause)
    }

    func crashIfPlanned(_ node: SimulatedNode) {
        guard let plan = node.crashPlan else { return }
        node.crashPlan = plan.effects > 1 ? (plan.effects - 1, plan.cause) : nil
        guard plan.effects <= 1 else { return }
        end(node, plan.cause)
        queue.insert(.boot(node.index), atMs: nowMs + UInt64.random(in: 100...5000, using: &random))
    }

    private func end(_ node: SimulatedNode, _ cause: Crash) {
        guard node.state != .off else { return }
        trace.mix(node.index << 8 | (cause == .kill ? 5 : 6))
        let open = node.links.values.sorted { $0.link < $1.link }
        node.state = .off
        node.isHostOff = cause == .powerFailure
        node.links = [:]
        node.deferred = []
        node.crashPlan = nil
        node.timerMs = nil
        node.starts += 1
        for connection in open {
            let side = connection.side(of: node.index)
            connection.ends[side].isUp = false
            if cause == .kill { hangUp(connection, side) } else { forget(connection) }
        }
        if cause == .powerFailure, let durable = node.durable { replaceStore(of: node, by: durable) }
    }

    // MARK: Disks

    /// A copy of what a node's disk holds.
    public func backup(_ index: Int) -> DiskImage { image(of: nodes[index]) }

    func image(of node: SimulatedNode) -> DiskImage { DiskImage(store: node.store.copy(), notes: node.notes) }

    /// Puts a backup back in place of what a node holds; it is off meanwhile.
    public func restore(_ index: Int, _ backup: DiskImage) {
        end(nodes[index], .kill)
        replaceStore(of: nodes[index], by: backup)
        boot(index)
    }

    private func replaceStore(of node: SimulatedNode, by image: DiskImage) {
        let before = node.store
        (node.store, node.notes) = (image.store.copy(), image.notes)
        if options.losesUnflushed { node.durable = image }
        watcher?.wentBack(node, from: before)
    }

    /// Copies a node's disk into another machine and starts that too: two of one key.
    @discardableResult
    public func clone(_ index: Int, skewMs: Int64 = 0) -> SimulatedNode {
        let node = addNode(skewMs: skewMs, key: nodes[index].key, disk: backup(index))
        node.part = nodes[index].part
        node.known = nodes[index].known
        node.tagMax = nodes[index].tagMax
        dial(node)
        return node
    }

    // MARK: Sleep

    /// Suspends a node.
    public func suspend(_ index: Int) {
        let node = nodes[index]
        guard node.state == .running else { return }
        trace.mix(index << 8 | 7)
        node.state = .asleep
        node.asleepSinceMs = nowMs
        node.timerMs = nil
    }

    /// Wakes a node: its wall clock has gone on, its monotonic clock has not.
    public func wake(_ index: Int) {
        let node = nodes[index]
        guard node.state == .asleep else { return }
        trace.mix(index << 8 | 8)
        node.state = .running
        node.sleptMs += nowMs - node.asleepSinceMs
        let start = node.starts
        let waiting = node.deferred
        node.deferred = []
        queue.insert(.maintain(index, start: start), atMs: nowMs + Simulation.maintenanceMs)
        for item in waiting where node.starts == start {
            switch item {
            case .message(let connection, let payload):
                if node.links[connection.link] != nil { receive(payload, connection, node) }
            case .down(let connection): closed(connection, connection.side(of: index))
            }
        }
        schedule(node)
        for connection in node.links.values.sorted(by: { $0.link < $1.link }) {
            drained(connection, connection.side(of: index))
        }
        dial(node)
    }

    // MARK: Partitions

    /// Puts each node into a part of the network; links between parts carry nothing any more, which only time tells.
    ///
    /// - `isNoticed`: the links break at once instead.
    public func partition(_ parts: [Int], isNoticed: Bool) {
        for (node, part) in zip(nodes, parts) { node.part = part }
        for connection in connections.values.sorted(by: { $0.link < $1.link }) {
            let (x, y) = (connection.ends[0].node, connection.ends[1].node)
            guard nodes[x].part != nodes[y].part else { continue }
            if isNoticed {
                disconnect(x, y)
            } else {
                for side in [0, 1] { connection.ends[side].isSilent = true }
            }
        }
        for node in nodes { dial(node) }
    }

    /// Makes the network whole: everybody reaches everybody, links keep their promises, and no crash is planned.
    public func heal() {
        for node in nodes { node.crashPlan = nil }
        linkFaults = [:]
        partition(Array(repeating: 0, count: nodes.count), isNoticed: false)
        for connection in connections.values.sorted(by: { $0.link < $1.link }) {
            connection.faults = .none
            let (x, y) = (connection.ends[0].node, connection.ends[1].node)
            endSilence(from: x, to: y)
            endSilence(from: y, to: x)
        }
    }

    /// Lets a node reach for all that it is not connected to.
    func dial(_ node: SimulatedNode) {
        guard options.dials, node.state == .running else { return }
        for other in node.known ?? Array(nodes.indices)
        where node.dialsEverybody && (node.known != nil || isReachable(node.index, other))
            && !isConnected(node.index, other)
        {
            dialLater(node.index, other)
        }
    }

    // MARK: Clocks

    /// Sets how far a node's wall clock is off.
    public func setSkew(_ index: Int, ms: Int64) {
        trace.mix(index << 8 | 9)
        nodes[index].skewMs = ms
    }

    /// What a clock without a battery shows when the machine starts: 1970.
    public static let deadBatteryMs = -Int64(epochMs)
}
