@testable import Node
import Testing

/// How much is done in one go.
@Suite struct SlicePaceTests {
    private static let ms: UInt64 = 1_000_000

    @Test func slicesBecomeAsLongAsTheyMay() {
        var pace = SlicePace(100...1000)
        #expect(pace.count == 1000)
        // A machine that takes 100 µs for each: 25 ms are 250 of them.
        for _ in 0..<5 { pace.took(ns: UInt64(pace.count) * 100_000) }
        #expect((249...251).contains(pace.count))
        // One that was interrupted says little.
        pace.took(ns: 10_000 * Self.ms)
        #expect((124...126).contains(pace.count))
        pace.took(ns: 10_000 * Self.ms)
        #expect(pace.count == 100, "never less than that")
        pace.took(ns: 0)
        #expect(pace.count == 200)
        for _ in 0..<5 { pace.took(ns: 1) }
        #expect(pace.count == 1000)
    }
}
