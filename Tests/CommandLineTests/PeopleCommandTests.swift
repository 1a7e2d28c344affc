import ControlAPI
import Lab
import Testing

/// verify-identity, mute and block, as people use them.
@Suite(.serialized, .showsLogs)
struct PeopleCommandTests {
    private func row(_ machine: Machine, _ uid: String) async throws -> JSON {
        try await machine.rows("who").first { $0["uid"]?.string == uid } ?? .null
    }

    private func uid(_ machine: Machine) async throws -> String {
        try #require(try await machine.row("identity")["uid"]?.string)
    }

    @Test(.timeLimit(.minutes(1))) func wordsAreCompared() async throws {
        let (ann, bob) = (try Machine("ann"), try Machine("bob"))
        try await ann.startLocally()
        try await bob.startLocally(knowing: ann)
        try await meet(ann, bob)
        let shown = try await ann.row("verify-identity", "bob")
        let words = (shown["words"]?.array ?? []).compactMap(\.string)
        #expect(words.count == 8)
        #expect(try await bob.row("verify-identity", "ann")["words"] == shown["words"])
        // Without a terminal it asks nothing and changes nothing.
        let printed = try await ann.starling("verify-identity", "bob")
        #expect(printed.status == 0 && printed.out.contains(words[7]), "\(printed.out)")
        let bobs = try await uid(bob)
        #expect(try await row(ann, bobs)["verified"] == false)
        #expect(try await ann.row("verify-identity", "bob", "--yes")["verified"] == true)
        #expect(try await ann.starling("who").out.contains("bob ✓"))
        #expect(try await ann.row("verify-identity", bobs, "--undo")["verified"] == false)
        #expect(try await ann.starling("verify-identity", "bob", "--yes", "--undo").status == 2)
        #expect(try await ann.starling("verify-identity", "eve").status == 4)
    }

    /// Bob's machine is set up anew, or somebody else takes his name: ann is warned wherever she looks.
    @Test(.timeLimit(.minutes(1))) func aChangedKeyIsWarnedOf() async throws {
        let (ann, bob, other) = (try Machine("ann"), try Machine("bob"), try Machine("bob"))
        try await ann.startLocally()
        try await bob.startLocally(knowing: ann)
        try await meet(ann, bob)
        let known = try await uid(bob)
        try await bob.stop()
        try await other.startLocally(knowing: ann)
        let stranger = try await uid(other)
        try await eventually("ann hears of the other bob", within: .seconds(60)) {
            try await row(ann, stranger)["namesakeOf"]?.string == known
        }
        let who = try await ann.starling("who")
        let warning = "⚠ bob~\(stranger.suffix(4)) has another key than bob~\(known.suffix(4))"
        #expect(who.out.contains(warning), "\(who.out)")
        let sent = try await ann.starling("send", "general", "hello")
        #expect(sent.status == 0 && sent.err.contains("warning: bob~\(stranger.suffix(4))"), "\(sent.err)")
        #expect(try await ann.starling("verify-identity", "bob", "--accept").status == 4)
        #expect(try await ann.starling("verify-identity", "bob~\(stranger.suffix(4))", "--accept").status == 0)
        #expect(try await ann.starling("send", "general", "hello again").err.isEmpty)
        #expect(try await ann.starling("who").out.contains("⚠") == false)
    }

    @Test(.timeLimit(.minutes(1))) func peopleAreMutedAndBlocked() async throws {
        let (ann, bob) = (try Machine("ann"), try Machine("bob"))
        try await ann.startLocally()
        try await bob.startLocally(knowing: ann)
        try await meet(ann, bob)
        try await bob.say("from bob")
        try await converge(ann, bob)
        let bobs = try await uid(bob)
        for (command, field) in [("mute", "muted"), ("block", "blocked")] {
            #expect(try await ann.row(command, "bob")[field] == true)
            #expect(try await ann.texts() == [])
            #expect(try await ann.rows("channels").first?["unread"] == 0)
            #expect(try await ann.rows(command).compactMap { $0["uid"]?.string } == [bobs])
            #expect(try await ann.starling(command).out.contains("bob"))
            #expect(try await ann.starling("who").out.contains(", \(field)"))
            #expect(try await ann.row(command, "bob", "--undo")[field] == nil)
            #expect(try await ann.rows(command) == [])
            #expect(try await ann.texts() == ["from bob"])
            #expect(try await ann.starling(command, "--undo").status == 2)
            #expect(try await ann.starling(command, "ann").status == 1)
        }
        try await meet(ann, bob, within: .seconds(60))
    }
}
