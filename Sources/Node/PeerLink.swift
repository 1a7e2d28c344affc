internal import Net
internal import Replication
internal import Seal
internal import Wire

/// One connection to another node: its socket, its handshake, and after that its two sealed directions.
///
/// Belongs to the node's actor, like everything that has no lock.
final class PeerLink {
    let id: LinkID
    let socket: StreamSocket
    /// The address that was dialled; nil for an inbound connection.
    let dialled: SocketAddress?
    var initiator: LinkInitiator?
    var responder: LinkResponder?
    var sealer: FrameSealer?
    var opener: FrameOpener?
    var timer: LoopTimer?
    /// Since when it is used: a handshake alone does not make a second connection to one node count.
    var upMs: UInt64?
    /// It was given up for another connection to the same node.
    var isSpare = false
    /// It began with an earlier epoch's key: nothing that comes over it counts.
    var isOutdated = false
    /// One of the two has links enough: its end is no failure.
    var isDemoted = false
    /// Messages that have arrived and are not taken yet; the next one last.
    private(set) var inbox: [[UInt8]] = []
    /// What they take in memory.
    private var inboxBytes = 0
    /// Nothing more is taken from the inbox until bundles have come back from the pool.
    var isHeldUp = false
    /// The shell is to say when everything has left the queue.
    var awaitsDrain = false
    /// Known after the handshake.
    var peer: Bytes32?
    var instance: UInt64 = 0
    var listenPort: UInt16 = 0
    /// What the peer said when it refused something.
    var noticeText: String?

    init(id: LinkID, socket: StreamSocket, dialled: SocketAddress?) {
        self.id = id
        self.socket = socket
        self.dialled = dialled
    }

    /// Bytes that it holds: of a message that is not complete, of those that are not taken, and of what is to be sent.
    var heldBytes: Int { (opener?.pendingBytes ?? 0) + inboxBytes + socket.queuedBytes }

    func append(_ messages: [[UInt8]]) {
        inbox.insert(contentsOf: messages.reversed(), at: 0)
        for message in messages { inboxBytes += message.count + LinkMemory.messageBytes }
    }

    func removeNext() {
        guard let message = inbox.popLast() else { return }
        inboxBytes -= message.count + LinkMemory.messageBytes
    }

    var isEstablished: Bool { sealer != nil }
    var isUp: Bool { upMs != nil }

    /// Whether the node with the smaller key, of two with one key the smaller instance, opened the connection.
    func isSmallers(own: Bytes32, instance ownInstance: UInt64) -> Bool {
        guard let peer else { return false }
        return PeerLinkSide.isSmallers(dialled: dialled != nil, own: (own, ownInstance), peer: (peer, instance))
    }

    /// Two nodes may dial each other at the same time: of two links that were opened so, one by each and the second one
    /// within this time, both keep the one that the smaller key opened. A connection that comes later was opened
    /// because its side has found the first one dead. Several round trips of a bad network.
    static let simultaneousMs: UInt64 = 2_000

    /// Whether it may cross one that this node is opening.
    func isYoungAndInbound(nowMs: UInt64) -> Bool {
        dialled == nil && upMs.map { nowMs < $0 &+ PeerLink.simultaneousMs } ?? false
    }

    /// Whether this link, whose handshake has just ended, takes the place of another to the same program.
    func replaces(_ twin: PeerLink, own: Bytes32, instance ownInstance: UInt64, nowMs: UInt64) -> Bool {
        let isByOneSide = (dialled == nil) == (twin.dialled == nil)
        let isLater = twin.upMs.map { nowMs >= $0 &+ PeerLink.simultaneousMs } ?? true
        return isByOneSide || isLater || isSmallers(own: own, instance: ownInstance)
    }

    func send(_ message: PeerMessage) throws(LinkError) {
        guard let bytes = try sealer?.seal(message.encoded) else { return }
        socket.send(bytes)
    }
}

/// Which side of a connection opened it, as both sides see it alike.
enum PeerLinkSide {
    static func isSmallers(
        dialled: Bool, own: (key: Bytes32, instance: UInt64), peer: (key: Bytes32, instance: UInt64)
    ) -> Bool {
        dialled == (peer.key != own.key ? own.key < peer.key : own.instance < peer.instance)
    }
}
