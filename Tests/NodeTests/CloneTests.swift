import ControlAPI
import Foundation
import Glibc
import Net
@testable import Node
import Seal
import Testing
import Tree
import Wire

extension NodeTests {
    /// Two machines with one identity: a copied disk, a restored backup.
    @Suite struct CloneTests {
        /// A copy of everything in a home but its socket, as of a disk.
        private func copy(of home: TestHome) throws -> TestHome {
            let copy = try TestHome()
            for name in try home.files where !["starling.sock", "lock", "log"].contains(name) {
                try FileManager.default.copyItem(atPath: home.file(name), toPath: copy.file(name))
            }
            return copy
        }

        private func notices(_ client: LineClient) throws -> [NoticeRow] {
            try (client.status()["notices"]?.array ?? []).map { try NoticeRow(json: $0) }
        }

        private func clone(of uid: Bytes32, _ client: LineClient) throws -> NoticeRow? {
            try notices(client).first { $0.kind == .clone && $0.uid == UID.text(uid) }
        }

        /// A disk is copied while its node is off; then both run, and write without knowing of each other. A third node
        /// sees both, and they see each other.
        @Test func bothClonesAndAThirdNodeFindOutAndNothingIsLost() async throws {
            let home = try TestHome()
            let first = try await TestNode("anna", home: home)
            try first.client().send(message: "before the copy")
            await first.stop()
            let copied = try copy(of: home)
            let bob = try await TestNode("bob")
            let watcher = try bob.client()
            try watcher.call("node.observe")
            let anna = try await TestNode("anna", home: home, peers: [bob])
            let twin = try await TestNode("anna", home: copied, peers: [bob, anna])
            #expect(anna.uid == twin.uid)
            try anna.client().send(message: "from the original")
            try twin.client().send(message: "from the copy")

            let told = try watcher.event("a notice") { $0["notice"]?["uid"]?.string == UID.text(anna.uid) }
            let row = try NoticeRow(json: try #require(told["notice"]))
            #expect(row.kind == .clone && !row.isOver)
            #expect(row.text.contains("starling identity new"))
            for node in [anna, twin] {
                let client = try node.client()
                try client.call("node.observe")
                let event = try client.event("a notice of its own") { $0["notice"]?["kind"] == "clone" }
                #expect(event["notice"]?["text"]?.string?.contains("another machine") == true)
            }
            for node in [anna, twin, bob] {
                let client = try node.client()
                #expect(try clone(of: anna.uid, client) != nil)
                for text in ["before the copy", "from the original", "from the copy"] {
                    try client.waitForMessage(text)
                }
                #expect(node.logLines("starling identity new").count == 1)
            }
            #expect(try clone(of: anna.uid, watcher)?.text.contains("anna") == true)
            // The end of one of them ends it, with a word.
            await twin.stop()
            let over = try watcher.event("its end") { $0["notice"]?["over"]?.bool == true }
            #expect(over["notice"]?["uid"]?.string == UID.text(anna.uid))
            #expect(try clone(of: anna.uid, watcher) == nil)
        }

        /// A node that was started anew is no clone, though the link to its predecessor is still there: nobody answers
        /// on that.
        @Test func aRestartIsNoClone() async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            let key = SigningKey()
            let old = try HostilePeer.greeted(node, key: key)
            let new = try HostilePeer.greeted(node, key: key)
            // The node asks both, and only the new one answers.
            for link in [old, new] { try link.next("ping") { if case .ping = $0 { true } else { false } } }
            try new.send(.pong(HostilePeer.emptyVitals))
            try new.synchronise()
            #expect(try notices(client).isEmpty)
            // A late answer to a question of before proves nothing; one to this does.
            try old.send(.pong(HostilePeer.emptyVitals))
            try old.synchronise()
            #expect(try clone(of: key.publicKey, client) != nil)
            try old.send(.goodbye("the program ends"))
            try old.waitForClose()
            #expect(try notices(client).isEmpty)
        }

        /// Two nodes with one key that dial each other at once keep one connection of the two.
        @Test func theSmallerInstanceOfTwoEqualKeysKeepsItsConnection() throws {
            let (a, b) = (Bytes32(repeating: 1), Bytes32(repeating: 2))
            #expect(PeerLinkSide.isSmallers(dialled: true, own: (a, 9), peer: (b, 1)))
            #expect(!PeerLinkSide.isSmallers(dialled: false, own: (a, 9), peer: (b, 1)))
            for dialled in [true, false] {
                let here = PeerLinkSide.isSmallers(dialled: dialled, own: (a, 1), peer: (a, 2))
                let there = PeerLinkSide.isSmallers(dialled: !dialled, own: (a, 2), peer: (a, 1))
                #expect(here == there && here == dialled)
            }
        }

        /// A backup is put back: what was forgotten comes back from the others, one's own words included, and what is
        /// written then is later than all of it.
        @Test func aRestoredBackupLosesNothing() async throws {
            let home = try TestHome()
            let bob = try await TestNode("bob")
            let first = try await TestNode("anna", home: home)
            try first.client().send(message: "in the backup")
            await first.stop()
            let backup = try copy(of: home)
            let second = try await TestNode("anna", home: home, peers: [bob])
            try second.client().send(message: "after the backup")
            try bob.client().waitForMessage("after the backup")
            await second.stop()

            let restored = try await TestNode("anna", home: backup, peers: [bob])
            let client = try restored.client()
            #expect(restored.uid == second.uid)
            try client.waitForMessage("after the backup")
            try client.send(message: "after the restore")
            try client.waitUntilEqual(peers: 1)
            let texts = ["in the backup", "after the backup", "after the restore"]
            #expect(try client.texts() == texts)
            #expect(try bob.client().texts() == texts)
            #expect(try notices(client).filter { $0.kind == .clone }.isEmpty)
        }

        /// A database that is gone comes back from the others; who one is does not depend on it.
        @Test func aResetNodeComesBack() async throws {
            let home = try TestHome()
            let bob = try await TestNode("bob")
            let first = try await TestNode("anna", home: home, peers: [bob])
            try first.client().send(message: "kept by bob")
            try bob.client().waitForMessage("kept by bob")
            await first.stop()
            for name in try home.files where name.hasPrefix("workspace.db") {
                try FileManager.default.removeItem(atPath: home.file(name))
            }
            let again = try await TestNode("anna", home: home, peers: [bob])
            #expect(again.uid == first.uid)
            let client = try again.client()
            try client.waitForMessage("kept by bob")
            try client.waitUntilEqual(peers: 1)
        }

        /// The other of two clones is dialled again, though the first is connected all the time.
        @Test func anAddressOfACloneIsNotTakenForItsTwins() throws {
            var dialer = Dialer()
            let places = try [1, 2].map { try #require(SocketAddress("127.0.0.1:4747\($0)")) }
            let anna = SigningKey().publicKey
            for place in places { dialer.offer(place, .named, nowMs: 0) }
            #expect(dialer.due(nowMs: 0, connected: []).count == 2)
            dialer.connected(places[0], node: anna, nonce: 1)
            dialer.connected(places[1], node: anna, nonce: 2)
            dialer.failed(places[1], reason: "cut", nowMs: 0, jitter: 0)
            #expect(dialer.due(nowMs: 10_000, connected: [anna], nonces: [1]) == [places[1]])
            dialer.failed(places[1], reason: "cut", nowMs: 10_000, jitter: 0)
            #expect(dialer.due(nowMs: 20_000, connected: [anna], nonces: [1, 2]).isEmpty)
        }
    }
}
