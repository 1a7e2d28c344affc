internal import Discovery
internal import Net
internal import Replication
internal import Seal
internal import Wire

/// Which interfaces peers are looked for on.
public struct InterfaceFilter: Sendable {
    /// Only these, whatever they are; empty for all but the bridges and cables of containers and virtual machines,
    /// whose addresses exist on every host that runs such software.
    public var names: [String] = []

    /// All but what belongs to containers and virtual machines.
    public init() {}

    func allows(_ name: String) -> Bool {
        if !names.isEmpty { return names.contains(name) }
        return !NetworkInterface(name: name, index: 0, flags: 0, addresses: []).isContainerBridge
    }

    /// Whether an address is on a network of this host, but only of interfaces that are not to be used.
    func excludes(_ address: SocketAddress, _ interfaces: [NetworkInterface]) -> Bool {
        let there = interfaces.filter { $0.isUp && $0.isOnLink(address) }
        return !there.isEmpty && !there.contains { $0.isLoopback || allows($0.name) }
    }
}

/// What is done when the network changes under a node, or the machine wakes.
extension Node {
    /// Avahi and a network's other services need a moment after a change: one new beginning shall follow a burst, not
    /// ten.
    static let rebuildDelayMs: UInt64 = 2_000

    func watchNetwork() throws {
        networkMonitor = try NetworkMonitor(on: loop) { change in
            self.assumeIsolated { $0.networkChanged(change) }
        }
        interfaces = networkMonitor?.interfaces ?? []
    }

    private func networkChanged(_ change: NetworkMonitor.Change) {
        guard !isStopping else { return }
        switch change {
        case .interfaces(let now):
            let before = interfaces
            interfaces = now
            log.info("the network changed: looking for peers anew")
            doubtLinks(before: before)
            rescan(afterMs: Node.rebuildDelayMs)
        case .resumed(let suspendedMs):
            forgetSteady()
            log.info("resumed after \(suspendedMs / 1000) s: looking for peers anew")
            step(.probe(links.values.filter(\.isUp).map(\.id).sorted()))
            rescan()
        }
    }

    /// Makes the references to Avahi anew and looks names up, after a while or earlier if that was to be done anyway.
    func rebuild(afterMs delayMs: UInt64) {
        guard delayMs == 0 || rebuildTimer == nil else { return }
        rebuildTimer?.cancel()
        rebuildTimer = loop.schedule(afterMs: delayMs) {
            self.assumeIsolated { node in
                node.rebuildTimer = nil
                guard !node.isStopping else { return }
                node.discoveryService?.rebuild()
                for peer in node.named { node.resolve(peer) }
            }
        }
    }

    /// Links over an address that is gone are dead. Whether those over an interface that has changed still work, the
    /// other end has to show, for TCP would try for long. The others go on as if nothing had happened.
    private func doubtLinks(before: [NetworkInterface]) {
        var doubted: [LinkID] = []
        for link in links.values.sorted(by: { $0.id < $1.id }) {
            guard let address = link.socket.localAddress else { continue }
            guard let now = Node.holder(of: address, in: interfaces) else {
                closeLink(link.id, reason: "this machine's address \(address.ipText) is gone")
                continue
            }
            if link.isUp, now != Node.holder(of: address, in: before) { doubted.append(link.id) }
        }
        if !doubted.isEmpty { step(.probe(doubted)) }
    }

    private static func holder(of address: SocketAddress, in interfaces: [NetworkInterface]) -> NetworkInterface? {
        interfaces.first { interface in
            (address.scope == 0 || address.scope == interface.index)
                && interface.addresses.contains { $0.address.ipBytes == address.ipBytes }
        }
    }
}
