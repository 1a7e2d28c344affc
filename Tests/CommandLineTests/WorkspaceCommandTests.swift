import ControlAPI
import Foundation
import Lab
import Testing

@testable import starling

/// `starling workspace` against the real daemon.
@Suite(.serialized, .showsLogs)
struct WorkspaceCommandTests {
    @Test(.timeLimit(.minutes(2))) func fromCreatingToLeaving() async throws {
        let (ann, bob) = (try Machine("ann"), try Machine("bob"))
        try await ann.startLocally()
        try await bob.startLocally()
        try await ann.say("for anybody")
        for words in [["workspace"], ["status"], ["workspace", "show"]] {
            let shown = try await ann.spawn("starling", words).finish()
            #expect(shown.status == 0 && shown.out.contains("anybody on the network can read"), "\(shown.out)")
        }

        let made = try await ann.row("workspace", "create", "team")
        #expect(made["name"] == "team" && made["private"] == true && made["members"] == 1)
        #expect(try ann.daemon.isRunning)
        // The command ends when the daemon is there.
        #expect(try await ann.row("workspace")["id"] == made["id"])
        #expect(try await ann.row("status")["workspace"] == "team")
        #expect(try await ann.texts().isEmpty)
        try await ann.say("among us")

        let link = try #require(try await ann.row("workspace", "invite", "--expires", "12h")["link"]?.string)
        let joined = try await bob.row("workspace", "join", input: link + "\n")
        #expect(joined["id"] == made["id"] && joined["creator"]?.string == made["creator"]?.string)
        try await eventually("bob reads it", within: .seconds(60)) { try await bob.texts() == ["among us"] }
        #expect(try await bob.starling("workspace").out.contains("only members can read it"))

        try await meet(ann, bob, within: .seconds(60))
        #expect(try await bob.starling("workspace", "remove", "ann").status == 5)
        #expect(try await ann.row("workspace", "remove", "bob")["epoch"] == 1)
        try await eventually("bob is told", within: .seconds(60)) {
            try await bob.row("status")["notices"]?.array?.contains { $0["kind"] == "workspace" } == true
        }
        try await ann.say("without bob")
        #expect(try await bob.texts() == ["among us"])

        let left = try await ann.row("workspace", "leave")
        #expect(left["name"] == "open" && left["kept"]?.array?.count == 2)
        #expect(try await ann.texts() == ["for anybody"])
        try await ann.stop()
        try await bob.stop()
    }

    /// The link stands alone on its line, for whoever pipes it on; the code above it is for a telephone.
    @Test(.timeLimit(.minutes(1))) func anInviteIsALinkAndACode() async throws {
        let ann = try Machine("ann")
        try await ann.startLocally()
        #expect(try await ann.starling("workspace", "invite").status == 1)
        _ = try await ann.row("workspace", "create", "team")
        let lines = try await ann.starling("workspace", "invite").out.split(separator: "\n").map(String.init)
        let link = try #require(lines.last)
        #expect(link.hasPrefix("starling://join/"))
        let code = try #require(QRCode(link))
        #expect(Array(lines.dropLast()) == code.lines(isColoured: false))
        let plain = try await ann.starling("workspace", "invite", "--no-qr")
        #expect(plain.out.split(separator: "\n").count == 1 && plain.err.contains("for ever"))
        let dated = try await ann.starling("workspace", "invite", "--no-qr", "--expires", "30m")
        #expect(dated.err.contains("until"))
    }

    /// A code that pushes the link out of the window leaves nothing to invite with.
    @Test(.timeLimit(.minutes(1)), arguments: [(24, false), (60, true)] as [(UInt16, Bool)])
    func theCodeIsShownWhereThereIsRoom(rows: UInt16, isShown: Bool) async throws {
        let ann = try Machine("ann")
        try await ann.startLocally()
        _ = try await ann.row("workspace", "create", "team")
        let terminal = try PseudoTerminal(columns: 80, rows: rows)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: try Lab.product("starling"))
        process.arguments = ["--home", try #require(ann.home), "workspace", "invite"]
        process.environment = ["TERM": "xterm", "NO_COLOR": "1"]
        process.standardInput = terminal.program
        process.standardOutput = terminal.program
        process.standardError = terminal.program
        try process.run()
        #expect(await terminal.shows(isShown ? "█" : "no room for the code"))
        #expect(await terminal.shows("starling://join/"))
        #expect(await terminal.shows("good for ever"))
    }

    @Test(.timeLimit(.minutes(1))) func whatMakesNoSenseIsRefused() async throws {
        let ann = try Machine("ann")
        try await ann.startLocally()
        let usage = [["create"], ["invite", "--expires", "soon"], ["remove"], ["create", "a", "b"]]
        for words in usage {
            let result = try await ann.spawn("starling", ["workspace"] + words).finish()
            #expect(result.status == 2, "\(words) \(result.err)")
        }
        let refused = [["join", "starling://join/nonsense"], ["leave"], ["remove", "x"], ["create", "open"]]
        for words in refused {
            let result = try await ann.spawn("starling", ["workspace"] + words).finish()
            #expect(result.status == 1, "\(words) \(result.err)")
        }
        #expect(try await ann.row("workspace")["private"] == false)
    }
}

