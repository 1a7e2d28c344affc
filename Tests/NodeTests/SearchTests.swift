import ControlAPI
import Node
import Seal
import Testing
import Tree

extension NodeTests {
    /// Messages found by their words.
    @Suite struct SearchTests {
        private func found(_ client: LineClient, _ text: String, _ more: JSONObject = [:]) throws -> [String] {
            var params: JSONObject = ["text": .string(text)]
            for member in more.members { params.append(member.key, member.value) }
            let answer = try client.call("message.search", .object(params))
            return try #require(answer["messages"]?.array).map { $0["text"]?.string ?? "" }
        }

        @Test func messagesAreFoundAsTheyAreNow() async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            let first = try client.send(message: "Lunch at noon, Café Größenwahn")
            let second = try client.send(message: "lunch is over")
            #expect(try found(client, "LUNCH") == ["Lunch at noon, Café Größenwahn", "lunch is over"])
            #expect(try found(client, "cafe grossen*") == ["Lunch at noon, Café Größenwahn"])
            #expect(try found(client, "\"at noon\"").count == 1 && found(client, "\"noon at\"").isEmpty)
            try client.call("message.edit", ["key": .string(first), "text": "dinner"])
            #expect(try found(client, "noon").isEmpty && found(client, "dinner") == ["dinner"])
            try client.call("message.react", ["key": .string(first), "emoji": "👍"])
            let rows = try client.call("message.search", ["text": "dinner"])["messages"]?.array
            #expect(try rows == client.messages().filter { $0["text"] == "dinner" }, "the same row as a list gives")
            try client.call("message.delete", ["key": .string(second)])
            #expect(try found(client, "lunch").isEmpty)
        }

        @Test func filters() async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            try client.call("channel.create", ["name": "ops"])
            var keys: [String] = []
            for number in 0..<6 {
                keys.append(try client.send(message: "word \(number)", to: number < 3 ? "#general" : "#ops"))
            }
            let times = try client.messages("#ops").map { try #require($0["createdAt"]?.int) }
            #expect(try found(client, "word", ["in": "#ops"]) == ["word 3", "word 4", "word 5"])
            #expect(try found(client, "word", ["limit": 2]) == ["word 4", "word 5"])
            #expect(try found(client, "word", ["before": .string(keys[4])]).last == "word 3")
            #expect(try found(client, "word", ["before": .string(keys[4]), "limit": 2]) == ["word 2", "word 3"])
            #expect(try found(client, "word", ["before": .int(times[0])]).count <= 3)
            #expect(try found(client, "word", ["since": .int(times[2] + 1)]).isEmpty)
            #expect(try found(client, "word", ["since": .int(times[0])]).last == "word 5")
            #expect(try found(client, "word", ["from": .string(UID.text(node.uid))]).count == 6)
            #expect(try found(client, "word", ["from": "Anna"]).count == 6)
            let refused: [(JSONObject, String)] = [
                (["in": "#nowhere"], "not_found"), (["in": "nowhere"], "invalid_params"),
                (["from": "nobody"], "not_found"),
                (["from": ""], "invalid_params"), (["limit": 0], "invalid_params"),
                (["limit": 10_001], "invalid_params"),
                (["since": -1], "invalid_params"), (["since": "yesterday"], "invalid_params"),
                (["before": "x"], "invalid_params"), (["text": 5], "invalid_params"),
            ]
            for (params, reason) in refused {
                var all: JSONObject = params
                if all["text"] == nil { all.append("text", "word") }
                #expect(try client.refusal("message.search", .object(all)) == reason, "\(params)")
            }
        }

        @Test func twoOfOneNameAreNotGuessed() async throws {
            let anna = try await TestNode("anna")
            let (one, two) = (try await TestNode("bob", peers: [anna]), try await TestNode("Bob", peers: [anna]))
            let client = try anna.client()
            for node in [one, two] {
                try client.waitForPerson(UID.text(node.uid), "bob") { $0["name"]?.string?.lowercased() == "bob" }
                try node.client().send(message: "from \(UID.text(node.uid))")
                try client.waitForMessage("from \(UID.text(node.uid))")
            }
            #expect(try client.refusal("message.search", ["text": "from", "from": "bob"]) == "ambiguous_name")
            for node in [one, two] {
                let uid = UID.text(node.uid)
                #expect(try found(client, "from", ["from": .string(uid)]) == ["from \(uid)"])
            }
        }

        /// Whatever somebody types, it is no syntax.
        @Test(
            arguments: [
                "\"", "\"\"", "*", "\"*", "a\"", "a\"b\"c", "AND", "a OR", "NOT a", "NEAR(a b, 2)", "a:b", "words:a",
                "-a", "^a", "{a b}:c", "a + b", "(a", ")", "'; DROP TABLE search;--", "\u{0}", "a\u{0}b", "%", "_",
                "\\",
                "\u{202E}a", "\u{E000}1", "👍", "\u{301}", "a*b", "* *", "\"a b\"*", "?1", "\u{FFFD}", "\u{10FFFF}",
            ])
        func nothingIsSyntax(text: String) async throws {
            let node = try await Shared.node.value
            let reason = try node.client().refusal("message.search", ["text": .string(text)])
            #expect(["none", "invalid_params"].contains(reason), "\(text.debugDescription)")
        }

        @Test func tooLongIsSaid() async throws {
            let client = try await Shared.node.value.client()
            let long = String(repeating: "word ", count: 300)
            #expect(try client.refusal("message.search", ["text": .string(long)]) == "too_large")
        }

        /// What was written just before is found, however far the index is behind, and others are served meanwhile.
        @Test func aLongWayToGo() async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            let general = try client.generalKey()
            let values = (0..<1500).map { number -> (key: String, value: JSON) in
                let mid = AutoID(hlc: HLC(ms: 1000 + UInt64(number)), author: node.uid).text
                let message: JSON = [
                    "senderId": .string(UID.text(node.uid)), "text": .string("common n\(number)"), "createdAt": 1000,
                ]
                return ("\(general)/messages/\(mid)", message)
            }
            var update = JSONObject()
            for value in values { update.append(value.key, value.value) }
            try client.call("tree.update", ["path": "channels", "values": .object(update)])
            let search = try client.request("message.search", ["text": "common", "limit": 1200])
            let status = try client.request("node.status")
            var answers: [Int64: JSON] = [:]
            for _ in 0..<2 {
                let answer = try client.answer()
                answers[try #require(answer["id"]?.int)] = answer["result"]
            }
            #expect(answers[status]?["uid"] != nil)
            let rows = try #require(answers[search]?["messages"]?.array)
            #expect(rows.count == 1200 && rows.first?["text"] == "common n300" && rows.last?["text"] == "common n1499")
        }

        @Test func aRestartLosesNothing() async throws {
            let home = try TestHome()
            for round in 0..<3 {
                let node = try await TestNode("anna", home: home)
                let client = try node.client()
                for number in 0..<40 { try client.send(message: "word r\(round) n\(number)") }
                #expect(try found(client, "word", ["limit": 1000]).count == 40 * (round + 1))
                try client.send(message: "last of r\(round)")
                await node.stop()
            }
            let node = try await TestNode("anna", home: home)
            #expect(try found(node.client(), "last").count == 3)
        }
    }

    /// A node for tests that leave nothing behind.
    private enum Shared {
        static let node = Task { try await TestNode("anna") }
    }
}

extension LineClient {
    fileprivate func generalKey() throws -> String {
        let rows = try call("channel.list")["channels"]?.array ?? []
        return try #require(rows.first { $0["name"] == "general" }?["key"]?.string)
    }
}
