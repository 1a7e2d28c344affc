internal import CPosix
internal import Glibc
internal import Seal
internal import Tree
internal import Wire

/// A connection to a daemon's peer port.
final class FloodSocket {
    private let descriptor: Int32
    private var chunk = [UInt8](repeating: 0, count: 64 << 10)
    /// What came while something was sent.
    private var pending: [UInt8] = []

    /// - Parameter host: the last byte of the loopback address that it comes from.
    init(port: UInt16, from host: UInt8 = 1) throws(BenchError) {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC, 0)
        guard descriptor >= 0 else { throw .current("socket") }
        let descriptor = descriptor
        let bound = unsafe Self.with(host: host, port: 0) { unsafe bind(descriptor, $0, $1) }
        guard bound == 0, unsafe Self.with(host: 1, port: port, { unsafe connect(descriptor, $0, $1) }) == 0 else {
            throw .current("connecting to port \(port)")
        }
    }

    deinit { close(descriptor) }

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

    /// Sends all of it; takes what comes meanwhile, so that nobody waits for the other.
    func send(_ bytes: [UInt8]) throws(BenchError) {
        var sent = 0
        while sent < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { buffer in
                let rest = unsafe UnsafeRawBufferPointer(rebasing: buffer[sent...])
                return unsafe Glibc.send(descriptor, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
            }
            if count > 0 {
                sent += count
            } else if errno == EAGAIN {
                var entry = pollfd(fd: descriptor, events: Int16(POLLIN | POLLOUT), revents: 0)
                _ = unsafe poll(&entry, 1, 1000)
                if entry.revents & Int16(POLLIN) != 0 { pending += try take() }
            } else {
                throw .current("sending to a peer port")
            }
        }
    }

    /// What is there or comes in time; empty if nothing does.
    ///
    /// - Throws: `BenchError` when the other side has closed.
    func receive(waitMs: Int32) throws(BenchError) -> [UInt8] {
        defer { pending = [] }
        guard pending.isEmpty else { return pending }
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return unsafe poll(&entry, 1, waitMs) > 0 ? try take() : []
    }

    private func take() throws(BenchError) -> [UInt8] {
        let size = chunk.count
        let count = unsafe chunk.withUnsafeMutableBytes { unsafe recv(descriptor, $0.baseAddress, size, 0) }
        guard count > 0 else { throw .unexpected("the peer has closed") }
        return Array(chunk.prefix(count))
    }
}

/// The other side of a link, after a genuine handshake.
final class FloodPeer {
    private let key = SigningKey()
    private let socket: FloodSocket
    private var sealer: FrameSealer?
    private var opener: FrameOpener?

    init(port: UInt16) throws {
        socket = try FloodSocket(port: port)
        var initiator = LinkInitiator(
            psk: LinkKey.psk(networkKey: Flood.networkKey), workspace: Flood.workspace, identity: key,
            payload: LinkPayload(instance: SecureRandom.uint64(), port: 0).encoded)
        try socket.send(initiator.start())
        while true {
            switch try initiator.receive(try socket.receive(waitMs: 5000)) {
            case .needMore: continue
            case .write(let answer): try socket.send(answer)
            case .established(let answer, let session):
                sealer = consume session.sealer
                opener = consume session.opener
                try socket.send(answer)
                try send(.hello(Self.vitals, peers: []))
                return
            }
        }
    }

