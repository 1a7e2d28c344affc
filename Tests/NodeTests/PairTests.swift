import ControlAPI
import Foundation
import Lab
import Net
import Node
import Seal
import Testing
import Tree

extension NodeTests {
    /// Nodes that reach each other by their addresses: what one has, all have.
    @Suite struct PairTests {
        @Test func aMessageArrivesOnTheOtherNode() async throws {
            let a = try await TestNode("anna")
            let b = try await TestNode("bert", peers: [a])
            let (atA, atB) = (try a.client(), try b.client())
            try atA.waitForPerson(UID.text(b.uid), "bert online") { $0["state"]?.string == "online" }
            let key = try atB.send(message: "hello anna")
            try atA.waitForMessage("hello anna")
            let row = try #require(try atA.messages().first)
            #expect(row["key"]?.string == key)
            #expect(row["senderId"]?.string == UID.text(b.uid))
            #expect(row["senderName"]?.string == "bert")
            #expect(row["verified"]?.bool == true)
            try atA.waitUntilEqual(peers: 1)
            #expect(try atA.root() == atB.root())
        }

        /// Each side writes while the other is away; both end with everything, also after a restart.
        @Test func whatWasWrittenApartMerges() async throws {
            let home = TestHomes(try TestHome(), try TestHome())
            let first = try await TestNode("anna", home: home.a)
            for number in 0..<20 { try first.client().send(message: "anna \(number)") }
            await first.stop()
            let alone = try await TestNode("bert", home: home.b)
            for number in 0..<20 { try alone.client().send(message: "bert \(number)") }
            await alone.stop()

            let a = try await TestNode("anna", home: home.a)
            let b = try await TestNode("bert", home: home.b, peers: [a])
            let (atA, atB) = (try a.client(), try b.client())
            try atB.waitForPerson(UID.text(a.uid), "anna online") { $0["state"]?.string == "online" }
            try atB.waitUntilEqual(peers: 1)
            #expect(try atA.texts() == atB.texts())
            #expect(try Set(atA.texts()).count == 40)
            #expect(try atA.root() == atB.root())
        }

        private struct TestHomes {
            let a: TestHome
            let b: TestHome

            init(_ a: TestHome, _ b: TestHome) { (self.a, self.b) = (a, b) }
        }

        /// More than one batch of entries, and more bytes than one link's queue takes at once.
        @Test func aLongHistoryArrives() async throws {
            let a = try await TestNode("anna")
            let atA = try a.client()
            for base in stride(from: 0, to: 3000, by: 1000) {
                var values: [JSONObject.Member] = []
                for number in base..<(base + 1000) { values.append(.init(key: "small/\(number)", value: .int(1))) }
                try atA.call("tree.update", ["path": "apps", "values": .object(JSONObject(members: values))])
            }
            for number in 0..<300 {
                try atA.request("message.send", ["to": "#general", "text": .string("m\(number)")])
            }
            for _ in 0..<300 { _ = try atA.answer() }
            let large = String(repeating: "x", count: 900_000)
            for number in 0..<24 { try atA.set("apps/large/\(number)", .string(large)) }

            let b = try await TestNode("bert", peers: [a])
            let atB = try b.client()
            try atB.waitForMessage("m299")
            try atB.waitUntilEqual(peers: 1)
            #expect(try atB.root() == atA.root())
            #expect(try atB.texts().count == 300)
            #expect(b.logLines("link to").isEmpty, "the link broke on the way")
        }

        /// An update that fits into no message is pushed in parts and takes no link with it.
        @Test func theGreatestUpdateArrives() async throws {
            let a = try await TestNode("anna")
            let b = try await TestNode("bert", peers: [a])
            let (atA, atB) = (try a.client(), try b.client())
            try atA.waitForPerson(UID.text(b.uid), "bert online") { $0["state"]?.string == "online" }
            let text = String(repeating: "y", count: 990_000)
            try atA.call("tree.update", ["path": "apps/big", "values": ["a": .string(text), "b": .string(text)]])
            var values: [JSONObject.Member] = []
            for number in 0..<4000 {
                let name = String(repeating: "n", count: 380) + "\(number)"
                values.append(.init(key: name, value: .int(Int64(number))))
            }
            try atA.call("tree.update", ["path": "apps/wide", "values": .object(JSONObject(members: values))])
            try atA.send(message: "after it")
            try atB.waitForMessage("after it")
            try atB.waitUntilEqual(peers: 1)
            #expect(a.logLines("link to").isEmpty)
            #expect(try atB.value("apps/big/b").string == text)
        }

        /// What is no message of the chat but has its shape goes whole, and not more of it at once than a link takes:
        /// it has once kept two nodes apart for ever.
        @Test func whatLooksLikeMessagesArrives() async throws {
            let a = try await TestNode("anna")
            let atA = try a.client()
            let image = String(repeating: "i", count: 900_000)
            for number in 0..<5 {
                try atA.call(
                    "tree.push",
                    [
                        "path": "apps/photos/items",
                        "value": [
                            "createdAt": .int(Int64(number)), "image": .string(image), "senderId": "anna",
                            "text": "a photo",
                        ],
                    ])
            }
            let b = try await TestNode("bert", peers: [a])
            let atB = try b.client()
            try atB.waitForPerson(UID.text(a.uid), "anna online") { $0["state"]?.string == "online" }
            try atB.waitUntilEqual(peers: 1)
            #expect(try atB.root() == atA.root())
            #expect(a.logLines("link to").isEmpty && b.logLines("link to").isEmpty, "the link broke on the way")
        }

