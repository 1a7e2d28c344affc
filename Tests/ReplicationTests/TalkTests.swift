import Seal
import Store
import Synchronization
import Testing
import Tree
import Wire

@testable import Replication

/// A peer that asks for everything, or says too much, is in nobody's way.
@Suite struct TalkTests {
    private let workspace = Bytes32(repeating: 7)
    private let author = SigningKey(seed: Bytes32(repeating: 9))
    private let asking = LinkID(1)
    private let other = LinkID(2)
    private static let wallMs: UInt64 = 1_800_000_000_000

    private func moment(_ ms: UInt64) -> Moment {
        Moment(monotonicMs: ms, wallMs: Self.wallMs + ms, isSynchronised: true)
    }

    private func bundle(_ numbers: Range<Int>) throws -> Bundle {
        let entries = try numbers.map { number in
            try Entry(
                path: Path(parsing: "apps/talk/\(number)"), hlc: HLC(ms: Self.wallMs + UInt64(number)),
                author: author.publicKey, value: .integer(Int64(number)))
        }
        return Bundle(signing: entries, by: author, workspace: workspace)
    }

    /// A machine that knows the time, with two links, over a store with so many entries.
    private func machine(_ count: Int, _ store: MemoryStore) throws -> Replicator {
        if count > 0 { _ = try store.commit([bundle(0..<count)], heldAfter: HLC(ms: Self.wallMs * 2)) }
        var machine = Replicator(
            workspace: workspace, key: SigningKey(seed: Bytes32(repeating: 1)), instance: 1,
            clock: ClockEstimate(buildMs: 0), highWater: .zero)
        machine.start(moment(1))
        for (number, link) in [asking, other].enumerated() {
            let peer = SigningKey(seed: Bytes32(repeating: UInt8(10 + number))).publicKey
            _ = try machine.step(moment(1), .linkUp(link, peer: peer, instance: UInt64(number)), store)
            let vitals = Vitals(
                clockMs: Self.wallMs, isSynchronised: true, highWater: .zero, root: DigestPrefix(count: 0, sum: 0))
            _ = try machine.step(moment(2), .received(link, .hello(vitals, peers: [])), store)
        }
        _ = try machine.step(moment(3), .contacted, store)
        return machine
    }

    /// Entries that the first turn of an answer gives to who asks for everything.
    private func given(_ machine: inout Replicator, _ store: MemoryStore, atMs: UInt64) throws -> Int {
        let sift = Sift(range: ReferenceRange(.root), salt: .quick(1), bytesMax: PeerMessage.siftBytesMax, known: [])
        let effects = try machine.step(moment(atMs), .received(asking, .sift(sift)), store)
        return effects.reduce(0) { sum, effect in
            guard case .send(asking, .bundles(let bundles)) = effect else { return sum }
            return sum + bundles.reduce(0) { $0 + $1.leaves.count }
        }
    }

    @Test func whileOthersWriteAnswersComeInSmallPieces() throws {
        let store = MemoryStore()
        var quiet = try machine(2000, store)
        let many = try given(&quiet, store, atMs: 10)
        #expect(many > Replicator.readMax.brief)

        // This node writes.
        var writing = try machine(0, store)
        _ = try writing.step(moment(10), .localCommit([]), store)
        #expect(writing.othersTalk(besides: asking, nowMs: 11))
        let few = try given(&writing, store, atMs: 11)
        #expect(few > 0 && few <= Replicator.readMax.brief)

        // Somebody else does.
        var busy = try machine(0, store)
        _ = try busy.step(moment(10), .received(other, .bundles([bundle(5000..<5001)])), store)
        #expect(busy.othersTalk(besides: asking, nowMs: 11) && !busy.othersTalk(besides: other, nowMs: 11))
        #expect(try given(&busy, store, atMs: 11) <= Replicator.readMax.brief)
        #expect(!busy.othersTalk(besides: asking, nowMs: 10 + Replicator.talkMs))

        // Only who asks does: that is no reason.
        var alone = try machine(0, store)
        _ = try alone.step(moment(10), .received(asking, .bundles([bundle(5000..<5001)])), store)
        #expect(try given(&alone, store, atMs: 11) == many)
    }

