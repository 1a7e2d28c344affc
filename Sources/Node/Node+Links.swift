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
    /// Links that one address, and one identity, may have opened. One host may run several nodes, and a cloned disk is
    /// two nodes with one identity; beyond that it is somebody who wants all places for himself.
    static let linksPerAddressMax = 32
    static let linksPerNodeMax = 4
    /// What one peer has sent is taken for so long, and a client is served; then the others have their turn. Clients
    /// have longer, for what they write in one turn is committed together.
    static let peerTurnNs: UInt64 = 500_000
    static let clientTurnNs: UInt64 = 10_000_000
    /// Established links; views of part of the network keep them few.
    static let linksMax = 256

    func listenForPeers() throws {
        let accept: @Sendable (StreamSocket) -> Void = { socket in
            self.assumeIsolated { $0.accepted(socket) }
        }
        if let address = options.listen {
            do throws(NetError) {
                listener = try StreamListener.tcp(address, on: loop, onAccept: accept)
            } catch {
                throw NodeError(.network, "cannot listen on \(address): \(error)")
            }
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
        guard !isStopping, mayMeet() else { return socket.close() }
        let inbound = links.values.filter { $0.dialled == nil }
        let fromThere = inbound.filter { $0.socket.peerAddress?.ipBytes == socket.peerAddress?.ipBytes }
        let halfOpen = inbound.filter { !$0.isEstablished }
        guard links.count < Node.linksMax, fromThere.count < Node.linksPerAddressMax,
            fromThere.count(where: { !$0.isEstablished }) < Node.halfOpenPerAddressMax,
            knocks.admits(socket.peerAddress?.ipBytes ?? [], nowMs: EventLoop.monotonicMs())
        else {
            logOutside(.info, "connection from \(socket.peerAddress.map { "\($0)" } ?? "?") refused: too many")
            return socket.close()
        }
        // The oldest gives way: who holds all places has to fight for each with every newcomer.
        if halfOpen.count >= Node.halfOpenMax, let oldest = halfOpen.min(by: { $0.id < $1.id }) {
            closeLink(oldest.id, reason: "too many handshakes are under way")
        }
        let link = begin(socket, dialled: nil)
        link.responder = LinkResponder(
            psks: workspace.psks, workspace: workspace.id, identity: key, payload: linkPayload)
    }

    var linkPayload: [UInt8] { LinkPayload(instance: instance, port: port).encoded }

    func begin(_ socket: StreamSocket, dialled: SocketAddress?) -> PeerLink {
        nextLink += 1
        let id = LinkID(nextLink)
        let link = PeerLink(id: id, socket: socket, dialled: dialled)
        links[id] = link
        let limitMs = options.handshakeMs
        link.timer = loop.schedule(afterMs: limitMs) {
            self.assumeIsolated { $0.closeLink(id, reason: "no handshake within \(limitMs) ms") }
        }
        socket.onReceive = { bytes in self.assumeIsolated { $0.receive(bytes, on: id) } }
        socket.onClose = { reason in
            self.assumeIsolated { node in
                node.closing[id] = nil
                node.linkMemory.note(id, bytes: 0, nowMs: EventLoop.monotonicMs())
                node.ended(id, reason: "\(reason)")
            }
        }
        socket.onDrained = { self.assumeIsolated { $0.drained(id) } }
        socket.onMove = { self.assumeIsolated { if $0.links[id]?.isUp == true { $0.step(.moves(id)) } } }
        return link
    }

    private func drained(_ id: LinkID) {
        guard let link = links[id] else { return }
        noteMemory(of: link)
        guard links[id] != nil, link.awaitsDrain, link.socket.queuedBytes == 0 else { return }
        link.awaitsDrain = false
        step(.drained(id))
    }

    /// The kernel may have taken everything at once; then nothing else will say so. In a turn of its own, so that chat
    /// gets its turn between two parts of a long answer.
    func awaitDrain(_ id: LinkID) {
        guard let link = links[id] else { return }
        link.awaitsDrain = true
        noteBulk(arrives: false)
        if link.socket.queuedBytes == 0 { loop.execute { self.assumeIsolated { $0.drained(id) } } }
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
            if let dialled = link.dialled, error.code == .unexpectedPeer { dialer.expectAnybody(dialled) }
            closeLink(id, reason: "\(error)")
        }
    }

    private func deliver(_ bytes: [UInt8], _ link: PeerLink) throws(LinkError) {
        guard !link.isOutdated else { return }
        let messages = try link.opener?.receive(bytes) ?? []
        let isIdle = link.inbox.isEmpty
        link.append(messages)
        noteMemory(of: link)
        // Otherwise the rest of the last turn is scheduled already.
        if isIdle { try takeInbox(link) }
    }

    /// Takes messages for one turn; meanwhile nothing more is read.
    private func takeInbox(_ link: PeerLink) throws(LinkError) {
        let endNs = EventLoop.monotonicNs() &+ Node.peerTurnNs
        defer { if links[link.id] != nil { noteMemory(of: link) } }
        while links[link.id] != nil, let bytes = link.inbox.last {
            guard EventLoop.monotonicNs() < endNs else {
                return takeLater(link, afterMs: 0)
            }
            guard !isIntakeFull(link.id) else {
                link.socket.pauseReading()
                link.isHeldUp = true
                return
            }
            let holdMs = holdMs(bytes, link)
            guard holdMs == 0 else { return takeLater(link, afterMs: holdMs) }
            link.removeNext()
            if takesBeside(bytes, from: link.id) { continue }
            do throws(WireError) {
                if let message = try PeerMessage.decode(bytes) { step(.received(link.id, message)) }
            } catch {
                try? link.send(.notice("\(error)"))
                throw LinkError(.malformed)
            }
        }
    }

    private func takeLater(_ link: PeerLink, afterMs ms: UInt64) {
        link.socket.pauseReading()
        let id = link.id
        if ms == 0 {
            loop.execute { self.assumeIsolated { $0.takeRest(id) } }
        } else {
            loop.schedule(afterMs: ms) { self.assumeIsolated { $0.takeRest(id) } }
        }
    }

    func takeRest(_ id: LinkID) {
        guard let link = links[id] else { return }
        link.socket.resumeReading()
        do throws(LinkError) {
            try takeInbox(link)
        } catch {
            closeLink(id, reason: "\(error)")
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
            if isNeedless(link, peer, payload) {
                link.isSpare = true
                return closeLink(link.id, reason: "a second connection to \(name(of: peer))")
            }
            let isOutdated = session.pskIndex > 0
            link.sealer = consume session.sealer
            link.opener = consume session.opener
            link.initiator = nil
            link.responder = nil
            link.timer?.cancel()
            if !answer.isEmpty { link.socket.send(answer) }
            guard !isOutdated else { return handOver(link, to: peer) }
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
        guard !acquaintances.blocked.contains(peer) else {
            if let dialled = link.dialled { dialer.connected(dialled, node: peer, nonce: claims.instance) }
            link.isSpare = true
            return closeLink(link.id, reason: "\(name(of: peer)) is blocked")
        }
        guard admits(peer, link) else {
            try link.send(.notice(DialFailure.forger))
            return closeLink(link.id, reason: DialFailure.forger)
        }
        guard claims.isCompatible(with: LinkPayload(instance: instance, port: port)) else {
            noteOtherVersion(link, peer, claims)
            try link.send(.notice(DialFailure.noCommonVersion))
            return closeLink(link.id, reason: DialFailure.noCommonVersion)
        }
        guard links.values.count(where: { $0.isUp && $0.peer == peer }) < Node.linksPerNodeMax else {
            return closeLink(link.id, reason: "too many links of \(name(of: peer))")
        }
        otherVersions.forget(peer)
        let now = EventLoop.monotonicMs()
        if let dialled = link.dialled {
            if dialer.candidates[dialled].map({ $0.failures > 0 }) ?? false { dialer.takeNews(nowMs: now) }
            dialer.connected(dialled, node: peer, nonce: claims.instance)
        } else if let source = link.socket.peerAddress, claims.port != 0 {
            if dialer.hasFailed(peer) { dialer.takeNews(nowMs: now) }
            let address = source.with(port: claims.port)
            dialer.offer(
                address, .inbound, node: peer, preference: preference(address), delayMs: Dialer.backOffMsMax, nowMs: now
            )
        }
        if let twin = twin(of: peer, claims.instance) {
            guard link.replaces(twin, own: uid, instance: instance, nowMs: now) else {
                link.isSpare = true
                return closeLink(link.id, reason: "a second connection to \(name(of: peer))")
            }
            link.upMs = now
            closeLink(twin.id, reason: "replaced by a newer connection")
        }
        link.upMs = now
        if let dialled = link.dialled { endRace(wonBy: dialled) }
        logOutside(.info, "connected to \(name(of: peer)) at \(link.socket.peerAddress.map { "\($0)" } ?? "?")")
        updateDiscovery()
        step(.linkUp(link.id, peer: peer, instance: claims.instance))
        personChanged(peer)
        rememberPeers()
        rememberNetworks()
        welcomeBack(peer)
    }

    private func twin(of peer: Bytes32, _ instance: UInt64) -> PeerLink? {
        links.values.first { $0.isUp && $0.peer == peer && $0.instance == instance }
    }

    /// Whether a connection that this node has dialled leads to a program that it is linked to already. It is given up
    /// before the other end hears of it: only who has lost a link opens another, and so the other end lets the new one
    /// take the place of the old.
    private func isNeedless(_ link: PeerLink, _ peer: Bytes32, _ payload: [UInt8]) -> Bool {
        guard let dialled = link.dialled, let claims = LinkPayload(decoding: payload),
            let twin = twin(of: peer, claims.instance), !twin.isYoungAndInbound(nowMs: EventLoop.monotonicMs())
        else { return false }
        dialer.connected(dialled, node: peer, nonce: claims.instance)
        return true
    }

    /// Closes a link from this side; what is queued still goes out, unless it is to end at once.
    func closeLink(_ id: LinkID, reason: String, atOnce: Bool = false) {
        guard let link = links[id] else { return }
        if !atOnce, closing.count < Node.closingMax {
            closing[id] = link.socket
            link.socket.closeAfterFlush(timeoutMs: Node.flushMs)
        } else {
            link.socket.close()
        }
        ended(id, reason: reason)
    }

    /// Links that are given up and still open; each holds a descriptor.
    static let closingMax = 64

    private func ended(_ id: LinkID, reason: String) {
        guard let link = links.removeValue(forKey: id) else { return }
        link.timer?.cancel()
        let now = EventLoop.monotonicMs()
        if let upMs = link.upMs, let peer = link.peer {
            logOutside(.info, "link to \(name(of: peer)) ended: \(reason)")
            step(.linkDown(id))
            let isTwinUp = links.values.contains { $0.isUp && $0.peer == peer && $0.instance == link.instance }
            if link.isDemoted {
                dialer.demoted(peer, nowMs: now)
            } else if let dialled = link.dialled, !isTwinUp, connectedNodes.contains(peer) {
                // The other one of two clones is still there.
                dialFailed(dialled, reason)
            } else if !connectedNodes.contains(peer) {
                dialer.disconnected(peer, lastedMs: now &- upMs, nowMs: now)
                noteRefusal(link)
            } else if let dialled = link.dialled {
                dialer.spare(dialled, nowMs: now)
            }
            updateDiscovery()
            personChanged(peer)
            leaveVerification(link)
        } else {
            let stage = link.isEstablished ? "closed" : "closed before a handshake"
            logOutside(.info, "connection \(describe(link)) \(stage): \(reason)")
            if let dialled = link.dialled {
                if link.isSpare { dialer.spare(dialled, nowMs: now) } else { dialFailed(dialled, reason) }
            }
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
}
