import CommandLineKit
import ControlAPI
import Foundation
import Lab
import Testing

@testable import starling

/// How the commands are called, and how they end.
@Suite(.serialized, .showsLogs)
struct CommandLineUseTests {
    private func expect(
        _ machine: Machine, _ words: [String], input: String = "", code: Int32, says: String,
        at location: SourceLocation = #_sourceLocation
    ) async throws {
        let result = try await machine.spawn("starling", words).finish(input: input)
        #expect(result.status == code, "\(words): \(result.err)", sourceLocation: location)
        #expect(result.err.contains(says), "\(words): \(result.err)", sourceLocation: location)
        #expect(result.out.isEmpty, "\(words): \(result.out)", sourceLocation: location)
    }

    @Test(.timeLimit(.minutes(1))) func everyExitCode() async throws {
        let (ann, bob) = (try Machine("ann"), try Machine("bob"))
        try await expect(ann, ["who"], code: 3, says: "start it with: starling --home \(ann.home ?? "") daemon start")
        try await ann.startLocally()
        try await bob.startLocally(knowing: ann)
        let key = try await ann.say("ann's")
        try await converge(ann, bob)
        let nobody = "-OabcdefghijklmnopqrsT"
        let big = String(repeating: "x", count: 70_000)

        #expect(try await ann.starling("who").status == 0)
        try await expect(ann, ["send", "general"], input: big, code: 1, says: "too_large")
        try await expect(ann, ["edit", key, big], code: 1, says: "too_large")
        try await expect(ann, ["send", "a b", "x"], code: 1, says: "a channel name may not contain spaces")
        try await expect(ann, ["tree", "set", "a.b", "1"], code: 1, says: "invalid_path")
        try await expect(ann, ["profile", "--name", String(repeating: "x", count: 81)], code: 1, says: "1 to 80 bytes")
        try await expect(ann, ["profile", "--name", "a\nb"], code: 1, says: "control characters")
        try await expect(ann, ["profile", "--name", "a\u{1b}[31m"], code: 1, says: "control characters")
        try await expect(ann, ["read", "general", "--before", "xx"], code: 4, says: "no message has that key")
        try await expect(ann, ["peer", "add", "a:b:c"], code: 1, says: "HOST:PORT")
        for words in [
            ["send"], ["send", "@bob", "x"], ["read"], ["edit", key, ""], ["typing", "general", "maybe"],
            ["typing", "general", "off", "--hold"], ["tree", "set", "x"], ["tree", "get", "x", "--limit-to-last", "0"],
            ["channels", "create"], ["profile"], ["read", "general", "-f", "--before", key], ["who", "extra"],
            ["send", "general", "  "], ["edit", key, " "], ["--home", "", "who"],
            ["--nonsense"], ["tree"], ["daemon"], ["read", "general", "-n", "10001"],
        ] {
            try await expect(ann, words, code: 2, says: "--help")
        }
        for words in [
            ["send", "#nobody", "x"], ["read", "#nobody"], ["edit", nobody, "x"], ["delete", nobody],
            ["react", nobody, "x"], ["send", "general", "-r", nobody, "x"], ["typing", "nobody", "on"],
            ["channels", "rename", "nobody", "x"], ["peer", "remove", "10.0.0.1"],
        ] {
            try await expect(ann, words, code: 4, says: "not_found")
        }
        for name in ["one", "two"] { _ = try await ann.row("channels", "create", name) }
        for name in ["one", "two"] { _ = try await ann.row("channels", "rename", name, "same") }
        try await expect(ann, ["send", "same", "x"], code: 4, says: "ambiguous_name")
        for words in [["edit", key, "bob's"], ["delete", key]] {
            try await expect(bob, words, code: 5, says: "that message is ann's; only ann can change it")
        }
        // What was deleted is not there, whoever asks.
        _ = try await ann.row("delete", key)
        for words in [
            ["edit", key, "x"], ["delete", key], ["react", key, "x"], ["send", "general", "-r", key, "x"],
        ] {
            try await expect(ann, words, code: 4, says: "not_found")
        }
        // With a daemon that has gone in the meantime: no daemon, and never a wait.
        try await ann.crash()
        try await expect(ann, ["send", "general", "x"], code: 3, says: "no daemon is running")
    }

