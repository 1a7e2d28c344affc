import Replication
import Scenarios
import Seal
import Simulation
import Store
import Testing
import Tree
import Wire

private func path(_ text: String) throws -> Path { try Path(parsing: text) }

/// Nodes that find each other, and whose disks may lose what was not flushed.
private func network(_ count: Int, seed: UInt64, skewsMs: [Int64] = []) -> Simulation {
    var options = Simulation.Options()
    options.dials = true
    options.losesUnflushed = true
    let simulation = Simulation(nodes: count, seed: seed, skewsMs: skewsMs, options: options)
    simulation.connectAll()
    simulation.run(forMs: 1000)
    return simulation
}

@Suite struct SimulatedFaultTests {
    @Test func aRestoredBackupGetsItsOwnWritesBack() throws {
        let simulation = network(3, seed: 1)
        try simulation.write(0, [(try path("apps/a/before"), .bool(true))])
        let backup = simulation.backup(0)
        try simulation.write(0, [(try path("apps/a/after"), .integer(1))])
        simulation.run(forMs: 1000)
        simulation.restore(0, backup)
        #expect(try simulation.nodes[0].value(at: path("apps/a/after")).isNull)
        // It writes before it knows what it has forgotten.
        try simulation.write(0, [(try path("apps/a/before"), .bool(false))])
        #expect(simulation.run(atMostMs: 20_000) { simulation.isConverged })
        #expect(try simulation.nodes[0].value(at: path("apps/a/after")) == .integer(1))
        try simulation.write(0, [(try path("apps/a/after"), .integer(2))])
        simulation.run(forMs: 1000)
        #expect(simulation.isConverged)
        #expect(try simulation.nodes[2].value(at: path("apps/a/after")) == .integer(2))
        #expect(try simulation.nodes[1].value(at: path("apps/a/before")) == .bool(false))
    }

    @Test func twoWithOneKeyBecomeEqual() throws {
        let simulation = network(3, seed: 2)
        try simulation.write(0, [(try path("apps/a/x"), .integer(0))])
        let twin = simulation.clone(0)
        // Both write at the same moment, before they have met.
        for (index, name) in [(0, "first"), (twin.index, "second")] {
            try simulation.write(index, [(try path("apps/a/\(name)"), .bool(true))])
            try simulation.write(index, [(try path("apps/a/x"), .string(name))])
        }
        #expect(simulation.run(atMostMs: 60_000) { simulation.isConverged })
        for node in simulation.nodes {
            #expect(try node.value(at: path("apps/a")).object?.count == 3)
            #expect(try node.value(at: path("apps/a/x")) == simulation.nodes[1].value(at: path("apps/a/x")))
        }
    }

    /// Nodes 0 and 2 are newer than the one between them: what it does not know it carries all the same.
    @Test func anOlderVersionInTheMiddle() throws {
        let simulation = Simulation(nodes: 3, seed: 3)
        simulation.nodes[1].tagMax = 17
        simulation.connect(0, 1)
        simulation.connect(1, 2)
        simulation.run(forMs: 1000)
        let hlc = try #require(simulation.tick(0))
        let author = simulation.nodes[0].author
        let unknown = try Entry(path: path("apps/new"), hlc: hlc, author: author, value: .integer(7), kind: 3)
        #expect(try simulation.write(0, [unknown]))
        try simulation.write(0, [(try path("apps/old"), .integer(1))])
        #expect(simulation.run(atMostMs: 20_000) { simulation.nodes[2].store.entryCount == 2 })
        #expect(simulation.isConverged)
        for node in simulation.nodes {
            #expect(node.store.contains(unknown.reference))
            #expect(try node.value(at: path("apps/new")).isNull)
            #expect(try node.value(at: path("apps/old")) == .integer(1))
        }
    }

    /// Whatever he forges, withholds or answers, what one writes arrives at the other, and nothing else does.
    @Test(arguments: UInt64(1)...5) func aHostileMemberKeepsNothingFromArriving(seed: UInt64) throws {
        let simulation = network(2, seed: seed)
        let hostile = HostileMember(seed: seed, node: simulation.addNode())
        simulation.connect(0, 2)
        simulation.connect(1, 2)
        for number in 0..<20 {
            let place = try path("apps/a/\(number)")
            // Half of it while he is the only way there.
            if number == 10 { simulation.disconnect(0, 1) }
            try simulation.write(number % 2, [(place, .integer(Int64(number)))])
            for _ in 0..<4 {
                hostile.act(simulation)
                simulation.run(forMs: 200)
            }
        }
        let isEqual = try simulation.run(atMostMs: 60_000, everyMs: 500) {
            hostile.act(simulation)
            return try simulation.nodes[0...1].allSatisfy { try $0.value(at: path("apps/a")).object?.count == 20 }
        }
        #expect(isEqual, "seed \(seed)")
        for node in simulation.nodes[0...1] {
            let references = node.store.references(in: ReferenceRange(.root), newest: 1000)
            for bundle in try node.store.bundles(for: references).bundles {
                #expect(simulation.verifies(bundle), "seed \(seed)")
            }
            #expect(try node.value(at: path("users")).isNull, "seed \(seed)")
        }
    }

