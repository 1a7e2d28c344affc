public import Replication
public import Seal
internal import Store
public import Tree
internal import Wire

/// Several nodes and the network between them in one process, on virtual time, from one seed.
///
/// The machines are the daemon's own. Links behave like TCP: in order, without loss, but slow, and they break. Every
/// message goes through its encoding. The same seed gives the same run, down to ``traceHash``.
public final class Simulation {
    /// True time at the start, in milliseconds since 1970.
    public static let epochMs: UInt64 = 1_800_000_000_000
    /// One-way delays of messages.
    static let delayMs: ClosedRange<UInt64> = 1...40

    enum Event {
        case deliver(from: Int, to: Int, LinkID, PeerMessage, epoch: UInt64)
        case timer(Int)
        case linkUp(Int, LinkID, peer: Int, epoch: UInt64)
    }

    struct Pair: Hashable {
        let a: Int
        let b: Int

        init(_ x: Int, _ y: Int) {
            a = min(x, y)
            b = max(x, y)
        }
    }

    public private(set) var nodes: [SimulatedNode] = []
    public private(set) var nowMs: UInt64 = 0
    /// A digest of everything that was delivered, in order.
    public private(set) var traceHash: UInt64 = 0xCBF2_9CE4_8422_2325
    public let workspace: Bytes32
    public var random: SplitMix64
    private var queue = EventQueue<Event>()
    /// Links between nodes: the number both sides use, and how often the pair was connected.
    private var connections: [Pair: (link: LinkID, epoch: UInt64)] = [:]
    private var nextLink = 0
    private var lastArrivalMs: [String: UInt64] = [:]

    public init(nodes count: Int, seed: UInt64, skewsMs: [Int64] = []) {
        random = SplitMix64(seed: seed)
        workspace = Bytes32(repeating: 7)
        for index in 0..<count {
            let key = SigningKey(seed: Bytes32(repeating: UInt8(truncatingIfNeeded: index + 1)))
            nodes.append(
                SimulatedNode(
                    index: index, key: key, skewMs: index < skewsMs.count ? skewsMs[index] : 0,
                    instance: random.next(), workspace: workspace))
            start(nodes[index])
        }
    }

    private func start(_ node: SimulatedNode) {
        let moment = moment(node)
        let greatest = node.store.greatestHLC(notAfter: HLC(ms: HLC.msMax))
        node.replicator = Replicator(
            workspace: workspace, key: node.key, instance: node.instance,
            clock: ClockEstimate(buildMs: SimulatedNode.buildMs), highWater: greatest)
        node.replicator.start(moment)
        node.clock = HybridClock(
            workspaceMs: node.replicator.workspaceMs(moment), greatestStored: greatest, randomness: random.next())
        node.timerMs = nil
        node.isDown = false
    }

    private func moment(_ node: SimulatedNode) -> Moment {
        let wallMs = Int64(clamping: Simulation.epochMs &+ nowMs) &+ node.skewMs
        return Moment(monotonicMs: nowMs &+ 1, wallMs: UInt64(clamping: wallMs), isSynchronised: false)
    }

    // MARK: The network

    public func isConnected(_ x: Int, _ y: Int) -> Bool { connections[Pair(x, y)] != nil }

    /// Opens a link between two nodes; both hear of it after a handshake's time.
    public func connect(_ x: Int, _ y: Int) {
        guard x != y, connections[Pair(x, y)] == nil, !nodes[x].isDown, !nodes[y].isDown else { return }
        nextLink += 1
        let link = LinkID(nextLink)
        let epoch = UInt64(nextLink)
        connections[Pair(x, y)] = (link, epoch)
        let delay = UInt64.random(in: Simulation.delayMs, using: &random)
        for (node, peer) in [(x, y), (y, x)] {
            queue.insert(.linkUp(node, link, peer: peer, epoch: epoch), atMs: nowMs + delay)
        }
    }

    /// Breaks a link: what is under way is lost, and both sides notice at once.
    public func disconnect(_ x: Int, _ y: Int) {
        guard let (link, _) = connections.removeValue(forKey: Pair(x, y)) else { return }
        for node in [nodes[x], nodes[y]] where node.links.removeValue(forKey: link) != nil {
            feed(node, .linkDown(link))
        }
    }

    public func connectAll() {
        for x in nodes.indices { for y in nodes.indices where x < y { connect(x, y) } }
    }

    /// Ends a node as kill -9 does and starts it again: memory and links are gone, what was stored is there.
    public func crash(_ index: Int) {
        for other in nodes.indices where other != index { disconnect(index, other) }
        nodes[index].instance = random.next()
        nodes[index].links = [:]
        start(nodes[index])
    }

    // MARK: Clients

    /// Writes as a client of a node would, all or nothing; false if the node may not write there.
    @discardableResult
    public func write(_ index: Int, _ writes: [(Path, Value)]) throws -> Bool {
        let node = nodes[index]
        guard let hlc = node.clock.tick(workspaceMs: node.replicator.workspaceMs(moment(node))) else { return false }
        var entries: [Entry] = []
        for (path, value) in writes {
            let entry = try Entry(path: path, hlc: hlc, author: node.author, value: value)
            guard Ownership.denial(of: entry) == nil else { return false }
            entries.append(entry)
        }
        entries.sort { $0.stamp < $1.stamp }
        let bundle = Bundle(signing: entries, by: node.key, workspace: workspace)
        _ = try node.store.commit([bundle], heldAfter: HLC(ms: HLC.msMax))
        feed(node, .localCommit([bundle]))
        return true
    }