    @Test(.timeLimit(.minutes(1))) func standardInputIsOneMessage() async throws {
        let ann = try Machine("ann")
        try await ann.startLocally()
        for input in ["x\ny", "x\ny\n", "  indented\n\n", "naïve 👩‍👩‍👧 \u{202e}txet\n", "-x\n", "a\r\nb\u{1b}[31m\n"] {
            _ = try await ann.row("send", "general", input: input)
        }
        let expected = ["x\ny", "x\ny", "  indented\n", "naïve 👩‍👩‍👧 \u{202e}txet", "-x", "a\r\nb\u{1b}[31m"]
        #expect(try await ann.texts() == expected)
        for input in ["", "\n", "  ", " \n\t\n\n"] {
            try await expect(ann, ["send", "general"], input: input, code: 2, says: "an empty message is none")
        }
        // Words win over what is piped in, and are joined; two dashes end the options.
        _ = try await ann.row("send", "general", "words", "win", input: "piped")
        #expect(try await ann.starling("send", "general", "--", "--json", "-x").status == 0)
        #expect(try await ann.texts().suffix(2) == ["words win", "--json -x"])
        let invalid = try await ann.spawn([
            "sh", "-c", "printf 'a\\377b' | \"$0\" send general", Lab.product("starling"),
        ])
        .finish()
        #expect(invalid.status == 1 && invalid.err.contains("not UTF-8"))
        // Nor is a word taken for other text than was written.
        for (program, arguments) in [("starling", "send general ok \"$1\""), ("starlingd", "--name \"$1\"")] {
            let line = "\"$0\" \(arguments)"
            let refused = try await ann.spawn([
                "bash", "-c", "set -- $'a\\xffb'; \(line)", Lab.product(program),
            ]).finish()
            #expect(refused.status == 2 && refused.err.contains("is not UTF-8"), "\(refused.status) \(refused.err)")
        }
        #expect(try await ann.texts().suffix(1) == ["--json -x"])
        let key = try #require(try await ann.rows("read", "general").first?["key"]?.string)
        #expect(try await ann.row("edit", key, input: "edited\n")["key"]?.string == key)
        #expect(try await ann.texts().first == "edited")
        // The longest message there is, and what other programs do when nobody reads them.
        let longest = String(repeating: "é", count: 32 * 1_024)
        _ = try await ann.row("send", "general", input: longest)
        #expect(try await ann.texts().last == longest)
        let piped = try await ann.spawn(["sh", "-c", "\"$0\" read general --json | head -n 1", Lab.product("starling")])
            .finish()
        #expect(piped.status == 0 && piped.err.isEmpty && piped.out.utf8.count(where: { $0 == 0x0A }) == 1)
    }

    /// Lists without a row and what has been done say so.
    @Test(.timeLimit(.minutes(1))) func nothingIsSilent() async throws {
        let ann = try Machine("ann")
        try await ann.startLocally()
        #expect(try await ann.starling("mute").out == "nobody is muted\n")
        #expect(try await ann.starling("block").out == "nobody is blocked\n")
        let added = try await ann.starling("peer", "add", "127.0.0.1:9")
        #expect(added.out == "127.0.0.1:9 is tried from now on: see starling peer list\n", "\(added.err)")
        #expect(try await ann.starling("peer", "remove", "127.0.0.1:9").out == "127.0.0.1:9 is not tried any more\n")
        #expect(try await ann.rows("mute").isEmpty)
    }

    /// The daemon neither takes a name that writes into others' terminals nor an empty folder for the usual one.
    @Test(.timeLimit(.minutes(1))) func whatTheDaemonDoesNotTake() async throws {
        let ann = try Machine("ann")
        for (words, says) in [(["--name", "a\nb"], "control characters"), (["--home", ""], "--home is empty")] {
            let result = try await ann.spawn("starlingd", ["--no-discovery"] + words).finish()
            #expect(result.status != 0 && result.err.contains(says), "\(result.err)")
        }
    }

