import CommandLineKit
import ControlAPI
import Testing

@testable import starling

/// What has to hold for every command of the table.
struct CommandTableTests {
    @Test func everyCommandIsCarriedOutAndHasAnExample() {
        let paths = StarlingProgram.table.callable.map { $0.path.joined(separator: " ") }
        #expect(Set(paths) == Set(StarlingProgram.runs.keys))
        for (path, command) in StarlingProgram.table.callable {
            #expect(!command.examples.isEmpty, "\(path)")
            #expect(Help(StarlingProgram.table).text(path).contains("\nExamples:\n"), "\(path)")
            #expect(!command.summary.hasSuffix("."), "\(path)")
        }
    }

    /// The examples that are one call of starling parse by the table they stand in.
    @Test func examplesAreUnderstood() throws {
        var tried = 0
        for (path, command) in StarlingProgram.table.callable {
            for example in command.examples {
                let words = try shellWords(example.line)
                guard words.first == "starling", !words.contains("|") else { continue }
                guard case .run(let invocation) = try Parser(StarlingProgram.table).parse(Array(words.dropFirst()))
                else {
                    Issue.record("\(example.line)")
                    continue
                }
                #expect(invocation.path == path, "\(example.line)")
                tried += 1
            }
        }
        #expect(tried > 20)
    }

    /// Words of a line as a shell has them, for lines with single quotes.
    private func shellWords(_ line: String) throws -> [String] {
        var words: [String] = []
        for (index, part) in line.split(separator: "'", omittingEmptySubsequences: false).enumerated() {
            if index % 2 == 1 {
                words.append(String(part))
            } else {
                words += part.split(separator: " ").map(String.init)
            }
        }
        return words
    }

    /// A word of 20, 22 or 43 characters of the alphabet is a key or a uid, never an option.
    @Test func noOptionLooksLikeAKey() {
        for (path, command) in StarlingProgram.table.callable {
            for option in command.options { #expect(![20, 22, 43].contains(option.long.utf8.count + 2), "\(path)") }
        }
    }

    @Test func jsonIsThereForEverythingThatAnswers() {
        let without: Set<String> = ["", "daemon run", "daemon log", "completion"]
        for (path, command) in StarlingProgram.table.callable {
            let name = path.joined(separator: " ")
            #expect(command.options.contains { $0.long == "json" } != without.contains(name), "\(name)")
        }
    }

    @Test func fixedSurfaceParses() throws {
        let key = "-OabcdefghijklmnopqrsT"
        let lines: [[String]] = [
            ["--home", "/x", "send", "#general", "TEXT", "--reply-to", key, "--json"],
            ["read", "#general", "-n", "50", "-f"],
            ["read", "#general", "--before", key], ["edit", key, "TEXT"], ["delete", key],
            ["react", key, "👍", "--remove"],
            ["channels"], ["channels", "create", "NAME"], ["channels", "rename", "#a", "b"],
            ["channels", "topic", "#a", "t"],
            ["channels", "archive", "#a"], ["who", "--json"], ["typing", "#general", "on", "--hold"],
            ["typing", "#general", "off"],
            ["status", "--json"], ["doctor"], ["doctor", "--json"], ["verify"],
            ["verify-identity", "bob", "--yes"], ["verify-identity", "bob~x7Qa", "--accept", "--json"],
            ["verify-identity", "bob", "--undo"], ["mute"], ["mute", "bob", "--undo"], ["block", "bob"],
            ["block", "--json"],
            ["tree", "get", "a/b", "--order-by-child", "x/y", "--limit-to-last", "3"],
            ["tree", "watch", "a", "--order-by-key", "--start-at", "\"a\"", "--end-before", "\"b\"", "--json"],
            ["tree", "get", "a", "--order-by-value", "--equal-to", "-1", "--shallow", "--export"],
            [
                "tree", "get", "a", "--order-by-priority", "--start-after", "1", "--start-key", key, "--limit-to-first",
                "1",
            ],
            [
                "tree", "watch", "a", "--order-by-child", "b", "--end-at", "null", "--end-key", "k", "--export", "-e",
                "value",
            ],
            ["tree", "get", "a", "--watch", "--event", "child_moved"],
            ["tree", "set", "a/.priority", "1"], ["tree", "set", "a", "{}", "--expect", "null"],
            ["tree", "set", "a", "{}"], ["tree", "update", "a", "{}"], ["tree", "push", "a", "1"],
            ["tree", "remove", "a"], ["tree", "hold", "a", "1", "--then", "2"],
            ["tree", "history", "a", "-n", "5", "--json"], ["tree", "history", "a", "--restore", "3f2a"],
            ["peer", "add", "h:1"], ["peer", "list"], ["peer", "remove", "h:1"], ["identity", "show"],
            ["identity"], ["identity", "new", "--yes"],
            ["workspace", "--json"], ["workspace", "create", "NAME"], ["workspace", "show"], ["workspace", "here"],
            ["workspace", "invite", "--expires", "12h", "--no-qr"], ["workspace", "join", "starling://join/x"],
            ["workspace", "join"], ["workspace", "leave", "--json"], ["workspace", "remove", "NAME"],
            ["profile", "--name", "x"], ["daemon", "start"], ["daemon", "stop"], ["daemon", "run"], ["daemon", "log"],
        ]
        for line in lines {
            guard case .run = try Parser(StarlingProgram.table).parse(line) else {
                Issue.record("\(line)")
                continue
            }
        }
    }

    @Test func manualPageAndCompletionsAreGenerated() {
        #expect(ManualPage(StarlingProgram.table).text().contains(".SS tree get PATH\n"))
        for path in [["tree", "get"], ["tree", "watch"]] {
            let help = Help(StarlingProgram.table).text(path)
            for option in TreeQuery.options { #expect(help.contains("  --\(option.long)"), "\(path) \(option.long)") }
        }
        for script in [
            Completion(StarlingProgram.table).bash(), Completion(StarlingProgram.table).zsh(),
            Completion(StarlingProgram.table).fish(),
        ] {
            #expect(script.contains("/tree/watch") && script.contains("order-by-priority"))
        }
    }

    @Test func indentedJSONIsTheSameJSON() throws {
        let value: JSON = ["a": [1, [:], ["b": "x"]], "c": [], "d": .null]
        let text = TreeRead.indented(value, "")
        #expect(try JSON.parse(text) == value)
        #expect(text.hasPrefix("{\n  \"a\": [\n    1,\n    {},\n    {\n      \"b\": \"x\"\n    }\n  ],\n"))
    }
}