/// The open workspace on another network than its own.
@Suite(.serialized, .enabled(if: Lab.unavailableReason == nil, "\(Lab.unavailableReason ?? "")"), .showsLogs)
struct AnotherNetworkTests {
    @Test(.timeLimit(.minutes(3))) func anOfficeDoesNotWalkIntoACafe() async throws {
        let lab = try Lab(hosts: 2)
        let (ann, bob) = (Machine("ann", on: lab[1]), Machine("bob", on: lab[2]))
        for machine in [ann, bob] { try await machine.start() }
        try await meet(ann, bob, within: .seconds(60))
        try await ann.say("in the office")
        try await converge(ann, bob, within: .seconds(60))

        // Ann's machine is reached there as well, and announced.
        let further = "ip addr add 172.20.0.1/16 broadcast + dev eth0"
        #expect(try await lab[1].run(["sh", "-c", further]).status == 0)
        let elsewhere = "ip addr flush dev eth0 && ip addr add 172.20.0.2/16 broadcast + dev eth0"
        #expect(try await lab[2].run(["sh", "-c", elsewhere]).status == 0)
        try await eventually("bob's rests", within: .seconds(60)) {
            try await bob.row("workspace")["paused"] == true
        }
        #expect(try await bob.row("status")["discovery"]?.string?.contains("paused") == true)
        try await eventually("they are apart", within: .seconds(60)) {
            try await ann.rows("peer", "list").allSatisfy { $0["state"] != "connected" }
        }
        try await ann.say("in the café")
        let found = try await bob.starling("peer", "add", "172.20.0.1:47474")
        #expect(found.status == 0)
        #expect(try await bob.rows("peer", "list").allSatisfy { $0["state"] != "connected" })
        #expect(try await bob.texts() == ["in the office"])
        #expect(try await ann.row("workspace")["paused"] == false)

        #expect(try await bob.row("workspace", "here")["paused"] == false)
        try await eventually("bob reads it", within: .seconds(60)) {
            try await bob.texts() == ["in the office", "in the café"]
        }
    }

    /// On a network of IPv6 alone the router tells it from another one, too. Where there is nothing to tell it by,
    /// nobody is met unless the machine has not left the network since it was sure.
    @Test(.timeLimit(.minutes(4))) func networksOfIPv6AreToldApart() async throws {
        let lab = try Lab(hosts: 4)
        func shell(_ host: Int, _ line: String) async throws {
            let result = try await lab[host].run(["sh", "-c", "PATH=$PATH:/usr/sbin:/sbin; \(line)"])
            try #require(result.status == 0, "\(line): \(result.err)")
        }
        // Hosts 3 and 4 are routers; whoever sends them something knows their hardware addresses.
        func route(_ host: Int, via router: Int) async throws {
            try await shell(
                host,
                "ip -6 route replace default via fe80::\(router) dev eth0; "
                    + "echo | socat -u - 'UDP6-SENDTO:[fe80::\(router)%eth0]:9'")
        }
        let (ann, bob) = (Machine("ann", on: lab[1]), Machine("bob", on: lab[2]))
        for host in [1, 2] {
            try await shell(host, "ip -4 addr flush dev eth0; ip addr add fd00:1::\(host)/64 dev eth0 nodad")
            try await route(host, via: 3)
        }
        for machine in [ann, bob] { try await machine.start() }
        try await meet(ann, bob, within: .seconds(60))
        try await ann.say("in the office")
        try await converge(ann, bob, within: .seconds(60))
        try await eventually("the router is known", within: .seconds(60)) {
            try await bob.row("workspace")["networks"]?[0]?.string?.hasPrefix("fd00:1::/64 (gateway ") == true
        }
        func isPaused(_ isPaused: Bool) async throws {
            try await eventually("paused: \(isPaused)", within: .seconds(60)) {
                try await bob.row("workspace")["paused"] == .bool(isPaused)
            }
        }

        // The same prefix somewhere else.
        try await route(2, via: 4)
        try await isPaused(true)
        try await ann.say("in the café")
        try await route(2, via: 3)
        try await isPaused(false)
        try await converge(ann, bob, within: .seconds(60))

        // Only the addresses are lost; then the cable is in another socket.
        try await shell(2, "ip -6 route del default; ip -6 addr flush dev eth0 scope global")
        try await ann.say("bob has no address")
        try await converge(ann, bob, within: .seconds(60))
        #expect(try await bob.row("workspace")["paused"] == false)
        try lab.cut(2)
        try lab.heal(2)
        try await isPaused(true)
        try await ann.say("where are you?")
        #expect(try await bob.texts() == ["in the office", "in the café", "bob has no address"])
        #expect(try await bob.row("workspace", "here")["paused"] == false)
        try await converge(ann, bob, within: .seconds(60))
    }

    /// Members find one another by nothing but their key, and nobody else finds anything.
    @Test(.timeLimit(.minutes(3))) func twoWorkspacesOnOneNetwork() async throws {
        let lab = try Lab(hosts: 3)
        let (ann, bob, eve) = (Machine("ann", on: lab[1]), Machine("bob", on: lab[2]), Machine("eve", on: lab[3]))
        for machine in [ann, bob, eve] { try await machine.start() }
        try await meet(ann, bob, eve, within: .seconds(60))
        _ = try await ann.row("workspace", "create", "team")
        let link = try #require(try await ann.row("workspace", "invite")["link"]?.string)
        _ = try await bob.row("workspace", "join", link)
        try await eventually("ann and bob meet", within: .seconds(60)) { try await ann.present() == ["ann", "bob"] }
        try await ann.say("among us")
        try await eventually("bob reads it", within: .seconds(60)) { try await bob.texts() == ["among us"] }
        try await eve.say("where are you all?")
        #expect(try await eve.texts() == ["where are you all?"])
        #expect(try await eve.rows("peer", "list").allSatisfy { $0["state"] != "connected" })
        for machine in [ann, bob] { #expect(try await machine.present() == ["ann", "bob"]) }
    }
}
