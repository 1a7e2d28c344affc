internal import ControlAPI
internal import Net
internal import Tree

/// One client on the local socket.
final class ControlSession {
    /// Answers waiting for a client that does not read, above which its further requests wait too.
    static let pauseBytes = 1 << 20
    /// Above this a client that is sent events and does not read is dropped.
    static let queueMax = 8 << 20

    let id: Int
    let socket: StreamSocket
    var splitter = LineSplitter()
    var subscriptions: Set<Int> = []
    /// Channels in which this client keeps the typing indicator alive.
    var typing: Set<Key> = []
    var isClosing = false

    init(id: Int, socket: StreamSocket) {
        self.id = id
        self.socket = socket
        socket.queueMax = ControlSession.queueMax
    }

    func send(_ message: JSON) { socket.send(RPCLine.terminated(message)) }
}
