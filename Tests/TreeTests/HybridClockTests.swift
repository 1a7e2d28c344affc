import Testing
import Tree

@Suite struct HybridClockTests {
    @Test func timesOrderByMillisecondThenCounter() {
        #expect(HLC(ms: 1, counter: 63) < HLC(ms: 2))
        #expect(HLC(ms: 1, counter: 62).next == HLC(ms: 1, counter: 63))
        #expect(HLC(ms: 1, counter: 63).next == HLC(ms: 2))
        #expect(HLC(rawValue: 1 << 16 | 63)?.counter == 63)
        #expect(HLC(rawValue: 1 << 16 | 64) == nil)
        #expect(HLC(ms: .max).ms == HLC.msMax)
        #expect(HLC(ms: 0, counter: .max).counter == 63)
    }

    @Test(arguments: [0, 1, .max, 0x1234_5678_9ABC_DEF0] as [UInt64])
    func beginsAfterEverything(randomness: UInt64) {
        for (workspace, stored) in [(1000, 0), (1000, 5000), (5000, 1000)] as [(UInt64, UInt64)] {
            let clock = HybridClock(
                workspaceMs: workspace, greatestStored: HLC(ms: stored, counter: 63), randomness: randomness)
            let lead = clock.last.ms - max(workspace, stored)
            #expect((1...1000).contains(lead) && clock.last.counter < 32)
        }
    }

    @Test func risesStrictlyWhateverTheClocksDo() throws {
        var random = SeededRandom(seed: 21)
        var clock = HybridClock(workspaceMs: 1 << 40, greatestStored: .zero, randomness: 7)
        var last = clock.last
        for _ in 0..<5000 {
            let workspace = UInt64(1 << 40) - 500 + UInt64(random.below(3000))
            if random.below(4) == 0 {
                let applied = HLC(ms: workspace + UInt64(random.below(2000)), counter: UInt64(random.below(64)))
                clock.observe(applied)
                last = max(last, applied)
            }
            guard let tick = clock.tick(workspaceMs: workspace) else { continue }
            try #require(tick > last && tick.counter <= HLC.counterMax)
            last = tick
        }
    }

    @Test func takesTheWorkspacesTimeWhenThatIsGreater() {
        var clock = HybridClock(workspaceMs: 1000, greatestStored: .zero, randomness: 0)
        #expect(clock.tick(workspaceMs: 9000) == HLC(ms: 9000))
        #expect(clock.tick(workspaceMs: 9000) == HLC(ms: 9000, counter: 1))
    }

    /// 64 ticks a millisecond, and after a second's worth of them it waits for time to pass.
    @Test func burstsRunASecondAhead() {
        var clock = HybridClock(workspaceMs: 1000, greatestStored: .zero, randomness: 0)
        #expect(clock.last == HLC(ms: 1001))
        var ticks = 0
        while clock.tick(workspaceMs: 2000) != nil { ticks += 1 }
        #expect(ticks == 64 * 1001, "from 2000.0 to 3000.63")
        #expect(clock.last == HLC(ms: 3000, counter: 63))
        #expect(clock.tick(workspaceMs: 2000) == nil)
        var more = 0
        while clock.tick(workspaceMs: 2003) != nil { more += 1 }
        #expect(more == 64 * 3)
    }

    @Test func aFreshClockDoesNotWait() {
        for randomness in [0, 999, 31 << 32 | 999] as [UInt64] {
            // Also after a burst that ran ahead, in which it was killed.
            for stored in [0, 2000] as [UInt64] {
                var clock = HybridClock(workspaceMs: 1000, greatestStored: HLC(ms: stored), randomness: randomness)
                let ticks = (0..<60_000).count { _ in clock.tick(workspaceMs: 1000) != nil }
                #expect(ticks == 60_000)
            }
        }
    }

    /// What others wrote moves the bound: their clocks may be right and ours slow.
    @Test func mayFollowWhatItApplied() {
        var clock = HybridClock(workspaceMs: 1000, greatestStored: .zero, randomness: 0)
        clock.observe(HLC(ms: 50_000, counter: 63))
        #expect(clock.tick(workspaceMs: 1000) == HLC(ms: 50_001))
    }

    @Test func endsWithTime() {
        var clock = HybridClock(workspaceMs: 1000, greatestStored: .zero, randomness: 0)
        clock.observe(HLC(ms: HLC.msMax, counter: 63))
        #expect(clock.tick(workspaceMs: .max) == nil)
    }
}
