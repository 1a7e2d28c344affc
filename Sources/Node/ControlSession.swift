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

    /// What the client has shown of itself.
    enum Speech {
        /// Nothing yet.
        case silent
        /// Its first line begins as JSON-RPC does.
        case begun
        /// It has sent a line of JSON.
        case understood
    }

    private(set) var speech = Speech.silent

    init(id: Int, socket: StreamSocket) {
        self.id = id
        self.socket = socket
        socket.queueMax = ControlSession.queueMax
    }

    /// Takes bytes in. False if they are the first and no JSON-RPC begins like this: HTTP, TLS, a binary protocol.
    func take(_ bytes: [UInt8]) -> Bool {
        if speech == .silent, let first = bytes.first(where: { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }) {
            guard first == UInt8(ascii: "{") || first == UInt8(ascii: "[") else { return false }
            speech = .begun
        }
        splitter.append(bytes)
        return true
    }

    /// A line has come. False if it is no JSON, and none before it was: only a client that once knew better may make
    /// mistakes.
    func take(_ incoming: RPCIncoming) -> Bool {
        if case .refused(let refusal) = incoming, refusal.error.code == .parseError { return speech == .understood }
        speech = .understood
        return true
    }

    func send(_ message: JSON) { socket.send(RPCLine.terminated(message)) }
}
