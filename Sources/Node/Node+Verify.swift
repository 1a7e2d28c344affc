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
        var nonce: [UInt8]
        var tries = 0
        var row: VerifyRow?
    }

    var waiting: [(session: Int, id: JSON?)]
    var peers: [LinkID: Peer] = [:]
    let startedMs: UInt64
}

extension Node {
    /// A peer that has not answered by then is reported as it is.
    static let verifyMs: UInt64 = 10_000
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
            started.peers[link.id] = Verification.Peer(nonce: [])
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
        guard let link = links[id] else {
            verification?.peers[id] = nil
            return finishVerification(force: false)
        }
        let nonce = SecureRandom.bytes(PeerMessage.nonceBytes)
        verification?.peers[id]?.nonce = nonce
        verification?.peers[id]?.tries += 1
        try? link.send(.verify(nonce: nonce))
    }

    /// An answer is a scan over all entries. All peers together may take this share of the time with it, as one in so
    /// many.
    static let verifyShare: UInt64 = 5

    /// Notes that a peer asks; of several questions of one peer the last is answered.
    func answerVerify(_ id: LinkID, _ nonce: [UInt8]) {
        guard links[id] != nil else { return }
        verifyQuestions[id] = nonce
        scheduleVerifyAnswer()
    }

    private func scheduleVerifyAnswer() {
        guard verifyTimer == nil, !verifyQuestions.isEmpty, !isStopping else { return }
        let nowMs = EventLoop.monotonicMs()
        let delayMs = verifyNotBeforeMs > nowMs ? verifyNotBeforeMs - nowMs : 0
        verifyTimer = loop.schedule(afterMs: delayMs) { self.assumeIsolated { $0.answerVerifyQuestion() } }
    }

    private func answerVerifyQuestion() {
        verifyTimer = nil
        verifyQuestions = verifyQuestions.filter { links[$0.key] != nil }
        // In turn, so that nobody waits for ever behind one who asks all the time.
        let ids = verifyQuestions.keys.sorted()
        guard !isStopping, let id = ids.first(where: { $0 > verifyAnswered }) ?? ids.first,
            let nonce = verifyQuestions.removeValue(forKey: id)
        else { return }
        verifyAnswered = id
        let startNs = EventLoop.monotonicNs()
        sendVerified(id, nonce)
        let nowNs = EventLoop.monotonicNs()
        verifyNotBeforeMs = (nowNs &+ (nowNs &- startNs) &* (Node.verifyShare - 1)) / 1_000_000
        scheduleVerifyAnswer()
    }

    private func sendVerified(_ id: LinkID, _ nonce: [UInt8]) {
        guard let link = links[id] else { return }
        let own = SecureRandom.bytes(PeerMessage.nonceBytes)
        do {
            let digest = try store.keyedDigest(nonce: nonce + own, of: .root)
            try link.send(.verified(nonce: nonce, answer: own, count: digest.count, sum: digest.sum))
        } catch {
            report(error, "comparing")
        }
    }

    func verified(_ id: LinkID, _ nonce: [UInt8], _ answer: [UInt8], _ theirs: BucketDigest) {
        guard let peer = verification?.peers[id], peer.row == nil, peer.nonce == nonce, let node = links[id]?.peer
        else {
            return
        }
        // One answer for one question: each costs a scan here too.
        verification?.peers[id]?.nonce = []
        do {
            let ours = try store.keyedDigest(nonce: nonce + answer, of: .root)
            let isLate = EventLoop.monotonicMs() &- (verification?.startedMs ?? 0) > Node.verifyMs / 2
            if ours != theirs, !isLate {
                step(.compareNow)
                _ = loop.schedule(afterMs: Node.verifyRetryMs) { self.assumeIsolated { $0.askVerify(id) } }
                return
            }
            verification?.peers[id]?.row = VerifyRow(
                uid: UID.text(node), name: try displayName(of: node), equal: ours == theirs,
                theyLack: Int64(max(0, ours.count - theirs.count)), weLack: Int64(max(0, theirs.count - ours.count)))
        } catch {
            report(error, "comparing")
        }
        finishVerification(force: false)
    }

    /// A link that has ended answers nothing more.
    func leaveVerification(_ id: LinkID) {
        verifyQuestions[id] = nil
        guard verification?.peers[id]?.row == nil, verification?.peers.removeValue(forKey: id) != nil else { return }
        finishVerification(force: false)
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
    }
}
