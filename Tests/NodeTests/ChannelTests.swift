import ControlAPI
import Node
import Testing
import Tree

extension NodeTests {
    /// Channels and their names.
    @Suite struct ChannelTests {
        @Test func generalIsThereFromTheStart() async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            let rows = try client.call("channel.list")["channels"]?.array ?? []
            #expect(rows.count == 1)
            #expect(rows.first?["name"]?.string == "general")
            #expect(try client.texts().isEmpty)
            // Its key is that of its name, everywhere.
            let created = try client.call("channel.create", ["name": "#General"])
            #expect(created["key"] == rows.first?["key"])
        }

        @Test func creatingWhatThereIsReturnsIt() async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            let first = try client.call("channel.create", ["name": "#Straße", "topic": "roads"])
            #expect(first["name"]?.string == "Straße")
            for name in ["#STRASSE", "strasse", "#straße"] {
                #expect(try client.call("channel.create", ["name": .string(name)]) == first)
            }
            for name in ["", "#", "##x", "#@x", "a b", "a\tb", "a\u{202E}b", String(repeating: "x", count: 81)] {
                #expect(try client.refusal("channel.create", ["name": .string(name)]) == "invalid_params", "\(name)")
            }
            #expect(
                try client.refusal("channel.create", ["name": .string(String(repeating: "x", count: 1 << 20))])
                    == "invalid_params")
            #expect(
                try client.refusal("channel.create", ["name": .string(String(repeating: "x", count: 80))]) == "none")
        }

        @Test func aRenamedChannelIsFoundByBothNames() async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            let lunch = try #require(try client.call("channel.create", ["name": "#lunch"])["key"])
            try client.call("channel.rename", ["channel": "#lunch", "name": "#food"])
            let old = try client.call("message.send", ["to": "#lunch", "text": "by the old name"])
            #expect(old["in"] == lunch)
            #expect(old["note"]?.string == "#lunch is called #food now")
            let new = try client.call("message.send", ["to": "#FOOD", "text": "by the new name"])
            #expect(new["in"] == lunch && new["note"] == nil)
            #expect(try client.texts("#lunch") == ["by the old name", "by the new name"])
            #expect(try client.texts(#require(lunch.string)) == ["by the old name", "by the new name"])
        }

        @Test func twoChannelsOfOneNameAreAmbiguous() async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            let a = try #require(try client.call("channel.create", ["name": "#a"])["key"]?.string)
            let b = try #require(try client.call("channel.create", ["name": "#b"])["key"]?.string)
            try client.call("channel.rename", ["channel": "#a", "name": "#same"])
            try client.call("channel.rename", ["channel": "#b", "name": "#same"])
            #expect(try client.refusal("message.send", ["to": "#same", "text": "x"]) == "ambiguous_name")
            #expect(try client.refusal("message.send", ["to": .string(a), "text": "x"]) == "none")
            #expect(try client.refusal("message.send", ["to": .string(b), "text": "x"]) == "none")
            // The channel whose key the name certifies comes first.
            try client.call("channel.create", ["name": "#c"])
            try client.call("channel.rename", ["channel": .string(a), "name": "#c"])
            #expect(try client.call("message.send", ["to": "#c", "text": "x"])["in"]?.string != a)
        }

        @Test func topicAndArchive() async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            try client.call("channel.create", ["name": "#x"])
            #expect(
                try client.call("channel.topic", ["channel": "#x", "topic": "about x"])["topic"]?.string == "about x")
            #expect(try client.call("channel.archive", ["channel": "#x"])["archived"]?.bool == true)
            #expect(try client.call("channel.archive", ["channel": "#x", "archived": false])["archived"] == nil)
            #expect(try client.call("channel.topic", ["channel": "#x", "topic": ""])["topic"] == nil)
            for method in ["channel.topic", "channel.rename", "channel.archive"] {
                #expect(try client.refusal(method, ["channel": "#none", "topic": "t", "name": "n"]) == "not_found")
            }
            #expect(try client.refusal("read.mark", ["in": "#none"]) == "not_found")
            #expect(try client.refusal("message.list", ["in": "#none"]) == "not_found")
        }

        /// Anybody may write a channel's metadata, also nonsense.
        @Test func nonsenseInMetadataHurtsNobody() async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            let key = try #require(try client.call("channel.create", ["name": "#x"])["key"]?.string)
            let huge = String(repeating: "n", count: 900_000)
            for value in [5, true, ["a": "b"], .string(huge), .null] as [JSON] {
                try client.call(
                    "tree.update", ["path": .string("channels/\(key)"), "values": ["name": value, "topic": value]])
                let rows = try client.call("channel.list")["channels"]?.array ?? []
                #expect(rows.allSatisfy { $0["name"]?.string.map { $0.utf8.count < 400 } == true })
                #expect(rows.allSatisfy { ($0["topic"]?.string ?? "").utf8.count < 1100 })
            }
            try client.send(message: "general goes on")
        }

        /// A large or bloated message keeps nobody from reading the others.
        @Test func largeMessagesKeepNobodyFromReading() async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            let first = try client.send(message: "before")
            let general = try #require(try client.messages().first?["in"]?.string)
            let uid = UID.text(node.uid)
            for number in 0..<3 {
                let emoji = String(repeating: "e", count: 400_000)
                try client.set(
                    "channels/\(general)/messages/\(first)/reactions/\(uid)/x\(number)", ["a": .string(emoji)])
            }
            #expect(try client.texts() == ["before"])
            for size in [900_000] + [Int](repeating: 450_000, count: 8) {
                let key = try #require(try client.call("tree.newKey")["key"]?.string)
                let text = String(repeating: "x", count: size)
                try client.set(
                    "channels/\(general)/messages/\(key)",
                    ["senderId": .string(uid), "text": .string(text), "createdAt": 1])
            }
            try client.send(message: "after")
            let texts = try client.texts()
            #expect(texts.last == "after" && texts.count > 4)
            try client.call("message.observe", ["in": "#general", "limitToLast": 50])
            try client.event("the last message") { $0["message"]?["text"]?.string == "after" }
            try client.event("ready") { $0["event"]?.string == "ready" }
            try client.send(message: "still followed")
            try client.event("the next message") { $0["message"]?["text"]?.string == "still followed" }
            #expect(try client.call("channel.list")["channels"]?[0]?["last"] != nil)
        }
    }
}
