internal import Discovery
internal import Net
internal import Replication
internal import Seal
internal import Store
internal import Tree
internal import Wire

extension Node {
    static let connectMs: UInt64 = 3000

    func addPeer(_ peer: HostPort) {
        if !named.contains(peer) { named.append(peer) }
        resolve(peer)
    }

    func resolve(_ peer: HostPort) {
        Resolver.resolve(host: peer.host, port: peer.port, on: loop) { result in
            self.assumeIsolated { node in
                guard node.named.contains(peer) else { return }
                switch result {
                case .success(let addresses):
                    node.namedAddresses[peer] = addresses
                    let now = EventLoop.monotonicMs()
                    for (index, address) in addresses.enumerated() {
                        node.dialer.offer(address, .named, delayMs: UInt64(index) * Dialer.staggerMs, nowMs: now)
                    }
                    node.dialDue()
                case .failure(let error):
                    node.log.warning("cannot resolve \(peer.host): \(error); trying again in 30 s")
                    _ = node.loop.schedule(afterMs: Dialer.namedBackOffMsMax) {
                        self.assumeIsolated { if $0.named.contains(peer), !$0.isStopping { $0.resolve(peer) } }
                    }
                }
            }
        }
    }

    func removePeer(_ peer: HostPort) -> Bool {
        guard let index = named.firstIndex(of: peer) else { return false }
        named.remove(at: index)
        let addresses = namedAddresses.removeValue(forKey: peer) ?? []
        let kept = Set(namedAddresses.values.joined())
        for address in addresses where !kept.contains(address) { dialer.remove(address) }
        return true
    }

    var connectedNodes: Set<Bytes32> { Set(links.values.filter(\.isUp).compactMap(\.peer)) }

    func dialDue() {
        guard !isStopping else { return }
        let now = EventLoop.monotonicMs()
        for address in dialer.due(nowMs: now, connected: connectedNodes) { dial(address) }
        guard let atMs = dialer.nextDeadlineMs else { return }
        if let dialTimer, dialTimer.atMs <= atMs { return }
        dialTimer?.timer.cancel()
        let timer = loop.schedule(afterMs: atMs > now ? atMs - now : 0) {
            self.assumeIsolated { node in
                node.dialTimer = nil
                node.dialDue()
            }
        }
        dialTimer = (timer, atMs)
    }

    private func dial(_ address: SocketAddress) {
        log.debug("dialling \(address)")
        StreamSocket.connect(to: address, timeoutMs: Node.connectMs, on: loop) { result in
            self.assumeIsolated { node in
                switch result {
                case .success(let socket): node.dialled(socket, address)
                case .failure(let error):
                    node.dialFailed(address, "\(error)")
                    node.dialDue()
                }
            }
        }
    }

    private func dialled(_ socket: StreamSocket, _ address: SocketAddress) {
        guard !isStopping else { return socket.close() }
        guard links.count < Node.linksMax else {
            socket.close()
            return dialFailed(address, "\(Node.linksMax) links are open")
        }
        let link = begin(socket, dialled: address)
        var initiator = LinkInitiator(
            psk: LinkKey.psk(networkKey: workspace.networkKey), workspace: workspace.id, identity: key,
            payload: linkPayload, expectedPeer: dialer.candidates[address]?.node)
        do throws(LinkError) {
            let first = try initiator.start()
            link.initiator = consume initiator
            socket.send(first)
        } catch {
            closeLink(link.id, reason: "\(error)")
        }
    }

    func dialFailed(_ address: SocketAddress, _ reason: String) {
        let candidate = dialer.candidates[address]
        dialer.failed(
            address, reason: reason, nowMs: EventLoop.monotonicMs(), jitter: SecureRandom.uint64() % 100)
        log.debug("\(address): \(reason)")
        if let instance = candidate?.instance { discoveryService?.resolveAgain(instance) }
    }

    /// Addresses that are taken from one message.
    static let toldMax = 64

    /// Addresses that a peer has told: only those on this network are worth a try.
    func learn(_ addresses: [PeerAddress]) {
        let now = EventLoop.monotonicMs()
        let connected = connectedNodes
        for told in addresses.prefix(Node.toldMax) where told.node != uid && !connected.contains(told.node) {
            // A link-local address means something else on every other host.
            guard let address = SocketAddress(told.address), !address.isLinkLocal, mayDial(address) else { continue }
            dialer.offer(address, .gossiped, node: told.node, delayMs: Dialer.staggerMs, nowMs: now)
        }
        dialDue()
    }

    /// Addresses nobody named are only dialled on this host's own networks: records may lie.
    func mayDial(_ address: SocketAddress) -> Bool {
        address.isDialable && (address.isPrivate || address.isLinkLocal || interfaces.contains { $0.isOnLink(address) })
            && !address.isLoopback && !isOwn(address)
    }

    private func isOwn(_ address: SocketAddress) -> Bool {
        address.port == port
            && interfaces.contains { $0.addresses.contains { $0.address.ipBytes == address.ipBytes } }
    }

    func watchNetwork() throws {
        networkMonitor = try NetworkMonitor(on: loop) { change in
            self.assumeIsolated { $0.networkChanged(change) }
        }
        interfaces = networkMonitor?.interfaces ?? []
    }

    private func networkChanged(_ change: NetworkMonitor.Change) {
        switch change {
        case .interfaces(let now):
            interfaces = now
            log.info("the network changed: looking for peers anew")
        case .resumed(let suspendedMs): log.info("resumed after \(suspendedMs / 1000) s: looking for peers anew")
        }
        rescan()
    }

    func rescan() {
        dialer.reset(nowMs: EventLoop.monotonicMs())
        discoveryService?.rebuild()
        for peer in named { resolve(peer) }
        dialDue()
    }

    // MARK: Remembered addresses

    /// Good addresses kept for the next start.
    static let rememberedMax = 256

    func rememberPeers() {
        var lines: [String] = []
        var told: [PeerAddress] = []
        for link in links.values.sorted(by: { $0.id < $1.id }) where link.isUp {
            guard let peer = link.peer, link.listenPort != 0, let source = link.socket.peerAddress else { continue }
            let address = link.dialled ?? source.with(port: link.listenPort)
            lines.append("\(UID.text(peer)) \(address)")
            // A link-local address means something else on every other host.
            if !address.isLinkLocal { told.append(PeerAddress(node: peer, address: "\(address)")) }
        }
        step(.addresses(told))
        do {
            let old = (try store.setting("peers")).map { String(decoding: $0, as: UTF8.self) } ?? ""
            for line in old.split(separator: "\n") where !lines.contains(String(line)) { lines.append(String(line)) }
            let text = lines.prefix(Node.rememberedMax).joined(separator: "\n")
            if text != old { try store.setSetting("peers", Array(text.utf8)) }
        } catch {
            report(error, "remembering peers")
        }
    }

    func recallPeers() {
        guard let text = try? store.setting("peers") else { return }
        let now = EventLoop.monotonicMs()
        for line in String(decoding: text, as: UTF8.self).split(separator: "\n") {
            let parts = line.split(separator: " ")
            guard parts.count == 2, let node = UID.parse(String(parts[0])), node != uid,
                let address = SocketAddress(String(parts[1]))
            else { continue }
            dialer.offer(address, .remembered, node: node, delayMs: Dialer.staggerMs, nowMs: now)
        }
    }
}
