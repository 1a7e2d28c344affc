internal import Discovery
internal import Net
internal import Replication
internal import Seal
internal import Store
internal import Tree
internal import Wire

/// The look-up of a name that the user gave.
struct NamedLookup {
    /// Of the last one: answers to earlier ones are old.
    var number = 0
    var startedMs: UInt64 = 0
    /// When the name was not known.
    var again: LoopTimer?
}

extension Node {
    static let connectMs: UInt64 = 3000

    func addPeer(_ peer: HostPort) {
        if !named.contains(peer) { named.append(peer) }
        resolve(peer)
    }

    /// Looks a name up now, in the place of any look-up that is under way or waits. A name that is not known is looked
    /// up again and again.
    ///
    /// - Parameter isDoubt: its addresses do not answer, and only others are news.
    func resolve(_ peer: HostPort, isDoubt: Bool = false) {
        var lookup = namedLookups[peer] ?? NamedLookup()
        lookup.again?.cancel()
        lookup.again = nil
        lookup.number += 1
        lookup.startedMs = EventLoop.monotonicMs()
        let number = lookup.number
        namedLookups[peer] = lookup
        Resolver.resolve(host: peer.host, port: peer.port, on: loop) { result in
            self.assumeIsolated { node in
                guard !node.isStopping, node.named.contains(peer), node.namedLookups[peer]?.number == number else {
                    return
                }
                switch result {
                case .success(let addresses): node.take(addresses, of: peer, isDoubt: isDoubt)
                case .failure(let error):
                    node.log.warning("cannot resolve \(peer.host): \(error); trying again in 30 s")
                    node.namedLookups[peer]?.again = node.loop.schedule(afterMs: Dialer.namedBackOffMsMax) {
                        self.assumeIsolated { if $0.named.contains(peer), !$0.isStopping { $0.resolve(peer) } }
                    }
                }
            }
        }
    }

    private func take(_ addresses: [SocketAddress], of peer: HostPort, isDoubt: Bool) {
        let old = namedAddresses.updateValue(addresses, forKey: peer) ?? []
        let now = EventLoop.monotonicMs()
        forget(old)
        for (index, address) in addresses.enumerated() where !isDoubt || !old.contains(address) {
            dialer.offer(address, .named, delayMs: UInt64(index) * Dialer.staggerMs, nowMs: now)
        }
        dialDue()
    }

    /// Addresses of a name that it has no longer, and no other one has; a link there stays.
    private func forget(_ addresses: [SocketAddress]) {
        let kept = Set(namedAddresses.values.joined())
        for address in addresses where !kept.contains(address) { dialer.forgetName(address) }
    }

    /// An address failed: if none of its name answers, the name may have got others.
    private func doubtName(of address: SocketAddress) {
        let now = EventLoop.monotonicMs()
        for (peer, addresses) in namedAddresses where addresses.contains(address) {
            guard let lookup = namedLookups[peer], now &- lookup.startedMs >= Dialer.namedBackOffMsMax,
                addresses.allSatisfy(dialer.isFailing)
            else { continue }
            resolve(peer, isDoubt: true)
        }
    }

    func removePeer(_ peer: HostPort) -> Bool {
        guard let index = named.firstIndex(of: peer) else { return false }
        named.remove(at: index)
        namedLookups.removeValue(forKey: peer)?.again?.cancel()
        let addresses = namedAddresses.removeValue(forKey: peer) ?? []
        let kept = Set(namedAddresses.values.joined())
        for address in addresses where !kept.contains(address) { dialer.remove(address) }
        return true
    }

    var connectedNodes: Set<Bytes32> { Set(links.values.filter(\.isUp).compactMap(\.peer)) }

