import Simulation
import Testing

/// A network too large for links to everybody: the bounds that `starling-bench scale` measures at more sizes.
@Suite struct ScaleTests {
    @Test func aHundredNodes() throws {
        let run = ScaleRun(nodes: 100, seed: 11)
        run.form(apartMs: 10, settleMs: 6000)
        #expect(run.isConnected && run.seesEverybody)

        _ = run.spread(messages: 10, apartMs: 100)
        let spread = run.spread(messages: 20, apartMs: 200)
        #expect(spread.missed == 0)
        #expect(spread.latencyMs(percent: 99) <= 15, "\(spread.latencyMs(percent: 99)) ms")
        #expect(spread.copies <= 1.3, "\(spread.copies) copies")

        let idle = run.idle(forMs: 5000)
        #expect(idle.linksMax <= 10, "\(idle.linksMax) links")
        #expect(idle.wakeUps <= 20, "\(idle.wakeUps) wake-ups a second")
        #expect(idle.bytes <= 5000, "\(idle.bytes) bytes a second")
        #expect(run.simulation.isConverged)

        let after = run.dieHalf(.powerFailure, limitMs: 30_000)
        let connectedMs = try #require(after.connectedMs)
        #expect(connectedMs <= 10_000)
        #expect(after.equalMs != nil && after.lost == 0)
    }

    @Test func theSameSeedGivesTheSameNetwork() {
        func run() -> UInt64 {
            let run = ScaleRun(nodes: 36, seed: 3)
            run.form(apartMs: 10, settleMs: 1000)
            return run.simulation.traceHash
        }
        #expect(run() == run())
    }
}
