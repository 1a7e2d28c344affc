import ControlAPI
import Foundation
import Lab
@testable import Node
import Seal
import Testing
import Tree
import Wire

extension NodeTests {
    /// Members who are removed, and the key that the others have afterwards.
    @Suite struct EpochTests {
        private func epoch(_ node: TestNode) throws -> Int64? {
            try node.client().call("workspace.show")["epoch"]?.int
        }

        private func waitForEpoch(_ epoch: Int64, _ nodes: TestNode...) async throws {
            for node in nodes {
                try await eventually("epoch \(epoch)", within: .seconds(60)) { try self.epoch(node) == epoch }
            }
        }

        /// Until they are there and have names: who has none yet is shown by the beginning of the uid.
        private func waitForPeople(_ node: TestNode, _ others: TestNode...) throws {
            let client = try node.client()
            for other in others {
                let uid = UID.text(other.uid)
                try client.waitForPerson(uid, "somebody online") {
                    $0["state"] == "online" && $0["name"]?.string != String(uid.prefix(8))
                }
            }
        }

        private func notice(_ node: TestNode) throws -> JSON {
            let client = try node.client()
            try client.call("node.observe")
            return try client.event("a notice") { $0["notice"]?["kind"] == "workspace" }
        }

        @Test func whoIsRemovedIsOutAndWhoWasAwayComesBack() async throws {
            let anna = try await TestNode.founded("anna")
            let invite = try anna.invite()
            let bob = try await TestNode.joined("bob", invite)
            let eve = try await TestNode.joined("eve", invite)
            let dana = try await TestNode.joined("dana", invite)
            try waitForPeople(anna, bob, eve, dana)
            try anna.client().send(message: "with eve")
            for node in [bob, eve, dana] { try node.client().waitForMessage("with eve") }
            await dana.stop()

            let atAnna = try anna.client()
            let row = try atAnna.call("workspace.remove", ["member": "eve"])
            #expect(row["epoch"] == 1)
            try await waitForEpoch(1, bob)
            try atAnna.send(message: "without eve")
            try bob.client().waitForMessage("without eve")
            // She is told, and finds no way in, as herself or as somebody else.
            #expect(try notice(eve)["notice"]?["text"]?.string?.contains("workspace join") == true)
            try await eventually("eve has no link", within: .seconds(60)) {
                try eve.client().status()["peers"]?.array?.contains { $0["state"] == "connected" } == false
            }
            let old = try eve.key()
            let disguised = try HostilePeer(anna, networkKey: old, workspace: anna.workspaceID())
            try disguised.next("a refusal") { $0 == .outdated }
            #expect(try eve.client().texts() == ["with eve"])

            // Dana comes with the key that she has, and is handed the present one.
            let back = try await dana.startedAgain()
            try back.client().waitForMessage("without eve")
            #expect(try epoch(back) == 1)
            #expect(try back.networkKey() == anna.networkKey() && anna.networkKey() != eve.networkKey())
            try waitForPeople(back, anna)
        }

        /// What an old key is good for: the new one, if there is one for who asks, and not a byte more.
        @Test func anOldKeyOpensNothingElse() async throws {
            let anna = try await TestNode.founded("anna")
            let old = try anna.key()
            let (member, former) = (SigningKey(), SigningKey())
            let id = try anna.workspaceID()
            var links: [HostilePeer] = []
            for key in [member, former] {
                let peer = try HostilePeer(anna, key: key, networkKey: old, workspace: id)
                try peer.send(.hello(HostilePeer.emptyVitals, peers: []))
                try peer.synchronise()
                links.append(peer)
            }
            try waitForPerson(anna, member)
            try anna.client().send(message: "secret")
            let formerUID = UID.text(former.publicKey)
            try anna.client().call("workspace.remove", ["member": .string(formerUID)])
            try links[0].next("the new key") { if case .epoch = $0 { true } else { false } }
            try links[1].next("the end") { $0 == .outdated }
            try links[0].synchronise()
            for link in links { link.close() }

            let again = try HostilePeer(anna, key: member, networkKey: old, workspace: id)
            try again.send(.hello(HostilePeer.emptyVitals, peers: []))
            try again.send(.want([]))
            let first = try again.next("anything") { _ in true }
            guard case .epoch(let record) = first else {
                Issue.record("\(first)")
                return
            }
            let new = try #require(record.networkKey(for: member))
            #expect(try new.hex == anna.networkKey() && record.verifies(by: anna.uid))
            try again.next("the end") { if case .goodbye = $0 { true } else { false } }
            again.close()
            let refused = try HostilePeer(anna, key: former, networkKey: old, workspace: id)
            try refused.send(.hello(HostilePeer.emptyVitals, peers: []))
            #expect(try refused.next("anything") { _ in true } == .outdated)
            // With the new key the member is one as before.
            let present = try HostilePeer(anna, key: member, networkKey: new, workspace: id)
            try present.send(.hello(HostilePeer.emptyVitals, peers: []))
            try present.synchronise()
        }

