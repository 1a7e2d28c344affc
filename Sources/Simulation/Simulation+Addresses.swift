internal import Replication
internal import Seal
internal import Wire

/// Where nodes find each other: what the daemon's dialler does, with numbers for addresses.
extension Simulation {
    /// A dial that nobody answers fails after this long.
    static let connectMs: UInt64 = 3000
    /// Those who could not be reached, or had links enough, are tried again after this long.
    static let unreachedMs: UInt64 = 10_000

    static func address(_ index: Int) -> String { "node:\(index)" }

    func index(_ address: String) -> Int? {
        guard address.hasPrefix("node:"), let index = Int(address.dropFirst(5)) else { return nil }
        return nodes.indices.contains(index) ? index : nil
    }

    /// Tells a node of another, as discovery does.
    public func tell(_ index: Int, of other: Int) {
        guard index != other, nodes[index].known?.contains(other) != true else { return }
        nodes[index].known?.append(other)
        if nodes[index].dialsEverybody { dialLater(index, other) }
    }

    /// Lets a node reach for everybody it knows of.
    public func dial(_ index: Int) { dial(nodes[index]) }

    func dialLater(_ index: Int, _ other: Int) {
        let atMs = nowMs + UInt64.random(in: Simulation.redialMs, using: &random)
        queue.insert(.dial(index, other), atMs: atMs)
    }

    /// Somebody who has heard of few tries those again whom he does not reach, or he might stay alone.
    func dialDue(_ index: Int, _ other: Int) {
        let node = nodes[index]
        guard node.dialsEverybody else { return }
        if node.known != nil, node.state == .running, !isReachable(index, other) {
            queue.insert(.dial(index, other), atMs: nowMs + Simulation.unreachedMs)
        } else {
            connect(index, other)
        }
    }

    func knows(_ index: Int, _ other: Int) -> Bool { nodes[index].known?.contains(other) ?? true }

    /// The addresses of the nodes that a node is connected to, for it to tell others.
    func tellAddresses(_ node: SimulatedNode) {
        guard options.dials else { return }
        let addresses = node.neighbours.map {
            PeerAddress(node: nodes[$0].author, address: Simulation.address($0))
        }
        feed(node, .addresses(addresses))
    }

    func dialsEverybody(_ isOn: Bool, _ node: SimulatedNode) {
        guard node.dialsEverybody != isOn else { return }
        node.dialsEverybody = isOn
        if isOn { dial(node) }
    }

    func connect(_ node: SimulatedNode, to address: PeerAddress) {
        guard options.dials, let other = index(address.address) else { return }
        guard !isReachable(node.index, other) else { return connect(node.index, other) }
        // A host that runs no such program says so at once; one that is off says nothing.
        let peer = nodes[other]
        let isRefused = peer.state == .off && !peer.isHostOff && peer.part == node.part
        let delayMs = isRefused ? options.delayMs.upperBound * 2 : Simulation.connectMs
        queue.insert(.unreachable(node.index, start: node.starts, other), atMs: nowMs + delayMs)
    }

    func unreachable(_ index: Int, start: UInt64, _ other: Int) {
        let node = nodes[index]
        guard node.starts == start else { return }
        feed(node, .unreachable(Simulation.address(other)))
    }

    func connectAny(_ count: Int, _ node: SimulatedNode) {
        guard options.dials else { return }
        let candidates = node.known ?? Array(nodes.indices)
        var left = count
        for _ in 0..<count * 4 where left > 0 {
            guard let other = candidates.randomElement(using: &random) else { return }
            guard isReachable(node.index, other), !isConnected(node.index, other) else { continue }
            connect(node.index, other)
            left -= 1
        }
    }
}
