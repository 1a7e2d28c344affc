internal import Chat
internal import ControlAPI
internal import Net
internal import Replication
internal import Seal
internal import Store
internal import Tree

/// Receipts: how far this user has read a channel, told to the others unless he has switched it off.
extension Node {
    /// A channel's receipt is written at most so often …
    static let receiptMs: UInt64 = 5000
    /// … and so much less often for each node there is, or in a large workspace everybody would hear of nothing else.
    private static let receiptMsOfNode: UInt64 = 500
    /// Channels whose receipts wait; more are written when they are read again.
    private static let receiptsWaitingMax = 1000
    private static let receiptSetting = "receipts"

    var sendsReceipts: Bool { (try? store.setting(Node.receiptSetting)) != Array("off".utf8) }

    func setSendsReceipts(_ isOn: Bool) throws {
        try store.setSetting(Node.receiptSetting, isOn ? nil : Array("off".utf8))
        if !isOn { receipts = [:] }
    }

    /// The user has read everything in a channel.
    func sendReceiptSoon(_ cid: Key) {
        guard sendsReceipts else { return }
        let nowMs = EventLoop.monotonicMs()
        let dueMs = receipts[cid] ?? 0
        guard nowMs < dueMs else {
            receipts[cid] = nil
            return writeReceipt(cid, nowMs)
        }
        guard receiptTimers.count < Node.receiptsWaitingMax, receiptTimers.insert(cid).inserted else { return }
        _ = loop.schedule(afterMs: dueMs - nowMs) {
            self.assumeIsolated { node in
                guard node.receiptTimers.remove(cid) != nil, !node.isStopping, node.sendsReceipts else { return }
                node.writeReceipt(cid, EventLoop.monotonicMs())
            }
        }
    }

    private func writeReceipt(_ cid: Key, _ nowMs: UInt64) {
        guard let messages = ChatPath.messages(cid),
            let place = ChatPath.channel(cid)?.appending("reads", UID.text(uid))
        else { return }
        do {
            guard let last = try lastOfOthers(messages), try metadata(at: place).string != last else { return }
            let nodes = UInt64(replicator.soft.liveAuthors.count)
            if receipts.count >= Node.receiptsWaitingMax { receipts = [:] }
            receipts[cid] = nowMs &+ max(Node.receiptMs, nodes &* Node.receiptMsOfNode)
            try write(at: place, .string(last))
        } catch {
            report(error, "writing a receipt")
        }
    }

    /// Messages that are looked at for one of somebody else: nobody wants a receipt for what he has read of his own.
    private static let lookedAtMax = 50

    private func lastOfOthers(_ messages: Path) throws -> String? {
        var found: String?
        var left = Node.lookedAtMax
        try storedView.children(of: messages, descending: true, limit: Node.messageLimit) { key, value in
            left -= 1
            if value["senderId"].string != UID.text(uid) { found = key.text }
            return found == nil && left > 0
        }
        return found
    }
}
