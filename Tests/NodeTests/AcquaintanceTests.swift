import ControlAPI
import Node
import Seal
import Testing
import Tree

extension NodeTests {
    /// Trust on first use, safety words, and people nobody wants to hear of.
    @Suite struct AcquaintanceTests {
        private func row(_ client: LineClient, _ uid: Bytes32) throws -> JSON {
            let people = try client.call("people.list")["people"]?.array ?? []
            return people.first { $0["uid"]?.string == UID.text(uid) } ?? .null
        }

        private func notice(_ client: LineClient, about uid: Bytes32, isOver: Bool = false) throws {
            try client.event("the notice about \(UID.text(uid))") { event in
                event["notice"]?["kind"]?.string == "namesake" && event["notice"]?["uid"]?.string == UID.text(uid)
                    && (event["notice"]?["over"]?.bool ?? false) == isOver
            }
        }

        /// A known name with another key is announced to whoever watches, lists and sends, until the user says that it
        /// is fine; all of it survives a restart.
        @Test func aKnownNameWithAnotherKeyIsAnnounced() async throws {
            let home = try TestHome()
            var a = try await TestNode("anna", home: home)
            var atA = try a.client()
            try atA.call("node.observe")
            let first = try await TestNode("Bob", peers: [a])
            try atA.waitForPerson(UID.text(first.uid), "Bob") { $0["name"]?.string == "Bob" }
            #expect(try row(atA, first.uid)["namesakeOf"] == nil)
            await first.stop()

            let second = try await TestNode("BOB", peers: [a])
            try notice(atA, about: second.uid)
            #expect(try row(atA, second.uid)["namesakeOf"]?.string == UID.text(first.uid))
            #expect(try row(atA, first.uid)["namesakeOf"] == nil)
            #expect(a.logLines("has another key than").count == 1)
            try atA.waitForPerson(UID.text(second.uid), "online") { $0["state"]?.string == "online" }
            let sent = try atA.call("message.send", ["to": "#general", "text": "who are you?"])
            #expect(sent["warnings"]?.array?.count == 1)
            #expect(sent["warnings"]?[0]?.string?.contains("starling verify-identity \(UID.text(second.uid))") == true)
            // He himself has met nobody else of his name.
            #expect(try row(try second.client(), second.uid)["namesakeOf"] == nil)

            await a.stop()
            a = try await TestNode("anna", home: home, peers: [second])
            atA = try a.client()
            #expect(try row(atA, second.uid)["namesakeOf"]?.string == UID.text(first.uid))
            try atA.call("node.observe")
            try notice(atA, about: second.uid)
            let person: JSON = ["person": .string("bob~\(UID.text(second.uid).suffix(4))")]
            #expect(try atA.refusal("people.accept", ["person": "bob"]) == "ambiguous_name")
            #expect(try atA.call("people.accept", person)["namesakeOf"] == nil)
            try notice(atA, about: second.uid, isOver: true)
            #expect(try atA.call("message.send", ["to": "#general", "text": "well"])["warnings"] == nil)
            // With a name that he did not have before the question comes again.
            let atSecond = try second.client()
            try atSecond.call("profile.set", ["name": "anna"])
            try notice(atA, about: second.uid)
            #expect(try row(atA, second.uid)["namesakeOf"]?.string == UID.text(a.uid))
            try atSecond.call("profile.set", ["name": "root"])
            try notice(atA, about: second.uid, isOver: true)
            try atSecond.call("profile.set", ["name": "anna"])
            try notice(atA, about: second.uid)
            try atSecond.call("profile.set", ["name": "Robert"])
            try notice(atA, about: second.uid, isOver: true)
        }

        @Test func bothSidesSeeTheSameWords() async throws {
            let home = try TestHome()
            var a = try await TestNode("anna", home: home)
            let b = try await TestNode("bert", peers: [a])
            var atA = try a.client()
            let atB = try b.client()
            try atA.waitForPerson(UID.text(b.uid), "bert") { $0["name"]?.string == "bert" }
            try atB.waitForPerson(UID.text(a.uid), "anna") { $0["name"]?.string == "anna" }
            let words = try atA.call("people.words", ["person": "bert"])
            #expect(words["words"]?.array?.count == 8)
            #expect(try atB.call("people.words", ["person": "@anna"])["words"] == words["words"])
            #expect(words["uid"]?.string == UID.text(b.uid) && words["verified"] == false)
            #expect(try atB.call("identity.show")["fingerprint"] == words["fingerprint"])
            #expect(try atA.call("people.verify", ["person": "bert"])["verified"] == true)
            await a.stop()
            a = try await TestNode("anna", home: home)
            atA = try a.client()
            #expect(try row(atA, b.uid)["verified"] == true)
            #expect(try atA.call("people.words", ["person": "bert"])["verified"] == true)
            let undone = try atA.call("people.verify", ["person": "bert", "verified": false])
            #expect(undone["verified"] == false)
            for (params, reason) in [
                (["person": "anna"], "invalid_params"), (["person": "nobody"], "not_found"), ([:], "invalid_params"),
            ] as [(JSON, String)] {
                for method in ["people.words", "people.verify", "people.accept", "people.mute", "people.block"] {
                    #expect(try atA.refusal(method, params) == reason, "\(method) \(params)")
                }
            }
        }

