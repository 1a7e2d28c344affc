internal import Chat
internal import ControlAPI
internal import Net
internal import Replication
internal import Seal
internal import Store
internal import Tree

/// A request for a message's status that waits until its peers have said what they hold.
struct WaitingStatus {
    let session: Int
    let id: JSON?
    let path: Path
    let untilMs: UInt64
}

/// How far messages have come, from what replication knows anyway.
extension Node {
    /// People who are named in one answer.
    static let statusPeopleMax = 100
    /// Receipts of one channel that are looked at.
    static let receiptsMax = 1000
    /// How long an answer waits for the roots of connected peers.
    private static let statusWaitMs: UInt64 = 400
    private static let statusWaitsMax = 64

    /// `message.status`: at once if every connected node is known to hold the message, otherwise when they have said
    /// their roots, or a moment later without.
    func messageStatus(_ params: Fields, _ session: ControlSession, _ id: JSON?) throws -> JSON? {
        let path = try message(try params.string("key"))
        if try isHeldByAll(path) { return try statusRow(path).json }
        guard statusWaits.count < Node.statusWaitsMax else { return try statusRow(path).json }
        let untilMs = EventLoop.monotonicMs() &+ Node.statusWaitMs
        statusWaits.append(WaitingStatus(session: session.id, id: id, path: path, untilMs: untilMs))
        step(.askRoots)
        _ = loop.schedule(afterMs: Node.statusWaitMs + 1) { self.assumeIsolated { $0.answerStatus() } }
        return nil
    }

    /// Answers those whose message is known to have arrived everywhere, or who have waited long enough.
    func answerStatus() {
        guard !statusWaits.isEmpty else { return }
        let nowMs = EventLoop.monotonicMs()
        let waits = statusWaits
        statusWaits = []
        for wait in waits {
            guard let session = sessions[wait.session] else { continue }
            do {
                guard try nowMs >= wait.untilMs || isHeldByAll(wait.path) else {
                    statusWaits.append(wait)
                    continue
                }
                answer(wait.id, try statusRow(wait.path).json, session)
            } catch {
                if let id = wait.id { session.send(RPCResponse.failure(id: id, Node.rpcError(error))) }
            }
        }
        closeAnswered()
    }

    /// A message's author, by the entry that stands at its path.
    private func author(ofMessage path: Path) throws -> Bytes32? { try store.entry(at: PathKey(path))?.author }

    /// The number of the last change that the message's author has made to it.
    private func change(_ path: Path) throws -> Int64 {
        guard let author = try author(ofMessage: path) else { return 0 }
        return try store.lastChange(at: path, by: author)
    }

    private func isHeldByAll(_ path: Path) throws -> Bool {
        let change = try change(path)
        return links.values.allSatisfy { link in
            guard link.isUp, let peer = link.peer else { return true }
            return replicator.held.mark(of: peer) >= change
        }
    }

    private func statusRow(_ path: Path) throws -> MessageStatusRow {
        var holders = Set(replicator.held.holders(of: try change(path)))
        if let author = try author(ofMessage: path) { holders.insert(author) }
        holders.remove(uid)
        let readers = try readers(path)
        // Who has read it has it.
        holders.formUnion(readers)
        func people(_ uids: some Sequence<Bytes32>) throws -> [MessageStatusRow.Person] {
            try uids.prefix(Node.statusPeopleMax).map { uid in
                MessageStatusRow.Person(uid: UID.text(uid), name: try displayName(of: uid))
            }
        }
        return MessageStatusRow(
            key: path.last?.text ?? "", channel: path.keys[1].text,
            state: !readers.isEmpty ? .read : holders.isEmpty ? .queued : .held, heldBy: Int64(holders.count),
            deliveredTo: try people(holders.sorted()), readBy: try people(readers))
    }

    /// Who has read up to a message or further, as the receipts say.
    private func readers(_ path: Path) throws -> [Bytes32] {
        guard let key = path.last, let receipts = path.prefix(2).appending("reads") else { return [] }
        let order = AutoID.order(of: key.text)
        return try storedView.childKeys(of: receipts, limit: Node.receiptsMax).compactMap { reader in
            guard let uid = UID.parse(reader.text), uid != self.uid, let place = receipts.appending(reader),
                let mid = try metadata(at: place).string, AutoID.order(of: mid) >= order
            else { return nil }
            return uid
        }
    }

    // MARK: What is remembered

    private static let heldSetting = "held"
    /// Marks are written this often at most.
    private static let heldWriteMs: UInt64 = 60_000

    func recallHeld() {
        guard let bytes = try? store.setting(Node.heldSetting) else { return }
        replicator.held = HeldMarks(restoring: bytes, lastChange: store.lastChange)
    }

    /// The changes of a new database are numbered anew: what a mark counts is no longer there.
    func forgetHeld() {
        replicator.held = HeldMarks()
        (heldWritten.version, progressVersion) = (replicator.held.version, replicator.held.version)
    }

    /// - `isLast`: the node stops.
    func rememberHeld(isLast: Bool = false) {
        let nowMs = EventLoop.monotonicMs()
        guard replicator.held.version != heldWritten.version, isLast || nowMs >= heldWritten.atMs &+ Node.heldWriteMs
        else {
            return
        }
        heldWritten = (replicator.held.version, nowMs)
        do {
            try store.setSetting(Node.heldSetting, replicator.held.bytes)
        } catch {
            report(error, "remembering who holds what")
        }
    }
}
