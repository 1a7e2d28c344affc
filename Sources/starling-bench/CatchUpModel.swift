internal import Replication
internal import Seal
internal import Store
internal import Tree
internal import Wire

/// Two nodes' machines over their databases, and a link between them on virtual time: what is counted here does not
/// depend on how fast this machine is.
final class CatchUpModel {
    /// A link on which what is under way takes many times a round trip, so that waiting shows.
    private static let roundTripUs: Int64 = 10_000
    private static let bytesPerMs: Int64 = 12_500
    /// Bytes that sealing adds to each frame of 64 KiB.
    private static let frameBytes = 19
    private static let frameMax = 65_517
    private static let link = LinkID(1)
    private static let endUs: Int64 = 600_000_000

    private enum Event {
        case deliver([UInt8])
        case drained
        case tick
    }

    private struct Side {
        let store: DatabaseStore
        let key: SigningKey
        var replicator: Replicator
        var lineFreeUs: Int64 = 0
        var sentBytes: Int64 = 0
        var bundleBytes: Int64 = 0
        var comparingBytes: Int64 = 0
    }

    struct Outcome {
        var bytes: Int64 = 0
        /// Bytes of the messages with entries.
        var payload: Int64 = 0
        /// Bytes of the messages that compare what there is; the rest of them is about the network.
        var comparing: Int64 = 0
        /// Round trips in which the link from the one who has the entries was idle.
        var roundTrips = 0.0
        var overhead: Int64 { bytes - payload }
    }

    private var sides: [Side]
    private var queue: [(atUs: Int64, order: Int, side: Int, event: Event)] = []
    private var order = 0
    private var nowUs: Int64 = 0
    private let wallMs: UInt64

    /// - Parameter wallMs: the time of both nodes, milliseconds since 1970.
    init(_ a: DatabaseStore, _ b: DatabaseStore, wallMs: UInt64) throws {
        self.wallMs = wallMs
        sides = []
        for (index, store) in [a, b].enumerated() {
            let key = SigningKey(seed: Bytes32(repeating: UInt8(truncatingIfNeeded: 201 + index)))
            var replicator = Replicator(
                workspace: CatchUpData.workspace, key: key, instance: UInt64(index), clock: ClockEstimate(buildMs: 0),
                highWater: try store.greatestHLC(notAfter: HLC(ms: HLC.msMax)))
            replicator.start(Moment(monotonicMs: 1, wallMs: wallMs, isSynchronised: true))
            sides.append(Side(store: store, key: key, replicator: replicator))
        }
    }

    private var moment: Moment {
        let ms = UInt64(clamping: nowUs / 1000)
        return Moment(monotonicMs: 1 + ms, wallMs: wallMs + ms, isSynchronised: true)
    }

    /// Connects the two and lets time pass until they are equal.
    func run() throws -> Outcome {
        try feed(0, .focus([CatchUpData.generalMessages()]))
        for side in [0, 1] {
            try feed(side, .linkUp(Self.link, peer: sides[1 - side].key.publicKey, instance: UInt64(1 - side)))
        }
        var isEqual = try self.isEqual
        let wasEqual = isEqual
        while !queue.isEmpty, nowUs < Self.endUs, !isEqual || wasEqual && nowUs <= Self.roundTripUs {
            let next = queue.removeFirst()
            if wasEqual, next.atUs > Self.roundTripUs { break }
            nowUs = max(nowUs, next.atUs)
            switch next.event {
            case .tick: try feed(next.side, .tick)
            case .drained: try feed(next.side, .drained(Self.link))
            case .deliver(let bytes):
                if let message = try PeerMessage.decode(bytes) {
                    try feed(next.side, .received(Self.link, message))
                    if case .bundles = message { isEqual = try self.isEqual }
                }
            }
        }
        guard isEqual else {
            let counts = try sides.map { try $0.store.digest(of: .root).count }
            throw BenchError.unexpected(
                "two machines did not become equal within \(nowUs / 1000) ms: \(counts[0]) and \(counts[1]) entries")
        }
        let bytes = sides[0].sentBytes + sides[1].sentBytes
        let payload = sides[0].bundleBytes + sides[1].bundleBytes
        let idleUs = nowUs - sides[1].sentBytes * 1000 / Self.bytesPerMs
        let comparing = sides[0].comparingBytes + sides[1].comparingBytes
        return Outcome(
            bytes: bytes, payload: payload, comparing: comparing,
            roundTrips: Double(idleUs) / Double(Self.roundTripUs))
    }

    private var isEqual: Bool {
        get throws { try sides[0].store.digest(of: .root) == sides[1].store.digest(of: .root) }
    }

    private func feed(_ side: Int, _ event: Replicator.Event) throws {
        var events = [event]
        while !events.isEmpty {
            let effects = try sides[side].replicator.step(moment, events.removeFirst(), sides[side].store)
            for effect in effects {
                switch effect {
                case .send(_, let message): send(message, from: side)
                case .commit(let link, let bundles):
                    let outcome = Admission.judge(bundles, workspace: CatchUpData.workspace)
                    let result = try sides[side].store.commit(outcome.admitted, heldAfter: HLC(ms: HLC.msMax))
                    events.append(
                        .committed(
                            link, admitted: outcome.admitted, result: result, denied: outcome.denied,
                            unsigned: outcome.unsigned))
                case .contact: events.append(.contacted)
                case .awaitDrain: schedule(.drained, side, max(nowUs, sides[side].lineFreeUs))
                case .close(_, let reason): throw BenchError.unexpected("a machine gave up its link: \(reason)")
                default: break
                }
            }
        }
        if let deadline = sides[side].replicator.nextDeadlineMs {
            schedule(.tick, side, max(nowUs + 1000, Int64(clamping: deadline) * 1000))
        }
    }

    private func send(_ message: PeerMessage, from side: Int) {
        let bytes = message.encoded
        let size = Int64(bytes.count + (bytes.count / Self.frameMax + 1) * Self.frameBytes)
        sides[side].sentBytes += size
        switch message {
        case .bundles: sides[side].bundleBytes += size
        case .hello, .ping, .pong, .compare, .differ, .sift, .sifted, .want, .gone: sides[side].comparingBytes += size
        default: break
        }
        sides[side].lineFreeUs = max(nowUs, sides[side].lineFreeUs) + size * 1000 / Self.bytesPerMs
        schedule(.deliver(bytes), 1 - side, sides[side].lineFreeUs + Self.roundTripUs / 2)
    }

    private func schedule(_ event: Event, _ side: Int, _ atUs: Int64) {
        order += 1
        if case .tick = event { queue.removeAll { if case .tick = $0.event { $0.side == side } else { false } } }
        let index = queue.firstIndex { ($0.atUs, $0.order) > (atUs, order) } ?? queue.count
        queue.insert((atUs, order, side, event), at: index)
    }
}
