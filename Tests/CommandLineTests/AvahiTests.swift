import ControlAPI
import Foundation
import Lab
import Testing

/// Whatever happens to Avahi, nothing waits for it, and peers are found again.
@Suite(.serialized, .enabled(if: Lab.unavailableReason == nil, "\(Lab.unavailableReason ?? "")"), .showsLogs)
struct AvahiTests {
    /// Every command answers within a second. The slowest of each is tried again, for the machine may be busy.
    private func commandsAnswer(_ machine: Machine) async throws {
        let commands = [
            ["status"], ["who"], ["peer", "list"], ["send", "general", "meanwhile"], ["read", "general"], ["verify"],
            ["typing", "general", "on"], ["tree", "get", "apps"], ["peer", "add", "10.99.0.77"],
            ["peer", "remove", "10.99.0.77"],
        ]
        for words in commands {
            let duration = try await fastest(within: .seconds(1)) {
                let begin = ContinuousClock.now
                let result = try await machine.spawn("starling", words + ["--json"]).finish()
                #expect(result.status == 0, "\(words): \(result.err)")
                return ContinuousClock.now - begin
            }
            #expect(duration < .seconds(1), "\(words)")
        }
    }

    private func discovery(_ machine: Machine, _ words: String, within limit: Duration) async throws {
        try await eventually("discovery of \(machine.name): \(words)", within: limit) {
            try await machine.row("status")["discovery"]?.string?.contains(words) ?? false
        }
    }

    @Test(.timeLimit(.minutes(2))) func aKilledAvahiIsFoundAgain() async throws {
        let lab = try Lab(hosts: 2)
        let (ann, bob) = (Machine("ann", on: lab[1]), Machine("bob", on: lab[2]))
        try await ann.start()
        try lab.avahi(1, .kill)
        try await discovery(ann, "not running", within: .seconds(5))
        try await commandsAnswer(ann)
        // Bob comes while ann's Avahi is away: whoever hears the other connects.
        try await bob.start()
        try lab.avahi(1, .start)
        try await meet(ann, bob, within: .seconds(15))
        try await discovery(ann, "Avahi", within: .seconds(10))
        // What is connected stays connected without Avahi and without D-Bus.
        try lab.dbus(1, .kill)
        try lab.avahi(2, .kill)
        let key = try await ann.say("without Avahi")
        try await eventually("bob reads it", within: .seconds(20)) {
            try await bob.rows("read", "general").contains { $0["key"]?.string == key }
        }
        try lab.dbus(1, .start)
        try lab.avahi(2, .start)
        try await discovery(ann, "mDNS", within: .seconds(15))
        #expect(try ann.daemon.isRunning && bob.daemon.isRunning)
        try await ann.stop()
        try await bob.stop()
    }

    @Test(.timeLimit(.minutes(4))) func aHungAvahiBlocksNobody() async throws {
        let lab = try Lab(hosts: 2)
        let (ann, bob) = (Machine("ann", on: lab[1]), Machine("bob", on: lab[2]))
        try lab.avahi(1, .stop)
        let begin = ContinuousClock.now
        try await ann.start()
        #expect(ContinuousClock.now - begin < .seconds(2))
        try await bob.start()
        try await commandsAnswer(ann)
        try await discovery(ann, "does not answer", within: .seconds(15))
        try await commandsAnswer(ann)
        try lab.avahi(1, .cont)
        try await meet(ann, bob, within: .seconds(20))
        // It hangs again while they are connected and nothing is asked of it: that is noticed, and even ending does not
        // wait for it.
        try await discovery(ann, "mDNS", within: .seconds(60))
        try lab.avahi(1, .stop)
        try await commandsAnswer(ann)
        try await discovery(ann, "does not answer", within: .seconds(60))
        // It answers after all, and has forgotten nothing: nor has the daemon.
        try lab.avahi(1, .cont)
        try await ann.doctor(names: [])
        try lab.avahi(1, .stop)
        try await discovery(ann, "does not answer", within: .seconds(60))
        try await ann.stop()
    }

    /// What is between the daemon and Avahi hangs: it is the same for whoever chats, and doctor tells the two apart.
    @Test(.timeLimit(.minutes(4))) func aHungBusBlocksNobody() async throws {
        let lab = try Lab(hosts: 2)
        let (ann, bob) = (Machine("ann", on: lab[1]), Machine("bob", on: lab[2]))
        try lab.dbus(1, .stop)
        try await ann.start()
        try await bob.start()
        try await commandsAnswer(ann)
        try await discovery(ann, "does not answer", within: .seconds(60))
        let run = try await ann.doctor(names: ["dbus"])
        #expect(run.duration < .seconds(10) && run.row("dbus")["saw"] == "D-Bus does not answer")
        try lab.dbus(1, .cont)
        try await meet(ann, bob, within: .seconds(90))
        try await ann.doctor(names: [])
        try lab.dbus(1, .stop)
        // They have each other, whatever becomes of the bus.
        try await bob.say("still here")
        try await converge(ann, bob, within: .seconds(60))
        try await commandsAnswer(ann)
        try await ann.stop()
    }

    @Test(.timeLimit(.minutes(2))) func withoutAvahiAddressesDo() async throws {
        let lab = try Lab(hosts: 3, withoutAvahi: [1, 2])
        let (ann, bob, eve) = (
            Machine("ann", on: lab[1]), Machine("bob", on: lab[2]), Machine("eve", on: lab[3])
        )
        try await ann.start()
        try await bob.start()
        try await eve.start("--no-discovery", "--peer", lab[1].address)
        try await meet(ann, eve)
        try await commandsAnswer(ann)
        #expect(try await eve.row("status")["discovery"] == "off")
        // One address is enough: bob hears of eve from ann.
        _ = try await bob.row("peer", "add", lab[1].address)
        try await meet(ann, bob, eve)
        try await eventually("bob connects to eve", within: .seconds(20)) {
            try await bob.rows("peer", "list").contains { $0["name"] == "eve" && $0["state"] == "connected" }
        }
        // It comes later, and is used.
        try lab.avahi(1, .start)
        try lab.avahi(2, .start)
        try await discovery(ann, "mDNS", within: .seconds(20))
        try await discovery(bob, "mDNS", within: .seconds(20))
    }

    /// An address that was added is there again after a restart, and both ends may be restarted.
    @Test(.timeLimit(.minutes(1))) func addressesAreRemembered() async throws {
        let (ann, bob) = (try Machine("ann"), try Machine("bob"))
        try await ann.startLocally()
        let port = try await ann.port
        try await bob.startLocally()
        _ = try await bob.row("peer", "add", "127.0.0.1:\(port)")
        try await meet(ann, bob)
        try await bob.crash()
        try await bob.startLocally()
        try await meet(ann, bob)
        try await ann.crash()
        try ann.launch(["--no-discovery", "--listen", "127.0.0.1:\(port)"])
        try await ann.ready()
        try await meet(ann, bob)
        _ = try await bob.row("peer", "remove", "127.0.0.1:\(port)")
        #expect(try await bob.starling("peer", "remove", "127.0.0.1:\(port)").status == 4)
    }
}
