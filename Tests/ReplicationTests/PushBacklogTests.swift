import Seal
import Store
import Testing
import Tree
import Wire

@testable import Replication

/// Who writes faster than a peer takes it.
@Suite struct PushBacklogTests {
    private static let text = String(repeating: "x", count: 1000)

    private func entries(_ numbers: Range<Int>, _ author: Bytes32) throws -> [Entry] {
        try numbers.map { number in
            try Entry(
                path: Path(parsing: "apps/burst/\(number)"), hlc: HLC(ms: MachineMesh.wallMs + UInt64(number)),
                author: author, value: .string(Self.text))
        }
    }

    private func mesh() throws -> MachineMesh {
        let mesh = MachineMesh([MemoryStore(), MemoryStore()])
        try mesh.connect(1)
        try mesh.run()
        return mesh
    }

    /// What was sent for a comparison.
    private func questions(_ mesh: MachineMesh, from node: Int? = nil) -> Int {
        mesh.said.count { said in
            guard node == nil || said.from == node else { return false }
            return switch said.message {
            case .compare, .sift, .want, .tail, .have: true
            default: false
            }
        }
    }

    /// Nothing leaves the queue while a thousand are written; then all of it comes once, in order, and nothing was
    /// compared or asked for.
    @Test func theRestWaitsInTheStoreAndComesInOrder() throws {
        let mesh = try mesh()
        let count = 3000
        for start in stride(from: 0, to: count, by: 50) {
            try mesh.write(0) { try entries(start..<(start + 50), $0) }
        }
        let atOnce = mesh.entries(to: 1).count
        #expect(atOnce >= PushBacklog.bytesMax / 1100 && atOnce < count / 3, "\(atOnce)")
        try mesh.run()
        let sent = mesh.entries(to: 1).map(\.hlc.ms)
        let isInOrder = sent == (0..<count).map { MachineMesh.wallMs + UInt64($0) }
        #expect(isInOrder && mesh.isEqual && questions(mesh) == 0)
        // And from then on things are pushed as they are written.
        try mesh.write(0) { try entries(count..<(count + 1), $0) }
        #expect(mesh.entries(to: 1).count == count + 1)
    }

    /// What somebody else has written between is not pushed for him, and does not hold up what waits.
    @Test func onlyOwnEntriesArePushedFromTheStore() throws {
        let mesh = try mesh()
        let other = SigningKey(seed: Bytes32(repeating: 50))
        for start in stride(from: 0, to: 2000, by: 100) {
            try mesh.write(0) { try entries(start..<(start + 50), $0) }
            let theirs = try entries((start + 50)..<(start + 100), other.publicKey)
            let bundle = Bundle(signing: theirs, by: other, workspace: MachineMesh.workspace)
            _ = try mesh.stores[0].commit([bundle], heldAfter: HLC(ms: HLC.msMax))
        }
        try mesh.run()
        // What the other has written comes when roots are compared, after the rest.
        let sent = mesh.entries(to: 1)
        let own = sent.prefix { $0.author != other.publicKey }.map(\.hlc)
        let isInOrder = own == own.sorted() && Set(own).count == own.count
        #expect(own.count == 1000 && isInOrder)
        try mesh.pass(ms: 60_000, step: 100)
        #expect(mesh.isEqual)
    }

    /// A peer that never takes anything costs its place only, and a peer that comes back gets the rest by comparing.
    @Test func aLinkThatEndsLosesNothing() throws {
        let mesh = try mesh()
        for start in stride(from: 0, to: 3000, by: 50) {
            try mesh.write(0) { try entries(start..<(start + 50), $0) }
        }
        try mesh.run(5)
        try mesh.cut(1)
        try mesh.run()
        #expect(!mesh.isEqual)
        try mesh.connect(1)
        try mesh.run()
        try mesh.pass(ms: 60_000, step: 100)
        #expect(mesh.isEqual)
    }

    /// Whoever is pushed to without end compares all the same after a while: something older may be missing.
    @Test func patienceEnds() throws {
        let mesh = try mesh()
        mesh.limitPushes(to: 1, burst: 20, rate: 10)
        let missed = SigningKey(seed: Bytes32(repeating: 51))
        _ = try mesh.stores[0].commit(
            [Bundle(signing: try entries(0..<1, missed.publicKey), by: missed, workspace: MachineMesh.workspace)],
            heldAfter: HLC(ms: HLC.msMax))
        var number = 10
        var waitedMs: UInt64 = 0
        let reference = try entries(0..<1, missed.publicKey)[0].reference
        while !mesh.stores[1].contains(reference) {
            try mesh.write(0) { try entries(number..<(number + 20), $0) }
            number += 20
            try mesh.pass(ms: 200, step: 100)
            waitedMs += 200
            try #require(waitedMs < 120_000)
        }
        #expect(waitedMs > PushBacklog.patienceMs / 2, "\(waitedMs)")
    }

    /// Each burst comes in order, the later ones too: patience begins anew with it, long after the one before.
    @Test(arguments: [0, 1]) func theNextBurstFindsTheSamePatience(writer: Int) throws {
        let mesh = try mesh()
        mesh.limitPushes(to: 1 - writer, burst: 1000, rate: 100)
        var number = 0
        func write(_ meanwhile: () throws -> Void = {}) throws {
            try mesh.write(writer, { try entries(number..<(number + 50), $0) }, meanwhile: meanwhile)
            number += 50
            try mesh.run()
        }
        for burst in 0..<3 {
            for _ in 0..<20 { try write() }
            try mesh.pass(ms: 600, step: 100)
            var isAsked = false
            // The root is a little faster than what has made it another one.
            try write {
                let before = mesh.said.count
                try mesh.feed(1 - writer, .askRoots)
                isAsked = mesh.said.count > before
                try mesh.run()
            }
            #expect(isAsked && mesh.isEqual, "burst \(burst)")
            #expect(questions(mesh, from: 1 - writer) == 0, "burst \(burst)")
            // Long enough for its patience to be over, and for all to know that nothing is missing.
            try mesh.pass(ms: PushBacklog.patienceMs + 10_000, step: 1000)
        }
    }

    /// A peer whose answer stands behind much else is alive as long as it takes what is sent.
    @Test(arguments: [true, false]) func aLinkThatMovesIsAlive(moves: Bool) throws {
        let store = MemoryStore()
        let link = LinkID(1)
        var machine = Replicator(
            workspace: MachineMesh.workspace, key: SigningKey(seed: Bytes32(repeating: 1)), instance: 1,
            clock: ClockEstimate(buildMs: 0), highWater: .zero)
        let peer = SigningKey(seed: Bytes32(repeating: 2)).publicKey
        var closed: [String] = []
        func step(_ ms: UInt64, _ event: Replicator.Event) throws {
            let moment = Moment(monotonicMs: ms, wallMs: MachineMesh.wallMs + ms, isSynchronised: true)
            for case .close(_, let reason) in try machine.step(moment, event, store) { closed.append(reason) }
        }
        try step(1, .linkUp(link, peer: peer, instance: 2))
        for ms in stride(from: UInt64(500), through: 60_000, by: 500) where closed.isEmpty {
            if moves { try step(ms, .moves(link)) }
            try step(ms, .tick)
        }
        #expect(closed.isEmpty == moves, "\(closed)")
    }
}