    /// Whatever cannot be printed is said, and what has been done all the same: a script that retries would double it.
    @Test(.timeLimit(.minutes(1))) func outputThatCannotBeWritten() async throws {
        let ann = try Machine("ann")
        try await ann.startLocally()
        let starling = try Lab.product("starling")
        for (place, why) in [(">/dev/full", "No space left on device"), (">&-", "Bad file descriptor")] {
            for words in ["send general x", "read general", "channels", "--help"] {
                let result = try await ann.spawn(["sh", "-c", "\"$0\" \(words) \(place)", starling]).finish()
                #expect(result.status == 1, "\(words) \(place)")
                #expect(result.err.contains("writing the output: \(why)"), "\(words) \(place): \(result.err)")
                #expect(result.err.contains("the message was sent") == words.hasPrefix("send"), "\(result.err)")
            }
        }
        #expect(try await ann.texts() == ["x", "x"])
    }

    /// AutoIDs begin with a dash until 2109, and no command takes one for an option.
    @Test(.timeLimit(.minutes(1))) func keysThatBeginWithADashAreArguments() async throws {
        let ann = try Machine("ann")
        try await ann.startLocally()
        let key = try await ann.say("one")
        try #require(key.hasPrefix("-"))
        let general = try #require(try await ann.row("channels")["key"]?.string)
        try #require(general.hasPrefix("-"))
        #expect(try await ann.row("send", general, "-r", key, "two")["in"]?.string == general)
        #expect(try await ann.row("send", general, "--reply-to", key, "three")["in"]?.string == general)
        #expect(try await ann.row("send", general, "--reply-to=\(key)", "four")["in"]?.string == general)
        #expect(try await ann.rows("read", general).suffix(3).allSatisfy { $0["replyTo"]?.string == key })
        let last = try #require(try await ann.rows("read", general).last?["key"]?.string)
        #expect(try await ann.rows("read", general, "--before", last).count == 3)
        _ = try await ann.row("edit", key, "-", "minus")
        _ = try await ann.row("react", key, "-1")
        #expect(try await ann.rows("read", general).first?["text"] == "- minus")
        // An old Firebase key has 20 characters; a word of a dash and a number is no option either.
        let old = "-JhLeOlGIEjaIOFHR0xd"
        _ = try await ann.row("tree", "set", "apps/keys/\(old)", "-1")
        _ = try await ann.row("tree", "push", "apps/numbers", "-1.5")
        #expect(try await ann.row("tree", "get", "apps/keys") == .object([old: -1]))
        #expect(try await ann.starling("edit", old, "x").status == 4)
        _ = try await ann.row("delete", key)
        #expect(try await ann.texts() == ["two", "three", "four"])
    }

    /// Reading is never waiting for a daemon that hangs, sending neither: everything has an end and a word about it.
    @Test(.timeLimit(.minutes(1))) func helpIsThereForEveryCommandWithoutADaemon() async throws {
        let ann = try Machine("ann")
        var paths = StarlingProgram.table.callable.map(\.path)
        paths += [["tree"], ["daemon"], ["peer"], ["identity"]]
        for path in paths {
            let result = try await ann.spawn("starling", path + ["--help"]).finish()
            #expect(result.status == 0 && result.err.isEmpty, "\(path)")
            #expect(result.out.contains("Usage:"), "\(path)")
            let lines = result.out.split(separator: "\n")
            #expect(lines.allSatisfy { $0.count <= 100 }, "\(path)")
            #expect(!result.out.contains("\u{1b}"), "\(path)")
        }
        let asked = try await ann.starling("help", "send")
        #expect(asked.status == 0)
        #expect(try await ann.starling("send", "--help").out == asked.out)
        #expect(try await ann.starling("version").out == ann.starling("--version").out)
        for program in ["starling", "starlingd"] {
            let version = try await ann.spawn(program, ["--version"]).finish()
            #expect(version.status == 0 && version.out == "\(program) \(StarlingVersion.current)\n")
            let help = try await ann.spawn(program, ["--help"]).finish()
            #expect(help.status == 0 && help.out.contains("--home DIR"))
        }
        #expect(Machine.daemons(of: ann.home ?? "-") == [])
    }
}