        /// Somebody who is muted is neither shown nor counted, until that is undone; others see him all the same.
        @Test func whoIsMutedIsNotShown() async throws {
            let home = try TestHome()
            var a = try await TestNode("anna", home: home)
            let b = try await TestNode("bert", peers: [a])
            var atA = try a.client()
            let atB = try b.client()
            try atA.waitForPerson(UID.text(b.uid), "bert") { $0["name"]?.string == "bert" }
            let own = try atA.send(message: "from anna")
            try atB.waitForMessage("from anna")
            try atB.send(message: "before")
            try atA.waitForMessage("before")
            #expect(try atA.call("people.mute", ["person": "bert"])["muted"] == true)
            let following = try a.client()
            try following.call("message.observe", ["in": "#general", "limitToLast": 200])
            try atB.call("message.react", ["key": .string(own), "emoji": "👍"])
            try atB.send(message: "unheard words")
            try atB.call("typing.set", ["in": "#general", "typing": true])
            try atA.waitUntilEqual(peers: 1)
            try atA.send(message: "the last")
            var told: [String] = []
            try following.event("the last message") { event in
                if let text = event["message"]?["text"]?.string { told.append(text) }
                return event["message"]?["text"]?.string == "the last"
            }
            #expect(!told.contains("before") && !told.contains("unheard words"), "\(told)")
            func unread() throws -> Int64? { try atA.call("channel.list")["channels"]?[0]?["unread"]?.int }
            #expect(try atA.texts() == ["from anna", "the last"])
            #expect(try unread() == 0)
            #expect(try atA.call("message.search", ["text": "unheard"])["messages"] == [])
            #expect(try atA.messages().allSatisfy { $0["reactions"] == nil })
            #expect(try row(atA, b.uid)["typing"] == [])

            await a.stop()
            a = try await TestNode("anna", home: home, peers: [b])
            atA = try a.client()
            #expect(try row(atA, b.uid)["muted"] == true)
            #expect(try atA.texts() == ["from anna", "the last"])
            #expect(try atA.call("people.mute", ["person": "bert", "muted": false])["muted"] == nil)
            #expect(try atA.texts() == ["from anna", "before", "unheard words", "the last"])
            #expect(try unread() == 2)
            #expect(try atA.messages()[0]["reactions"] == ["👍": [.string(UID.text(b.uid))]])
        }

        /// Neither side's dialling makes a link to somebody who is blocked; what he wrote is not shown.
        @Test func whoIsBlockedIsNotConnectedTo() async throws {
            let home = try TestHome()
            var a = try await TestNode("anna", home: home)
            let b = try await TestNode("bert", peers: [a])
            var atA = try a.client()
            try atA.waitForPerson(UID.text(b.uid), "bert") {
                $0["name"]?.string == "bert" && $0["state"]?.string == "online"
            }
            try b.client().send(message: "before")
            try atA.waitForMessage("before")
            #expect(try atA.call("people.block", ["person": "bert"])["blocked"] == true)
            #expect(try atA.status()["peers"]?.array?.contains { $0["state"] == "connected" } == false)
            #expect(try atA.texts() == [])
            // He dials again, and is closed as often.
            try b.client().call("node.rescan")
            try await a.waitForLog("is blocked", count: 2)
            // Neither does this node dial him, whoever names his address.
            await a.stop()
            a = try await TestNode("anna", home: home, peers: [b])
            atA = try a.client()
            try atA.call("node.rescan")
            #expect(try row(atA, b.uid)["blocked"] == true)
            #expect(try atA.status()["peers"]?.array?.contains { $0["state"] == "connected" } == false)
            #expect(try atA.call("people.block", ["person": "bert", "blocked": false])["blocked"] == nil)
            try atA.waitForPerson(UID.text(b.uid), "bert again") { $0["state"]?.string == "online" }
            #expect(try atA.texts() == ["before"])
        }
    }
}
