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

    /// A median that falls by less than a day slows time down; it does not turn it back.
    @Test func timeIsSlewedNotSteppedBack() {
        var estimate = ClockEstimate(buildMs: buildMs)
        let own = buildMs + hourMs
        let fast = { (nowMs: UInt64) in self.sample(own + 20 * self.hourMs + nowMs, true) }
        estimate.update(own: sample(own), peers: [fast(0)], nowMs: 0)
        var last = estimate.workspaceMs(ownClockMs: own, nowMs: 0)
        #expect(last == own + 20 * hourMs)
        estimate.update(own: sample(own), peers: [fast(0), sample(own, true)], nowMs: 0)
        for nowMs in stride(from: 1000, through: 100_000, by: 1000) as StrideThrough<UInt64> {
            // Another synchronised clock, and an earlier one: on a tie it counts.
            estimate.update(
                own: sample(own + nowMs), peers: [fast(nowMs), sample(own + nowMs, true)], nowMs: nowMs)
            let time = estimate.workspaceMs(ownClockMs: own + nowMs, nowMs: nowMs)
            #expect(time == last + 500)
            last = time
        }
    }

    /// A machine without a battery is in 1970, and alone: with the first peer it is in the present at once, and so is
    /// one that may have been right.
    @Test func theFirstContactSetsTime() {
        var estimate = ClockEstimate(buildMs: buildMs)
        estimate.update(own: sample(0), peers: [], nowMs: 0)
        #expect(estimate.workspaceMs(ownClockMs: 0, nowMs: 0) == buildMs)
        let present = buildMs + 1000 * hourMs
        estimate.update(own: sample(10), peers: [sample(present)], nowMs: 10)
        #expect(estimate.workspaceMs(ownClockMs: 10, nowMs: 10) == present)
        for own in [present - 900 * hourMs, present + 9000 * hourMs] {
            var other = ClockEstimate(buildMs: buildMs)
            other.update(own: sample(own), peers: [], nowMs: 0)
            other.update(own: sample(own + 1000), peers: [sample(present), sample(present)], nowMs: 1000)
            #expect(other.workspaceMs(ownClockMs: own + 1000, nowMs: 1000) == present)
        }
    }

    /// Later it is approached. Only what stays more than a day away for ten seconds is stepped to, in both directions.
    @Test(arguments: [true, false]) func aPassingMajorityMovesLittle(isAhead: Bool) {
        var estimate = ClockEstimate(buildMs: buildMs)
        let own = buildMs + 100_000 * hourMs
        func peers(_ nowMs: UInt64, lying: Bool) -> [ClockEstimate.Sample] {
            let base = lying ? (isAhead ? own + 9000 * hourMs : own - 9000 * hourMs) : own
            return [sample(base + nowMs), sample(base + nowMs)]
        }
        func time(_ nowMs: UInt64, lying: Bool) -> Int64 {
            estimate.update(own: sample(own + nowMs), peers: peers(nowMs, lying: lying), nowMs: nowMs)
            return Int64(estimate.workspaceMs(ownClockMs: own + nowMs, nowMs: nowMs)) - Int64(own + nowMs)
        }
        #expect(time(0, lying: false) == 0)
        #expect(time(20_000, lying: false) == 0)
        #expect(time(20_001, lying: true) == 0)
        #expect(abs(time(29_000, lying: true)) <= 4500)
        #expect(abs(time(30_000, lying: false)) <= 5000)
        #expect(abs(time(40_000, lying: true)) <= 5000)
        let far = Int64(9000 * hourMs)
        #expect(time(50_001, lying: true) == (isAhead ? far : -far))
    }

    /// Whatever the own clock does, time goes on by the monotonic one while others outvote it.
    @Test(arguments: [0, 1, 5000, UInt64.max]) func jumpsOfTheOwnClockDoNotCount(clockMs: UInt64) {
        var estimate = ClockEstimate(buildMs: buildMs)
        let own = buildMs + hourMs
        estimate.update(own: sample(own), peers: [sample(own), sample(own)], nowMs: 0)
        #expect(estimate.workspaceMs(ownClockMs: clockMs, nowMs: 500) == own + 500)
        #expect(estimate.workspaceMs(ownClockMs: own + 1000, nowMs: 1000) == own + 1000)
    }

    /// Alone there is only the own clock: a suspended machine steps to it, and one whose clock is set after its start
    /// as far as the clock says, not by as much as it was moved.
    @Test func aloneTheOwnClockMayStepForwards() {
        var estimate = ClockEstimate(buildMs: buildMs)
        let own = buildMs + hourMs
        estimate.update(own: sample(own), peers: [], nowMs: 0)
        #expect(estimate.workspaceMs(ownClockMs: own + 8 * hourMs, nowMs: 10) == own + 8 * hourMs)
        var dead = ClockEstimate(buildMs: buildMs)
        dead.update(own: sample(0), peers: [], nowMs: 0)
        #expect(dead.workspaceMs(ownClockMs: own, nowMs: 1000) == own)
        // Back it goes slowly.
        #expect(dead.workspaceMs(ownClockMs: own - hourMs, nowMs: 2000) == own + 1000)
        #expect(dead.workspaceMs(ownClockMs: own - hourMs + 2000, nowMs: 4000) == own + 2000)
    }

    /// Whose clock was known to be wrong does not believe it again because a link broke.
    @Test func aKnownErrorIsRemembered() {
        var estimate = ClockEstimate(buildMs: buildMs)
        let right = buildMs + 1000 * hourMs
        let own = right + 9000 * hourMs
        estimate.update(own: sample(own), peers: [sample(right)], nowMs: 0)
        estimate.update(own: sample(own + 60_000), peers: [], nowMs: 60_000)
        #expect(estimate.workspaceMs(ownClockMs: own + 61_000, nowMs: 61_000) == right + 61_500)
        // A suspend meanwhile.
        let time = estimate.workspaceMs(ownClockMs: own + 61_000 + hourMs, nowMs: 61_000)
        #expect(time == right + 61_500 + hourMs)
    }

    /// A default name, which has the time 1, is nothing.
    @Test func newcomersHaveNoSay() {
        var estimate = ClockEstimate(buildMs: buildMs)
        let right = buildMs + 1000 * hourMs
        let newcomers = (0..<3).map { _ in sample(right - 900 * hourMs, highWater: 1) }
        estimate.update(own: sample(right, highWater: right), peers: newcomers, nowMs: 0)
        #expect(estimate.workspaceMs(ownClockMs: right, nowMs: 0) == right)
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
        for second in 1...100 as ClosedRange<UInt64> {
            let peers = second.isMultiple(of: 2) ? liars : []
            estimate.update(own: own, peers: peers, nowMs: second << (second % 40))
            let time = estimate.workspaceMs(ownClockMs: own.clockMs &+ second, nowMs: second << (second % 40))
            #expect(time >= 1_000_000_000_000)
        }
    }
}
