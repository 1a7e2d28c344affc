import ControlAPI
import Foundation
import Lab
import Testing

/// Two people of one name on one network: everything of both arrives, and nothing that takes a name guesses.
@Suite(.serialized, .enabled(if: Lab.unavailableReason == nil, "\(Lab.unavailableReason ?? "")"), .showsLogs)
struct TwoBobsTests {
    private func uid(_ machine: Machine) async throws -> String {
        try #require(try await machine.row("identity")["uid"]?.string)
    }

    @Test(.timeLimit(.minutes(3))) func twoOfOneNameAreToldApart() async throws {
        let folder = NSTemporaryDirectory() + "/starling-\(UInt32.random(in: 0 ... .max))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let lab = try Lab(hosts: 3)
        let (ann, first) = (Machine("ann", on: lab[1]), Machine("bob", on: lab[2]))
        let second = Machine("bob", on: lab[3])
        try await ann.start()
        try await first.start()
        try await meet(ann, first, within: .seconds(60))
        try await second.start()
        for machine in [ann, first, second] {
            try await eventually("all three are seen", within: .seconds(60)) {
                try await machine.present() == ["ann", "bob", "bob"]
            }
        }
        let (uid1, uid2) = (try await uid(first), try await uid(second))
        let tags = PersonTag.telling([uid1, uid2])
        let (bob1, bob2) = ("bob~\(tags[0])", "bob~\(tags[1])")
        try await first.say("from the first")
        try await second.say("from the second")
        try await converge(ann, first, second, within: .seconds(60))

        // In the chat.
        let terminal = try await TmuxTerminal(ann, in: folder)
        try await terminal.type(try Lab.product("starling"))
        try await terminal.shows("\(bob1) │ from the first", within: .seconds(60))
        try await terminal.shows("⚠\(bob2) │ from the second", within: .seconds(60))
        try await terminal.type("/quit")

        // In what is read, also where only one of them has a line, and in the list.
        for machine in [ann, first, second] {
            let read = try await machine.starling("read", "general").out
            for line in ["\(bob1) │ from the first", "\(bob2) │ from the second"] {
                #expect(read.contains(line), "\(read)")
            }
            let last = try await machine.starling("read", "general", "-n", "1").out
            #expect(last.contains("\(bob2) │") || last.contains("\(bob1) │"), "\(last)")
            let found = try await machine.starling("search", "first").out
            #expect(found.contains("\(bob1) │ from the first"), "\(found)")
            let who = try await machine.starling("who").out
            #expect(who.contains(bob1) && who.contains(bob2), "\(who)")
            let rows = try await machine.rows("read", "general")
            #expect(Set(rows.compactMap { $0["senderId"]?.string }) == [uid1, uid2])
        }

        // Whatever takes a name asks which.
        let ambiguous = [
            ["verify-identity", "bob"], ["mute", "BOB"], ["block", "bob"], ["search", "from", "--from", "bob"],
        ]
        for words in ambiguous {
            let asked = try await ann.spawn("starling", words).finish()
            #expect(asked.status == 4 && asked.err.contains(bob1) && asked.err.contains(bob2), "\(words) \(asked.err)")
        }
        #expect(try await ann.row("verify-identity", bob1)["uid"]?.string == uid1)
        #expect(try await ann.row("verify-identity", bob2)["uid"]?.string == uid2)
        #expect(try await ann.rows("search", "from", "--from", bob2).map { $0["text"] } == ["from the second"])

        // Somebody who takes a name that looks like that of somebody else with his tag.
        _ = try await second.row("profile", "--name", bob1)
        try await eventually("ann has heard it", within: .seconds(60)) {
            try await ann.rows("who").contains { $0["name"]?.string == bob1 }
        }
        let asked = try await ann.starling("verify-identity", bob1)
        #expect(asked.status == 4 && asked.err.contains(uid1) && asked.err.contains(uid2), "\(asked.err)")
        let read = try await ann.starling("read", "general").out
        #expect(read.contains("bob │ from the first") && read.contains("\(bob1)~\(tags[1]) │"), "\(read)")
    }
}
