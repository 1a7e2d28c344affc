internal import Store
internal import ControlAPI
internal import Net
internal import Replication
internal import Seal
internal import Tree
internal import Wire

/// A comparison with all peers that a client has asked for.
struct Verification {
    struct Peer {
        var row: VerifyRow?
    }

    var waiting: [(session: Int, id: JSON?)]
    var peers: [LinkID: Peer] = [:]
    let startedMs: UInt64
}

extension Node {
    /// A peer that has not answered by then is reported as it is.
    static let verifyMs: UInt64 = 20_000
    /// Between two tries of one peer: time for what differs to be pulled.
    static let verifyRetryMs: UInt64 = 300

    /// Compares this node's entries with every peer's by sums keyed with both sides' nonces, which nobody can prepare
    /// for. What differs is pulled first.
    func verifyBegin(_ id: JSON?, _ session: ControlSession) throws -> JSON? {
        if let running = verification {
            guard running.waiting.count < Node.sessionsMax else {
                throw RPCError(reason: .busy, message: "a comparison is running; its answer comes soon")
            }
            verification?.waiting.append((session.id, id))
            return nil
        }
        var started = Verification(waiting: [(session.id, id)], startedMs: EventLoop.monotonicMs())
        for link in links.values where link.isUp {
            started.peers[link.id] = Verification.Peer()
        }
        verification = started
        step(.compareNow)
        for link in started.peers.keys.sorted() { askVerify(link) }
        _ = loop.schedule(afterMs: Node.verifyMs) { self.assumeIsolated { $0.finishVerification(force: true) } }
        finishVerification(force: false)
        return nil
    }

    private func askVerify(_ id: LinkID) {
        guard verification?.peers[id]?.row == nil, verification?.peers[id] != nil else { return }
        guard links[id] != nil else {
            verification?.peers[id] = nil
            return finishVerification(force: false)
        }
        step(.verify(id))
    }

    /// What a comparison has found, whoever asked for it.
    func verified(_ id: LinkID, _ outcome: KeyedOutcome) {
        guard let node = links[id]?.peer else { return }
        guard let peer = verification?.peers[id], peer.row == nil else {
            if !outcome.isEqual { logOutside(.info, "the daily comparison with \(name(of: id)) found a difference") }
            return
        }
        let isLate = EventLoop.monotonicMs() &- (verification?.startedMs ?? 0) > Node.verifyMs / 2
        if !outcome.isEqual, !isLate {
            step(.compareNow)
            _ = loop.schedule(afterMs: Node.verifyRetryMs) { self.assumeIsolated { $0.askVerify(id) } }
            return
        }
        do {
            verification?.peers[id]?.row = VerifyRow(
                uid: UID.text(node), name: try displayName(of: node), equal: outcome.isEqual,
                theyLack: Int64(max(0, outcome.ours - outcome.theirs)),
                weLack: Int64(max(0, outcome.theirs - outcome.ours)))
        } catch {
            report(error, "comparing")
        }
        finishVerification(force: false)
    }

    /// A link that has ended answers nothing more. One that has taken its place does.
    func leaveVerification(_ link: PeerLink) {
        guard verification?.peers[link.id]?.row == nil, verification?.peers.removeValue(forKey: link.id) != nil else {
            return
        }
        let twin = links.values.first { $0.isUp && $0.peer == link.peer && $0.instance == link.instance }
        guard let id = twin?.id, verification?.peers[id] == nil else { return finishVerification(force: false) }
        verification?.peers[id] = Verification.Peer()
        // In a turn of its own: the machine has not heard of that link yet.
        loop.execute { self.assumeIsolated { $0.askVerify(id) } }
    }

    private func finishVerification(force: Bool) {
        guard let verification, force || verification.peers.values.allSatisfy({ $0.row != nil }) else { return }
        guard !force || EventLoop.monotonicMs() &- verification.startedMs >= Node.verifyMs - 1 else { return }
        self.verification = nil
        var rows: [JSON] = []
        for (id, peer) in verification.peers.sorted(by: { $0.key < $1.key }) {
            if let row = peer.row {
                rows.append(row.json)
            } else if let node = links[id]?.peer {
                let row = VerifyRow(
                    uid: UID.text(node), name: name(of: node), equal: false, theyLack: nil, weLack: nil)
                rows.append(row.json)
            }
        }
        for (session, id) in verification.waiting {
            if let session = sessions[session] { answer(id, ["peers": .array(rows)], session) }
        }
        closeAnswered()
    }
}
