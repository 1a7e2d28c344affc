internal import ControlAPI
internal import Glibc
internal import Net
internal import Tree

extension Node {
    static let sessionsMax = 64
    /// The version of this program.
    public static let version = "0.1.0"

    func listenForClients() throws {
        clientListener = try StreamListener.unix(path: options.home.socketPath, on: loop) { socket in
            self.assumeIsolated { $0.attached(socket) }
        }
    }

    private func attached(_ socket: StreamSocket) {
        guard !isStopping, let credentials = socket.peerCredentials, credentials.uid == geteuid() else {
            log.warning("a client of another user was refused")
            return socket.close()
        }
        nextSession += 1
        let id = nextSession
        let session = ControlSession(id: id, socket: socket)
        guard sessions.count < Node.sessionsMax else {
            logOutside(.warning, "a client was refused: \(Node.sessionsMax) are attached")
            return session.close(
                RPCError(reason: .busy, message: "\(Node.sessionsMax) clients are attached already"))
        }
        sessions[id] = session
        // In a turn of its own: whoever closes a session is in the middle of something.
        session.onClosing = { [loop] in
            loop.execute { self.assumeIsolated { $0.sessions[id].map($0.carryOutDisconnect(of:)) } }
        }
        socket.onReceive = { bytes in self.assumeIsolated { $0.receive(bytes, from: id) } }
        socket.onEnd = { self.assumeIsolated { $0.sendingEnded(id) } }
        socket.onDrained = { self.assumeIsolated { $0.drained(id) } }
        socket.onClose = { reason in self.assumeIsolated { $0.detached(id, "\(reason)") } }
        session.send(
            RPCResponse.notification(
                "hello",
                [
                    "version": .string(Node.version), "api": 1, "workspace": .string(workspace.name),
                    "uid": .string(UID.text(uid)),
                ]))
    }

    private func receive(_ bytes: [UInt8], from id: Int) {
        guard let session = sessions[id], !session.isClosing else { return }
        lastClientMs = EventLoop.monotonicMs()
        if isAway { updateAway() }
        guard session.take(bytes) else { return drop(session, Node.noRequest) }
        serve(session)
    }

    private static let noRequest = RPCError(
        code: .parseError, reason: .parseError, message: "what comes is no JSON-RPC, one message a line")

    /// Tells a client why, and closes its connection.
    private func drop(_ session: ControlSession, _ error: RPCError) {
        logOutside(.warning, "a client was dropped: \(error.message)")
        session.close(error)
    }

    /// Everything that waited for a client has left: if it is behind another time, that is another time.
    private func drained(_ id: Int) {
        sessions[id]?.behindSinceMs = nil
        resume(id)
    }

    private func resume(_ id: Int) {
        guard let session = sessions[id] else { return }
        session.socket.resumeReading()
        serve(session)
    }

    /// Carries out complete lines for one turn, or until the client has too many answers waiting. Meanwhile nothing
    /// more is read from it.
    private func serve(_ session: ControlSession) {
        let endNs = EventLoop.monotonicNs() &+ Node.clientTurnNs
        defer { endServing(session) }
        while !session.isClosing, sessions[session.id] != nil {
            guard session.socket.queuedBytes < ControlSession.pauseBytes else {
                return session.socket.pauseReading()
            }
            guard EventLoop.monotonicNs() < endNs else {
                session.socket.pauseReading()
                let id = session.id
                let lagMs = lagMs(besides: session)
                guard lagMs == 0 else {
                    loop.schedule(afterMs: lagMs) { self.assumeIsolated { $0.resume(id) } }
                    return
                }
                return loop.execute { self.assumeIsolated { $0.resume(id) } }
            }
            guard session.batch == nil else {
                continueBatch(session, untilNs: endNs)
                continue
            }
            do throws(LineError) {
                guard let line = try session.splitter.next() else { return }
                guard !line.isEmpty else { continue }
                let incoming = RPCIncoming(line: line)
                guard session.take(incoming) else {
                    // Whoever writes by hand is helped by what is wrong with the line.
                    guard case .refused(let refusal) = incoming else { return drop(session, Node.noRequest) }
                    return drop(session, refusal.error)
                }
                gather(incoming, session)
                carryOut(incoming, session)
            } catch {
                drop(session, RPCError(code: .invalidRequest, reason: .tooLarge, message: "\(error)"))
            }
        }
    }

    /// What follows from a write waits for the next, if one is at hand; nothing waits for anything else, which may take
    /// long.
    private func gather(_ incoming: RPCIncoming, _ session: ControlSession) {
        var isWrite = false
        if case .single(let request) = incoming {
            isWrite = Node.shortWrites.contains(request.method)
            if !writeGroup.takes(request) { commitTogether(session) }
        } else {
            commitTogether(session)
        }
        isServing = isWrite && session.splitter.pendingCount > 0
        session.holdsAnswers = isServing
        guard !isWrite else { return }
        session.flush()
        sendWaiting()
    }