    func dialDue() {
        guard !isStopping else { return }
        let now = EventLoop.monotonicMs()
        let up = links.values.filter(\.isUp)
        for address in dialer.due(
            nowMs: now, connected: Set(up.compactMap(\.peer)), nonces: Set(up.map(\.instance)))
        { dial(address) }
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

    func dial(_ address: SocketAddress) {
        guard mayMeet() else { return dialer.spare(address, nowMs: EventLoop.monotonicMs()) }
        if let node = dialer.candidates[address]?.node, acquaintances.blocked.contains(node) {
            return dialer.spare(address, nowMs: EventLoop.monotonicMs())
        }
        log.debug("dialling \(address)")
        attempts[address] = StreamSocket.connect(to: address, timeoutMs: Node.connectMs, on: loop) { result in
            self.assumeIsolated { node in
                node.attempts[address] = nil
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
        guard mayMeet() else {
            socket.close()
            return dialer.spare(address, nowMs: EventLoop.monotonicMs())
        }
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

    /// An address has led to a peer: its other ones need not be tried any more.
    func endRace(wonBy address: SocketAddress) {
        let now = EventLoop.monotonicMs()
        for rival in dialer.rivals(of: address) {
            if let attempt = attempts.removeValue(forKey: rival) {
                attempt.cancel()
                dialer.spare(rival, nowMs: now)
            } else if let link = links.values.first(where: { $0.dialled == rival && !$0.isEstablished }) {
                link.isSpare = true
                closeLink(link.id, reason: "\(address) has answered first")
            }
        }
    }

    func dialFailed(_ address: SocketAddress, _ reason: String) {
        let candidate = dialer.candidates[address]
        dialer.failed(
            address, reason: reason, nowMs: EventLoop.monotonicMs(), jitter: SecureRandom.uint64() % 100)
        log.debug("\(address): \(reason)")
        if !dialer.dialsEverybody { step(.unreachable("\(address)")) }
        doubtName(of: address)
        if let instance = candidate?.instance, dialer.doubts(address, nowMs: EventLoop.monotonicMs()) {
            discoveryService?.resolveAgain(instance)
        }
    }

    /// Addresses that are taken from one message.
    static let toldMax = 64

    /// Addresses that a peer has told: only those on this network are worth a try.
    func learn(_ addresses: [PeerAddress]) {
        let now = EventLoop.monotonicMs()
        let connected = connectedNodes
        // One's own key at another address is a clone.
        for told in addresses.prefix(Node.toldMax) where !connected.contains(told.node) {
            // A link-local address means something else on every other host.
            guard let address = SocketAddress(told.address), !address.isLinkLocal, mayDial(address) else { continue }
            dialer.offer(
                address, .gossiped, node: told.node, preference: preference(address), delayMs: Dialer.staggerMs,
                nowMs: now)
        }
        dialDue()
    }

    /// Addresses nobody named are only dialled on this host's own networks: records may lie.
    func mayDial(_ address: SocketAddress) -> Bool {
        address.isDialable && (address.isPrivate || address.isLinkLocal || interfaces.contains { $0.isOnLink(address) })
            && (!address.isLoopback || options.dialsLoopback) && !isOwn(address)
            && !options.interfaces.excludes(address, interfaces)
    }

    /// In which order the addresses of one peer are tried, after the one that worked last.
    func preference(_ address: SocketAddress) -> Int {
        address.diallingClass(interfaces: interfaces).rawValue + 1
    }

    private func isOwn(_ address: SocketAddress) -> Bool {
        address.port == port
            && interfaces.contains { $0.addresses.contains { $0.address.ipBytes == address.ipBytes } }
    }

    /// Tries all addresses anew, and after a while everything that finds addresses.
    func rescan(afterMs delayMs: UInt64 = 0) {
        lookAround()
        dialer.reset(nowMs: EventLoop.monotonicMs())
        rebuild(afterMs: delayMs)
        dialDue()
    }

    // MARK: Remembered addresses

    func rememberPeers() {
        let nowMs = WallClock.milliseconds()
        var told: [PeerAddress] = []
        do {
            let old = (try store.setting("peers")).map { String(decoding: $0, as: UTF8.self) } ?? ""
            var memory = PeerMemory(old, nowMs: nowMs)
            for link in links.values.sorted(by: { $0.id < $1.id }) where link.isUp {
                guard let peer = link.peer, link.listenPort != 0, let source = link.socket.peerAddress else { continue }
                let address = link.dialled ?? source.with(port: link.listenPort)
                memory.note(peer, "\(address)", nowMs: nowMs)
                // A link-local address means something else on every other host.
                if !address.isLinkLocal { told.append(PeerAddress(node: peer, address: "\(address)")) }
            }
            if isClockSynchronised { memory.expire(nowMs: nowMs) }
            let text = memory.text
            if text != old { try store.setSetting("peers", Array(text.utf8)) }
        } catch {
            report(error, "remembering peers")
        }
        step(.addresses(told))
    }

    func recallPeers() {
        guard let text = try? store.setting("peers") else { return }
        let now = EventLoop.monotonicMs()
        var seen: Set<Bytes32> = []
        for place in PeerMemory(String(decoding: text, as: UTF8.self), nowMs: WallClock.milliseconds()).places {
            let isLast = seen.insert(place.node).inserted
            guard place.node != uid, let address = SocketAddress(place.address) else { continue }
            dialer.offer(
                address, .remembered, node: place.node, preference: isLast ? 0 : preference(address),
                delayMs: Dialer.staggerMs, nowMs: now)
        }
    }
}
