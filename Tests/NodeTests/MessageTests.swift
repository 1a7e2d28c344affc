import ControlAPI
import Node
import Testing
import Tree

extension NodeTests {
    /// Messages as clients send, read, edit and delete them.
    @Suite struct MessageTests {
        @Test func aKeyGivenTwiceIsOneMessage() async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            let key = try #require(try client.call("tree.newKey")["key"])
            let params: JSON = ["to": "#general", "text": "once", "key": key]
            #expect(try client.call("message.send", params)["key"] == key)
            #expect(try client.call("message.send", params)["key"] == key)
            #expect(try client.texts() == ["once"])
            // Also when it was deleted meanwhile.
            try client.call("message.delete", ["key": key])
            #expect(try client.call("message.send", params)["key"] == key)
            #expect(try client.texts().isEmpty)
            for bad in ["x", "-O", "", "----------------------", "0000000000000000000000"] {
                let params: JSON = ["to": "#general", "text": "x", "key": .string(bad)]
                #expect(try client.refusal("message.send", params) == "invalid_params", "\(bad)")
            }
        }

        @Test func limitsOfAMessage() async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            let longest = String(repeating: "ö", count: 32 * 1024)
            try client.send(message: longest)
            #expect(try client.texts() == [longest])
            let send = { (text: String, to: String) in
                try client.refusal("message.send", ["to": .string(to), "text": .string(text)])
            }
            #expect(try send(longest + "x", "#general") == "too_large")
            #expect(try send("", "#general") == "invalid_params")
            #expect(try send("x", "#nobody-opened-this") == "not_found")
            #expect(try send("x", "@bert") == "invalid_params")
            #expect(try send("x", "general") == "invalid_params")
            #expect(try send("x", "") == "invalid_params")
            #expect(
                try client.refusal("message.send", ["to": "#general", "text": "x", "replyTo": "nothing"]) == "not_found"
            )
            let key = try client.send(message: "question")
            try client.call("message.send", ["to": "#general", "text": "answer", "replyTo": .string(key)])
            #expect(try client.messages().last?["replyTo"]?.string == key)
        }

        @Test func editDeleteAndReact() async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            try client.call("message.observe", ["in": "#general", "limitToLast": 10])
            let key = try client.send(message: "first")
            try client.event("it") { $0["message"]?["text"]?.string == "first" }
            let target: JSON = ["key": .string(key)]
            try client.call("message.edit", ["key": .string(key), "text": "second"])
            let edited = try client.event("the edit") { $0["message"]?["editedAt"] != nil }
            #expect(edited["message"]?["text"]?.string == "second")
            try client.call("message.react", ["key": .string(key), "emoji": "👍"])
            try client.call("message.react", ["key": .string(key), "emoji": "🎉"])
            let row = try #require(try client.messages().first)
            #expect(row["reactions"]?.object?.count == 2)
            #expect(row["reactions"]?["👍"] == [.string(UID.text(node.uid))])
            try client.call("message.react", ["key": .string(key), "emoji": "👍", "remove": true])
            #expect(try client.messages().first?["reactions"]?.object?.members.map(\.key) == ["🎉"])
            for emoji in ["", "a/b", "a.b", String(repeating: "x", count: 800)] {
                let params: JSON = ["key": .string(key), "emoji": .string(emoji)]
                #expect(try client.refusal("message.react", params) == "invalid_path", "\(emoji.prefix(9))")
            }
            try client.call("message.delete", target)
            let deleted = try client.event("the end") { $0["event"]?.string == "deleted" }
            #expect(deleted["key"]?.string == key)
            #expect(try client.refusal("message.delete", target) == "not_found")
            #expect(try client.refusal("message.edit", ["key": .string(key), "text": "x"]) == "not_found")
            #expect(try client.refusal("message.react", ["key": .string(key), "emoji": "x"]) == "not_found")
            #expect(try client.refusal("message.edit", ["key": "nothing", "text": "x"]) == "not_found")
        }

        /// Another's message can be reacted to, not changed.
        /// What stands in a room or a conversation is no message of a channel.
        @Test func messagesElsewhereAreNotTheChats() async throws {
            let a = try await TestNode("anna")
            let client = try a.client()
            let room = try #require(try client.call("tree.newKey")["key"]?.string)
            let mid = try #require(try client.call("tree.newKey")["key"]?.string)
            let value: JSON = ["senderId": .string(UID.text(a.uid)), "senderName": "anna", "text": "x", "createdAt": 1]
            try client.call("tree.set", ["path": .string("rooms/\(room)/messages/\(mid)"), "value": value])
            #expect(try client.refusal("message.edit", ["key": .string(mid), "text": "new"]) == "not_found")
            #expect(try client.refusal("message.delete", ["key": .string(mid)]) == "not_found")
            #expect(try client.refusal("message.react", ["key": .string(mid), "emoji": "👍"]) == "not_found")
            #expect(try client.call("tree.get", ["path": "channels"])["value"] == .null)
        }

        @Test func othersMessagesAreTheirs() async throws {
            let a = try await TestNode("anna")
            let b = try await TestNode("bert", peers: [a])
            let (atA, atB) = (try a.client(), try b.client())
            let key = try atA.send(message: "anna's")
            try atB.waitForMessage("anna's")
            let general = try #require(try atB.messages().first?["in"]?.string)
            let place = "channels/\(general)/messages/\(key)"
            #expect(try atB.refusal("message.edit", ["key": .string(key), "text": "x"]) == "permission_denied")
            #expect(try atB.refusal("message.delete", ["key": .string(key)]) == "permission_denied")
            #expect(
                try atB.refusal("tree.set", ["path": .string(place + "/text"), "value": "x"]) == "permission_denied")
            #expect(try atB.refusal("tree.remove", ["path": .string(place)]) == "permission_denied")
            #expect(
                try atB.refusal("tree.set", ["path": .string("channels/" + general), "value": ["name": "x"]])
                    == "permission_denied")
            let update: JSON = ["path": .string(place), "values": ["text": "x", "reactions/me": true]]
            #expect(try atB.refusal("tree.update", update) == "permission_denied")
            try atB.call("message.react", ["key": .string(key), "emoji": "👍"])
            try atA.waitUntilEqual(peers: 1)
            let row = try #require(try atA.messages().first)
            #expect(row["text"]?.string == "anna's" && row["editedAt"] == nil)
            #expect(row["reactions"] == ["👍": [.string(UID.text(b.uid))]])
        }

        @Test func listingGoesBackwards() async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            var keys: [String] = []
            for number in 0..<30 { keys.append(try client.send(message: "\(number)")) }
            var seen: [String] = []
            var before: String?
            repeat {
                var params: JSONObject = ["in": "#general", "limitToLast": 7]
                params.append("before", ifPresent: before.map(JSON.string))
                let rows = try client.call("message.list", .object(params))["messages"]?.array ?? []
                seen = rows.compactMap { $0["key"]?.string } + seen
                before = rows.first?["key"]?.string
            } while before != nil && seen.count < 30
            #expect(seen == keys)
            for limit in [0, -1, 10_001] as [Int64] {
                #expect(
                    try client.refusal("message.list", ["in": "#general", "limitToLast": .int(limit)])
                        == "invalid_params")
            }
        }

        @Test func unreadIsWhatArrived() async throws {
            let a = try await TestNode("anna")
            let b = try await TestNode("bert", peers: [a])
            let (atA, atB) = (try a.client(), try b.client())
            func unread() throws -> Int64? { try atB.call("channel.list")["channels"]?[0]?["unread"]?.int }
            try atA.send(message: "one")
            let last = try atA.send(message: "two")
            try atB.waitForPerson(UID.text(a.uid), "anna online") { $0["state"]?.string == "online" }
            // The newest come first: wait for all.
            try atB.waitUntilEqual(peers: 1)
            #expect(try unread() == 2)
            #expect(try atB.call("channel.list")["channels"]?[0]?["last"]?.string == last)
            try atB.call("channel.observe")
            try atB.call("read.mark", ["in": "#general"])
            try atB.event("nothing unread") { $0["channel"]?["unread"]?.int == 0 }
            // What one writes oneself is read.
            try atB.send(message: "mine")
            #expect(try unread() == 0)
            try atA.send(message: "three")
            try atB.event("one unread") { $0["channel"]?["unread"]?.int == 1 }
        }
    }
}
