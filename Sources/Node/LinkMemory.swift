internal import Net
internal import Replication

/// How much memory links take in all: messages that are not complete or not taken yet, and what waits for peers that do
/// not read.
///
/// Each link has its own bounds, but many of them together would be gigabytes. Every link may hold a share; what all
/// hold beyond their shares has a bound, and when it is passed the link gives way that has been beyond its share for
/// the longest time. A peer that works is beyond it for moments: a message is complete within a second, and is read
/// within another. Whoever keeps memory in order to keep it is always the one who has kept it longest, however little
/// each of his links takes, so he cannot get others closed.
///
/// A value without a clock.
struct LinkMemory {
    /// What every link may hold: a frame, and as much again. With 256 links 32 MiB.
    static let shareBytes = 128 << 10
    /// What all may hold beyond their shares: the longest push that an author makes, to twenty peers that read slowly.
    static let beyondBytesMax = 64 << 20
    /// What a message in a queue takes beside its bytes.
    static let messageBytes = 64

    var beyondBytesMax = LinkMemory.beyondBytesMax

    private struct Use {
        var bytes: Int
        var sinceMs: UInt64
    }

    /// Only of those that are beyond their shares.
    private var uses: [LinkID: Use] = [:]
    /// What all hold beyond their shares, in bytes.
    private(set) var beyondBytes = 0

    var isFull: Bool { beyondBytes > beyondBytesMax }

    /// The link that has been beyond its share for the longest time.
    var longest: LinkID? { uses.min { ($0.value.sinceMs, $0.key) < ($1.value.sinceMs, $1.key) }?.key }

    /// A link holds so many bytes now; 0 when it has ended.
    mutating func note(_ id: LinkID, bytes: Int, nowMs: UInt64) {
        let beyond = max(0, bytes - LinkMemory.shareBytes)
        guard beyond > 0 || !uses.isEmpty else { return }
        beyondBytes += beyond - (uses[id]?.bytes ?? 0)
        uses[id] = beyond > 0 ? Use(bytes: beyond, sinceMs: uses[id]?.sinceMs ?? nowMs) : nil
    }
}

extension Node {
    /// To be called whenever a link may hold more than before, or less.
    func noteMemory(of link: PeerLink) {
        linkMemory.note(link.id, bytes: link.heldBytes, nowMs: EventLoop.monotonicMs())
        if linkMemory.isFull { freeMemory() }
    }

    /// Closes links until the others have room.
    private func freeMemory() {
        let now = EventLoop.monotonicMs()
        // What the kernel has taken meanwhile is not counted yet, and links that are given up go first.
        for link in links.values { linkMemory.note(link.id, bytes: link.heldBytes, nowMs: now) }
        for (id, socket) in closing where linkMemory.isFull && socket.queuedBytes > LinkMemory.shareBytes {
            socket.close()
            linkMemory.note(id, bytes: 0, nowMs: now)
        }
        while linkMemory.isFull, let id = linkMemory.longest {
            linkMemory.note(id, bytes: 0, nowMs: now)
            closeLink(id, reason: Node.tooMuchMemory, atOnce: true)
        }
    }

    static let tooMuchMemory = "others need the memory that it has kept for the longest time"
}
