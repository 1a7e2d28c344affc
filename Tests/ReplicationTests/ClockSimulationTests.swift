import Replication
import Seal
import Simulation
import Store
import Testing
import Tree

private let hourMs: Int64 = 3_600_000
private let dayMs = 24 * hourMs
private let yearMs: Int64 = 365 * 24 * hourMs

/// Clocks as they are on real machines, with the daemon's own machines.
@Suite struct ClockSimulationTests {
    private let lunch = "channels/---------lunchlunchlun/messages"

    /// Writes a message as the daemon does and returns its key.
    @discardableResult
    private func say(_ text: String, _ simulation: Simulation, _ node: Int) throws -> String {
        let id = try #require(simulation.newKey(node))
        let value = Value.object(
            ObjectValue([
                (try #require(Key("senderId")), .string(UID.text(simulation.nodes[node].author))),
                (try #require(Key("text")), .string(text)),
                (try #require(Key("createdAt")), .number(Int64(id.hlc.ms))),
            ]))
        #expect(try simulation.write(node, [(Path(parsing: "\(lunch)/\(id)"), value)]))
        return id.text
    }

    /// The messages that a node shows, in its order.
    private func messages(_ simulation: Simulation, _ node: Int) throws -> [(key: String, text: String, at: Int64)] {
        let all = try simulation.nodes[node].value(at: Path(parsing: lunch)).object?.children ?? []
        return all.map { ($0.key.text, $0.value["text"].string ?? "", $0.value["createdAt"].integer ?? 0) }
    }

    private func texts(_ simulation: Simulation, _ node: Int) throws -> [String] {
        try messages(simulation, node).map(\.text)
    }

    private func trueMs(_ simulation: Simulation) -> Int64 { Int64(Simulation.epochMs + simulation.nowMs) }

    private func settle(_ simulation: Simulation, ms: UInt64 = 60_000) { simulation.run(forMs: ms) }

    /// Everybody says something once more: it stands last for all, in this order, with a time that is right to a
    /// minute.
    private func expectNewMessagesLast(_ simulation: Simulation, _ what: Comment) throws {
        let count = try texts(simulation, 0).count
        for node in simulation.nodes.indices {
            try say("last of \(node)", simulation, node)
            simulation.run(forMs: 2000)
        }
        settle(simulation)
        #expect(simulation.isConverged, what)
        let wanted = simulation.nodes.indices.map { "last of \($0)" }
        for node in simulation.nodes.indices {
            let shown = try messages(simulation, node)
            #expect(shown.suffix(wanted.count).map(\.text) == wanted, what)
            #expect(shown.count == count + wanted.count, what)
            for message in shown.suffix(wanted.count) {
                #expect(abs(message.at - trueMs(simulation)) < 3 * 60_000, "\(message) \(what)")
            }
        }
    }

    /// Who was alone with a clock a year ahead wrote a year ahead. When others are there it is as if he had written it
    /// just now, with everything that hangs together, and nothing of the old remains.
    @Test func whatNobodyHasSeenIsIssuedAnew() throws {
        let simulation = Simulation(nodes: 3, seed: 51, skewsMs: [yearMs])
        simulation.connect(1, 2)
        settle(simulation)
        try say("before", simulation, 1)
        settle(simulation)
        let old = try say("question", simulation, 0)
        let answer = try say("answer", simulation, 0)
        let own = simulation.nodes[0]
        try simulation.write(0, [(Path(parsing: "\(lunch)/\(answer)/replyTo"), .string(old))])
        try simulation.write(0, [(Path(parsing: "\(lunch)/\(old)/text"), .string("better question"))])
        let reactions = "\(lunch)/\(old)/reactions/\(UID.text(own.author))/x"
        try simulation.write(0, [(Path(parsing: reactions), .bool(true))])
        try simulation.write(0, [(Path(parsing: "apps/pointer"), .string(old))])
        simulation.connectAll()
        settle(simulation)
        #expect(simulation.isConverged)
        for node in simulation.nodes.indices {
            let shown = try messages(simulation, node)
            #expect(shown.map(\.text) == ["before", "better question", "answer"])
            #expect(simulation.nodes[node].store.heldCount == 0)
            let question = try #require(shown.dropFirst().first)
            #expect(question.key != old && abs(question.at - trueMs(simulation)) < 2 * 60_000)
            #expect(try simulation.nodes[node].value(at: Path(parsing: "apps/pointer")) == .string(question.key))
            let value = try simulation.nodes[node].value(at: Path(parsing: lunch))
            #expect(value[question.key]["reactions"] != .null)
            #expect(value[shown[2].key]["replyTo"] == .string(question.key))
            #expect(value[old] == .null)
        }
        try expectNewMessagesLast(simulation, "after issuing anew")
    }

    /// What others have seen is not issued anew: it is held where workspace time says so, and counted as everything is.
    @Test func whatSomebodyHasSeenStays() throws {
        // Two liars agree, and are alone with each other.
        let simulation = Simulation(nodes: 5, seed: 52, skewsMs: [yearMs, yearMs])
        simulation.connect(0, 1)
        settle(simulation)
        let key = try say("from the future", simulation, 0)
        settle(simulation)
        #expect(try texts(simulation, 1) == ["from the future"])
        for (a, b) in [(2, 3), (3, 4), (2, 4)] { simulation.connect(a, b) }
        settle(simulation)
        try say("of now", simulation, 2)
        simulation.connectAll()
        settle(simulation)
        #expect(simulation.isConverged)
        for node in 2...4 {
            #expect(try texts(simulation, node) == ["of now"])
            #expect(simulation.nodes[node].store.heldCount == 1)
            let held = try #require(simulation.nodes[node].store.heldAuthors.first)
            #expect(held.author == simulation.nodes[0].author && held.count == 1)
        }
        #expect(try messages(simulation, 0).contains { $0.key == key })
        // What is new is seen by all, whoever writes it; only the one that was seen too early stands apart.
        for node in simulation.nodes.indices {
            try say("new of \(node)", simulation, node)
            simulation.run(forMs: 2000)
        }
        settle(simulation)
        #expect(simulation.isConverged)
        for node in simulation.nodes.indices {
            let shown = try messages(simulation, node).filter { $0.text.hasPrefix("new of ") }
            #expect(shown.map(\.text) == simulation.nodes.indices.map { "new of \($0)" })
            #expect(shown.allSatisfy { abs($0.at - trueMs(simulation)) < 3 * 60_000 })
        }
    }

    /// What is held is due when it is less than a day ahead; then it is there as if it had just arrived.
    @Test func heldEntriesAreThereWhenTheyAreDue() throws {
        let simulation = Simulation(nodes: 4, seed: 53, skewsMs: [dayMs + 600_000, dayMs + 600_000])
        simulation.connect(0, 1)
        settle(simulation)
        try say("tomorrow", simulation, 0)
        settle(simulation)
        simulation.connect(2, 3)
        try say("today", simulation, 2)
        settle(simulation)
        simulation.connectAll()
        settle(simulation)
        let node = simulation.nodes[2]
        #expect(try texts(simulation, 2) == ["today"] && node.store.heldCount == 1)
        #expect(simulation.isConverged, "held entries are counted in the digests")
        simulation.run(forMs: 600_000)
        #expect(try texts(simulation, 2) == ["today", "tomorrow"] && node.store.heldCount == 0)
        try say("later", simulation, 2)
        #expect(try texts(simulation, 2) == ["today", "tomorrow", "later"], "the clock follows what was applied")
    }

    /// Dead batteries begin in 1970, machines without a clock chip where they were switched off: alone they go on after
    /// what they know, and with others they are in the present at once.
    @Test func deadBatteriesAndMissingClockChips() throws {
        let since1970 = -Int64(Simulation.epochMs)
        let simulation = Simulation(nodes: 4, seed: 54, skewsMs: [since1970, -40 * 24 * hourMs])
        try say("of 1970", simulation, 0)
        try say("of the last shutdown", simulation, 1)
        simulation.run(forMs: 5000)
        for (a, b) in [(0, 1), (2, 3)] { simulation.connect(a, b) }
        settle(simulation)
        try say("of now", simulation, 2)
        simulation.connectAll()
        settle(simulation)
        #expect(simulation.isConverged)
        for node in simulation.nodes.indices {
            #expect(Set(try texts(simulation, node)) == ["of 1970", "of the last shutdown", "of now"])
            #expect(simulation.nodes[node].store.heldCount == 0)
        }
        try expectNewMessagesLast(simulation, "after dead batteries")
        // The battery is still dead at the next start.
        simulation.crash(0)
        try say("alone in 1970", simulation, 0)
        #expect(try texts(simulation, 0).last == "alone in 1970")
        for other in 1...3 { simulation.connect(0, other) }
        settle(simulation)
        try expectNewMessagesLast(simulation, "after a start in 1970")
    }

    /// A minority of liars, in any order of meeting, moves nobody for good.
    @Test(arguments: [55, 56] as [UInt64]) func aMinorityOfLiars(seed: UInt64) throws {
        let skews = [yearMs, 0, -yearMs, 0, 3000]
        let simulation = Simulation(nodes: skews.count, seed: seed, skewsMs: skews)
        var pairs: [(Int, Int)] = []
        for a in skews.indices { for b in skews.indices where a < b { pairs.append((a, b)) } }
        pairs.shuffle(using: &simulation.random)
        // Whoever has stored nothing has no say, and would believe a liar who was first to write something.
        for node in skews.indices { try say("alone \(node)", simulation, node) }
        var said = skews.count
        for (index, pair) in pairs.enumerated() {
            simulation.connect(pair.0, pair.1)
            simulation.run(forMs: UInt64.random(in: 0...8000, using: &simulation.random))
            if index.isMultiple(of: 4) {
                try say("\(said)", simulation, Int.random(in: skews.indices, using: &simulation.random))
                said += 1
            }
        }
        settle(simulation, ms: 120_000)
        #expect(simulation.isConverged, "seed \(seed)")
        for node in simulation.nodes {
            let wrongMs = Int64(simulation.workspaceMs(node)) - trueMs(simulation)
            #expect(abs(wrongMs) < 30_000, "seed \(seed), node \(node.index)")
            // Nothing is lost: what somebody has seen too early waits.
            #expect(node.store.heldCount <= said)
        }
        for node in simulation.nodes.indices {
            try say("last of \(node)", simulation, node)
            simulation.run(forMs: 2000)
        }
        settle(simulation)
        #expect(simulation.isConverged, "seed \(seed)")
        for node in simulation.nodes.indices {
            let last = try messages(simulation, node).filter { $0.text.hasPrefix("last of ") }
            #expect(last.map(\.text) == simulation.nodes.indices.map { "last of \($0)" }, "seed \(seed) \(node)")
            #expect(last.allSatisfy { abs($0.at - trueMs(simulation)) < 3 * 60_000 }, "seed \(seed) \(node)")
        }
    }

    /// Of two nodes the earlier clock counts; a year's difference parts them for no longer than a handshake.
    @Test(arguments: [yearMs, 30 * hourMs, 10_000, -10_000]) func twoNodesAlone(skewMs: Int64) throws {
        let simulation = Simulation(nodes: 2, seed: 61, skewsMs: [0, skewMs])
        for node in 0...1 { try say("alone \(node)", simulation, node) }
        simulation.connect(0, 1)
        settle(simulation)
        #expect(simulation.isConverged)
        let earlier = trueMs(simulation) + min(0, skewMs)
        for node in simulation.nodes {
            #expect(abs(Int64(simulation.workspaceMs(node)) - earlier) < 1000)
            #expect(Set(try texts(simulation, node.index)) == ["alone 0", "alone 1"])
            #expect(node.store.heldCount == 0)
        }
        try expectNewMessagesLast(simulation, "two nodes")
    }

    /// Clocks that jump while everybody is connected move neither time nor messages.
    @Test(arguments: [yearMs, -yearMs, 20 * hourMs, -20 * hourMs, -Int64(Simulation.epochMs)])
    func jumpsWhileConnected(jumpMs: Int64) throws {
        let simulation = Simulation(nodes: 3, seed: 62)
        simulation.connectAll()
        settle(simulation)
        try say("before", simulation, 0)
        simulation.nodes[0].skewMs += jumpMs
        simulation.run(forMs: 100)
        try say("right after", simulation, 0)
        settle(simulation)
        #expect(try texts(simulation, 1) == ["before", "right after"])
        // A link that breaks for a moment is no reason to believe the own clock again.
        for other in 1...2 { simulation.disconnect(0, other) }
        simulation.run(forMs: 3000)
        try say("for a moment alone", simulation, 0)
        simulation.connectAll()
        settle(simulation)
        #expect(try texts(simulation, 1) == ["before", "right after", "for a moment alone"])
        #expect(simulation.nodes.allSatisfy { $0.store.heldCount == 0 })
        try expectNewMessagesLast(simulation, "after a jump")
        // Back again.
        simulation.nodes[0].skewMs = 0
        try expectNewMessagesLast(simulation, "after the jump back")
    }

    /// A clock that is set ahead while a node is alone, and for a restart in between.
    @Test(arguments: [false, true]) func jumpsWhileAlone(restarts: Bool) throws {
        let simulation = Simulation(nodes: 3, seed: 63)
        simulation.connectAll()
        settle(simulation)
        try say("together", simulation, 0)
        settle(simulation)
        for other in 1...2 { simulation.disconnect(0, other) }
        simulation.nodes[0].skewMs = yearMs
        simulation.run(forMs: 1000)
        if restarts { simulation.crash(0) }
        try say("in the future", simulation, 0)
        // Set right before anybody is there; what was written is still wrong.
        simulation.nodes[0].skewMs = 0
        simulation.run(forMs: 1000)
        if restarts { simulation.crash(0) }
        try say("once more", simulation, 0)
        simulation.connectAll()
        settle(simulation)
        for node in simulation.nodes {
            #expect(try texts(simulation, node.index) == ["together", "in the future", "once more"])
            #expect(node.store.heldCount == 0)
        }
        try expectNewMessagesLast(simulation, "after being alone")
    }

    /// A synchronised clock wins against three that are not.
    @Test func aSynchronisedClockWins() throws {
        let simulation = Simulation(nodes: 4, seed: 64, skewsMs: [yearMs, yearMs, yearMs, 0])
        simulation.nodes[3].isSynchronised = true
        simulation.connectAll()
        settle(simulation)
        for node in simulation.nodes { #expect(abs(Int64(simulation.workspaceMs(node)) - trueMs(simulation)) < 1000) }
        try expectNewMessagesLast(simulation, "with one synchronised clock")
    }
}