    private static var nowMs: UInt64 {
        var now = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &now)
        return UInt64(now.tv_sec) * 1000 + UInt64(now.tv_nsec) / 1_000_000
    }

    private static var vitals: Vitals {
        Vitals(clockMs: nowMs, isSynchronised: false, highWater: .zero, root: DigestPrefix(count: 0, sum: 0))
    }

    private func send(_ message: PeerMessage) throws { try send(message.encoded) }

    private func seal(_ bytes: [UInt8]) throws {
        guard let frames = try sealer?.seal(bytes) else { throw BenchError.unexpected("there is no link") }
        try socket.send(frames)
    }

    private func send(_ bytes: [UInt8]) throws {
        try seal(bytes)
        // Taken and thrown away, or the daemon would close the link of one that does not read.
        while try !socket.receive(waitMs: 0).isEmpty {}
    }

    // MARK: The kinds

    private static let bundlesPerMessage = 128
    private static let authors = 64
    private static let forgedMessages = 64
    private static let entriesPerBundle = 64

    /// Entries of other authors under signatures that are genuine and of something else: only verifying tells.
    func forge(_ flood: Flood) throws {
        let authors = (0..<Self.authors).map { _ in SigningKey() }
        let signatures = authors.map { $0.sign(Array("something else".utf8)) }
        let now = Self.nowMs
        var messages: [[UInt8]] = []
        for message in 0..<Self.forgedMessages {
            let bundles = try (0..<Self.bundlesPerMessage).map { number -> Bundle in
                let index = number % Self.authors
                let author = authors[index].publicKey
                let entry = try Entry(
                    path: try Path(parsing: "apps/flood/\(message)x\(number)"),
                    hlc: HLC(ms: now + UInt64(message * Self.bundlesPerMessage + number)), author: author,
                    value: .bool(true))
                return Bundle(
                    author: author, count: 1, signature: signatures[index], leaves: [.init(index: 0, entry: entry)],
                    omitted: [])
            }
            messages.append(PeerMessage.bundles(bundles).encoded)
        }
        var next = 0
        while !flood.hasEnded {
            try send(messages[next])
            flood.count(Self.bundlesPerMessage)
            next = (next + 1) % messages.count
        }
    }

    /// What anybody may write, as fast as it can be signed.
    func write(_ flood: Flood) throws {
        var number = 0
        while !flood.hasEnded {
            let now = Self.nowMs
            let entries = try (0..<Self.entriesPerBundle).map { index in
                try Entry(
                    path: try Path(parsing: "apps/flood/\((number + index) % 5000)"),
                    hlc: HLC(ms: now, counter: UInt64(index)), author: key.publicKey,
                    value: .integer(Int64(number)))
            }
            number += entries.count
            try send(.bundles([Bundle(signing: entries, by: key, workspace: Flood.workspace)]))
            flood.count(entries.count)
        }
    }

    /// So many may be without an answer: with more the link would be closed.
    private static let questionsOpen = 16

    /// For everything that there is, again and again.
    func ask(_ flood: Flood) throws {
        var open = 0
        while !flood.hasEnded {
            while open < Self.questionsOpen {
                let sift = Sift(
                    range: ReferenceRange(.root), salt: .keyed(SecureRandom.bytes32()),
                    bytesMax: PeerMessage.siftBytesMax, known: [])
                try seal(PeerMessage.sift(sift).encoded)
                try seal(PeerMessage.compare(.root, []).encoded)
                open += 1
                flood.count(2)
            }
            for bytes in try opener?.receive(try socket.receive(waitMs: 100)) ?? [] {
                if case .sifted? = try PeerMessage.decode(bytes) { open -= 1 }
            }
        }
    }

    func ping(_ flood: Flood) throws {
        while !flood.hasEnded {
            try send(.ping(Self.vitals))
            flood.count(1)
        }
    }

    private static let recordsPerMessage = 32

    /// Typing in ever other channels, each record signed and newer than the one before.
    func announce(_ flood: Flood) throws {
        let own = UID.text(key.publicKey)
        var number = 0
        while !flood.hasEnded {
            let now = Self.nowMs
            let records = try (0..<Self.recordsPerMessage).map { index in
                SoftRecord(
                    signing: try Path(parsing: "channels/c\(index)/typingIndicator/\(own)"), value: .bool(true),
                    hlc: HLC(ms: now, counter: UInt64(number) & 0xFFFF), ttlMs: 6000, instance: 1, by: key,
                    workspace: Flood.workspace)
            }
            number += 1
            try send(.soft(records))
            flood.count(records.count)
        }
    }
}
