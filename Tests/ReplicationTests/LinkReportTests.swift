import Replication
import Seal
import Store
import Testing
import Tree
import Wire

/// What is shown of a link.
@Suite struct LinkReportTests {
    /// A peer's clock is compared with this node's by time that has passed, and a machine that sleeps does not stop it.
    @Test(arguments: [0, 3_600_000] as [UInt64]) func theSkewIsTheSameAfterASleep(sleptMs: UInt64) throws {
        let store = MemoryStore()
        let link = LinkID(1)
        var machine = Replicator(
            workspace: Bytes32(repeating: 7), key: SigningKey(seed: Bytes32(repeating: 1)), instance: 1,
            clock: ClockEstimate(buildMs: 0), highWater: .zero)
        let wallMs: UInt64 = 1_800_000_000_000
        func moment(_ ms: UInt64) -> Moment {
            Moment(monotonicMs: ms, wallMs: wallMs + ms + sleptMs, isSynchronised: true, sleptMs: sleptMs)
        }
        machine.start(moment(1))
        let peer = SigningKey(seed: Bytes32(repeating: 2)).publicKey
        _ = try machine.step(moment(1000), .linkUp(link, peer: peer, instance: 2), store)
        let vitals = Vitals(
            clockMs: moment(1000).wallMs + 70_000, isSynchronised: false, highWater: .zero,
            root: DigestPrefix(count: 0, sum: 0))
        _ = try machine.step(moment(1000), .received(link, .hello(vitals, peers: [])), store)
        #expect(machine.reports(moment(5000)).map(\.skewMs) == [70_000])
    }
}