        private func waitForPerson(_ node: TestNode, _ key: SigningKey) throws {
            try node.client().waitForPerson(UID.text(key.publicKey), "a peer") { $0["state"] == "online" }
        }

        @Test func onlyWhoMadeItRemoves() async throws {
            let anna = try await TestNode.founded("anna")
            let invite = try anna.invite()
            let bob = try await TestNode.joined("bob", invite)
            let other = try await TestNode.joined("bob", invite)
            try waitForPeople(anna, bob, other)
            try waitForPeople(bob, anna, other)
            let (atAnna, atBob) = (try anna.client(), try bob.client())
            #expect(try atBob.refusal("workspace.remove", ["member": "anna"]) == "permission_denied")
            let uid: JSON = .string(UID.text(other.uid))
            #expect(try atBob.refusal("workspace.remove", ["member": uid]) == "permission_denied")
            #expect(try atAnna.refusal("workspace.remove", ["member": "bob"]) == "ambiguous_name")
            #expect(try atAnna.refusal("workspace.remove", ["member": "nobody"]) == "not_found")
            #expect(try atAnna.refusal("workspace.remove", ["member": "anna"]) == "permission_denied")
            #expect(try atAnna.refusal("workspace.remove") == "invalid_params")
            let open = try await TestNode("carl")
            #expect(try open.client().refusal("workspace.remove", ["member": "x"]) == "invalid_request")
            #expect(try epoch(anna) == 0 && epoch(bob) == 0)
        }

        /// A key that somebody else has signed, or for another workspace, or an older one, changes nothing.
        @Test func forgedKeysAreRefused() async throws {
            let anna = try await TestNode.founded("anna")
            let key = try anna.key()
            let id = try anna.workspaceID()
            let forger = SigningKey()
            let nodes: Set = [anna.uid, forger.publicKey]
            func greeted() throws -> HostilePeer {
                let peer = try HostilePeer(anna, key: forger, networkKey: key, workspace: id)
                try peer.send(.hello(HostilePeer.emptyVitals, peers: []))
                return peer
            }
            let mine = Bytes32(repeating: 1)
            let peer = try greeted()
            try peer.send(.epoch(EpochRecord(workspace: id, number: 0, networkKey: mine, nodes: nodes, by: forger)))
            try peer.send(.epoch(EpochRecord(workspace: .zero, number: 1, networkKey: mine, nodes: nodes, by: forger)))
            try peer.synchronise()
            try peer.send(.epoch(EpochRecord(workspace: id, number: 1, networkKey: mine, nodes: nodes, by: forger)))
            try peer.waitForClose()
            try await anna.waitForLog("forged key")
            #expect(try epoch(anna) == 0 && anna.networkKey() == key.hex)
        }

        /// Who has missed more changes than there are keys of, or has come with an old invite, is told what helps, and
        /// it does.
        @Test func aNewInviteLetsInAgain() async throws {
            let anna = try await TestNode.founded("anna")
            let oldInvite = try anna.invite()
            let eve = try await TestNode.joined("eve", oldInvite)
            try waitForPeople(anna, eve)
            try anna.client().call("workspace.remove", ["member": "eve"])
            let late = try await TestNode.joined("late", oldInvite)
            _ = try notice(late)
            _ = try notice(eve)
            let invite = try anna.invite()
            try anna.client().send(message: "welcome")
            for node in [late, eve] {
                try node.client().call("workspace.join", ["invite": .string(invite)])
                let again = try await node.restarted()
                try again.client().waitForMessage("welcome")
                #expect(try epoch(again) == 1)
                try waitForPeople(anna, again)
                await again.stop()
            }
            // Eve was let in again, so the next key is for her too.
            let carl = try await TestNode.joined("carl", invite)
            try waitForPeople(anna, carl)
            try anna.client().call("workspace.remove", ["member": "carl"])
            let eveAgain = try await eve.startedAgain()
            try await waitForEpoch(2, eveAgain)
        }