    /// A power failure takes from a node what it has told nobody; what others have comes back.
    @Test func whatWasToldSurvivesAPowerFailure() throws {
        let simulation = network(2, seed: 5)
        for number in 0..<20 {
            try simulation.write(0, [(try path("apps/a/\(number)"), .integer(1))])
            simulation.run(forMs: 100)
        }
        simulation.stop(0, .powerFailure)
        #expect(simulation.nodes[0].store.entryCount < 20)
        simulation.boot(0)
        #expect(simulation.run(atMostMs: 30_000) { simulation.isConverged })
        #expect(simulation.nodes[0].store.entryCount == 20)
    }

    /// Killed after any effect of a write and of what follows from it: what was acknowledged is there, everywhere.
    @Test(arguments: 1...8) func killedAfterAnyEffect(effects: Int) throws {
        let simulation = network(3, seed: UInt64(effects))
        var acknowledged: [Path] = []
        simulation.planCrash(1, afterEffects: effects, .kill)
        for number in 0..<6 {
            let place = try path("apps/a/\(number)")
            if try simulation.write(number % 3, [(place, .bool(true))]) { acknowledged.append(place) }
            simulation.run(forMs: 30)
        }
        #expect(simulation.nodes[1].starts > 1)
        #expect(simulation.run(atMostMs: 30_000) { simulation.nodes[1].state == .running && simulation.isConverged })
        for node in simulation.nodes {
            for place in acknowledged { #expect(try node.value(at: place) == .bool(true)) }
        }
    }

    @Test func aFullDiskCatchesUpWhenThereIsRoom() throws {
        let simulation = network(2, seed: 7)
        simulation.nodes[1].isDiskFull = true
        // Long enough for the intervals between comparisons to have grown.
        for number in 0..<5 {
            try simulation.write(0, [(try path("apps/a/\(number)"), .integer(1))])
            simulation.run(forMs: 60_000)
        }
        #expect(simulation.nodes[1].store.entryCount == 0)
        let before = simulation.nodes[1].traffic.entries
        simulation.run(forMs: 60_000)
        #expect(simulation.nodes[1].traffic.entries - before <= 5 * 7)
        simulation.nodes[1].isDiskFull = false
        #expect(simulation.run(atMostMs: 15_000) { simulation.isConverged })
    }

    /// Nothing arrives any more in one direction, and nobody is told: the link is given up and another is made.
    @Test func aSilentLinkIsReplaced() throws {
        let simulation = network(2, seed: 8)
        simulation.silence(from: 0, to: 1)
        try simulation.write(0, [(try path("apps/a"), .bool(true))])
        #expect(try simulation.run(atMostMs: 20_000) { try !simulation.nodes[1].value(at: path("apps/a")).isNull })
    }
}

@Suite struct SimulatedClockTests {
    /// A machine without a battery finds the time while it runs: what it was wrong by before is forgotten.
    @Test func aClockThatIsSetMovesNothing() throws {
        let simulation = network(2, seed: 1, skewsMs: [0, Simulation.deadBatteryMs])
        try simulation.write(0, [(try path("apps/a"), .integer(1))])
        simulation.run(forMs: 20_000)
        simulation.setSkew(1, ms: 0)
        try simulation.write(1, [(try path("apps/a"), .integer(2))])
        let entry = try #require(simulation.nodes[1].store.entry(at: PathKey(path("apps/a"))))
        let trueMs = Simulation.epochMs + simulation.nowMs
        #expect(entry.hlc.ms >= trueMs - 5000 && entry.hlc.ms <= trueMs + 5000)
        simulation.run(forMs: 20_000)
        #expect(simulation.isConverged)
        #expect(simulation.nodes[0].store.heldCount == 0)
    }

    /// The same alone: it follows its own clock, once that shows anything.
    @Test func aClockThatIsSetIsFollowedByWhoIsAlone() throws {
        let simulation = network(1, seed: 2, skewsMs: [Simulation.deadBatteryMs])
        simulation.run(forMs: 5000)
        simulation.setSkew(0, ms: 0)
        let hlc = try #require(simulation.tick(0))
        #expect(hlc.ms / 10_000 == (Simulation.epochMs + simulation.nowMs) / 10_000)
    }

    /// Time that a machine sleeps through is no step.
    @Test func sleepIsNoStep() throws {
        let simulation = network(3, seed: 3)
        simulation.suspend(0)
        simulation.run(forMs: 3_600_000)
        simulation.wake(0)
        let hlc = try #require(simulation.tick(0))
        #expect(hlc.ms + 5000 > Simulation.epochMs + simulation.nowMs)
    }

    /// What it writes after a start without a clock and without a network still comes after what it holds.
    @Test func aStartWithoutAClock() throws {
        let simulation = network(2, seed: 4, skewsMs: [0, Simulation.deadBatteryMs])
        try simulation.write(0, [(try path("apps/a"), .integer(1))])
        simulation.run(forMs: 20_000)
        simulation.stop(0)
        simulation.crash(1)
        #expect(try simulation.write(1, [(try path("apps/a"), .integer(2))]))
        #expect(try simulation.nodes[1].value(at: path("apps/a")) == .integer(2))
    }
}
