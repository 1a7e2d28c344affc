internal import CPosix
internal import Glibc
internal import Seal
internal import Synchronization
internal import Tree
internal import Wire

/// A member of the workspace that sends as much of one kind as is taken, from a thread of its own.
///
/// The thread has the least priority: whoever floods has another machine, so its work is not to be in the way here.
final class Flood: Sendable {
    enum Kind: String, CaseIterable {
        case forged, writes, questions, pings, soft, handshakes

        var name: String {
            switch self {
            case .forged: "entries with wrong signatures"
            case .writes: "entries that it may write"
            case .questions: "questions for everything"
            case .pings: "pings"
            case .soft: "signed soft state"
            case .handshakes: "handshakes that do not end"
            }
        }

        /// What is counted.
        var unit: String {
            switch self {
            case .forged, .writes: "entries"
            case .questions: "questions"
            case .pings: "pings"
            case .soft: "records"
            case .handshakes: "handshakes"
            }
        }
    }

    static let workspace = BLAKE2b.hash(Array("starling/workspace/open".utf8))
    static let networkKey = BLAKE2b.hash(Array("starling/network/open".utf8))

    private let kind: Kind
    private let port: UInt16
    private let isOver = Atomic<Bool>(false)
    private let sent = Atomic<Int64>(0)
    private let thread = Mutex<pthread_t?>(nil)

    init(_ kind: Kind, port: UInt16) throws(BenchError) {
        self.kind = kind
        self.port = port
    }

    var sentCount: Int64 { sent.load(ordering: .relaxed) }
    var hasEnded: Bool { isOver.load(ordering: .relaxed) }

    func count(_ number: Int) { sent.wrappingAdd(Int64(number), ordering: .relaxed) }

    func begin() throws(BenchError) {
        var started = pthread_t()
        let flood = unsafe Unmanaged.passRetained(self)
        let error = unsafe pthread_create(
            &started, nil,
            { raw in
                guard let raw = unsafe raw else { return nil }
                unsafe Unmanaged<Flood>.fromOpaque(raw).takeRetainedValue().run()
                return nil
            }, flood.toOpaque())
        guard error == 0 else {
            unsafe flood.release()
            throw .system(doing: "starting a thread", errno: error)
        }
        thread.withLock { $0 = started }
    }

    /// Ends the flood, and its links.
    func end() {
        isOver.store(true, ordering: .relaxed)
        guard
            let running = thread.withLock({ thread in
                defer { thread = nil }
                return thread
            })
        else { return }
        pthread_join(running, nil)
    }

    private func run() {
        // Of this thread alone (setpriority(2), "C library/kernel differences").
        _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 19)
        if kind == .handshakes { return HalfOpenFlood(self, port: port).run() }
        // Whoever is closed comes again as somebody else.
        while !hasEnded {
            do {
                try run(FloodPeer(port: port))
            } catch {
                usleep(10_000)
            }
        }
    }

    private func run(_ peer: FloodPeer) throws {
        switch kind {
        case .forged: try peer.forge(self)
        case .writes: try peer.write(self)
        case .questions: try peer.ask(self)
        case .pings: try peer.ping(self)
        case .soft: try peer.announce(self)
        case .handshakes: return
        }
    }
}

/// Connections that begin a handshake and do not go on.
struct HalfOpenFlood {
    /// Addresses it comes from, each with as many as are let in.
    private static let addresses: UInt8 = 8
    private static let open = 24

    private let flood: Flood
    private let port: UInt16

    init(_ flood: Flood, port: UInt16) {
        self.flood = flood
        self.port = port
    }

    func run() {
        var ring: [FloodSocket] = []
        var number: UInt8 = 0
        while !flood.hasEnded {
            number = (number + 1) % Self.addresses
            if ring.count >= Self.open { ring.removeFirst() }
            do throws(BenchError) {
                let socket = try FloodSocket(port: port, from: 2 + number)
                var initiator = LinkInitiator(
                    psk: LinkKey.psk(networkKey: Flood.networkKey), workspace: Flood.workspace, identity: SigningKey(),
                    payload: LinkPayload(instance: 1, port: 0).encoded)
                guard let first = try? initiator.start() else { return }
                try socket.send(first)
                // An answer is the work that was to be caused; who is over the limit is closed instead.
                if try !socket.receive(waitMs: 100).isEmpty { flood.count(1) }
                ring.append(socket)
            } catch {
                usleep(1000)
            }
        }
    }
}
