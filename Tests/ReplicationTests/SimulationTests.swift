import Replication
import Seal
import Simulation
import Store
import Testing
import Tree
import Wire

private func path(_ text: String) throws -> Path { try Path(parsing: text) }

@Suite struct SimulationTests {
    /// A chat message's path in a push-ID channel that anybody may write.
    private func message(_ simulation: Simulation, _ node: Int) throws -> Path {
        let key = try #require(simulation.newKey(node))
        return try path("channels/---------lunchlunchlun/messages/\(key)")
    }

    @Test func aMessageReachesEverybodyAtOnce() throws {
        let simulation = Simulation(nodes: 3, seed: 1)
        simulation.connectAll()
        simulation.run(forMs: 1000)
        let place = try message(simulation, 0)
        try simulation.write(0, [(place, .string("hello"))])
        let arrived = try simulation.run(atMostMs: 100) {
            try simulation.nodes.allSatisfy { try $0.value(at: place) == .string("hello") }
        }
        #expect(arrived)
    }

    /// Nodes 0 and 2 cannot reach each other: node 1 offers what one of them pushed to it.
    @Test func aMessageGoesThroughTheMiddle() throws {
        let simulation = Simulation(nodes: 3, seed: 2)
        simulation.connect(0, 1)
        simulation.connect(1, 2)
        simulation.run(forMs: 1000)
        let place = try message(simulation, 0)
        try simulation.write(0, [(place, .string("around"))])
        let arrived = try simulation.run(atMostMs: 500) {
            try simulation.nodes[2].value(at: place) == .string("around")
        }
        #expect(arrived)
    }

    /// Node 2 is cut off, everybody writes, node 0 stops, node 2 is healed and gets everything through node 1.
    @Test func whatWasMissedComesThroughAThird() throws {
        let simulation = Simulation(nodes: 3, seed: 3)
        simulation.connectAll()
        simulation.run(forMs: 500)
        simulation.disconnect(0, 2)
        simulation.disconnect(1, 2)
        var places: [Path] = []
        for node in [0, 1, 2, 0, 2] {
            let place = try message(simulation, node)
            try simulation.write(node, [(place, .string("from \(node)"))])
            places.append(place)
        }
        simulation.run(forMs: 20_000)
        simulation.disconnect(0, 1)
        simulation.connect(1, 2)
        let isEqual = try simulation.run(atMostMs: 2000) {
            try places.allSatisfy { place in
                try !simulation.nodes[1].value(at: place).isNull && !simulation.nodes[2].value(at: place).isNull
            }
        }
        #expect(isEqual)
        simulation.connect(0, 1)
        #expect(simulation.run(atMostMs: 20_000) { simulation.isConverged })
    }

