import Replication
import Seal
import Store
import Testing
import Tree
import Wire

/// A link that the network's changes may have cut.
@Suite struct ProbeTests {
    private let link = LinkID(1)
    private let other = LinkID(2)

    private func moment(_ ms: UInt64) -> Moment {
        Moment(monotonicMs: ms, wallMs: 1_800_000_000_000 + ms, isSynchronised: true)
    }

    private func machine(_ store: MemoryStore) throws -> Replicator {
        var machine = Replicator(
            workspace: Bytes32(repeating: 7), key: SigningKey(seed: Bytes32(repeating: 1)), instance: 1,
            clock: ClockEstimate(buildMs: 0), highWater: .zero)
        machine.start(moment(1))
        for (number, link) in [link, other].enumerated() {
            let peer = SigningKey(seed: Bytes32(repeating: UInt8(10 + number))).publicKey
            _ = try machine.step(moment(1), .linkUp(link, peer: peer, instance: UInt64(number)), store)
        }
        return machine
    }

    private func closed(_ effects: [Replicator.Effect]) -> [LinkID] {
        effects.compactMap { effect -> LinkID? in
            guard case .close(let link, _) = effect else { return nil }
            return link
        }
    }

    /// Steps at each deadline until then; the links that are closed.
    private func run(
        _ machine: inout Replicator, _ store: MemoryStore, fromMs: UInt64, toMs: UInt64
    ) throws -> [LinkID] {
        var result: [LinkID] = []
        var nowMs = fromMs
        while let nextMs = machine.nextDeadlineMs, nextMs <= toMs, result.isEmpty {
            nowMs = max(nextMs, nowMs)
            result += closed(try machine.step(moment(nowMs), .tick, store))
        }
        return result
    }

    @Test func whoDoesNotAnswerIsGoneSoon() throws {
        let store = MemoryStore()
        var machine = try machine(store)
        let effects = try machine.step(moment(1000), .probe([link, LinkID(99)]), store)
        let pinged = effects.compactMap { effect -> LinkID? in
            guard case .send(let link, .ping) = effect else { return nil }
            return link
        }
        #expect(pinged == [link])
        #expect(try run(&machine, store, fromMs: 1000, toMs: 4000) == [link])
    }

    @Test func whoSaysAnythingStays() throws {
        let store = MemoryStore()
        var machine = try machine(store)
        _ = try machine.step(moment(1000), .probe([link, other]), store)
        for link in [link, other] {
            _ = try machine.step(moment(1100), .received(link, .peers(connected: [], addresses: [])), store)
        }
        #expect(try run(&machine, store, fromMs: 1100, toMs: 5500).isEmpty)
    }
}
