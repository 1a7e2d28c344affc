import Replication
import Seal
import Simulation
import Testing
import Tree
import Wire

/// Says that he has much, is asked for it, and gives an entry now and then.
private final class Trickler: Intruder {
    private var links: [LinkID] = []
    private unowned let node: SimulatedNode
    private var count: UInt64 = 0
    /// Questions about stretches.
    private(set) var asked = 0

    init(_ node: SimulatedNode) {
        self.node = node
        node.intruder = self
    }

    private func vitals(_ simulation: Simulation) -> Vitals {
        Vitals(
            clockMs: Simulation.epochMs + simulation.nowMs, isSynchronised: false, highWater: .zero,
            root: DigestPrefix(count: 1000, sum: 77))
    }

    func linkUp(_ link: LinkID, peer: Bytes32, _ node: SimulatedNode, _ simulation: Simulation) {
        links.append(link)
        simulation.send(.hello(vitals(simulation), peers: []), node, link)
    }

    func linkDown(_ link: LinkID, _ node: SimulatedNode, _ simulation: Simulation) { links.removeAll { $0 == link } }

    func received(_ message: PeerMessage, _ link: LinkID, _ node: SimulatedNode, _ simulation: Simulation) {
        switch message {
        case .ping: simulation.send(.pong(vitals(simulation)), node, link)
        case .sift: asked += 1
        default: break
        }
    }

    func give(_ simulation: Simulation) throws {
        count += 1
        let entry = try Entry(
            path: Path(parsing: "apps/h/\(count)"), hlc: HLC(ms: Simulation.epochMs + count), author: node.author,
            value: .bool(true))
        let bundle = Bundle(signing: [entry], by: node.key, workspace: simulation.workspace)
        for link in links { simulation.send(.bundles([bundle]), node, link) }
    }
}

@Suite struct TrickleTests {
    /// Those asked for everything first give an entry every 9 s, and go on with that: each holds it back once, and then
    /// what somebody else has comes.
    @Test(arguments: 1...4) func whoGivesLittleHoldsNothingBack(tricklers: Int) throws {
        let simulation = Simulation(nodes: 2 + tricklers, seed: 1)
        let hostile = simulation.nodes.dropFirst(2).map(Trickler.init)
        let path = try Path(parsing: "apps/a")
        try simulation.write(1, [(path, .bool(true))])
        for node in simulation.nodes.dropFirst(2) { simulation.connect(0, node.index) }
        simulation.run(forMs: 1000)
        #expect(hostile.contains { $0.asked > 0 })
        simulation.connect(0, 1)
        var seconds = 0
        while seconds < 300, try simulation.nodes[0].value(at: path).isNull {
            if seconds % 9 == 0 { for member in hostile { try member.give(simulation) } }
            simulation.run(forMs: 1000)
            seconds += 1
        }
        #expect(seconds <= 5 + 30 * tricklers, "\(seconds) s")
    }
}
