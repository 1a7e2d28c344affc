internal import ControlAPI
internal import Net
internal import Tree

/// One client on the local socket.
final class ControlSession {
    /// Answers waiting for a client that does not read, above which its further requests wait too.
    static let pauseBytes = 1 << 20
    /// Above this a client that is sent events and does not read is dropped.
    static let queueMax = 8 << 20
    /// Lines are sent together up to about here.
    private static let togetherMax = 16 << 10
    /// Room for telling it why.
    private static let farewellBytes = 4096

    let id: Int
    let socket: StreamSocket
    var splitter = LineSplitter()
    var subscriptions: Set<Int> = []
    /// Channels in which this client keeps the typing indicator alive.
    var typing: Set<Key> = []
    /// What is to be written when it ends.
    var disconnect = DisconnectWrites()
    private(set) var isClosing = false
    /// It has ended its sending side, and is kept until everything is answered.
    var hasEnded = false
    var endTimer: LoopTimer?
    /// What it has sent as one line and is not carried out to the end yet.
    var batch: RunningBatch?
    /// Since when more waits for it than for one who reads along.
    var behindSinceMs: UInt64?
    /// More of its requests are at hand: answers are sent together.
    var holdsAnswers = false
    /// Lines that go out together.
    private var held: [UInt8] = []
    /// Called when it begins to be closed from this side; the client may take its time over reading why.
    var onClosing: (() -> Void)?

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
        guard !isClosing, hasRoom(lines.count) else { return }
        if held.isEmpty, !holdsAnswers { return socket.send(lines) }
        held += lines
        if !holdsAnswers || held.count >= ControlSession.togetherMax { flush() }
    }

    /// Keeps the line of an event for ``flush()``. True if it is the first that is kept.
    func add(_ line: EventLine, _ subscription: Int) -> Bool {
        guard !isClosing, hasRoom(line.count) else { return false }
        let isFirst = held.isEmpty
        line.append(for: subscription, to: &held)
        guard held.count >= ControlSession.togetherMax else { return isFirst }
        flush()
        return false
    }

    /// Sends what was kept.
    func flush() {
        guard !held.isEmpty else { return }
        socket.send(held)
        held.removeAll(keepingCapacity: held.capacity <= 2 * ControlSession.togetherMax)
    }

    /// Whether so many bytes more may wait; if not, the client is dropped.
    private func hasRoom(_ count: Int) -> Bool {
        guard socket.queuedBytes + held.count + count > ControlSession.queueMax else { return true }
        let words = "\(ControlSession.queueMax >> 20) MiB wait for a client that does not read"
        close(RPCError(reason: .quota, message: words))
        return false
    }

    /// Ends the session with a word about the reason, after what was sent before.
    func close(_ error: RPCError) {
        guard !isClosing else { return }
        isClosing = true
        onClosing?()
        flush()
        socket.send(RPCLine.terminated(RPCResponse.failure(id: .null, error)))
        socket.closeAfterFlush()
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
}
