import ControlAPI
import Foundation
import Lab
import Testing

/// What people get to see: readable for them, harmless for their terminals.
@Suite(.serialized, .showsLogs)
struct DisplayTests {
    /// Runs a command on a terminal (script(1)) and returns what came out.
    private func onTerminal(
        _ machine: Machine, _ words: [String], environment: [String: String] = [:]
    ) async throws -> String {
        let settings = ["TERM=xterm"] + environment.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        let line = ([try Lab.product("starling")] + words).map { "'\($0)'" }.joined(separator: " ")
        let result = try await machine.spawn(
            ["env", "-u", "NO_COLOR"] + settings + ["script", "-qec", line, "/dev/null"]
        ).finish()
        #expect(result.status == 0, "\(result.out)")
        return result.out
    }

    /// What a terminal would obey, but for the colours that the program itself sets.
    private func commands(in text: String) -> [Unicode.Scalar] {
        let plain = text.replacing(#/\e\[[0-9;]*m/#, with: "")
        return plain.unicodeScalars.filter { scalar in
            switch scalar.value {
            case 0x0A: false
            case 0..<0x20, 0x7F..<0xA0, 0x202A...0x202E, 0x2066...0x2069, 0x200E, 0x200F, 0x061C: true
            default: false
            }
        }
    }

    @Test(.timeLimit(.minutes(1))) func namesAndMessagesAreHarmless() async throws {
        let evil = "\u{1b}[31m\u{1b}]0;own\u{7}\r\u{8}\u{9b}2J\u{202e}evil\u{2066}\u{200f}"
        let (ann, bob) = (try Machine("ann"), try Machine("bob"))
        try await ann.startLocally()
        try await bob.startLocally(knowing: ann)
        try await meet(ann, bob)
        // As others may do it: her daemon would not take the name from a command.
        let uid = try #require(try await ann.row("identity", "show")["uid"]?.string)
        let name = JSON.string(String(evil.prefix(20)))
        _ = try await ann.row("tree", "set", "users/\(uid)/displayName", "\(name)")
        _ = try await ann.row("send", "general", input: "text \(evil)\nnext line")
        let key = try await ann.say(evil)
        _ = try await ann.row("react", key, "\u{202e}x")
        _ = try await ann.row("channels", "topic", "general", evil)
        _ = try await ann.row("tree", "set", "apps/evil", "{\"text\":\(JSON.string(evil))}")
        try await converge(ann, bob)
        let commands: [[String]] = [
            ["read", "general"], ["read", "general", "--keys"], ["read", "general", "--json"], ["who"],
            ["who", "--json"],
            ["channels"], ["channels", "--json"], ["status"], ["peer", "list"], ["verify"],
            ["tree", "get", "apps/evil"],
            ["tree", "get", "channels", "--json"],
        ]
        for words in commands {
            let piped = try await bob.spawn("starling", words).finish()
            #expect(piped.status == 0 && self.commands(in: piped.out).isEmpty, "\(words): \(piped.out)")
            #expect(!piped.out.contains("\u{1b}"), "\(words)")
            // The terminal's driver adds a return to each line.
            let shown = try await onTerminal(bob, words).replacing("\r\n", with: "\n")
            #expect(self.commands(in: shown).isEmpty, "\(words): \(shown.debugDescription)")
        }
        // The text itself is what was sent.
        #expect(try await bob.texts() == ["text \(evil)\nnext line", evil])
        // Neither do errors and logs pass it on.
        let missing = try await bob.starling("send", "general", "-r", evil, "x")
        #expect(missing.status == 4 && self.commands(in: missing.err).isEmpty)
        #expect(try self.commands(in: bob.daemon.errors.text).isEmpty)
    }

    @Test(.timeLimit(.minutes(1))) func colourIsForTerminals() async throws {
        let ann = try Machine("ann")
        try await ann.startLocally()
        try await ann.say("hello")
        #expect(try await onTerminal(ann, ["read", "general"]).contains("\u{1b}["))
        #expect(try await !onTerminal(ann, ["read", "general"], environment: ["NO_COLOR": "1"]).contains("\u{1b}"))
        #expect(try await !onTerminal(ann, ["read", "general", "--json"]).contains("\u{1b}"))
        #expect(try await !ann.starling("read", "general").out.contains("\u{1b}"))
    }

    @Test(.timeLimit(.minutes(1))) func theSameName() async throws {
        let (ann, bob) = (try Machine("bob"), try Machine("bob"))
        try await ann.startLocally()
        try await bob.startLocally(knowing: ann)
        try await meet(ann, bob)
        try await ann.say("from one")
        try await bob.say("from the other")
        try await converge(ann, bob)
        let read = try await ann.starling("read", "general").out
        #expect(read.split(separator: "\n").filter { $0.contains("bob~") }.count == 2, "\(read)")
        let senders = Set(try await ann.rows("read", "general").compactMap { $0["senderId"]?.string })
        #expect(senders.count == 2)
    }

    @Test(.timeLimit(.minutes(1))) func aRenamedChannelIsFoundByItsOldName() async throws {
        let (ann, bob) = (try Machine("ann"), try Machine("bob"))
        try await ann.startLocally()
        try await bob.startLocally(knowing: ann)
        try await meet(ann, bob)
        let lunch = try await ann.row("channels", "create", "Mittag-Überall")
        _ = try await ann.row("channels", "rename", "mittag-überall", "food")
        try await converge(ann, bob)
        let sent = try await bob.row("send", "#MITTAG-ÜBERALL", "still there")
        #expect(sent["in"] == lunch["key"])
        let word = "#MITTAG-ÜBERALL is called #food now"
        #expect(sent["note"]?.string == word)
        let human = try await bob.starling("send", "#MITTAG-ÜBERALL", "and here")
        #expect(human.status == 0 && human.err == "note: \(word)\n" && human.out.hasPrefix("-"))
        #expect(try await bob.rows("read", "food").map { $0["text"] } == ["still there", "and here"])
        #expect(try await bob.rows("read", "mittag-überall").count == 2)
        // Opening it by its old name does not rename it back.
        let opened = try await bob.row("channels", "create", "mittag-überall")
        #expect(opened["key"] == lunch["key"] && opened["name"] == "food")
    }

    /// Unread is what has arrived here since it was read, and not one's own.
    @Test(.timeLimit(.minutes(1))) func unread() async throws {
        let (ann, bob) = (try Machine("ann"), try Machine("bob"))
        try await ann.startLocally()
        try await bob.startLocally(knowing: ann)
        try await meet(ann, bob)
        func unread() async throws -> Int64? { try await bob.row("channels")["unread"]?.int }
        for number in 1...3 { try await ann.say("\(number)") }
        try await bob.say("mine")
        try await converge(ann, bob)
        #expect(try await unread() == 3)
        let human = try await bob.starling("channels")
        #expect(human.out.contains("3 new"))
        let bot = try bob.attach()
        try bot.request(1, "read.mark", ["in": "#general"])
        _ = try await bot.answer(1)
        #expect(try await unread() == 0)
        let key = try await ann.say("4")
        try await ann.say("5")
        try await converge(ann, bob)
        #expect(try await unread() == 2)
        _ = try await ann.row("delete", key)
        try await converge(ann, bob)
        #expect(try await unread() == 1)
        // It is kept.
        try await bob.crash()
        try await bob.startLocally()
        #expect(try await unread() == 1)
    }
}
