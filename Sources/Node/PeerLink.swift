internal import Net
internal import Replication
internal import Seal
internal import Wire

/// One connection to another node: its socket, its handshake, and after that its two sealed directions.
///
/// Belongs to the node's actor, like everything that has no lock.
final class PeerLink {
    /// A handshake that takes longer is given up.
    static let handshakeMs: UInt64 = 5000

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
    /// Messages that have arrived and are not taken yet; the next one last.
    var inbox: [[UInt8]] = []
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

    var isEstablished: Bool { sealer != nil }
    var isUp: Bool { upMs != nil }

    /// The key of the node that opened the connection, after the handshake.
    func opener(own: Bytes32) -> Bytes32? { dialled == nil ? peer : own }

    func send(_ message: PeerMessage) throws(LinkError) {
        guard let bytes = try sealer?.seal(message.encoded) else { return }
        socket.send(bytes)
    }
}