    private static let shortWrites: Set<String> = ["message.send", "tree.set", "tree.push", "tree.remove"]

    private func endServing(_ session: ControlSession) {
        commitTogether(session)
        isServing = false
        session.holdsAnswers = false
        session.flush()
        sendWaiting()
    }

    private func carryOut(_ incoming: RPCIncoming, _ session: ControlSession) {
        switch incoming {
        case .refused(let refusal): session.send(refusal.response)
        case .single(let request):
            if carryOutTogether(request, session) { return }
            guard let answer = answer(request, session), !session.send(answer) else { return }
            session.send(RPCResponse.failure(id: request.id ?? .null, Node.tooLongAnswer))
        case .batch(let requests): session.batch = RunningBatch(requests)
        }
    }

    /// The answer to a request; nil for a notification, and where the answer comes later.
    func answer(_ request: RPCRequest, _ session: ControlSession) -> JSON? {
        guard !isWithoutEffect(request) else { return nil }
        do {
            guard let result = try call(request, session) else { return nil }
            return request.id.map { RPCResponse.success(id: $0, result) }
        } catch {
            noticeDamage(error)
            return request.id.map { RPCResponse.failure(id: $0, Node.rpcError(error)) }
        }
    }

    private func detached(_ id: Int, _ reason: String) {
        guard let session = sessions.removeValue(forKey: id) else { return }
        session.endTimer?.cancel()
        for subscription in session.subscriptions { subscriptions.remove(subscription) }
        for channel in session.typing { endTyping(channel) }
        carryOutDisconnect(of: session)
        log.debug("client \(id) detached: \(reason)")
        finishIfFlushed()
    }

    /// Carries out a method. Nil means that the answer comes later.
    func call(_ request: RPCRequest, _ session: ControlSession) throws -> JSON? {
        let params = try Fields(request.params)
        if request.method.hasPrefix("tree."), let path = try infoPath(params) {
            return try infoCall(request, params, path, session)
        }
        switch request.method {
        case "tree.get": return try treeGet(params, session, request.id)
        case "tree.set": return try setTyping(params, params["value"], session) ?? treeSet(params)
        case "tree.update": return try treeUpdate(params)
        case "tree.push": return try treePush(params)
        case "tree.remove": return try setTyping(params, nil, session) ?? treeRemove(params)
        case "tree.onDisconnect": return try treeOnDisconnect(params, session)
        case "tree.cancelOnDisconnect": return try treeCancelOnDisconnect(params, session)
        case "tree.transaction": return try treeTransaction(params)
        case "tree.newKey": return try treeNewKey()
        case "tree.history": return try treeHistory(params)
        case "tree.restore": return try treeRestore(params)
        case "tree.observe": return try treeObserve(params, session, request.id)
        case "tree.unobserve": return try treeUnobserve(params, session)
        case "message.send": return try messageSend(params)
        case "message.edit": return try messageEdit(params)
        case "message.delete": return try messageDelete(params)
        case "message.react": return try messageReact(params)
        case "message.list": return try messageList(params)
        case "message.search": return try messageSearch(params, session, request.id)
        case "message.status": return try messageStatus(params, session, request.id)
        case "message.observe": return try messageObserve(params, session, request.id)
        case "message.observeStatus": return try messageObserveStatus(params, session, request.id)
        case "channel.list": return try channelList()
        case "channel.create": return try channelCreate(params)
        case "channel.rename": return try channelRename(params)
        case "channel.topic": return try channelTopic(params)
        case "channel.archive": return try channelArchive(params)
        case "channel.retain": return try channelRetain(params)
        case "channel.observe": return try channelObserve(session, request.id)
        case "read.mark": return try readMark(params)
        case "typing.set": return try typingSet(params, session)
        case "people.list": return ["people": .array(try people().map(\.json))]
        case "people.observe": return try peopleObserve(session, request.id)
        case "people.words", "people.verify", "people.accept", "people.mute", "people.block":
            return try peopleCall(request.method, params)
        case "profile.set": return try profileSet(params)
        case "identity.show": return try identityShow()
        case "identity.new": return try identityNew(params)
        case "node.observe": return try nodeObserve(session, request.id)
        case "node.status": return try status().json
        case "node.peers": return peersAnswer()
        case "node.addPeer": return try addPeerAnswer(params)
        case "node.removePeer": return try removePeerAnswer(params)
        case "node.rescan":
            rescan()
            return [:]
        case "node.verify": return try verifyBegin(request.id, session)
        case "node.diagnose": return diagnoseAnswer()
        case "node.stop": return stopAnswer()
        case let method where method.hasPrefix("workspace."): return try workspaceCall(method, params)
        default: throw RPCError.methodNotFound(request.method)
        }
    }
}
