import ControlAPI
import Foundation
import Lab
import Testing

/// The chat as two people have it, in terminals on two hosts.
@Suite(.serialized, .enabled(if: Lab.unavailableReason == nil, "\(Lab.unavailableReason ?? "")"), .showsLogs)
struct ChatOverTheNetworkTests {
    @Test(.timeLimit(.minutes(2))) func twoPeopleChat() async throws {
        let folder = NSTemporaryDirectory() + "/starling-\(UInt32.random(in: 0 ... .max))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let lab = try Lab(hosts: 2)
        let (ann, bob) = (Machine("ann", on: lab[1]), Machine("bob", on: lab[2]))
        let terminal = try await TmuxTerminal(ann, in: folder)
        let starling = try Lab.product("starling")

        // One command, nothing configured: it starts the daemon, which takes the login name and says how to change it.
        try await terminal.type(
            "stty -a > \(folder)/before; \(starling); stty -a > \(folder)/after; echo $((40 + 1)) left")
        try await terminal.shows("/nick NAME changes your name")
        try await terminal.shows("#general ›")
        try await terminal.type("/nick ann")
        try await terminal.shows("you are ann now")
        try await bob.start()
        try await terminal.shows("bob is here")

        try await bob.say("hello ann")
        try await terminal.shows("bob │ hello ann", within: .seconds(20))
        let typing = try bob.follow("typing", "general", "on", "--hold")
        try await terminal.shows("bob is typing…", within: .seconds(20))
        typing.kill(SIGKILL)
        try await eventually("the line is gone", within: .seconds(4)) {
            try await !terminal.screen.contains("bob is typing")
        }

        // What is typed shows there before it is sent, and then arrives.
        let reader = try bob.follow("read", "general", "-f", "--json")
        try await reader.nextRow { $0["text"] == "hello ann" }
        try await terminal.type("hello bob", enter: false)
        try await eventually("bob sees her type", within: .seconds(20)) {
            try await bob.rows("who").contains { $0["name"] == "ann" && $0["typing"]?.array?.count == 1 }
        }
        try await terminal.type("")
        let row = try await reader.nextRow(within: .seconds(20)) { $0["senderName"] == "ann" }
        #expect(row["text"] == "hello bob" && row["verified"] == true)
        // Another machine holds it; which mark that is depends on the locale of the run.
        try await eventually("a mark beside it", within: .seconds(60)) {
            let screen = try await terminal.screen
            return ["✓", "+"].contains { screen.contains(" \($0)         ann │ hello bob") }
        }
        #expect(try await bob.rows("who").allSatisfy { $0["typing"] == [] })
        let key = try #require(row["key"]?.string)
        _ = try await bob.row("react", key, "👍")
        try await terminal.shows("bob 👍 “hello bob”")
        _ = try await bob.row("channels", "topic", "general", "greetings")
        try await terminal.shows("the topic is: greetings")
        try await bob.stop()
        try await terminal.shows("bob has left")

        try await terminal.type("/quit")
        try await terminal.shows("41 left")
        let before = try String(contentsOfFile: "\(folder)/before", encoding: .utf8)
        #expect(try String(contentsOfFile: "\(folder)/after", encoding: .utf8) == before)
        #expect(before.contains(" echo "))

        // The daemon goes on receiving, and a chat that is ended from outside leaves a usable terminal.
        try await terminal.type("clear; sh -c 'echo $$ > \(folder)/id; exec \(starling)'; stty -a > \(folder)/killed")
        try await terminal.shows("ann │ hello bob")
        let id = try String(contentsOfFile: "\(folder)/id", encoding: .utf8).dropLast()
        kill(try #require(pid_t(id)), SIGTERM)
        try await eventually("the terminal is back", within: .seconds(20)) {
            FileManager.default.fileExists(atPath: "\(folder)/killed")
        }
        try await terminal.type("echo $((6 * 7))")
        try await terminal.shows("\n42\n")
        #expect(try String(contentsOfFile: "\(folder)/killed", encoding: .utf8) == before)
    }
}