    @Test func concurrentEditsEndWithTheLaterStamp() throws {
        let simulation = Simulation(nodes: 2, seed: 4)
        let topic = try path("channels/---------lunchlunchlun/topic")
        try simulation.write(0, [(topic, .string("first"))])
        simulation.run(forMs: 5000)
        try simulation.write(1, [(topic, .string("second"))])
        simulation.connect(0, 1)
        #expect(simulation.run(atMostMs: 5000) { simulation.isConverged })
        for node in simulation.nodes { #expect(try node.value(at: topic) == .string("second")) }
    }

    @Test func aNewcomerGetsAThousandsOfEntries() throws {
        let simulation = Simulation(nodes: 2, seed: 5)
        for index in 0..<3000 {
            try simulation.write(0, [(try path("apps/load/\(index)"), .integer(Int64(index)))])
            if index % 50 == 0 { simulation.run(forMs: 10_000) }
        }
        simulation.connect(0, 1)
        #expect(simulation.run(atMostMs: 60_000) { simulation.isConverged })
        #expect(simulation.nodes[1].store.entryCount == 3000)
        // Two bytes of comparison for one of content would be a comparison gone wrong.
        let payload = simulation.nodes[0].store.entryCount * 250
        #expect(simulation.nodes[1].receivedBytes < payload * 2)
    }

    @Test func theSameSeedGivesTheSameRun() throws {
        func run() throws -> UInt64 {
            let simulation = Simulation(nodes: 3, seed: 42)
            try scramble(simulation, steps: 60)
            return simulation.traceHash
        }
        #expect(try run() == run())
    }

    /// Random writes, edits, cuts, heals and crashes; after the network is whole all nodes hold the same, and the
    /// digests are those of a recount.
    @Test(arguments: 0..<60)
    func everythingConverges(run: Int) throws {
        let seed = UInt64.random(in: .min ... .max)
        let hours: Int64 = 3_600_000
        let simulation = Simulation(nodes: 3, seed: seed, skewsMs: run % 3 == 0 ? [0, 2 * hours, -5 * hours] : [])
        try scramble(simulation, steps: 120)
        simulation.connectAll()
        #expect(simulation.run(atMostMs: 120_000) { simulation.isConverged }, "seed \(seed)")
        let first = try TreeView(simulation.nodes[0].store).value(at: .root)
        for node in simulation.nodes {
            #expect(try node.value(at: .root) == first, "seed \(seed)")
            #expect(node.refusedCount == 0, "seed \(seed)")
            var recount = BucketDigest.empty
            node.store.scan(
                from: PathKey(bytes: []), to: PathKey(bytes: [0xFF]), descending: false
            ) { entry in
                recount.add(entry.id)
                return true
            }
            #expect(node.store.digest(of: .root) == recount, "seed \(seed)")
        }
    }

    private func scramble(_ simulation: Simulation, steps: Int) throws {
        let places = ["topic", "name", "x/y", "x"]
        for _ in 0..<steps {
            let node = Int.random(in: 0..<3, using: &simulation.random)
            let other = Int.random(in: 0..<3, using: &simulation.random)
            switch Int.random(in: 0..<12, using: &simulation.random) {
            case 0...2:
                try simulation.write(node, [(try message(simulation, node), .string("text"))])
            case 3...5:
                let place = try path("apps/a/\(places.randomElement(using: &simulation.random) ?? "x")")
                let number = Int64.random(in: 0..<100, using: &simulation.random)
                try simulation.write(node, [(place, number < 20 ? .null : .integer(number))])
            case 6:
                try simulation.write(
                    node, [(try path("apps/b/p"), .bool(true)), (try path("apps/b/q"), .string("both"))])
            case 7...8: simulation.connect(node, other)
            case 9: simulation.disconnect(node, other)
            case 10: simulation.crash(node)
            default: simulation.run(forMs: UInt64.random(in: 0..<20_000, using: &simulation.random))
            }
            simulation.run(forMs: UInt64.random(in: 0..<100, using: &simulation.random))
        }
    }
}

@Suite struct SoftStateSimulationTests {
    private func typing(_ node: SimulatedNode) throws -> Path {
        try Path(parsing: "channels/---------lunchlunchlun/typingIndicator/\(UID.text(node.author))")
    }

    private func sees(_ observer: SimulatedNode, _ typist: SimulatedNode) throws -> Bool {
        observer.replicator.soft.record(author: typist.author, path: try typing(typist)) != nil
    }

    @Test func typingSpreadsAndEnds() throws {
        let simulation = Simulation(nodes: 3, seed: 6)
        simulation.connect(0, 1)
        simulation.connect(1, 2)
        simulation.run(forMs: 1000)
        let (typist, far) = (simulation.nodes[0], simulation.nodes[2])
        let place = try typing(typist)
        simulation.feed(typist, .setSoft(place, .bool(true), ttlMs: 6000, isRefreshed: true))
        #expect(try simulation.run(atMostMs: 300) { try sees(far, typist) })
        // Refreshed for as long as it is held.
        simulation.run(forMs: 20_000)
        #expect(try sees(far, typist))
        simulation.feed(typist, .setSoft(place, nil, ttlMs: 0, isRefreshed: false))
        #expect(try simulation.run(atMostMs: 300) { try !sees(far, typist) })
    }

    @Test func typingOfADeadNodeExpires() throws {
        let simulation = Simulation(nodes: 2, seed: 7)
        simulation.connect(0, 1)
        simulation.run(forMs: 1000)
        let typist = simulation.nodes[0]
        simulation.feed(typist, .setSoft(try typing(typist), .bool(true), ttlMs: 6000, isRefreshed: true))
        simulation.run(forMs: 500)
        #expect(try sees(simulation.nodes[1], typist))
        simulation.crash(0)
        #expect(try simulation.run(atMostMs: 10_000) { try !sees(simulation.nodes[1], typist) })
    }

    @Test func aMessageEndsTyping() throws {
        let simulation = Simulation(nodes: 2, seed: 8)
        simulation.connect(0, 1)
        simulation.run(forMs: 1000)
        let typist = simulation.nodes[0]
        simulation.feed(typist, .setSoft(try typing(typist), .bool(true), ttlMs: 6000, isRefreshed: true))
        simulation.run(forMs: 500)
        let key = try #require(simulation.newKey(0))
        let message = try Path(parsing: "channels/---------lunchlunchlun/messages/\(key)")
        try simulation.write(0, [(message, .string("done"))])
        #expect(try simulation.run(atMostMs: 200) { try !sees(simulation.nodes[1], typist) })
        simulation.run(forMs: 10_000)
        #expect(try !sees(simulation.nodes[1], typist))
    }
}
