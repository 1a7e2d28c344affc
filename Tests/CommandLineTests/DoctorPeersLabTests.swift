import ControlAPI
import Glibc
import Lab
import Testing

/// What is wrong between machines and not with one of them: doctor names it on both sides, and only it.
@Suite(.serialized, .enabled(if: Lab.unavailableReason == nil, "\(Lab.unavailableReason ?? "")"), .showsLogs)
struct DoctorPeersLabTests {
    private func hears(_ machine: Machine, _ words: String) async throws {
        try await eventually("\(machine.name) hears \(words)", within: .seconds(60)) {
            try await DoctorRun(machine).row("heard")["saw"]?.string == words
        }
    }

    /// Both in labs of their own, at once: they mostly wait.
    @Test(.timeLimit(.minutes(10))) func whatIsWrongWithAnotherIsNamed() async throws {
        async let versions: Void = anotherVersion()
        async let clocks: Void = aWrongClock()
        _ = try await (versions, clocks)
    }

    /// What doctor and `status` say of a node that speaks other versions.
    private func expectVersion(_ machine: Machine, address: String, words: String, mend: String) async throws {
        let run = try await machine.doctor(names: ["accepted"])
        let row = run.row("accepted")
        #expect(row["saw"]?.string == "\(address) is of another version: \(words)", "\(row)")
        #expect(row["mend"]?.array?.count == 1 && row["mend"]?[0]?.string?.hasPrefix(mend) == true, "\(row)")
        let status = try await machine.starling("status")
        let text = status.out.split(separator: "\n").joined(separator: " ")
        #expect(text.contains("\(address): \(words)"), "\(status.out)")
    }

    private func anotherVersion() async throws {
        let lab = try Lab(hosts: 3)
        let (ann, bob) = (Machine("ann", on: lab[1]), Machine("bob", on: lab[2]))
        try await ann.start()
        try await bob.start()
        try await meet(ann, bob)
        try await hears(ann, "1 node on eth0")
        try await ann.doctor(names: [])
        let address = lab[3].address + ":47474"

        // This side is dialled: by one that is newer and by one that is older.
        let newer = "it speaks versions 7 to 9 of the protocol and this node version 1: this node is to be updated"
        let dialling = try OtherVersion(7...9, on: lab[3], target: lab[1].address + ":47474", isListening: false)
        try await dialling.dial()
        try await expectVersion(ann, address: address, words: newer, mend: "make install && starling daemon stop")
        let older = "it speaks version 0 of the protocol and this node version 1: that one is to be updated"
        let old = try OtherVersion(0...0, on: lab[3], target: lab[1].address + ":47474", isListening: false)
        try await old.dial()
        try await expectVersion(ann, address: address, words: older, mend: "on that machine: make install")
        // Whom it has nothing to do with sees nothing of it.
        try await bob.doctor(names: [])

        // This side dials.
        let listening = try OtherVersion(7...9, on: lab[3], target: lab[2].address + ":47474", isListening: true)
        _ = try await bob.row("peer", "add", lab[3].address)
        try await expectVersion(bob, address: address, words: newer, mend: "make install && starling daemon stop")
        _ = try await bob.row("peer", "remove", lab[3].address)
        try await bob.doctor(names: [])
        withExtendedLifetime((dialling, old, listening)) {}
    }

    private func aWrongClock() async throws {
        let lab = try Lab(hosts: 3)
        let library = try Lab.product("starlingd") + "-skew.so"
        try Lab.makeSkewLibrary(at: library)
        let (bob, carl) = (Machine("bob", on: lab[2]), Machine("carl", on: lab[3]))
        try await bob.start()
        try await carl.start()
        // By seconds it is a warning, by an hour the daemon goes by the others' clocks.
        for (seconds, level) in [(10, "warning"), (-3_600, "problem")] {
            let ann = Machine(
                "ann", on: lab[1], environment: ["LD_PRELOAD": library, "SKEW_S": "\(seconds)"])
            try await ann.start()
            try await meet(ann, bob, carl, within: .seconds(60))
            for machine in [ann, bob, carl] { try await hears(machine, "2 nodes on eth0") }
            let own = try await ann.doctor(names: ["clock"])
            #expect(own.row("clock")["level"]?.string == level, "\(own.row("clock"))")
            #expect(own.row("clock")["mend"]?[0] == "sudo timedatectl set-ntp true")
            for machine in [bob, carl] {
                let other = try await machine.doctor(names: ["clock"])
                let saw = other.row("clock")["saw"]?.string ?? ""
                #expect(saw.contains("ann's is") && saw.contains(seconds > 0 ? "ahead" : "behind"), "\(saw)")
                #expect(!saw.contains("bob's") && !saw.contains("carl's"), "\(saw)")
            }
            try await ann.stop()
            for machine in [bob, carl] { try await machine.doctor(names: []) }
        }
    }
}
