import Glibc
import Node
import Seal
import Tree
import Wire

/// The other side of a link, after a genuine handshake free to send anything.
final class HostilePeer {
    let key: SigningKey
    /// The node at the other end.
    private(set) var peer: Bytes32 = .zero
    private let socket: RawTCP
    private var sealer: FrameSealer?
    private var opener: FrameOpener?
    private var received: [PeerMessage] = []

    /// Dials and shakes hands.
    ///
    /// - `host`: the last byte of the loopback address that it comes from.
    /// - `beforeLast`: what is done before the last message of the handshake is sent.
    init(
        _ node: TestNode, key: SigningKey = SigningKey(), instance: UInt64 = SecureRandom.uint64(),
        networkKey: Bytes32 = Workspace.open.networkKey, workspace: Bytes32 = Workspace.open.id,
        payload: [UInt8]? = nil, from host: UInt8 = 1, beforeLast: () throws -> Void = {}
    ) throws {
        self.key = key
        socket = try RawTCP(port: node.port, from: host)
        var initiator = LinkInitiator(
            psk: LinkKey.psk(networkKey: networkKey), workspace: workspace, identity: key,
            payload: payload ?? LinkPayload(instance: instance, port: 0).encoded)
        try socket.send(initiator.start())
        while sealer == nil {
            guard let bytes = try socket.receive() else { throw TestFailure("closed during the handshake") }
            let step = try initiator.receive(bytes)
            switch consume step {
            case .needMore: break
            case .write(let answer): try socket.send(answer)
            case .established(let answer, let session):
                peer = session.peerIdentity
                sealer = consume session.sealer
                opener = consume session.opener
                try beforeLast()
                try socket.send(answer)
            }
        }
    }

    /// Dials, shakes hands and says hello, as a peer that has nothing.
    static func greeted(_ node: TestNode, key: SigningKey = SigningKey(), from host: UInt8 = 1) throws -> HostilePeer {
        let peer = try HostilePeer(node, key: key, from: host)
        try peer.send(.hello(HostilePeer.emptyVitals, peers: []))
        _ = try peer.next("hello") { if case .hello = $0 { true } else { false } }
        return peer
    }

    /// Of a node that has nothing and whose clock is right.
    static var emptyVitals: Vitals {
        Vitals(
            clockMs: nowMs, isSynchronised: false, highWater: .zero, root: DigestPrefix(count: 0, sum: 0))
    }

    static var nowMs: UInt64 {
        var now = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &now)
        return UInt64(now.tv_sec) * 1000 + UInt64(now.tv_nsec) / 1_000_000
    }

    func send(_ message: PeerMessage) throws { try send(plaintext: message.encoded) }

    /// Seals any bytes as a message.
    func send(plaintext bytes: [UInt8]) throws {
        guard let frames = try sealer?.seal(bytes) else { throw TestFailure("no link") }
        try socket.send(frames)
    }

    /// A message as it goes over the link, to be sent in whatever pieces.
    func sealed(_ message: PeerMessage) throws -> [UInt8] {
        guard let frames = try sealer?.seal(message.encoded) else { throw TestFailure("no link") }
        return frames
    }

    /// Sends bytes as they are.
    func send(raw bytes: [UInt8]) throws { try socket.send(bytes) }

    /// Sends all frames of a message but the last, so that it stays unfinished.
    func send(partOf bytes: [UInt8]) throws {
        guard let frames = try sealer?.seal(bytes) else { throw TestFailure("no link") }
        var last = 0
        var next = 0
        while next + 2 <= frames.count {
            last = next
            next += 2 + (Int(frames[next]) << 8 | Int(frames[next + 1]))
        }
        try socket.send(Array(frames[..<last]))
    }

    /// The next message that fits; those before it are dropped.
    @discardableResult
    func next(
        _ what: String, timeoutMs: UInt64 = LineClient.timeoutMs, where fits: (PeerMessage) -> Bool
    ) throws -> PeerMessage {
        let deadline = Deadline(afterMs: timeoutMs)
        while true {
            while !received.isEmpty {
                let message = received.removeFirst()
                if fits(message) { return message }
            }
            guard let bytes = try socket.receive(deadline) else { throw TestFailure("closed before \(what)") }
            for message in try opener?.receive(bytes) ?? [] {
                if let message = try PeerMessage.decode(message) { received.append(message) }
            }
        }
    }

    /// Waits for the node to close the link.
    func waitForClose() throws {
        let deadline = Deadline(afterMs: LineClient.timeoutMs)
        while try socket.receive(deadline) != nil {}
    }

    /// Sends a ping and waits for its answer: everything sent before has been looked at then.
    func synchronise(_ vitals: Vitals = HostilePeer.emptyVitals) throws {
        try send(.ping(vitals))
        try next("pong") { if case .pong = $0 { true } else { false } }
    }

    func close() { socket.close() }
}

/// A TCP connection to this machine, without any protocol.
final class RawTCP {
    private let descriptor: Int32

    /// - Parameter host: the last byte of the loopback address that it comes from.
    init(port: UInt16, from host: UInt8 = 1) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        let descriptor = descriptor
        var result = unsafe RawTCP.with(host: host, port: 0) { unsafe bind(descriptor, $0, $1) }
        if result == 0 { result = unsafe RawTCP.with(host: 1, port: port) { unsafe connect(descriptor, $0, $1) } }
        guard descriptor >= 0, result == 0 else { throw TestFailure("cannot connect to port \(port): \(errno)") }
        var one: Int32 = 1
        _ = unsafe setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, 4)
    }

    private static func with(
        host: UInt8, port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = (0x7F00_0000 | UInt32(host)).bigEndian
        return unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }

    deinit { _ = Glibc.close(descriptor) }

    func close() { shutdown(descriptor, Int32(SHUT_RDWR)) }

    func send(_ bytes: [UInt8], _ deadline: Deadline = Deadline(afterMs: LineClient.timeoutMs)) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes {
                unsafe Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
            }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno == EAGAIN {
                try deadline.wait(for: POLLOUT, on: descriptor, "sending to a peer port")
            } else {
                throw TestFailure("cannot send: \(errno)")
            }
        }
    }

    /// Sends as much as is taken; whether the connection is still open does not matter.
    func trySend(_ bytes: [UInt8]) { try? send(bytes, Deadline(afterMs: 2000)) }

    /// Whether the other side keeps it open for so long, and says nothing.
    func isOpen(forMs timeoutMs: Int32) -> Bool {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return unsafe poll(&entry, 1, timeoutMs) == 0
    }

    /// What arrives; nil when the other side has closed.
    func receive(_ deadline: Deadline = Deadline(afterMs: LineClient.timeoutMs)) throws -> [UInt8]? {
        try deadline.wait(for: POLLIN, on: descriptor, "waiting for a peer")
        var chunk = [UInt8](repeating: 0, count: 256 << 10)
        let count = unsafe chunk.withUnsafeMutableBytes { unsafe recv(descriptor, $0.baseAddress, $0.count, 0) }
        return count > 0 ? Array(chunk.prefix(count)) : nil
    }
}
