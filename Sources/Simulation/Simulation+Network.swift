public import Replication
public import Wire
internal import Seal
internal import Tree

extension Simulation {
    /// A node tries again to reach another after about this long.
    static let redialMs: ClosedRange<UInt64> = 200...2000

    public func isConnected(_ x: Int, _ y: Int) -> Bool { connections[Pair(x, y)] != nil }

    /// Whether a new link between two nodes could be opened.
    public func isReachable(_ x: Int, _ y: Int) -> Bool {
        let (a, b) = (nodes[x], nodes[y])
        return x != y && a.state == .running && b.state == .running && a.part == b.part
    }

    /// Opens a link between two nodes; both hear of it after a handshake's time.
    public func connect(_ x: Int, _ y: Int) {
        guard isReachable(x, y), connections[Pair(x, y)] == nil else { return }
        nextLink += 1
        let ends = [x, y].map { Connection.End(node: $0, start: nodes[$0].starts) }
        let connection = Connection(link: LinkID(nextLink), ends: ends)
        connection.faults = linkFaults[Pair(x, y)] ?? .none
        connections[Pair(x, y)] = connection
        // Who has dialled knows first; what he says then arrives when the other knows too.
        var atMs = nowMs
        for side in [0, 1] {
            atMs += delayMs()
            connection.ends[1 - side].lastArrivalMs = atMs
            queue.insert(.linkUp(connection, side), atMs: atMs)
        }
    }

    public func connectAll() {
        for x in nodes.indices { for y in nodes.indices where x < y { connect(x, y) } }
    }

    /// Breaks a link: what is under way is lost, and both sides notice at once.
    public func disconnect(_ x: Int, _ y: Int) {
        guard let connection = connections[Pair(x, y)] else { return }
        connection.isBroken = true
        forget(connection)
        for side in [0, 1] { down(connection, side) }
    }

    /// Makes the links between two nodes misbehave, the one that is open and those to come.
    public func setFaults(_ faults: LinkFaults, _ x: Int, _ y: Int) {
        linkFaults[Pair(x, y)] = faults
        connections[Pair(x, y)]?.faults = faults
    }

    /// From now on nothing that one node sends on its open link to another arrives, and it does not notice; nor does
    /// the other.
    public func silence(from x: Int, to y: Int) {
        guard let connection = connections[Pair(x, y)] else { return }
        connection.ends[connection.side(of: x)].isSilent = true
    }

    /// The link carries again, and what was sent meanwhile arrives.
    public func endSilence(from x: Int, to y: Int) {
        guard let connection = connections[Pair(x, y)] else { return }
        let side = connection.side(of: x)
        let stalled = connection.ends[side].stalled
        connection.ends[side].isSilent = false
        connection.ends[side].stalled = []
        for message in stalled {
            connection.ends[side].inFlight -= 1
            transmit(message, connection, side)
        }
    }

    private func delayMs() -> UInt64 { UInt64.random(in: options.delayMs, using: &random) }

    // MARK: Ends

    func linkUp(_ connection: Connection, _ side: Int) {
        let (end, other) = (connection.ends[side], connection.ends[1 - side])
        let node = nodes[end.node]
        guard !connection.isBroken, node.starts == end.start, node.state == .running else {
            return forget(connection)
        }
        connection.ends[side].isUp = true
        node.links[connection.link] = connection
        let peer = nodes[other.node]
        if let intruder = node.intruder {
            intruder.linkUp(connection.link, peer: peer.author, node, self)
        } else {
            feed(node, .linkUp(connection.link, peer: peer.author, instance: peer.instance))
            tellAddresses(node)
        }
    }

    /// One end is down, and the node is told.
    private func down(_ connection: Connection, _ side: Int) {
        let end = connection.ends[side]
        let node = nodes[end.node]
        guard end.isUp, node.starts == end.start else { return }
        if node.state == .asleep {
            node.deferred.append(.down(connection))
            return
        }
        connection.ends[side].isUp = false
        guard node.links.removeValue(forKey: connection.link) != nil, node.state == .running else { return }
        if let intruder = node.intruder {
            intruder.linkDown(connection.link, node, self)
        } else {
            feed(node, .linkDown(connection.link))
        }
    }

    /// A connection is no longer usable; where nodes dial, there will be another.
    func forget(_ connection: Connection) {
        let (x, y) = (connection.ends[0].node, connection.ends[1].node)
        guard connections[Pair(x, y)] === connection else { return }
        connections[Pair(x, y)] = nil
        guard options.dials else { return }
        for (index, other) in [(x, y), (y, x)] where nodes[index].dialsEverybody && knows(index, other) {
            // Whoever was let go is not dialled again at once.
            if connection.isDemoted {
                return queue.insert(.dial(index, other), atMs: nowMs + Simulation.unreachedMs)
            }
            return dialLater(index, other)
        }
    }

    /// A node closes a link: what it has sent still arrives, and then the other side notices.
    public func close(_ link: LinkID, _ node: SimulatedNode) {
        guard let connection = node.links[link] else { return }
        hangUp(connection, connection.side(of: node.index))
        down(connection, connection.side(of: node.index))
    }

    /// The end of what a side sends.
    func hangUp(_ connection: Connection, _ side: Int) {
        forget(connection)
        guard !connection.isBroken, !connection.ends[side].isSilent else { return }
        let atMs = max(nowMs + delayMs(), connection.ends[side].lastArrivalMs)
        queue.insert(.closed(connection, 1 - side), atMs: atMs)
    }

