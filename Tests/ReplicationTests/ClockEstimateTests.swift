import Replication
import Testing

@Suite struct ClockEstimateTests {
    private let buildMs: UInt64 = 1_000_000_000_000
    private let hourMs: UInt64 = 3_600_000

    private func sample(_ clockMs: UInt64, _ synchronised: Bool = false, highWater: UInt64 = 0)
        -> ClockEstimate.Sample
    {
        ClockEstimate.Sample(clockMs: clockMs, isSynchronised: synchronised, highWaterMs: highWater)
    }

    @Test func theMedianCounts() {
        var estimate = ClockEstimate(buildMs: buildMs)
        let own = buildMs + hourMs
        estimate.update(own: sample(own), peers: [sample(own + 50), sample(own + 900 * hourMs)], nowMs: 0)
        #expect(estimate.workspaceMs(ownClockMs: own, nowMs: 0) == own + 50)
    }

    @Test func aSynchronisedClockOutweighsThree() {
        var estimate = ClockEstimate(buildMs: buildMs)
        let own = buildMs + hourMs
        estimate.update(
            own: sample(own), peers: [sample(own), sample(own), sample(own + 5000, true)], nowMs: 0)
        #expect(estimate.workspaceMs(ownClockMs: own, nowMs: 0) == own + 5000)
    }

    /// A clock before the build date, or far behind what its owner has applied, is broken and does not count.
    @Test func brokenClocksDoNotCount() {
        var estimate = ClockEstimate(buildMs: buildMs)
        let right = buildMs + 1000 * hourMs
        estimate.update(
            own: sample(5000), peers: [sample(right), sample(right - 200 * hourMs, highWater: right)], nowMs: 0)
        // The sample with content behind its own high-water mark is out; of the rest, those without content while
        // another has some are out too, so the greatest of what this node knows itself is left.
        #expect(estimate.workspaceMs(ownClockMs: 5000, nowMs: 0) == buildMs)
        var other = ClockEstimate(buildMs: buildMs)
        other.update(own: sample(5000), peers: [sample(right, highWater: right)], nowMs: 0)
        #expect(other.workspaceMs(ownClockMs: 5000, nowMs: 0) == right)
    }

    @Test func timeNeverStepsBack() {
        var estimate = ClockEstimate(buildMs: buildMs)
        let own = buildMs + hourMs
        estimate.update(own: sample(own), peers: [sample(own + 10_000, true)], nowMs: 0)
        let before = estimate.workspaceMs(ownClockMs: own, nowMs: 0)
        estimate.update(own: sample(own + 1000, true), peers: [], nowMs: 1000)
        let after = estimate.workspaceMs(ownClockMs: own + 1000, nowMs: 1000)
        #expect(after >= before)
    }

    /// A machine without a battery is in 1970, and alone: with the first peer it is in the present at once.
    @Test func aBrokenClockIsLeftAtOnce() {
        var estimate = ClockEstimate(buildMs: buildMs)
        estimate.update(own: sample(0), peers: [], nowMs: 0)
        #expect(estimate.workspaceMs(ownClockMs: 0, nowMs: 0) == buildMs)
        let present = buildMs + 1000 * hourMs
        estimate.update(own: sample(10), peers: [sample(present)], nowMs: 10)
        #expect(estimate.workspaceMs(ownClockMs: 10, nowMs: 10) == present)
        // A clock that may be right is approached.
        var other = ClockEstimate(buildMs: buildMs)
        let own = buildMs + hourMs
        other.update(own: sample(own), peers: [], nowMs: 0)
        other.update(own: sample(own + 1000), peers: [sample(present), sample(present)], nowMs: 1000)
        #expect(other.workspaceMs(ownClockMs: own + 1000, nowMs: 1000) == own + 1500)
    }
}

/// Clocks that others claim to have.
@Suite struct HostileClockTests {
    @Test(arguments: [0, 1, UInt64(Int64.max), UInt64.max - 1, UInt64.max])
    func noClockOverflows(clockMs: UInt64) {
        var estimate = ClockEstimate(buildMs: 1_000_000_000_000)
        let own = ClockEstimate.Sample(clockMs: 1_800_000_000_000, isSynchronised: false, highWaterMs: 1)
        let liars = (0..<5).map { _ in
            ClockEstimate.Sample(clockMs: clockMs, isSynchronised: true, highWaterMs: UInt64.max >> 16)
        }
        estimate.update(own: own, peers: [], nowMs: 0)
        var last: UInt64 = 0
        for second in 1...100 as ClosedRange<UInt64> {
            let peers = second.isMultiple(of: 2) ? liars : []
            estimate.update(own: own, peers: peers, nowMs: second << (second % 40))
            let time = estimate.workspaceMs(ownClockMs: own.clockMs &+ second, nowMs: second << (second % 40))
            #expect(time >= last)
            last = time
        }
    }
}
