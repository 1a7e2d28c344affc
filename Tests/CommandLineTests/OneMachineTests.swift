import ControlAPI
import Lab
import Testing

/// Two people at one machine, and somebody at another one.
@Suite(.serialized, .enabled(if: Lab.unavailableReason == nil, "\(Lab.unavailableReason ?? "")"), .showsLogs)
struct OneMachineTests {
    /// They have one address and one Avahi between them; each has a port of its own, and all three find one another.
    @Test(.timeLimit(.minutes(3))) func twoOfOneMachineAndAThirdFindOneAnother() async throws {
        let lab = try Lab(hosts: 2)
        let ann = Machine("ann", on: lab[1], environment: ["STARLING_HOME": "/run/ann"])
        let bob = Machine("bob", on: lab[1], environment: ["STARLING_HOME": "/run/bob"])
        let eve = Machine("eve", on: lab[2])
        for machine in [ann, bob, eve] { try await machine.start() }
        try await meet(ann, bob, eve, within: .seconds(60))
        let ports = [try await ann.port, try await bob.port]
        #expect(ports[0] == 47_474 && ports[1] != ports[0])
        for machine in [ann, bob, eve] {
            try await eventually("\(machine.name) is linked to both others", within: .seconds(60)) {
                try await machine.rows("peer", "list").count { $0["state"] == "connected" } == 2
            }
            try await machine.say("from \(machine.name)")
        }
        try await converge(ann, bob, eve, within: .seconds(60))
        #expect(try await Set(ann.texts()) == ["from ann", "from bob", "from eve"])
        try await ann.doctor(names: [])
        // The port stays theirs when the other one is away.
        try await ann.stop()
        try await bob.stop()
        try await bob.start()
        #expect(try await bob.port == ports[1])
        try await meet(bob, eve, within: .seconds(60))
    }
}
