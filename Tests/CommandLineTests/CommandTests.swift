import ControlAPI
import Foundation
import Lab
import Testing

/// The real programs, spawned.
@Suite(.timeLimit(.minutes(2)))
struct CommandTests {
    private func json(_ result: LabResult) throws -> [JSON] {
        #expect(result.status == 0, "\(result.err)")
        return try result.out.split(separator: "\n").map { try JSON.parse(String($0)) }
    }

    @Test func aMessageFromSendToDelete() async throws {
        let node = try await DaemonAndClient()
        let sent = try json(await node.run("send", "general", "two", "words", "--json"))
        let key = try #require(sent.first?["key"]?.string)
        #expect(key.utf8.count == 22 && sent.first?["in"]?.string?.utf8.count == 22)
        let piped = try await node.run("send", "#general", input: "from\nstandard input\n")
        #expect(piped.status == 0)
        let rows = try json(await node.run("read", "#general", "--json")).map(MessageRow.init(json:))
        #expect(rows.map(\.text) == ["two words", "from\nstandard input"])
        #expect(rows.first?.key == key && rows.first?.verified == true && rows.first?.senderName == "ada")
        #expect(try json(await node.run("edit", key, "other words", "--json")).first?["key"]?.string == key)
        #expect(try await node.run("react", key, "👍").status == 0)
        let changed = try json(await node.run("read", "general", "--json", "-n", "2")).map(MessageRow.init(json:))
        #expect(changed.first?.text == "other words" && changed.first?.editedAt != nil)
        #expect(changed.first?.reactions.map(\.emoji) == ["👍"])
        #expect(try await node.run("delete", key).status == 0)
        #expect(try json(await node.run("read", "general", "--json")).count == 1)
    }

