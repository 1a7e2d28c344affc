internal import ControlAPI
internal import Net
internal import Tree

/// One client on the local socket.
final class ControlSession {
    /// Answers waiting for a client that does not read, above which its further requests wait too.
    static let pauseBytes = 1 << 20
    /// Above this a client that is sent events and does not read is dropped.
    static let queueMax = 8 << 20
    /// Room for telling it why.
    private static let farewellBytes = 4096

    let id: Int
    let socket: StreamSocket
    var splitter = LineSplitter()
    var subscriptions: Set<Int> = []
    /// Channels in which this client keeps the typing indicator alive.
    var typing: Set<Key> = []
    private(set) var isClosing = false

    init(id: Int, socket: StreamSocket) {
        self.id = id
        self.socket = socket
        socket.queueMax = ControlSession.queueMax + ControlSession.farewellBytes
    }

    /// Sends a message; false, and nothing is sent, if it is longer than a line may be.
    @discardableResult
    func send(_ message: JSON) -> Bool {
        guard !isClosing else { return true }
        let line = RPCLine.terminated(message)
        guard line.count <= LineSplitter.lineMax + 1 else { return false }
        send(lines: line)
        return true
    }

    /// Sends lines that are encoded already. A client that reads too slowly is told so and dropped.
    func send(lines: [UInt8]) {
        guard !isClosing else { return }
        guard socket.queuedBytes + lines.count <= ControlSession.queueMax else {
            let words = "\(ControlSession.queueMax >> 20) MiB wait for a client that does not read"
            return close(RPCError(reason: .quota, message: words))
        }
        socket.send(lines)
    }

    /// Ends the session with a word about the reason, after what was sent before.
    func close(_ error: RPCError) {
        guard !isClosing else { return }
        isClosing = true
        socket.send(RPCLine.terminated(RPCResponse.failure(id: .null, error)))
        socket.closeAfterFlush()
    }
}
