import ControlAPI
import Foundation
import Lab
import Testing

/// What happens to machines and networks.
@Suite(.serialized, .enabled(if: Lab.unavailableReason == nil, "\(Lab.unavailableReason ?? "")"), .showsLogs)
struct FaultTests {
    /// A disk that fills up: said so, read on, and written again when there is room.
    @Test(.timeLimit(.minutes(2))) func aFullDisk() async throws {
        let lab = try Lab(hosts: 2)
        let (ann, bob) = (Machine("ann", on: lab[1]), Machine("bob", on: lab[2]))
        let folder = "$HOME/.local/share/starling"
        let mount = "mkdir -p \(folder) && mount -t tmpfs -o mode=0700,size=600k tmpfs \(folder)"
        #expect(try await lab[1].run(["sh", "-c", mount]).status == 0)
        for machine in [ann, bob] { try await machine.start() }
        try await meet(ann, bob)
        let bot = try ann.attach()
        let text = String(repeating: "x", count: 4_000)
        var sent = 0
        var refusal = JSON.null
        while sent < 1_000, refusal.isNull {
            sent += 1
            try bot.request(sent, "message.send", ["to": "#general", "text": .string("\(sent) \(text)")])
            refusal = try await bot.answer(sent)["error"] ?? .null
        }
        #expect(refusal["data"]?["reason"] == "disk_full")
        let failed = try await ann.starling("send", "general", "no room")
        #expect(failed.status == 1 && failed.err.contains("disk_full"), "\(failed.err)")
        #expect(
            try await ann.rows("read", "general", "-n", "1").first?["text"]?.string?.hasPrefix("\(sent - 1) ") == true)
        #expect(try await ann.row("status")["entries"]?.int ?? 0 >= sent)
        #expect(try await ann.starling("status").out.contains("the disk is full: reading goes on, writing does not"))
        // What others write meanwhile comes when there is room again.
        try await bob.say("from bob")
        #expect(try await lab[1].run(["sh", "-c", "mount -o remount,size=64m \(folder)"]).status == 0)
        try await eventually("ann can write", within: .seconds(20)) {
            try await ann.starling("send", "general", "room again").status == 0
        }
        try await converge(ann, bob, within: .seconds(40))
        #expect(try await bob.texts().count == sent + 1)
    }

    /// A daemon that cannot even write its log is ended by the disk, and whoever started it is told so.
    @Test(.timeLimit(.minutes(1))) func aDiskThatWasFullBefore() async throws {
        let lab = try Lab(hosts: 1)
        let script = """
            mkdir /run/full && mount -t tmpfs -o mode=0700,size=64k tmpfs /run/full
            cat /dev/zero > /run/full/zeroes 2>/dev/null
            : > /run/full/starlingd.log
            exec "$0" --home /run/full daemon start -- --no-discovery
            """
        let result = try await lab[1].run(["sh", "-c", script, Lab.product("starling")])
        #expect(result.status == 1 && result.err.contains("the disk is full at /run/full"), "\(result.err)")
    }

    /// A damaged database is set aside; who one is stays, and the rest comes back from the others.
    @Test(.timeLimit(.minutes(1))) func aDamagedDatabase() async throws {
        let (ann, bob) = (try Machine("ann"), try Machine("bob"))
        try await ann.startLocally()
        try await bob.startLocally(knowing: ann)
        try await ann.say("from ann")
        try await bob.say("from bob")
        try await converge(ann, bob)
        let status = try await ann.row("status")
        try await ann.stop()
        let home = try #require(ann.home)
        try Data(repeating: 0x5A, count: 50_000).write(to: URL(fileURLWithPath: home + "/workspace.db"))
        // Started as a person would, without a name.
        try ann.launch(["--no-discovery", "--listen", "127.0.0.1:0", "--peer", "127.0.0.1:\(try await bob.port)"])
        try await ann.ready()
        try await converge(ann, bob)
        #expect(try await ann.row("status")["uid"] == status["uid"])
        #expect(try await ann.texts() == ["from ann", "from bob"])
        #expect(try await bob.present() == ["ann", "bob"])
        #expect(try ann.daemon.errors.text.contains("set aside"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: home).contains { $0.contains("corrupt") })
    }

    /// A machine that sleeps is not connected after some seconds, and back soon after it wakes.
    @Test(.timeLimit(.minutes(2))) func sleepAndWake() async throws {
        let lab = try Lab(hosts: 2)
        let (ann, bob) = (Machine("ann", on: lab[1]), Machine("bob", on: lab[2]))
        for machine in [ann, bob] { try await machine.start() }
        try await meet(ann, bob)
        try ann.daemon.kill(SIGSTOP)
        try await bob.say("while ann sleeps")
        try await eventually("bob notices", within: .seconds(16)) {
            try await bob.rows("peer", "list").allSatisfy { $0["state"] != "connected" }
        }
        try ann.daemon.kill(SIGCONT)
        try await eventually("ann reads it", within: .seconds(20)) {
            try await ann.texts() == ["while ann sleeps"]
        }
        try await converge(ann, bob)
        for machine in [ann, bob] { #expect(try await machine.present() == ["ann", "bob"]) }
    }

    /// Multicast that reaches only one of two is enough for both, and so are lost packets.
    @Test(.timeLimit(.minutes(1))) func aBadNetwork() async throws {
        let lab = try Lab(hosts: 2)
        let (ann, bob) = (Machine("ann", on: lab[1]), Machine("bob", on: lab[2]))
        try lab.mute(2)
        for machine in [ann, bob] { try await machine.start() }
        try await meet(ann, bob)
        try lab.loss(1, percent: 10)
        try lab.loss(2, percent: 10)
        for number in 1...20 { try await (number.isMultiple(of: 2) ? ann : bob).say("\(number)") }
        try await converge(ann, bob, within: .seconds(20))
        #expect(try await ann.texts() == (1...20).map(String.init))
        #expect(try await ann.present() == ["ann", "bob"])
    }

    /// Another cable, another address.
    @Test(.timeLimit(.minutes(1))) func anotherAddress() async throws {
        let lab = try Lab(hosts: 2)
        let (ann, bob) = (Machine("ann", on: lab[1]), Machine("bob", on: lab[2]))
        for machine in [ann, bob] { try await machine.start() }
        try await meet(ann, bob)
        let change = "ip addr flush dev eth0 && ip addr add 10.99.7.7/16 broadcast + dev eth0"
        #expect(try await lab[1].run(["sh", "-c", change]).status == 0)
        try await ann.say("from elsewhere")
        try await eventually("bob reads it", within: .seconds(30)) { try await bob.texts() == ["from elsewhere"] }
        try await eventually("bob is connected to the new address", within: .seconds(20)) {
            try await bob.rows("peer", "list").contains { row in
                row["state"] == "connected" && row["address"]?.string?.contains("10.99.7.7") == true
            }
        }
    }

    /// Much to catch up on is in nobody's way.
    @Test(.timeLimit(.minutes(2))) func talkGoesOnDuringALongCatchUp() async throws {
        let (ann, bob) = (try Machine("ann"), try Machine("bob"))
        try await ann.startLocally()
        let bot = try ann.attach()
        let count = 9_000
        let requests = (1...count).map { number in
            let params: JSON = ["to": "#general", "text": .string("old \(number)")]
            return #"{"jsonrpc":"2.0","id":\#(number),"method":"message.send","params":\#(params)}"#
        }
        Thread.detachNewThread { try? bot.send(line: requests.joined(separator: "\n")) }
        _ = try await bot.answer(count, within: .seconds(60))
        try await bob.startLocally(knowing: ann)
        let follower = try bob.follow("read", "general", "-f", "-n", "0", "--json")
        try await eventually("the two are connected", within: .seconds(20)) {
            try await bob.rows("peer", "list").contains { $0["state"] == "connected" }
        }
        var during = 0
        for number in 1...5 {
            let delay = try await fastest(within: .seconds(1)) {
                let begin = ContinuousClock.now
                let key = try await ann.say("new \(number)")
                try await follower.nextRow { $0["key"]?.string == key }
                return ContinuousClock.now - begin
            }
            #expect(delay < .seconds(1))
            if try await bob.root != ann.root { during += 1 }
        }
        #expect(during > 0, "the catch-up was over before anything was said")
        try await converge(ann, bob, within: .seconds(60))
        #expect(try await bob.texts().count >= count + 5)
    }
}