        /// The process died between the record and the key.
        @Test func aKeyThatWasStoredHalfIsTaken() async throws {
            let anna = try await TestNode.founded("anna")
            let before = try String(contentsOfFile: anna.home.file("workspace.key"), encoding: .utf8)
            let bob = try await TestNode.joined("bob", anna.invite())
            try waitForPeople(anna, bob)
            try anna.client().call("workspace.remove", ["member": "bob"])
            let key = try anna.networkKey()
            await anna.stop()
            try before.write(toFile: anna.home.file("workspace.key"), atomically: false, encoding: .utf8)
            let again = try await anna.startedAgain()
            #expect(try again.networkKey() == key && epoch(again) == 1)
        }

        /// A handshake that was under way when the key changed ends with the old key, and nobody gets in by it.
        @Test func aHandshakeUnderWayDoesNotOutlastARemoval() async throws {
            let anna = try await TestNode.founded("anna")
            let (old, id, former) = (try anna.key(), try anna.workspaceID(), SigningKey())
            let known = try HostilePeer(anna, key: former, networkKey: old, workspace: id)
            try known.send(.hello(HostilePeer.emptyVitals, peers: []))
            try waitForPerson(anna, former)
            let late = try HostilePeer(anna, key: former, networkKey: old, workspace: id) {
                try anna.client().call("workspace.remove", ["member": .string(UID.text(former.publicKey))])
            }
            try? late.send(.hello(HostilePeer.emptyVitals, peers: []))
            try late.waitForClose()
            try known.waitForClose()
            #expect(try anna.client().status()["peers"]?.array?.contains { $0["state"] == "connected" } != true)
            let file = try String(contentsOfFile: anna.home.file("workspace.key"), encoding: .utf8)
            #expect(file.contains("removed \(former.publicKey.hex)\n"))
        }

        /// Whoever made a workspace, leaves it and comes back still knows whom he has removed.
        @Test func theRemovedStayRemovedWhenTheOwnerComesBack() async throws {
            let anna = try await TestNode.founded("anna")
            let bob = try await TestNode.joined("bob", anna.invite())
            try waitForPeople(anna, bob)
            try anna.client().call("workspace.remove", ["member": "bob"])
            await bob.stop()
            let invite = try anna.invite()
            try anna.client().call("workspace.leave")
            let outside = try await anna.restarted()
            try outside.client().call("workspace.join", ["invite": .string(invite)])
            let again = try await outside.restarted()
            let file = try String(contentsOfFile: again.home.file("workspace.key"), encoding: .utf8)
            #expect(file.contains("removed \(bob.uid.hex)\n"))
        }

        /// However many names somebody makes up, who has been met gets the key.
        @Test func madeUpNamesTakeNobodysPlace() {
            func keys(_ range: Range<UInt8>) -> [Bytes32] { range.map { Bytes32(repeating: $0) } }
            let all = Node.members(
                proven: keys(200..<203), named: keys(0..<100), removed: Set(keys(201..<202)), max: 50)
            #expect(all.nodes.count == 50 && all.leftOut == 52)
            #expect(all.nodes.isSuperset(of: keys(202..<203) + keys(200..<201) + keys(0..<48)))
            #expect(!all.nodes.contains(Bytes32(repeating: 201)))
        }

        /// Who made it goes on as somebody else, and can remove members still.
        @Test func aNewIdentityKeepsTheRight() async throws {
            let anna = try await TestNode.founded("anna")
            let bob = try await TestNode.joined("bob", anna.invite())
            try waitForPeople(anna, bob)
            try anna.client().call("identity.new", ["uid": .string(UID.text(anna.uid))])
            let again = try await anna.restarted()
            try waitForPeople(again, bob)
            #expect(try again.client().call("workspace.remove", ["member": "bob"])["epoch"] == 1)
            _ = try notice(bob)
        }
    }
}
