import Replication
import Seal
import Simulation
import Store
import Testing
import Tree

/// An author signs together what he has signed singly, and others follow.
@Suite struct BundlingTests {
    private func fill(_ simulation: Simulation, _ count: Int) throws {
        for index in 0..<count {
            try simulation.write(0, [(try Path(parsing: "apps/\(index)"), .integer(Int64(index)))])
            simulation.run(forMs: 20)
        }
        simulation.run(forMs: 2000)
    }

    private func stamps(_ node: SimulatedNode, of author: Bytes32) throws -> [Stamp] {
        node.store.singles(of: author, from: .zero, through: HLC(ms: HLC.msMax), limit: 1000)
    }

    private func announce(_ simulation: Simulation) throws -> BundleSeal {
        let author = simulation.nodes[0]
        let seal = try #require(
            BundleSeal(
                signing: stamps(author, of: author.author), by: author.key, workspace: simulation.workspace))
        #expect(try author.store.adopt(seal, workspace: simulation.workspace) == .adopted)
        simulation.feed(author, .adopted(nil, seal, .adopted))
        return seal
    }

    /// Nodes 0 and 2 do not reach each other: node 1 passes it on. Node 3 comes later, and gets it announced again.
    @Test func everybodyAdoptsIt() throws {
        let simulation = Simulation(nodes: 4, seed: 21)
        simulation.connect(0, 1)
        simulation.connect(1, 2)
        simulation.connect(1, 3)
        try fill(simulation, 12)
        simulation.disconnect(1, 3)
        let seal = try announce(simulation)
        simulation.run(forMs: 1000)
        for node in simulation.nodes.prefix(3) { #expect(node.store.knows(seal)) }
        #expect(!simulation.nodes[3].store.knows(seal))
        simulation.connect(2, 3)
        simulation.run(forMs: 2000)
        #expect(simulation.nodes[3].store.knows(seal))
        #expect(simulation.isConverged)
        #expect(simulation.nodes.allSatisfy { $0.refusedCount == 0 })
    }

    /// Who lacks an entry ignores it, and is brought up to date all the same.
    @Test func whoLacksOneIgnoresIt() throws {
        let simulation = Simulation(nodes: 3, seed: 22)
        simulation.connect(0, 1)
        simulation.connect(0, 2)
        try fill(simulation, 8)
        simulation.disconnect(0, 2)
        try simulation.write(0, [(try Path(parsing: "apps/late"), .bool(true))])
        simulation.run(forMs: 1000)
        let seal = try announce(simulation)
        simulation.feed(
            simulation.nodes[2],
            .adopted(nil, seal, try simulation.nodes[2].store.adopt(seal, workspace: simulation.workspace)))
        #expect(!simulation.nodes[2].store.knows(seal))
        simulation.connect(1, 2)
        #expect(simulation.run(atMostMs: 20_000) { simulation.isConverged })
        // The one that came carries the bundle's proof; the others stay as they were.
        #expect(simulation.nodes[2].store.knows(seal))
        #expect(try stamps(simulation.nodes[2], of: simulation.nodes[0].author).count == 8)
    }
}
