import ControlAPI
import Lab
@testable import Node
import Seal
import Testing
import Tree

extension NodeTests {
    /// How far a message has come, without a message more for it.
    @Suite struct MessageStatusTests {
        private static func status(_ client: LineClient, _ key: String) throws -> MessageStatusRow {
            try MessageStatusRow(json: try client.call("message.status", ["key": .string(key)]))
        }

        @Test func aMessageIsQueuedThenHeldThenRead() async throws {
            let home = try TestHome()
            var a = try await TestNode("anna", home: home)
            var atA = try a.client()
            let key = try atA.send(message: "hello")
            var status = try Self.status(atA, key)
            #expect(status.state == .queued && status.heldBy == 0 && status.deliveredTo.isEmpty)
            #expect(try atA.refusal("message.status", ["key": "-nothing"]) == "not_found")

            let b = try await TestNode("bert", peers: [a])
            let atB = try b.client()
            try atB.waitForMessage("hello")
            let bert = MessageStatusRow.Person(uid: UID.text(b.uid), name: "bert")
            try await eventually("the message is known to be held", within: .seconds(60)) {
                try Self.status(atA, key).heldBy == 1
            }
            status = try Self.status(atA, key)
            #expect(status.state == .held && status.deliveredTo == [bert] && status.readBy.isEmpty)
            // Its author has it, and an edit is another thing to be delivered.
            #expect(try Self.status(atB, key).deliveredTo.map(\.name) == ["anna"])
            try atB.call("read.mark", ["in": "#general"])
            try await eventually("the receipt has come", within: .seconds(60)) {
                try Self.status(atA, key).state == .read
            }
            #expect(try Self.status(atA, key).readBy == [bert])
            await a.stop()
            a = try await TestNode("anna", home: home)
            atA = try a.client()
            #expect(try Self.status(atA, key).deliveredTo == [bert])
            let second = try atA.send(message: "into the void")
            #expect(try Self.status(atA, second).state == .queued)
        }

        /// Who has the chat open hears of it by himself, with one event for all messages before.
        @Test func followersAreToldHowFarTheirMessagesHaveCome() async throws {
            let a = try await TestNode("anna")
            let (atA, sender) = (try a.client(), try a.client())
            func status(_ what: String, where fits: (JSON) -> Bool) throws {
                try atA.event(what) { $0["event"]?.string == "status" && fits($0) }
            }
            let first = try sender.send(message: "one")
            try atA.call("message.observeStatus", ["in": "#general"])
            try status("nobody else") { $0["held"] == nil && $0["read"] == nil }
            let second = try sender.send(message: "two")
            let b = try await TestNode("bert", peers: [a])
            let atB = try b.client()
            try status("both are held") { $0["held"]?.string == second }
            let third = try sender.send(message: "three")
            try status("the third is held") { $0["held"]?.string == third }
            try atB.waitForMessage("three")
            try atB.call("read.mark", ["in": "#general"])
            try status("all are read") { $0["read"]?.string == third && $0["held"]?.string == third }
            // What others write is no news, and a later follower has the same.
            let fourth = try atB.send(message: "four")
            try atA.waitForMessage("four")
            let late = try a.client()
            try late.call("message.observeStatus", ["in": "#general"])
            try late.event("as the other knows it") { $0["held"]?.string == third && $0["read"]?.string == third }
            #expect(first < second && third < fourth)
            #expect(try late.refusal("message.observeStatus", ["in": "#nowhere"]) == "not_found")
        }

        @Test func receiptsCanBeSwitchedOff() async throws {
            let a = try await TestNode("anna")
            let b = try await TestNode("bert", peers: [a])
            let (atA, atB) = (try a.client(), try b.client())
            #expect(try atB.call("profile.set", ["receipts": false])["receipts"]?.bool == false)
            let key = try atA.send(message: "hello")
            try atB.waitForMessage("hello")
            try atB.call("read.mark", ["in": "#general"])
            let channel = try #require(try atB.call("channel.list")["channels"]?.array?.first?["key"]?.string)
            #expect(try atB.value("channels/\(channel)/reads").isNull)
            #expect(try atB.call("profile.set", ["receipts": true])["receipts"]?.bool == true)
            try atB.call("read.mark", ["in": "#general"])
            #expect(try atB.value("channels/\(channel)/reads/\(UID.text(b.uid))").string == key)
            // What one has read of one's own needs no receipt.
            try atA.call("read.mark", ["in": "#general"])
            #expect(try atA.value("channels/\(channel)/reads/\(UID.text(a.uid))").isNull)
        }
    }
}