        /// 1 and 3 do not reach each other: the one in the middle passes messages and typing on.
        @Test func theMiddlePassesOn() async throws {
            let middle = try await TestNode("mia")
            let one = try await TestNode("anna", peers: [middle])
            let three = try await TestNode("bert", peers: [middle])
            let (atOne, atThree) = (try one.client(), try three.client())
            try atThree.waitForPerson(UID.text(one.uid), "anna online") { $0["state"]?.string == "online" }
            try atOne.waitForPerson(UID.text(three.uid), "bert online") { $0["state"]?.string == "online" }
            try atThree.call("message.observe", ["in": "#general", "limitToLast": 10])
            try atThree.event("ready") { $0["event"]?.string == "ready" }
            let start = Deadline.nowNs
            try atOne.send(message: "around the corner")
            try atThree.event("the message") { $0["message"]?["text"]?.string == "around the corner" }
            #expect(Deadline.nowNs - start < Pace.ns(1000))
            #expect(try atOne.status()["peers"]?.array?.count == 1)

            try atOne.call("typing.set", ["in": "#general", "typing": true])
            try atThree.waitForPerson(UID.text(one.uid), "anna types") { $0["typing"]?.array?.isEmpty == false }
        }

        /// 1 stops, 3 gets its history through 2; when 1 returns all three are equal.
        @Test func historyComesThroughWhoHasIt() async throws {
            let home = try TestHome()
            let middle = try await TestNode("mia")
            let first = try await TestNode("anna", home: home, peers: [middle])
            try first.client().send(message: "from anna")
            try middle.client().waitForMessage("from anna")
            await first.stop()
            let three = try await TestNode("bert", peers: [middle])
            let atThree = try three.client()
            try atThree.waitForMessage("from anna")
            try atThree.send(message: "from bert")
            let again = try await TestNode("anna", home: home, peers: [middle])
            let atOne = try again.client()
            try atOne.waitForMessage("from bert")
            try middle.client().waitUntilEqual(peers: 2)
            #expect(try atOne.root() == atThree.root())
        }

        /// Edits of one topic and of one message on both sides of a cut: the later stamp wins everywhere.
        @Test func concurrentEditsEndTheSame() async throws {
            let homes = TestHomes(try TestHome(), try TestHome())
            var a = try await TestNode("anna", home: homes.a)
            var b = try await TestNode("bert", home: homes.b, peers: [a])
            let key = try a.client().send(message: "version 0")
            try b.client().waitForMessage("version 0")
            await a.stop()
            try b.client().call("channel.topic", ["channel": "#general", "topic": "earlier"])
            let earlier = try #require(try AutoID(b.client().call("tree.newKey")["key"]?.string ?? ""))
            await b.stop()
            a = try await TestNode("anna", home: homes.a)
            // A node begins up to a second ahead: what is said later has to be stamped later too.
            try await eventually("anna's clock is past bert's", within: .seconds(60)) {
                try AutoID(a.client().call("tree.newKey")["key"]?.string ?? "").map { $0.hlc > earlier.hlc } ?? false
            }
            try a.client().call("channel.topic", ["channel": "#general", "topic": "later"])
            try a.client().call("message.edit", ["key": .string(key), "text": "version 1"])
            try a.client().call("message.edit", ["key": .string(key), "text": "version 2"])
            b = try await TestNode("bert", home: homes.b, peers: [a])
            let (atA, atB) = (try a.client(), try b.client())
            try atB.waitForPerson(UID.text(a.uid), "anna online") { $0["state"]?.string == "online" }
            try atB.waitUntilEqual(peers: 1)
            for client in [atA, atB] {
                #expect(try client.texts() == ["version 2"])
                #expect(try client.messages().first?["editedAt"]?.int != nil)
                let channels = try client.call("channel.list")["channels"]?.array ?? []
                #expect(channels.first?["topic"]?.string == "later")
            }
        }

        /// Ends with its name only: two nodes with one identity are both connected.
        @Test func aClonedIdentityIsConnectedToo() async throws {
            let home = try TestHome()
            let first = try await TestNode("anna", home: home)
            await first.stop()
            let clone = try TestHome()
            try FileManager.default.copyItem(atPath: home.file("identity.key"), toPath: clone.file("identity.key"))
            let a = try await TestNode("anna", home: home)
            let b = try await TestNode("anna", home: clone, peers: [a])
            try a.client().send(message: "from one")
            try b.client().waitForMessage("from one")
            try b.client().send(message: "from the other")
            try a.client().waitForMessage("from the other")
        }

        /// An address at which one node was known belongs to another one now: it is connected all the same.
        @Test func anotherNodeAtAKnownAddressIsConnected() async throws {
            let first = try await TestNode("anna")
            let b = try await TestNode("bert", peers: [first])
            let atB = try b.client()
            try atB.waitForPerson(UID.text(first.uid), "anna online") { $0["state"]?.string == "online" }
            await first.stop()
            let next = try await TestNode("carl") { $0.listen = SocketAddress("127.0.0.1:\(first.port)") }
            try atB.event("carl online") {
                $0["person"]?["uid"]?.string == UID.text(next.uid) && $0["person"]?["state"]?.string == "online"
            }
            #expect(b.logLines("another node answered").count == 1)
        }
    }
}