    /// A key that certifies a node, drawn from its clock.
    public func newKey(_ index: Int) -> AutoID? {
        let node = nodes[index]
        return node.clock.tick(workspaceMs: node.replicator.workspaceMs(moment(node))).map {
            AutoID(hlc: $0, author: node.author)
        }
    }

    /// Feeds an event to a node's machine and carries out its effects.
    public func feed(_ node: SimulatedNode, _ event: Replicator.Event) {
        var events = [event]
        var index = 0
        while index < events.count {
            let effects = (try? node.replicator.step(moment(node), events[index], node.store)) ?? []
            for effect in effects { perform(effect, node, &events) }
            index += 1
        }
        schedule(node)
    }

    private func perform(_ effect: Replicator.Effect, _ node: SimulatedNode, _ events: inout [Replicator.Event]) {
        switch effect {
        case .send(let link, let message): send(message, node, link)
        case .commit(let link, let bundles):
            let outcome = Admission.judge(bundles, workspace: workspace)
            node.refusedCount += outcome.denied.count + outcome.unsigned.count
            let limit = HLC(ms: node.replicator.workspaceMs(moment(node)) &+ 24 * 3600 * 1000)
            guard let result = try? node.store.commit(outcome.admitted, heldAfter: limit) else { return }
            for entry in result.applied { node.clock.observe(entry.hlc) }
            events.append(
                .committed(
                    link, admitted: outcome.admitted, result: result, denied: outcome.denied,
                    unsigned: outcome.unsigned))
        case .close(let link, _):
            if let peer = node.links[link] { disconnect(node.index, peer) }
        // Every delivery counts as a drain.
        case .softChanged, .awaitDrain, .answerVerify, .verified, .learned, .notice: break
        }
    }

    private func send(_ message: PeerMessage, _ node: SimulatedNode, _ link: LinkID) {
        guard let peer = node.links[link], let (current, epoch) = connections[Pair(node.index, peer)], current == link
        else { return }
        // In order, as TCP delivers.
        let lane = "\(node.index)-\(peer)-\(epoch)"
        let arrival = nowMs + UInt64.random(in: Simulation.delayMs, using: &random)
        let atMs = max(arrival, lastArrivalMs[lane] ?? 0)
        lastArrivalMs[lane] = atMs
        queue.insert(.deliver(from: node.index, to: peer, link, message, epoch: epoch), atMs: atMs)
    }

    private func schedule(_ node: SimulatedNode) {
        guard let deadline = node.replicator.nextDeadlineMs else { return }
        let atMs = max(deadline == .max ? deadline : deadline &- 1, nowMs)
        if let timer = node.timerMs, timer <= atMs { return }
        node.timerMs = atMs
        queue.insert(.timer(node.index), atMs: atMs)
    }

    // MARK: Time

    /// Lets time pass, and with it everything that is due.
    public func run(forMs duration: UInt64) {
        let end = nowMs + duration
        while let next = queue.nextMs, next <= end, let (atMs, event) = queue.removeFirst() {
            nowMs = max(nowMs, atMs)
            handle(event)
        }
        nowMs = end
    }

    /// Lets time pass until `condition` holds; false if it does not within the limit.
    public func run(atMostMs limit: UInt64, until condition: () throws -> Bool) rethrows -> Bool {
        let end = nowMs + limit
        while nowMs < end {
            if try condition() { return true }
            run(forMs: 50)
        }
        return try condition()
    }

    private func handle(_ event: Event) {
        switch event {
        case .timer(let index):
            let node = nodes[index]
            guard node.timerMs == nowMs else { return }
            node.timerMs = nil
            feed(node, .tick)
        case .linkUp(let index, let link, let peer, let epoch):
            guard connections[Pair(index, peer)]?.epoch == epoch else { return }
            nodes[index].links[link] = peer
            feed(nodes[index], .linkUp(link, peer: nodes[peer].author, instance: nodes[peer].instance))
        case .deliver(let from, let to, let link, let message, let epoch):
            guard connections[Pair(from, to)]?.epoch == epoch, nodes[to].links[link] != nil else { return }
            let encoded = message.encoded
            nodes[to].receivedBytes += encoded.count
            trace(encoded, to)
            if let decoded = try? PeerMessage.decode(encoded) { feed(nodes[to], .received(link, decoded)) }
            if nodes[from].links[link] != nil { feed(nodes[from], .drained(link)) }
        }
    }

    private func trace(_ bytes: [UInt8], _ to: Int) {
        for byte in bytes + [UInt8(truncatingIfNeeded: to)] {
            traceHash = (traceHash ^ UInt64(byte)) &* 0x100_0000_01B3
        }
        traceHash = (traceHash ^ nowMs) &* 0x100_0000_01B3
    }

    /// Whether all nodes hold the same entries.
    public var isConverged: Bool {
        let roots = Set(nodes.map { $0.store.digest(of: .root) })
        return roots.count == 1
    }
}