    func closed(_ connection: Connection, _ side: Int) {
        forget(connection)
        down(connection, side)
    }

    // MARK: Messages

    /// Sends a message as a node; an intruder uses it too.
    public func send(_ message: PeerMessage, _ node: SimulatedNode, _ link: LinkID) {
        guard let connection = node.links[link] else { return }
        let side = connection.side(of: node.index)
        guard connection.ends[side].isUp, !connection.isBroken else { return }
        if connection.ends[side].isSilent {
            connection.ends[side].inFlight += 1
            connection.ends[side].stalled.append(message)
        } else {
            transmit(message, connection, side)
        }
    }

    private func transmit(_ message: PeerMessage, _ connection: Connection, _ side: Int) {
        let node = nodes[connection.ends[side].node]
        var payload = Payload.message(message)
        var size = 0
        if options.transfer == .encoded || options.bytesPerMs != nil || node.tagMax != nil {
            let bytes = message.encoded
            size = bytes.count
            if let tagMax = node.tagMax, tag(bytes) > tagMax { return }
            if options.transfer == .encoded { payload = .bytes(bytes) }
        }
        let faults = connection.faults
        var copies = 1
        var extraMs: UInt64 = 0
        if faults != .none {
            if chance(faults.lostPerMille) { payload = .nothing }
            if chance(faults.doubledPerMille) { copies = 2 }
            if chance(faults.delayedPerMille) { extraMs = UInt64.random(in: 50...3000, using: &random) }
        }
        for _ in 0..<copies {
            // In order, as TCP delivers.
            let end = connection.ends[side]
            var atMs = max(nowMs + delayMs(), end.lastArrivalMs)
            if let rate = options.bytesPerMs { atMs = max(atMs, end.lastArrivalMs + UInt64(size / max(1, rate))) }
            if extraMs == 0 { connection.ends[side].lastArrivalMs = atMs }
            connection.ends[side].inFlight += 1
            queue.insert(.deliver(connection, 1 - side, payload), atMs: atMs + extraMs)
        }
    }

    func chance(_ perMille: Int) -> Bool { perMille > 0 && Int.random(in: 0..<1000, using: &random) < perMille }

    /// The tag of an encoded message: the first element of an array of less than 24.
    private func tag(_ bytes: [UInt8]) -> UInt64 {
        guard bytes.count > 2 else { return 0 }
        return UInt64(bytes[1] < 24 ? bytes[1] : bytes[2])
    }

    func deliver(_ connection: Connection, _ side: Int, _ payload: Payload) {
        let end = connection.ends[side]
        let node = nodes[end.node]
        connection.ends[1 - side].inFlight -= 1
        guard !connection.isBroken else { return }
        if node.starts != end.start {
            // A system that knows of no such connection says so; one that is off says nothing.
            if node.state != .off { queue.insert(.closed(connection, 1 - side), atMs: nowMs + delayMs()) }
        } else if node.state == .asleep {
            node.deferred.append(.message(connection, payload))
        } else if end.isUp {
            receive(payload, connection, node)
        }
        if connection.ends[1 - side].inFlight == 0, connection.ends[1 - side].awaitsDrain {
            drained(connection, 1 - side)
        }
    }

    func receive(_ payload: Payload, _ connection: Connection, _ node: SimulatedNode) {
        let message: PeerMessage
        trace.mix(node.index << 8 | 3)
        trace.mix(nowMs)
        switch payload {
        case .nothing: return
        case .message(let value):
            if options.transfer == .counted { count(value, node) }
            if let tagMax = node.tagMax, tag(value.encoded) > tagMax { return }
            trace.mix(value)
            message = value
        case .bytes(let bytes):
            node.traffic.bytes += bytes.count
            trace.mix(bytes)
            if let tagMax = node.tagMax, tag(bytes) > tagMax { return }
            do throws(WireError) {
                guard let decoded = try PeerMessage.decode(bytes) else { return }
                message = decoded
            } catch {
                send(.notice("\(error)"), node, connection.link)
                return close(connection.link, node)
            }
        }
        node.traffic.messages += 1
        if case .bundles(let bundles) = message {
            node.traffic.entries += bundles.reduce(0) { $0 + $1.leaves.count }
        }
        if let intruder = node.intruder {
            intruder.received(message, connection.link, node, self)
        } else {
            feed(node, .received(connection.link, message))
        }
    }

    private func count(_ message: PeerMessage, _ node: SimulatedNode) {
        let size = message.encoded.count
        node.traffic.bytes += size
        switch message {
        case .soft, .haveSoft: node.traffic.softBytes += size
        default: break
        }
    }

    func awaitDrain(_ link: LinkID, _ node: SimulatedNode) {
        guard let connection = node.links[link] else { return }
        let side = connection.side(of: node.index)
        connection.ends[side].awaitsDrain = true
        if connection.ends[side].inFlight == 0 { queue.insert(.drained(connection, side), atMs: nowMs) }
    }

    func drained(_ connection: Connection, _ side: Int) {
        let end = connection.ends[side]
        let node = nodes[end.node]
        guard end.awaitsDrain, end.inFlight == 0, end.isUp, node.starts == end.start, node.state == .running else {
            return
        }
        connection.ends[side].awaitsDrain = false
        feed(node, .drained(connection.link))
    }
}
