import ControlAPI
import Lab
import Testing

/// What becomes of links when networks change under them. How long that takes is for `make lab-soak` to say: here only
/// what never comes fails.
@Suite(.serialized, .enabled(if: Lab.unavailableReason == nil, "\(Lab.unavailableReason ?? "")"), .showsLogs)
struct NetworkChangeTests {
    private static let limit = Duration.seconds(60)

    /// The rows of another in the list of peers.
    private func rows(_ machine: Machine, of other: Machine) async throws -> [JSON] {
        try await machine.rows("peer", "list").filter { $0["name"]?.string == other.name }
    }

    /// Waits until a machine is connected to another, at an address that has one of these in it.
    private func connected(_ machine: Machine, to other: Machine, at addresses: [String] = [""]) async throws {
        try await eventually("\(machine.name) is connected to \(other.name) \(addresses)", within: Self.limit) {
            try await rows(machine, of: other).contains { row in
                let address = row["address"]?.string ?? ""
                return row["state"] == "connected" && addresses.contains { $0.isEmpty || address.contains($0) }
            }
        }
    }

    /// What is in the addresses of host 2 on each of two interfaces.
    private static let places = ["eth0": ["10.99.0.2", "%eth0"], "eth1": ["10.98.0.2", "%eth1"]]

    /// Two interfaces and what containers bring with them: one person, one link, of which nobody knows but the two.
    @Test(.timeLimit(.minutes(4))) func twoInterfacesAndABridge() async throws {
        let lab = try Lab(hosts: 2)
        let (ann, bob) = (Machine("ann", on: lab[1]), Machine("bob", on: lab[2]))
        let bridge =
            "ip link add docker0 type bridge && ip link set docker0 up && ip addr add 172.17.0.1/16 dev docker0"
        for host in 1...2 {
            try lab.wire(host)
            #expect(try await lab[host].run(["sh", "-c", bridge]).status == 0)
        }
        for machine in [ann, bob] { try machine.launch(["--name", machine.name, "--log", "debug"]) }
        for machine in [ann, bob] { try await machine.ready() }
        try await meet(ann, bob, within: Self.limit)
        try await connected(ann, to: bob)
        for (machine, other) in [(ann, bob), (bob, ann)] {
            #expect(try await machine.rows("peer", "list").count == 1)
            #expect(try await rows(machine, of: other).count == 1)
            #expect(!(try machine.daemon.errors.text.contains("dialling 172.17")))
        }
        // The cable that is used is pulled: the other one takes over.
        let address = try #require(try await rows(ann, of: bob).first?["address"]?.string)
        let isFirst = Self.places["eth0"]?.contains { address.contains($0) } ?? false
        let (used, left) = isFirst ? ("eth0", "eth1") : ("eth1", "eth0")
        #expect(try await lab[1].run(["ip", "addr", "flush", "dev", used]).status == 0)
        try await connected(ann, to: bob, at: try #require(Self.places[left]))
        try await ann.say("by the other cable")
        try await eventually("bob reads it", within: Self.limit) { try await bob.texts() == ["by the other cable"] }
        try await eventually("each is listed once", within: Self.limit) {
            let counts = [try await ann.rows("peer", "list").count, try await bob.rows("peer", "list").count]
            return counts == [1, 1]
        }
        #expect(try await ann.present() == ["ann", "bob"])
    }

    /// The cable is pulled and plugged in again.
    @Test(.timeLimit(.minutes(4))) func aCableThatIsPulled() async throws {
        let lab = try Lab(hosts: 2)
        let (ann, bob) = (Machine("ann", on: lab[1]), Machine("bob", on: lab[2]))
        for machine in [ann, bob] { try await machine.start() }
        try await meet(ann, bob, within: Self.limit)
        try lab.cut(1)
        try await eventually("ann has lost bob", within: Self.limit) {
            try await rows(ann, of: bob).allSatisfy { $0["state"] != "connected" }
        }
        try await bob.say("while ann was away")
        try lab.heal(1)
        try await connected(ann, to: bob)
        try await eventually("ann reads it", within: Self.limit) {
            try await ann.texts() == ["while ann was away"]
        }
    }

    /// A cut in the middle of the network, of which no machine is told.
    @Test(.timeLimit(.minutes(4))) func aCutThatNobodyIsToldOf() async throws {
        let lab = try Lab(hosts: 2)
        let (ann, bob) = (Machine("ann", on: lab[1]), Machine("bob", on: lab[2]))
        for machine in [ann, bob] { try await machine.start() }
        try await meet(ann, bob, within: Self.limit)
        try lab.isolate(1, 2)
        for (machine, other) in [(ann, bob), (bob, ann)] {
            try await eventually("\(machine.name) has lost \(other.name)", within: Self.limit) {
                try await rows(machine, of: other).allSatisfy { $0["state"] != "connected" }
            }
        }
        try await bob.say("while cut")
        try lab.join(1, 2)
        try await connected(ann, to: bob)
        try await eventually("ann reads it", within: Self.limit) { try await ann.texts() == ["while cut"] }
    }

    /// Only on the interface that was named.
    @Test(.timeLimit(.minutes(4))) func anInterfaceThatIsNamed() async throws {
        let lab = try Lab(hosts: 2)
        let (ann, bob) = (Machine("ann", on: lab[1]), Machine("bob", on: lab[2]))
        for host in 1...2 { try lab.wire(host) }
        for machine in [ann, bob] { try await machine.start("--interface", "eth1") }
        try await meet(ann, bob, within: Self.limit)
        for (machine, other) in [(ann, bob), (bob, ann)] {
            let address = try #require(try await rows(machine, of: other).first?["address"]?.string)
            #expect(address.contains("10.98.") || address.contains("%eth1"), "\(address)")
        }
    }
}
