internal import Net
internal import Replication
internal import Wire

/// Clients that are told more than they read.
///
/// A node takes in tens of thousands of messages a second, and a terminal shows fewer. So what comes in bulk, from a
/// peer or another client, waits a little while somebody is behind with reading; otherwise his connection would be
/// closed for what is nobody's fault. Who does not read at all holds things up once, for a moment.
extension Node {
    /// Bytes that wait for a client, above which it is behind: a tenth of what ends its connection.
    static let lagBytes = 800 << 10
    /// So long bulk waits for one that does not catch up. Less than the time after which a silent peer is given up.
    static let lagPatienceMsDefault: UInt64 = 5_000
    /// And then it is looked at again after so long.
    static let lagWaitMs: UInt64 = 5

    /// How long bulk is to wait for clients, in milliseconds; 0 if no client is behind.
    ///
    /// - Parameter besides: a client that does not wait for itself.
    func lagMs(besides: ControlSession? = nil) -> UInt64 {
        let nowMs = EventLoop.monotonicMs()
        var isBehind = false
        for session in sessions.values where session !== besides {
            guard session.socket.queuedBytes > Node.lagBytes else {
                session.behindSinceMs = nil
                continue
            }
            let sinceMs = session.behindSinceMs ?? nowMs
            session.behindSinceMs = sinceMs
            if nowMs &- sinceMs < lagPatienceMs { isBehind = true }
        }
        return isBehind ? Node.lagWaitMs : 0
    }

    /// How long a peer's message has to wait, in milliseconds: for clients, if it is many entries, or for the peer's
    /// quota.
    func holdMs(_ message: [UInt8], _ link: PeerLink) -> UInt64 {
        let quotaMs = UInt64(clamping: replicator.holdMs(link.id, nowMs: EventLoop.monotonicMs()))
        guard message.count > Intake.inlineBytesMax, PeerMessage.isBundles(message) else { return quotaMs }
        return max(quotaMs, lagMs())
    }
}