    /// Everything arrives all the same, only in more pieces.
    @Test func smallPiecesMakeTheWhole() throws {
        let store = MemoryStore()
        var machine = try machine(2000, store)
        var count = try given(&machine, store, atMs: 10)
        var turns = 1
        while turns < 1000 {
            _ = try machine.step(moment(10), .localCommit([]), store)
            let effects = try machine.step(moment(10), .drained(asking), store)
            var isOver = false
            for case .send(asking, let message) in effects {
                if case .bundles(let bundles) = message { count += bundles.reduce(0) { $0 + $1.leaves.count } }
                if case .sifted = message { isOver = true }
            }
            turns += 1
            if isOver { break }
        }
        #expect(count == 2000 && turns > 10 && turns < 1000)
    }

    @Test func softStateBeyondTheQuotaIsNotVerified() throws {
        var quota = SoftQuota()
        #expect((0..<10_000).count { _ in quota.takes(nowMs: 5) } == Int(SoftQuota.burst))
        #expect((0..<10_000).count { _ in quota.takes(nowMs: 1005) } == Int(SoftQuota.rate))
        #expect((0..<10_000).count { _ in quota.takes(nowMs: 1_000_000) } == Int(SoftQuota.burst))

        let store = MemoryStore()
        var machine = try machine(0, store)
        let counter = Counter()
        machine.verify = { _, _, _ in
            counter.add()
            return false
        }
        let path = try Path(parsing: "presence/\(UID.text(author.publicKey))")
        let record = SoftRecord(
            signing: path, value: .bool(true), hlc: HLC(ms: Self.wallMs), ttlMs: 6000, instance: 1, by: author,
            workspace: workspace)
        let records = [SoftRecord](repeating: record, count: 1024)
        for _ in 0..<5 { _ = try machine.step(moment(10), .received(asking, .soft(records)), store) }
        #expect(counter.count == Int(SoftQuota.burst))
        // The other link has its own.
        _ = try machine.step(moment(10), .received(other, .soft(records)), store)
        #expect(counter.count == Int(SoftQuota.burst) + 1024)
    }

    /// Whoever takes another identity for each link has no burst with each.
    @Test func newcomersShareAQuotaOfSoftState() throws {
        let store = MemoryStore()
        var machine = try machine(0, store)
        let counter = Counter()
        machine.verify = { _, _, _ in
            counter.add()
            return false
        }
        let record = SoftRecord(
            signing: try Path(parsing: "presence/\(UID.text(author.publicKey))"), value: .bool(true),
            hlc: HLC(ms: Self.wallMs), ttlMs: 6000, instance: 1, by: author, workspace: workspace)
        let records = [SoftRecord](repeating: record, count: 1024)
        var told = 0
        for number in 0..<20 {
            let peer = SigningKey(seed: Bytes32(repeating: UInt8(100 + number))).publicKey
            let link = LinkID(100 + number)
            _ = try machine.step(moment(10), .linkUp(link, peer: peer, instance: 7), store)
            for effect in try machine.step(moment(10), .received(link, .soft(records)), store) {
                if case .forged(link, let count) = effect { told += count }
            }
            _ = try machine.step(moment(10), .linkDown(link), store)
        }
        #expect(counter.count == Int(SoftQuota.ofNewcomers.burst) && told == counter.count)
        // Who has been here for a while has a quota that they cannot use up.
        _ = try machine.step(moment(62_000), .received(asking, .soft(records)), store)
        #expect(counter.count == Int(SoftQuota.ofNewcomers.burst) + 1024)
    }

    private final class Counter: Sendable {
        private let number = Mutex(0)
        var count: Int { number.withLock { $0 } }
        func add() { number.withLock { $0 += 1 } }
    }
}
