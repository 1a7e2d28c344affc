internal import Chat
internal import ControlAPI
internal import Net
internal import Replication
internal import Seal
internal import Store
internal import Tree

/// How far this user's messages in a channel have come, as a client that shows it was told last.
struct MessageProgress {
    let channel: Key
    /// His youngest message that another node has held; nil if none is known.
    var held: String?
    /// Where the furthest receipt of somebody else stands.
    var read: String?
    /// He has written something since what was held last.
    var isPending = false
}

/// One event tells of all messages before it, so what clients are told does not grow with messages: who has held one of
/// this node's messages has held those before it.
extension Node {
    /// Messages that are looked at for one's own: as many as anybody has on the screen.
    private static let progressLookedAtMax = 50
    /// One peer is asked for its root so long after a message; then after twice as long, until one is known to hold it.
    private static let progressAskMs: UInt64 = 500
    private static let progressAskMsMax: UInt64 = 32_000

    /// `message.observeStatus`: an event now and whenever messages of one's own have come further.
    func messageObserveStatus(_ params: Fields, _ session: ControlSession, _ id: JSON?) throws -> JSON? {
        let cid = try resolveChannel(try params.string("in")).key
        var progress = MessageProgress(channel: cid)
        try advance(&progress)
        progress.read = try furthestReceipt(cid)
        let begun = progress
        try subscribe(session, .progress(begun), id) { number in [Node.progressEvent(number, begun)] }
        askForProgressSoon()
        return nil
    }

    private static func progressEvent(_ number: Int, _ progress: MessageProgress) -> JSON {
        var params: JSONObject = [
            "subscription": .int(Int64(number)), "event": "status", "in": .string(progress.channel.text),
        ]
        params.append("held", ifPresent: progress.held.map(JSON.string))
        params.append("read", ifPresent: progress.read.map(JSON.string))
        return RPCResponse.notification("event", .object(params))
    }

    /// Another node is known to hold more than before.
    func progressIfHeldChanged() {
        guard !subscriptions.progress.isEmpty, replicator.held.version != progressVersion else { return }
        progressVersion = replicator.held.version
        tellProgress { _ in nil }
    }

    /// Entries of these paths became live.
    func progressChanged(_ changed: [Path]) {
        guard !subscriptions.progress.isEmpty else { return }
        var receipts: [Key: String] = [:]
        var hasWritten = false
        for path in changed where path.depth == 4 && path.keys[0].text == "channels" {
            let (cid, place, last) = (path.keys[1], path.keys[2].text, path.keys[3].text)
            if place == "messages" { hasWritten = hasWritten || AutoID(last)?.isCertified(by: uid) == true }
            guard place == "reads", last != UID.text(uid), let mid = try? metadata(at: path).string else { continue }
            receipts[cid] = Node.later(receipts[cid], mid)
        }
        if !receipts.isEmpty || hasWritten { tellProgress { receipts[$0] } }
        if hasWritten { askForProgressSoon() }
    }

    private func tellProgress(_ receipt: (Key) -> String?) {
        for number in subscriptions.progress.sorted() {
            guard let subscription = subscriptions[number], case .progress(var progress) = subscription.kind,
                let session = sessions[subscription.session]
            else { continue }
            let before = progress
            do {
                try advance(&progress)
            } catch {
                endSubscription(number, session, error)
                continue
            }
            progress.read = Node.later(progress.read, receipt(progress.channel))
            subscriptions.update(number, .progress(progress))
            guard progress.held != before.held || progress.read != before.read else { continue }
            session.send(Node.progressEvent(number, progress))
        }
    }

    /// Looks from the youngest message back to one that another node has held.
    private func advance(_ progress: inout MessageProgress) throws {
        guard let messages = ChatPath.messages(progress.channel) else { return }
        let (known, uid) = (progress.held, uid)
        var own: [Key] = []
        var left = Node.progressLookedAtMax
        try storedView.children(of: messages, descending: true, limit: Node.messageLimit) { key, _ in
            left -= 1
            if let known, Node.later(known, key.text) == known { return false }
            if AutoID(key.text)?.isCertified(by: uid) == true { own.append(key) }
            return left > 0
        }
        progress.isPending = !own.isEmpty
        for (index, key) in own.enumerated() {
            guard let path = messages.appending(key),
                replicator.held.isHeld(try store.lastChange(at: path, by: uid), besides: uid)
            else { continue }
            progress.held = key.text
            progress.isPending = index > 0
            return
        }
    }

    /// Of two keys the one that sorts behind the other.
    private static func later(_ a: String?, _ b: String?) -> String? {
        guard let a, let b else { return a ?? b }
        return AutoID.order(of: a) < AutoID.order(of: b) ? b : a
    }

    private func furthestReceipt(_ cid: Key) throws -> String? {
        guard let receipts = ChatPath.channel(cid)?.appending("reads") else { return nil }
        var last: String?
        for reader in try storedView.childKeys(of: receipts, limit: Node.receiptsMax) {
            guard reader.text != UID.text(uid), let place = receipts.appending(reader) else { continue }
            last = Node.later(last, try metadata(at: place).string)
        }
        return last
    }

    // MARK: Asking

    /// Roots come with every PING anyway, but not at once, and somebody waits for the mark.
    private func askForProgressSoon() {
        progressAskMs = Node.progressAskMs
        let dueMs = EventLoop.monotonicMs() &+ progressAskMs
        if let timer = progressTimer {
            guard dueMs < timer.atMs else { return }
            timer.timer.cancel()
        }
        askForProgress(atMs: dueMs)
    }

    private func askForProgress(atMs: UInt64) {
        let nowMs = EventLoop.monotonicMs()
        let timer = loop.schedule(afterMs: atMs > nowMs ? atMs - nowMs : 0) {
            self.assumeIsolated { node in
                node.progressTimer = nil
                node.askForProgress()
            }
        }
        progressTimer = (timer, atMs)
    }

    private func askForProgress() {
        let waits = subscriptions.progress.contains { number in
            guard case .progress(let progress)? = subscriptions[number]?.kind else { return false }
            return progress.isPending
        }
        guard waits, !isStopping else { return }
        step(.askRoot)
        progressAskMs = min(2 * progressAskMs, Node.progressAskMsMax)
        askForProgress(atMs: EventLoop.monotonicMs() &+ progressAskMs)
    }
}
