import ControlAPI
import Foundation
import Glibc
import Lab
import Testing

/// `starling identity` against the real daemon.
@Suite(.serialized, .showsLogs)
struct IdentityTests {
    private func uid(_ machine: Machine) async throws -> String {
        try #require(try await machine.row("identity")["uid"]?.string)
    }

    /// The daemon goes on as the same process, under the same name, and is connected again.
    @Test(.timeLimit(.minutes(1))) func aNewIdentity() async throws {
        let (ann, bob) = (try Machine("ann"), try Machine("bob"))
        try await bob.startLocally()
        try await ann.startLocally(knowing: bob)
        let key = try await ann.say("as before")
        try await meet(ann, bob)
        let shown = try await ann.row("identity", "show")
        #expect(try await ann.row("identity") == shown)
        #expect(try await ann.starling("identity").out.contains(shown["fingerprint"]?.string ?? "?"))
        let old = try await uid(ann)

        let unconfirmed = try await ann.starling("identity", "new")
        #expect(unconfirmed.status == 2 && unconfirmed.err.contains("--yes"), "\(unconfirmed.err)")
        #expect(try await uid(ann) == old)
        let row = try await ann.row("identity", "new", "--yes")
        let new = try #require(row["uid"]?.string)
        #expect(new != old && row["previous"]?.string == old && row["name"] == "ann")
        // The command ends when the new one answers.
        #expect(try await uid(ann) == new)
        #expect(try ann.daemon.isRunning)
        let files = FileManager.default
        for path in [try #require(row["previousKey"]?.string), try #require(ann.home) + "/identity.key"] {
            let mode = try files.attributesOfItem(atPath: path)[.posixPermissions] as? Int
            #expect(mode == 0o600, "\(path)")
        }
        try await ann.say("as somebody new")
        try await eventually("bob reads it", within: .seconds(20)) {
            try await bob.texts() == ["as before", "as somebody new"]
        }
        let senders = try await bob.rows("read", "general").compactMap { $0["senderId"]?.string }
        #expect(senders == [old, new])
        let denied = try await ann.starling("edit", key, "changed")
        #expect(denied.status == 5)
        try await ann.stop()
    }

    @Test(.timeLimit(.minutes(1))) func aPersonIsAsked() async throws {
        let ann = try Machine("ann")
        try await ann.startLocally()
        let old = try await uid(ann)
        for (answer, isChanged) in [("no", false), ("", false), ("yes", true)] {
            let terminal = try PseudoTerminal()
            let command = Process()
            command.executableURL = URL(fileURLWithPath: try Lab.product("starling"))
            command.arguments = ["--home", try #require(ann.home), "identity", "new"]
            command.standardInput = terminal.program
            command.standardOutput = terminal.program
            command.standardError = terminal.program
            try command.run()
            #expect(await terminal.shows("Type yes:"))
            terminal.type(answer + "\n")
            if isChanged { #expect(await terminal.shows("somebody new")) }
            await Task.detached { command.waitUntilExit() }.value
            #expect(command.terminationStatus == (isChanged ? 0 : 1))
            #expect((try await uid(ann) != old) == isChanged)
        }
    }

    /// Whenever the daemon dies, there is one identity, the old or the new, and nothing is missing.
    @Test(.timeLimit(.minutes(2))) func killedInTheMiddle() async throws {
        let ann = try Machine("ann")
        let home = try #require(ann.home)
        var random = SystemRandomNumberGenerator()
        try await ann.startLocally()
        try await ann.say("kept")
        try await ann.stop()
        var changed = 0
        for round in 0..<12 {
            try ann.launch(["--no-discovery", "--listen", "127.0.0.1:0"])
            try await ann.ready()
            let old = try await uid(ann)
            let bot = try ann.attach()
            try await bot.nextRow { $0["method"] == "hello" }
            try bot.request(1, "identity.new", ["uid": .string(old)])
            // Some are killed before they have read it, some while they do it, one after it is done.
            if round == 11 { #expect(try await bot.answer(1)["result"] != nil) }
            let waitMs = Int32.random(in: 0...30, using: &random)
            await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
                Thread.detachNewThread {
                    poll(nil, 0, waitMs)
                    done.resume()
                }
            }
            try await ann.crash()
            try ann.launch(["--no-discovery", "--listen", "127.0.0.1:0"])
            try await ann.ready()
            let status = try await ann.row("status")
            let kept = home + "/identity-\(old).key"
            #expect(status["name"] == "ann", "round \(round)")
            #expect(try await ann.texts() == ["kept"])
            if status["uid"]?.string != old {
                changed += 1
                #expect(FileManager.default.fileExists(atPath: kept), "round \(round)")
            }
            try await ann.stop()
        }
        #expect(changed > 0)
    }
}

/// On a disk without room.
@Suite(.serialized, .enabled(if: Lab.unavailableReason == nil, "\(Lab.unavailableReason ?? "")"), .showsLogs)
struct IdentityOnAFullDiskTests {
    @Test(.timeLimit(.minutes(1))) func nothingChanges() async throws {
        let lab = try Lab(hosts: 1)
        let ann = Machine("ann", on: lab[1])
        let folder = "$HOME/.local/share/starling"
        let mount = "mkdir -p \(folder) && mount -t tmpfs -o mode=0700,size=4m tmpfs \(folder)"
        #expect(try await lab[1].run(["sh", "-c", mount]).status == 0)
        try await ann.start("--no-discovery")
        let before = try await ann.row("identity")
        #expect(try await lab[1].run(["sh", "-c", "cat /dev/zero > \(folder)/filler; true"]).status == 0)
        let failed = try await ann.starling("identity", "new", "--yes")
        #expect(failed.status == 1 && failed.err.contains("disk_full"), "\(failed.err)")
        #expect(try await ann.row("identity") == before)
        try await ann.crash()
        #expect(try await lab[1].run(["sh", "-c", "rm \(folder)/filler"]).status == 0)
        try await ann.start("--no-discovery")
        #expect(try await ann.row("identity") == before)
        #expect(try await ann.row("identity", "new", "--yes")["previous"] == before["uid"])
        #expect(try await ann.row("identity")["name"] == "ann")
    }
}
