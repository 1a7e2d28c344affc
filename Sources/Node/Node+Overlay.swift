internal import Net
internal import Replication
internal import Seal
internal import Wire

/// What the overlay asks for: whom to dial, whom to let go.
extension Node {
    func dialEverybody(_ isOn: Bool) {
        log.info(isOn ? "a small workspace: linking to everybody" : "a large workspace: linking to a part of it")
        dialer.setDialsEverybody(isOn, nowMs: EventLoop.monotonicMs())
        dialDue()
    }

    func connect(to told: PeerAddress, _ events: inout [Replicator.Event]) {
        guard !isStopping else { return }
        let now = EventLoop.monotonicMs()
        guard !connectedNodes.contains(told.node), let address = SocketAddress(told.address), !address.isLinkLocal,
            mayDial(address), !acquaintances.blocked.contains(told.node)
        else { return events.append(.unreachable(told.address)) }
        dialer.offer(address, .gossiped, node: told.node, preference: preference(address), nowMs: now)
        guard dialer.ask(address, nowMs: now) else { return events.append(.unreachable(told.address)) }
        dial(address)
    }

    func connectAny(_ count: Int) {
        guard !isStopping else { return }
        let chosen = dialer.askAny(
            count, nowMs: EventLoop.monotonicMs(), connected: connectedNodes.union(acquaintances.blocked),
            random: SecureRandom.uint64)
        for address in chosen { dial(address) }
    }

    func demote(_ id: LinkID) {
        links[id]?.isDemoted = true
        closeLink(id, reason: "there are links enough")
    }
}
