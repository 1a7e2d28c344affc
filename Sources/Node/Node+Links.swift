internal import Discovery
internal import Store
internal import ControlAPI
internal import Net
internal import Replication
internal import Seal
internal import Tree
internal import Wire

extension Node {
    /// Handshakes under way at once, in all and from one address: an attacker must not use up descriptors.
    static let halfOpenMax = 32
    static let halfOpenPerAddressMax = 4
    /// Established links; views of part of the network keep them few.
    static let linksMax = 256
    static let connectMs: UInt64 = 3000

    func listenForPeers() throws {
        let accept: @Sendable (StreamSocket) -> Void = { socket in
            self.assumeIsolated { $0.accepted(socket) }
        }
        if let address = options.listen {
            listener = try StreamListener.tcp(address, on: loop, onAccept: accept)
        } else {
            // Static peers need ports that stay: the one that was free last time comes first.
            let remembered = try store.setting("port").flatMap { UInt16(String(decoding: $0, as: UTF8.self)) }
            for port in [remembered, NodeOptions.portDefault].compactMap({ $0 }) where listener == nil {
                listener = try? StreamListener.tcp(port: port, on: loop, onAccept: accept)
            }
            if listener == nil { listener = try StreamListener.tcp(port: 0, on: loop, onAccept: accept) }
            try store.setSetting("port", Array(String(port).utf8))
        }
        log.info("listening for peers on port \(port)")
    }

    private func accepted(_ socket: StreamSocket) {
        let halfOpen = links.values.filter { !$0.isEstablished && $0.dialled == nil }
        let fromThere = halfOpen.count { $0.socket.peerAddress?.ipBytes == socket.peerAddress?.ipBytes }
        guard !isStopping, halfOpen.count < Node.halfOpenMax, fromThere < Node.halfOpenPerAddressMax,
            links.count < Node.linksMax
        else { return socket.close() }
        let link = begin(socket, dialled: nil)
        link.responder = LinkResponder(
            psks: [LinkKey.psk(networkKey: workspace.networkKey)], workspace: workspace.id, identity: key,
            payload: linkPayload)
    }

    private var linkPayload: [UInt8] { LinkPayload(instance: instance, port: port).encoded }

    private func begin(_ socket: StreamSocket, dialled: SocketAddress?) -> PeerLink {
        nextLink += 1
        let id = LinkID(nextLink)
        let link = PeerLink(id: id, socket: socket, dialled: dialled)
        links[id] = link
        link.timer = loop.schedule(afterMs: PeerLink.handshakeMs) {
            self.assumeIsolated { $0.closeLink(id, reason: "no handshake within 5 s") }
        }
        socket.onReceive = { bytes in self.assumeIsolated { $0.receive(bytes, on: id) } }
        socket.onClose = { reason in self.assumeIsolated { $0.ended(id, reason: "\(reason)") } }
        socket.onDrained = { self.assumeIsolated { $0.drained(id) } }
        return link
    }

    private func drained(_ id: LinkID) {
        if links[id]?.isEstablished == true { step(.drained(id)) }
    }

    private func receive(_ bytes: [UInt8], on id: LinkID) {
        guard let link = links[id] else { return }
        do throws(LinkError) {
            if link.isEstablished {
                try deliver(bytes, link)
            } else {
                try shakeHands(bytes, link)
            }
        } catch {
            closeLink(id, reason: "\(error)")
        }
    }

    private func deliver(_ bytes: [UInt8], _ link: PeerLink) throws(LinkError) {
        for message in try link.opener?.receive(bytes) ?? [] {
            guard links[link.id] != nil else { return }
            do throws(WireError) {
                if let message = try PeerMessage.decode(message) { step(.received(link.id, message)) }
            } catch {
                try? link.send(.notice("\(error)"))
                throw LinkError(.malformed)
            }
        }
    }

    private func shakeHands(_ bytes: [UInt8], _ link: PeerLink) throws(LinkError) {
        if let step = try link.initiator?.receive(bytes) { return try act(on: step, link) }
        if let step = try link.responder?.receive(bytes) { return try act(on: step, link) }
    }

    private func act(on step: consuming LinkStep, _ link: PeerLink) throws(LinkError) {
        switch consume step {
        case .needMore: return
        case .write(let answer): link.socket.send(answer)
        case .established(let answer, let session):
            let (peer, payload, leftover) = (session.peerIdentity, session.peerPayload, session.leftover)
            link.sealer = consume session.sealer
            link.opener = consume session.opener
            link.initiator = nil
            link.responder = nil
            link.timer?.cancel()
            if !answer.isEmpty { link.socket.send(answer) }
            try established(link, peer, payload)
            if !leftover.isEmpty, links[link.id] != nil { try deliver(leftover, link) }
        }
    }

