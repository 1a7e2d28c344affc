import CommandLineKit
import ControlAPI
import ControlClient
import Foundation
import Lab
import Testing

@testable import starling

/// What scripts rely on: the fields that each command prints with `--json`, and their order.
@Suite(.serialized, .showsLogs)
struct FieldsTests {
    /// Two machines that have met, and a message with everything to it.
    private func pair() async throws -> (ann: Machine, bob: Machine, key: String) {
        let (ann, bob) = (try Machine("ann"), try Machine("bob"))
        try await ann.startLocally()
        try await bob.startLocally(knowing: ann)
        try await meet(ann, bob)
        let first = try await ann.say("first")
        let key = try #require(try await ann.row("send", "general", "-r", first, "answer")["key"]?.string)
        _ = try await ann.row("edit", key, "better answer")
        _ = try await ann.row("react", key, "👍")
        return (ann, bob, key)
    }

    private func fields(_ row: JSON) throws -> [String] { try #require(row.object).members.map(\.key) }

    @Test(.timeLimit(.minutes(1))) func messages() async throws {
        let (ann, bob, key) = try await pair()
        let general = try #require(try await ann.row("channels")["key"]?.string)
        let sent = try await ann.row("send", "#general", "third", "with", "words")
        #expect(try fields(sent) == ["key", "in"] && sent["in"]?.string == general)
        try await converge(ann, bob)

        let rows = try await bob.rows("read", "general", "-n", "3")
        try #require(rows.count == 3)
        let plain = ["key", "in", "senderId", "senderName", "text", "createdAt", "verified"]
        #expect(try fields(rows[0]) == plain)
        #expect(try fields(rows[1]) == plain + ["replyTo", "editedAt", "reactions"])
        #expect(rows.map { $0["text"]?.string } == ["first", "better answer", "third with words"])
        #expect(rows[1]["key"]?.string == key && rows[1]["replyTo"] == rows[0]["key"])
        let uid = try #require(try await ann.row("identity", "show")["uid"])
        #expect(rows[1]["reactions"] == ["👍": [uid]] && rows[1]["senderId"] == uid && rows[1]["verified"] == true)
        #expect(try await bob.rows("read", "general", "-n", "1", "--before", key) == [rows[0]])
        #expect(try await bob.rows("read", general, "-n", "0") == [])

        let answer: JSON = ["key": .string(key), "in": .string(general)]
        #expect(try await ann.row("edit", key, "again") == answer)
        #expect(try await bob.row("react", key, "🎉") == answer)
        #expect(try await bob.row("react", key, "🎉", "--remove") == answer)
        #expect(try await ann.row("delete", key) == answer)
        #expect(try await ann.rows("read", "general").map { $0["text"] } == ["first", "third with words"])
    }

    /// An edit repeats the row with `editedAt`; a delete prints `{key, in, deleted: true}`.
    @Test(.timeLimit(.minutes(1))) func following() async throws {
        let (ann, bob, key) = try await pair()
        try await converge(ann, bob)
        let reader = try bob.follow("read", "general", "-f", "-n", "1", "--json")
        #expect(try await reader.nextRow()["text"] == "better answer")
        _ = try await ann.row("edit", key, "best answer")
        let edited = try await reader.nextRow()
        #expect(edited["text"] == "best answer" && edited["key"]?.string == key && edited["editedAt"]?.int != nil)
        _ = try await ann.row("react", key, "👍", "--remove")
        #expect(try await reader.nextRow()["reactions"] == nil)
        _ = try await ann.row("delete", key)
        let deleted = try await reader.nextRow()
        #expect(try fields(deleted) == ["key", "in", "deleted"] && deleted["deleted"] == true)
        try await ann.stop()
        try await bob.stop()
        try await eventually("it says so", within: .seconds(60)) {
            reader.errors.text.contains("closed the connection")
        }
        reader.terminate()
    }

    /// Bots outlive the daemon's restarts: what came, changed and went meanwhile is told once, and nothing else again.
    @Test(.timeLimit(.minutes(1))) func followingAcrossARestart() async throws {
        let ann = try Machine("ann")
        try await ann.startLocally()
        for text in ["never shown", "one", "two", "three"] { _ = try await ann.say(text) }
        let keys = try await ann.rows("read", "general").compactMap { $0["key"]?.string }
        let reader = try ann.follow("read", "general", "-f", "-n", "3", "--json")
        for text in ["one", "two", "three"] { #expect(try await reader.nextRow()["text"]?.string == text) }
        #expect(try await ann.say("four").isEmpty == false)
        #expect(try await reader.nextRow()["text"] == "four")
        // Stopped, it notices nothing of the next daemon until much has happened there.
        reader.kill(SIGSTOP)
        try await ann.stop()
        try await ann.startLocally()
        _ = try await ann.row("edit", keys[2], "two of them")
        _ = try await ann.row("delete", keys[3])
        for number in 5...9 { try await ann.say("number \(number)") }
        reader.kill(SIGCONT)
        var lines: [String] = []
        for _ in 0..<7 {
            let row = try await reader.nextRow(within: .seconds(60))
            lines.append(row["text"]?.string ?? "\(row["key"]?.string == keys[3] && row["deleted"] == true)")
        }
        #expect(lines == ["two of them"] + (5...9).map { "number \($0)" } + ["true"])
        #expect(reader.errors.text.contains("connected again"))
        try await ann.crash()
        try await ann.startLocally()
        try await ann.say("ten")
        #expect(try await reader.nextRow(within: .seconds(60))["text"] == "ten")
        reader.terminate()
    }

    /// Without any daemon it ends as every command without one.
    @Test func followingGivesUp() throws {
        let home = FileManager.default.temporaryDirectory.path + "/starling-\(UInt32.random(in: 0 ... .max))"
        guard case .run(let invocation) = try Parser(StarlingProgram.table).parse(["--home", home, "read", "general"])
        else { throw LabError("no command") }
        let session = Session(invocation, Output())
        let error = #expect(throws: ClientError.self) { _ = try session.connectAgain(patienceMs: 0) }
        #expect(error?.exitCode == 3)
    }

    /// An answer holds 3 MiB; whoever asks for more messages than fit into one gets them all the same.
    @Test(.timeLimit(.minutes(2))) func asManyAsWereAskedFor() async throws {
        let ann = try Machine("ann")
        try await ann.startLocally()
        let big = "tea " + String(repeating: "x", count: 60_000)
        for _ in 0..<70 { _ = try await ann.row("send", "general", input: big) }
        #expect(try await ann.rows("read", "general", "-n", "100").count == 70)
        #expect(try await ann.rows("read", "general", "-n", "60").count == 60)
        let reader = try ann.follow("read", "general", "-f", "-n", "65", "--json")
        for _ in 0..<65 { _ = try await reader.nextRow(within: .seconds(60)) }
        try await ann.say("small")
        #expect(try await reader.nextRow(within: .seconds(60))["text"] == "small")
        reader.terminate()
        let found = try await ann.starling("search", "tea", "-n", "100", "--json")
        #expect(found.err.contains("there may be more"), "\(found.err)")
        #expect(try await ann.starling("search", "tea", "-n", "5", "--json").err.isEmpty)
    }

    @Test(.timeLimit(.minutes(1))) func peopleAndChannels() async throws {
        let (ann, bob, key) = try await pair()
        try await converge(ann, bob)
        let people = try await bob.rows("who")
        #expect(people.count == 2)
        for row in people {
            #expect(try fields(row) == ["uid", "name", "state", "since", "typing", "verified", "self"])
            #expect(row["state"] == "online" && row["verified"] == false && row["typing"] == [])
            #expect(row["self"] == .bool(row["name"] == "bob"))
        }
        let general = try await bob.row("channels")
        #expect(try fields(general) == ["key", "name", "unread", "last"])
        #expect(general["name"] == "general" && general["unread"] == 2 && general["last"]?.string == key)
        let lunch = try await bob.row("channels", "create", "lunch")
        #expect(try fields(lunch) == ["key", "name", "unread"])
        let topic = try await bob.row("channels", "topic", "lunch", "who", "eats")
        #expect(try fields(topic) == ["key", "name", "topic", "unread"] && topic["topic"] == "who eats")
        #expect(try await bob.row("channels", "create", "#Lunch") == topic)
        let renamed = try await bob.row("channels", "rename", "#lunch", "#food")
        #expect(renamed["name"] == "food" && renamed["key"] == lunch["key"])
        let archived = try await bob.row("channels", "archive", "food")
        #expect(try fields(archived) == ["key", "name", "topic", "unread", "archived"] && archived["archived"] == true)
        #expect(try await bob.rows("channels").count == 1)
        #expect(try await bob.rows("channels", "--archived").count == 2)
        #expect(try await bob.row("channels", "archive", "food", "--undo") == renamed)
        #expect(try await ann.row("typing", "food", "on") == [:])
        #expect(try await ann.row("typing", "food", "off") == [:])
        #expect(try fields(await ann.row("profile", "--name", "Ada")) == ["uid", "name", "receipts"])
        #expect(try fields(await ann.row("identity", "show")) == ["uid", "name", "fingerprint"])
        try await eventually("bob sees the name", within: .seconds(20)) { try await bob.present() == ["Ada", "bob"] }
        // A message keeps the name under which it was written.
        #expect(try await bob.rows("read", "general").allSatisfy { $0["senderName"] == "ann" })
    }

    @Test(.timeLimit(.minutes(1))) func node() async throws {
        let (ann, bob, _) = try await pair()
        try await converge(ann, bob)
        _ = try await bob.rows("verify")
        let status = try await bob.row("status")
        // From `discovery` on they were added to the fields that are fixed.
        let fixed = [
            "uid", "name", "workspace", "version", "peers", "entries", "root", "held", "skipped", "denied",
            "databaseBytes", "discovery", "offsetMs", "heldAuthors", "notices", "storage",
        ]
        #expect(try fields(status) == fixed)
        #expect(status["workspace"] == "open" && status["entries"]?.int ?? 0 > 3)
        #expect(status["root"]?.string?.utf8.count == 80 && status["held"] == 0 && status["denied"] == 0)
        let peer = try #require(status["peers"]?[0])
        // From `path` on they were added.
        let fixedOfPeer = [
            "uid", "name", "address", "state", "rttMs", "skewMs", "lacks", "ahead", "path", "heardMs", "refusals",
        ]
        #expect(try fields(peer) == fixedOfPeer && peer["path"] == "named" && peer["refusals"] == 0)
        #expect(peer["name"] == "ann" && peer["state"] == "connected" && peer["lacks"] == 0 && peer["ahead"] == 0)
        let listed = try await bob.row("peer", "list")
        #expect(try fields(listed) == fields(peer) && listed["uid"] == peer["uid"])
        #expect(listed["address"]?.string == "127.0.0.1:\(try await ann.port)")
        let compared = try await bob.row("verify")
        #expect(try fields(compared) == ["uid", "name", "equal", "theyLack", "weLack"])
        #expect(try await bob.row("peer", "add", "localhost:9") == ["address": "localhost:9"])
        #expect(try await bob.row("peer", "add", "[::1]") == ["address": "[::1]:47474"])
        #expect(try await bob.row("peer", "remove", "localhost:9") == ["address": "localhost:9"])
        try await ann.stop()
        try await eventually("bob notices", within: .seconds(20)) {
            try await bob.rows("peer", "list").contains { row in
                row["uid"] == peer["uid"] && ["unreachable", "connecting"].contains(row["state"]?.string)
                    && row["rttMs"] == .null && row["lacks"] == .null
            }
        }
        let offline = try #require(try await bob.rows("who").first { $0["name"] == "ann" })
        #expect(offline["state"] == "offline")
    }

    @Test(.timeLimit(.minutes(1))) func tree() async throws {
        let ann = try Machine("ann")
        try await ann.startLocally()
        #expect(try await ann.row("tree", "set", "apps/a", #"{"b":1,"10":true,"9":"x","c":{"d":[1,2]}}"#) == [:])
        let whole = try await ann.starling("tree", "get", "apps/a", "--json")
        #expect(whole.out == #"{"9":"x","10":true,"b":1,"c":{"d":[1,2]}}"# + "\n")
        #expect(try await ann.row("tree", "update", "apps/a", #"{"c/d/0":null,"e":1.5}"#) == [:])
        #expect(try await ann.row("tree", "get", "apps/a/c") == ["d": [.null, 2]])
        #expect(
            try await ann.row("tree", "get", "apps/a", "--shallow")
                == ["9": true, "10": true, "b": true, "c": true, "e": true])
        let pushed = try await ann.row("tree", "push", "apps/list", "\"first\"")
        #expect(try fields(pushed) == ["key"])
        let second = try await ann.row("tree", "push", "apps/list", input: "2")
        #expect(
            try await ann.row("tree", "get", "apps/list", "--order-by-value", "--limit-to-first", "1") == [
                second["key"]?.string ?? "": 2
            ])
        #expect(
            try await ann.row("tree", "get", "apps/list", "--equal-to", "\"first\"", "--order-by-value") == [
                pushed["key"]?.string ?? "": "first"
            ])
        #expect(try await ann.row("tree", "remove", "apps/list") == [:])
        #expect(try await ann.row("tree", "get", "apps/list") == .null)

        let watcher = try ann.follow("tree", "watch", "apps/a", "--json", "--order-by-key", "--limit-to-last", "2")
        var seen: [JSON] = []
        for _ in 0..<3 { seen.append(try await watcher.nextRow()) }
        #expect(try seen.allSatisfy { try fields($0) == ["event", "key", "value", "previous"] })
        #expect(seen.map { $0["event"]?.string } == ["child_added", "child_added", "value"])
        #expect(seen[0]["key"] == "c" && seen[0]["previous"] == .null && seen[1]["previous"] == "c")
        _ = try await ann.row("tree", "set", "apps/a/f", "true")
        seen = []
        for _ in 0..<3 { seen.append(try await watcher.nextRow()) }
        #expect(seen.map { $0["event"]?.string } == ["child_removed", "child_added", "value"])
        let values = try ann.follow("tree", "watch", "apps/a/b", "-e", "value", "--json")
        #expect(try await values.nextRow() == ["event": "value", "key": .null, "value": 1, "previous": .null])
    }
}