    @Test func followingPrintsWhatComes() async throws {
        let node = try await DaemonAndClient()
        _ = try await node.run("send", "general", "before")
        let reader = try node.start("read", "general", "-f", "--json")
        let first = try JSON.parse(#require(try await reader.nextLine()))
        #expect(first["text"] == "before")
        let key = try json(await node.run("send", "general", "after", "--json")).first?["key"]
        #expect(try JSON.parse(#require(try await reader.nextLine()))["text"] == "after")
        _ = try await node.run("delete", key?.string ?? "")
        let gone = try JSON.parse(#require(try await reader.nextLine()))
        #expect(gone["deleted"] == true && gone["key"] == key)
        reader.terminate()
    }

    @Test func theTree() async throws {
        let node = try await DaemonAndClient()
        #expect(try await node.run("tree", "set", "demo", #"{"b":-1,"a":"x","10":1,"9":2}"#).status == 0)
        let value = try await node.run("tree", "get", "demo", "--json")
        #expect(value.out == #"{"9":2,"10":1,"a":"x","b":-1}"# + "\n")
        let last = try await node.run("tree", "get", "demo", "--order-by-key", "--limit-to-last", "1", "--json")
        #expect(last.out == #"{"b":-1}"# + "\n")
        #expect(try await node.run("tree", "update", "demo", input: #"{"a":null}"#).status == 0)
        let key = try json(await node.run("tree", "push", "list", "5", "--json")).first?["key"]?.string
        #expect(key?.isEmpty == false)
        let watcher = try node.start("tree", "watch", "demo", "--json")
        var events: [String] = []
        while events.last != "value" {
            let event = try JSON.parse(#require(try await watcher.nextLine()))
            events.append(event["event"]?.string ?? "")
        }
        #expect(events == ["child_added", "child_added", "child_added", "value"])
        _ = try await node.run("tree", "remove", "demo/b")
        let removed = try JSON.parse(#require(try await watcher.nextLine()))
        #expect(removed["event"] == "child_removed" && removed["key"] == "b")
        watcher.terminate()
    }

    @Test func peopleChannelsAndStatus() async throws {
        let node = try await DaemonAndClient()
        let lunch = try json(await node.run("channels", "create", "#lunch", "--topic", "Who eats", "--json"))
        #expect(lunch.first?["name"] == "lunch" && lunch.first?["topic"] == "Who eats")
        #expect(try json(await node.run("channels", "--json")).compactMap { $0["name"]?.string }.contains("general"))
        #expect(try await node.run("profile", "--name", "Ada L.").out == "you are Ada L.\n")
        let people = try json(await node.run("who", "--json")).map(PersonRow.init(json:))
        #expect(people.map(\.name) == ["Ada L."] && people.first?.isSelf == true && people.first?.state == .online)
        let status = try StatusRow(json: #require(try json(await node.run("status", "--json")).first))
        #expect(status.name == "Ada L." && status.root.utf8.count == 80 || !status.root.isEmpty)
        #expect(try json(await node.run("typing", "lunch", "on", "--json")) == [[:]])
        #expect(try json(await node.run("identity", "show", "--json")).first?["uid"]?.string == status.uid)
        for words in [["status"], ["who"], ["channels"], ["verify"], ["peer", "list"]] {
            let result = try await node.run(words[0], words.count > 1 ? words[1] : "--help")
            #expect(result.status == 0 && !result.out.contains("\u{1b}"), "\(words)")
        }
    }

    @Test func exitCodes() async throws {
        let node = try await DaemonAndClient()
        let key = "-OabcdefghijklmnopqrsT"
        let cases: [(words: [String], code: Int32, says: String)] = [
            (["sned", "x"], 2, "did you mean send?"), (["send", "@bob", "x"], 2, "no direct messages yet"),
            (["send", "nowhere", "x"], 4, "channels create"), (["edit", key, "x"], 4, "not_found"),
            (
                ["tree", "set", "users/\(String(repeating: "-", count: 43))/displayName", "\"x\""], 5,
                "permission_denied"
            ),
            (["tree", "set", "a", "x"], 2, "no JSON"), ([], 2, "the chat needs a terminal"),
            (["read", "general", "-n", "x"], 2, "--number must be a number"),
        ]
        for (words, code, says) in cases {
            let process = try LabProcess([try Lab.product("starling"), "--home", node.home] + words)
            let result = try await process.finish()
            #expect(result.status == code, "\(words): \(result.err)")
            #expect(result.err.contains(says) && result.out.isEmpty, "\(words): \(result.err)")
        }
    }

    @Test func withoutADaemonTheMessageStartsOne() async throws {
        let home = FileManager.default.temporaryDirectory.path + "/starling-\(UInt32.random(in: 0 ... .max))"
        defer { try? FileManager.default.removeItem(atPath: home) }
        let starling = try Lab.product("starling")
        let missing = try await LabProcess([starling, "who"], environment: ["STARLING_HOME": home]).finish()
        #expect(missing.status == 3)
        #expect(missing.err.contains("start it with: starling --home \(home) daemon start"))
        let started = try await LabProcess([
            starling, "--home", home, "daemon", "start", "--json", "--", "--no-discovery", "--listen", "127.0.0.1:0",
        ]).finish()
        #expect(started.status == 0 && started.out.contains("\"started\":true"), "\(started.err)")
        let again = try await LabProcess([starling, "--home", home, "daemon", "start"]).finish()
        #expect(again.status == 0 && again.out.contains("runs already"))
        #expect(try await LabProcess([starling, "--home", home, "daemon", "log"]).finish().status == 0)
        let stopped = try await LabProcess([starling, "--home", home, "daemon", "stop"]).finish()
        #expect(stopped.status == 0 && stopped.out == "starlingd has stopped\n", "\(stopped.err)")
        #expect(try await LabProcess([starling, "--home", home, "who"]).finish().status == 3)
    }

    @Test func completionNeedsNoDaemon() async throws {
        let script = try await LabProcess([try Lab.product("starling"), "completion", "bash"]).finish()
        #expect(script.status == 0 && script.out.contains("complete -o default -F _starling starling"))
    }
}