    private func established(_ link: PeerLink, _ peer: Bytes32, _ payload: [UInt8]) throws(LinkError) {
        guard let claims = LinkPayload(decoding: payload) else { throw LinkError(.malformed) }
        link.peer = peer
        link.instance = claims.instance
        link.listenPort = claims.port
        if peer == uid, claims.instance == instance {
            if let dialled = link.dialled { dialer.foundSelf(dialled) }
            return closeLink(link.id, reason: "connected to itself")
        }
        guard claims.isCompatible(with: LinkPayload(instance: instance, port: port)) else {
            try link.send(.notice("no common protocol version"))
            return closeLink(link.id, reason: "no common protocol version")
        }
        let now = EventLoop.monotonicMs()
        if let dialled = link.dialled {
            dialer.connected(dialled, node: peer)
        } else if let source = link.socket.peerAddress, claims.port != 0 {
            dialer.offer(source.with(port: claims.port), .inbound, node: peer, delayMs: Dialer.backOffMsMax, nowMs: now)
        }
        if let twin = links.values.first(where: {
            $0.id != link.id && $0.isEstablished && $0.peer == peer && $0.instance == claims.instance
        }) {
            // Both sides decide alike: the connection that the smaller key opened stays; of two equals, the older one.
            let keeps = min(uid, peer)
            let newStays = link.opener(own: uid) == keeps && twin.opener(own: uid) != keeps
            if !newStays { return closeLink(link.id, reason: "a second connection to the same node") }
            closeLink(twin.id, reason: "replaced by the connection that both sides keep")
        }
        log.info("connected to \(name(of: peer)) at \(link.socket.peerAddress.map { "\($0)" } ?? "?")")
        updateDiscovery()
        step(.linkUp(link.id, peer: peer, instance: claims.instance))
        personChanged(peer)
        rememberPeers()
    }

    /// Closes a link from this side; what is queued still goes out.
    func closeLink(_ id: LinkID, reason: String) {
        guard let link = links[id] else { return }
        link.socket.closeAfterFlush(timeoutMs: Node.flushMs)
        ended(id, reason: reason)
    }

    private func ended(_ id: LinkID, reason: String) {
        guard let link = links.removeValue(forKey: id) else { return }
        link.timer?.cancel()
        let now = EventLoop.monotonicMs()
        if link.isEstablished, let peer = link.peer {
            log.info("link to \(name(of: peer)) ended: \(reason)")
            step(.linkDown(id))
            dialer.disconnected(peer, nowMs: now)
            updateDiscovery()
            personChanged(peer)
        } else {
            log.info("connection \(describe(link)) closed before a handshake: \(reason)")
            if let dialled = link.dialled { dialFailed(dialled, reason) }
        }
        finishIfFlushed()
        dialDue()
    }

    private func describe(_ link: PeerLink) -> String {
        if let dialled = link.dialled { return "to \(dialled)" }
        return "from \(link.socket.peerAddress.map { "\($0)" } ?? "an unknown address")"
    }

    func name(of id: LinkID) -> String {
        guard let link = links[id] else { return "?" }
        return link.peer.map(name(of:)) ?? describe(link)
    }

    // MARK: Dialling

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

    var connectedNodes: Set<Bytes32> { Set(links.values.filter(\.isEstablished).compactMap(\.peer)) }

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
        let link = begin(socket, dialled: address)
        var initiator = LinkInitiator(
            psk: LinkKey.psk(networkKey: workspace.networkKey), workspace: workspace.id, identity: key,
            payload: linkPayload)
        do throws(LinkError) {
            let first = try initiator.start()
            link.initiator = consume initiator
            socket.send(first)
        } catch {
            closeLink(link.id, reason: "\(error)")
        }
    }

    private func dialFailed(_ address: SocketAddress, _ reason: String) {
        let candidate = dialer.candidates[address]
        dialer.failed(
            address, reason: reason, nowMs: EventLoop.monotonicMs(), jitter: SecureRandom.uint64() % 100)
        log.debug("\(address): \(reason)")
        if let instance = candidate?.instance { discoveryService?.resolveAgain(instance) }
    }

    /// Addresses that a peer has told: only those on this network are worth a try.
    func learn(_ addresses: [PeerAddress]) {
        let now = EventLoop.monotonicMs()
        let connected = connectedNodes
        for told in addresses where told.node != uid && !connected.contains(told.node) {
            guard let address = SocketAddress(told.address), mayDial(address) else { continue }
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
        for link in links.values.sorted(by: { $0.id < $1.id }) where link.isEstablished {
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
