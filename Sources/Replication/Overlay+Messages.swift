internal import Seal
internal import Wire

extension Overlay {
    /// Takes a message about the views themselves.
    mutating func received(_ link: LinkID, _ message: PeerMessage, nowMs: UInt64) -> [Action] {
        guard let from = neighbours[link]?.peer else { return [] }
        var actions: [Action] = []
        switch message {
        case .neighbour(let priority, _): neighbour(link, from, priority, nowMs, &actions)
        case .disconnect:
            remember(from, nowMs: nowMs)
            actions.append(.demote(link))
        case .forwardJoin(let newcomer, let hops):
            if takesWalk(link, nowMs) { forwardJoin(link, newcomer, hops, nowMs, &actions) }
        case .shuffle(let origin, let hops, let list):
            if hops == 0 {
                shuffled(origin, list, &actions)
            } else if takesWalk(link, nowMs) {
                shuffle(link, from, origin, hops, list, &actions)
            }
        default: break
        }
        return actions
    }

    private mutating func takesWalk(_ link: LinkID, _ nowMs: UInt64) -> Bool {
        guard let dueMs = neighbours[link]?.walkDueMs, nowMs >= dueMs else { return false }
        neighbours[link]?.walkDueMs = nowMs &+ Overlay.walkMs
        return true
    }

    private mutating func neighbour(
        _ link: LinkID, _ from: Bytes32, _ priority: NeighbourPriority, _ nowMs: UInt64, _ actions: inout [Action]
    ) {
        guard !hasEverybody else { return }
        // It has no other link from which anything could come.
        if priority == .everybody || priority == .join { neighbours[link]?.isEager = true }
        switch priority {
        case .everybody, .high: return
        case .low: if activeCount > Overlay.activeMax { demote(link, nowMs: nowMs, &actions) }
        case .join:
            guard let address = addresses[from], neighbours[link]?.hasJoined == false else { return }
            neighbours[link]?.hasJoined = true
            let newcomer = PeerAddress(node: from, address: address)
            for other in orderedLinks where other != link && neighbours[other]?.peer != from {
                actions.append(.send(other, .forwardJoin(newcomer, hops: Overlay.joinHops)))
            }
        }
    }

    private mutating func forwardJoin(
        _ link: LinkID, _ newcomer: PeerAddress, _ hops: Int, _ nowMs: UInt64, _ actions: inout [Action]
    ) {
        guard newcomer.node != own else { return }
        if hops == Overlay.joinPassiveHops { learn([newcomer]) }
        let next = others(than: link, newcomer.node)
        guard hops > 1, let next = next.randomElement(using: &random) else {
            // The end of the walk takes the newcomer in, whatever it has to let go for it.
            if hasEverybody {
                actions.append(.learned([newcomer]))
            } else {
                dial(newcomer, isPressing: true, nowMs, &actions)
            }
            return
        }
        actions.append(.send(next, .forwardJoin(newcomer, hops: min(hops, Overlay.joinHops) - 1)))
    }

    private func others(than link: LinkID, _ node: Bytes32) -> [LinkID] {
        orderedLinks.filter { $0 != link && neighbours[$0]?.peer != node }
    }

    /// A shuffle goes on until its walk ends; there the two views are exchanged.
    private mutating func shuffle(
        _ link: LinkID, _ from: Bytes32, _ origin: Bytes32, _ hops: Int, _ list: [PeerAddress],
        _ actions: inout [Action]
    ) {
        guard origin != own else { return }
        var list = list
        // Nobody knows his own address; the first on the way does.
        if origin == from, list.count < PeerMessage.shuffleMax, let address = addresses[from] {
            list.append(PeerAddress(node: from, address: address))
        }
        if hops > 1, let next = others(than: link, origin).randomElement(using: &random) {
            routes.removeAll { $0.origin == origin }
            if routes.count >= Overlay.routesMax { routes.removeFirst() }
            routes.append((origin, link))
            let left = min(hops, Overlay.shuffleHops) - 1
            actions.append(.send(next, .shuffle(origin: origin, hops: left, list)))
            return
        }
        let answer = samplePassive(list.count).filter { $0.node != origin }
        learn(list)
        actions.append(.send(link, .shuffle(origin: origin, hops: 0, answer)))
    }

    /// The answer to a shuffle goes back the way that the shuffle came.
    private mutating func shuffled(_ origin: Bytes32, _ list: [PeerAddress], _ actions: inout [Action]) {
        if origin == own { return learn(list) }
        guard let index = routes.firstIndex(where: { $0.origin == origin }) else { return }
        let route = routes.remove(at: index)
        actions.append(.send(route.back, .shuffle(origin: origin, hops: 0, list)))
    }
}
