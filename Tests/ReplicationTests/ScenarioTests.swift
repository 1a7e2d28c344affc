import Scenarios
import Testing

/// Scenarios as `make soak` plays them by the thousand.
@Suite struct ScenarioTests {
    /// Each of these has broken something once.
    static let kept: [UInt64] = [1, 3, 1450]

    @Test(arguments: kept) func whatWentWrongOnce(seed: UInt64) throws {
        let outcome = try Scenario(seed: seed).run()
        #expect(outcome.violations.isEmpty, "make soak FIRST=\(seed) COUNT=1")
    }

    @Test(arguments: UInt64(4)...9) func copiesBecomeEqual(seed: UInt64) throws {
        let outcome = try Scenario(seed: seed).run()
        #expect(outcome.violations.isEmpty, "make soak FIRST=\(seed) COUNT=1")
    }

    @Test(arguments: UInt64(11)...13) func theSameSeedGivesTheSameTrace(seed: UInt64) throws {
        let (first, second) = (try Scenario(seed: seed).run(), try Scenario(seed: seed, isLogging: true).run())
        #expect(first.traceHash == second.traceHash)
        #expect(first.eventCount == second.eventCount)
        #expect(try Scenario(seed: seed + 1).run().traceHash != first.traceHash)
    }
}
