import ControlAPI
import Node
import Seal
import Testing
import Tree
import Wire

extension NodeTests {
    /// A member that follows the protocol to the letter and lies in it.
    @Suite struct ForgeryTests {
        private let workspace = Workspace.open.id

        private func path(_ text: String) throws -> Path { try Path(parsing: text) }

        private func entry(_ place: String, _ value: Value, by key: SigningKey, ms: UInt64? = nil) throws -> Entry {
            try Entry(
                path: path(place), hlc: HLC(ms: ms ?? HostilePeer.nowMs), author: key.publicKey, value: value)
        }

        private func bundle(_ entries: [Entry], by key: SigningKey, workspace: Bytes32? = nil) -> Bundle {
            Bundle(
                signing: entries.sorted { $0.stamp < $1.stamp }, by: key, workspace: workspace ?? self.workspace)
        }

        /// Sends bundles and returns how many entries were refused.
        private func refused(_ node: TestNode, _ client: LineClient, _ peer: HostilePeer, _ bundles: [Bundle]) throws
            -> Int64
        {
            let before = try client.status()["denied"]?.int ?? 0
            try peer.send(.bundles(bundles))
            try peer.synchronise()
            return (try client.status()["denied"]?.int ?? 0) - before
        }

        @Test func whatIsForgedIsRefusedAndCountedAndTheRestKept() async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            let mine = try client.send(message: "mine")
            let general = try #require(try client.messages().first?["in"]?.string)
            let key = SigningKey()
            let peer = try HostilePeer.greeted(node, key: key)
            let other = SigningKey()

            let good = bundle([try entry("apps/good", .string("kept"), by: key)], by: key)
            let wrongSignature = Bundle(
                author: key.publicKey, count: 1, signature: good.signature,
                leaves: [Bundle.Leaf(index: 0, entry: try entry("apps/bad1", .bool(true), by: key))], omitted: [])
            let otherWorkspace = bundle(
                [try entry("apps/bad2", .bool(true), by: key)], by: key, workspace: Bytes32(repeating: 9))
            let forgedAuthor = Bundle(
                author: other.publicKey, count: 1, signature: good.signature,
                leaves: [Bundle.Leaf(index: 0, entry: try entry("apps/bad3", .bool(true), by: other))], omitted: [])
            #expect(try refused(node, client, peer, [wrongSignature, good, otherWorkspace, forgedAuthor]) == 3)
            #expect(try client.value("apps/good").string == "kept")
            for name in ["bad1", "bad2", "bad3"] { #expect(try client.value("apps/\(name)") == .null) }

            // Another's message: edited, deleted, nested inside a write to its channel, its sender's profile.
            let stranger = AutoID(hlc: HLC(ms: HostilePeer.nowMs - 1000), author: key.publicKey).text
            let own = "channels/\(general)/messages/\(stranger)"
            let stolen = "channels/\(general)/messages/\(mine)"
            let message = ObjectValue([
                (try #require(Key("senderId")), .string(UID.text(key.publicKey))),
                (try #require(Key("text")), .string("good")),
            ])
            let nested = ObjectValue([(try #require(Key(mine)), .object(message))])
            let channel = ObjectValue([(try #require(Key("messages")), .object(nested))])
            let pushChannel = "channels/-0000000000000000000"
            let entries = [
                try entry("\(stolen)/text", .string("changed"), by: key), try entry(stolen, .null, by: key),
                try entry("channels/\(general)", .object(channel), by: key),
                try entry("channels/\(general)/messages", .object(nested), by: key),
                try entry("channels", .null, by: key),
                try entry(pushChannel, .object(channel), by: key),
                try entry("users/\(UID.text(node.uid))/displayName", .string("fool"), by: key),
                try entry("presence/\(UID.text(key.publicKey))", .string("stored"), by: key),
            ]
            // One bundle: the good entry in the middle of it is kept, with its proof.
            let mixed = entries + [try entry(own, .object(message), by: key)]
            #expect(try refused(node, client, peer, [bundle(mixed, by: key)]) == Int64(entries.count))
            #expect(try client.texts().sorted() == ["good", "mine"])
            #expect(try client.value("users/\(UID.text(node.uid))/displayName").string == "anna")
            #expect(try client.status()["denied"]?.int == Int64(3 + entries.count))
            #expect(node.logLines("refused").count == 2)
        }

        /// A key from the future would stick to the bottom of every screen.
        @Test func futureKeysAreRefusedAndFutureEntriesHeld() async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            try client.send(message: "now")
            let general = try #require(try client.messages().first?["in"]?.string)
            let key = SigningKey()
            let peer = try HostilePeer.greeted(node, key: key)
            let hour: UInt64 = 3_600_000
            let future = AutoID(hlc: HLC(ms: HostilePeer.nowMs + hour), author: key.publicKey).text
            let sticky = try entry("channels/\(general)/messages/\(future)/text", .string("sticks"), by: key)
            #expect(try refused(node, client, peer, [bundle([sticky], by: key)]) == 1)

            let nextYear = HostilePeer.nowMs + 365 * 24 * hour
            let held = try entry("apps/held", .string("later"), by: key, ms: nextYear)
            #expect(try refused(node, client, peer, [bundle([held], by: key)]) == 0)
            #expect(try client.status()["held"]?.int == 1)
            #expect(try client.value("apps/held") == .null)
            // It has not pulled this node's clock along.
            try client.set("apps/mine", .bool(true))
            let last = try client.send(message: "still now")
            let time = try #require(AutoID(last)).hlc.ms
            #expect(time < HostilePeer.nowMs + hour)
        }

        /// Who sends somebody else's entry with a broken signature must not keep the entry itself away.
        @Test func aSpoiltCopyDoesNotKeepTheEntryAway() async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            let author = SigningKey()
            let victim = try entry("apps/victim", .string("genuine"), by: author)
            let genuine = bundle([victim], by: author)
            let attacker = try HostilePeer.greeted(node)
            let spoilt = Bundle(
                author: author.publicKey, count: 1, signature: bundle([victim], by: SigningKey()).signature,
                leaves: genuine.leaves, omitted: [])
            #expect(try refused(node, client, attacker, [spoilt]) == 1)

            // Somebody who has it offers it later.
            let honest = try HostilePeer.greeted(node)
            try honest.send(.have([victim.reference]))
            try honest.next("the request for it") {
                if case .want(let wanted) = $0 { wanted == [victim.reference] } else { false }
            }
            try honest.send(.bundles([genuine]))
            try honest.synchronise()
            #expect(try client.value("apps/victim").string == "genuine")

            // The one who spoilt it is not asked for it again.
            try attacker.send(.have([spoilt.leaves[0].entry.reference]))
            try attacker.synchronise()
        }

        /// Bytes that are no message end the link with a word; what came before them stays.
        @Test(
            arguments: [
                [], [0x80], [0x82, 0x18, 0x63], [0x81, 0x07], [0x82, 0x07, 0x81, 0x00], [0xFF], [0x9F, 0x01, 0xFF],
                // A goodbye with a field too many, a want that is no multiple of 16, a ping whose clock is no number.
                [0x83, 0x11, 0x60, 0x60], [0x82, 0x06, 0x41, 0x00], [0x82, 0x0C, 0x85, 0x60, 0xF5, 0x00, 0x00, 0x00],
            ] as [[UInt8]])
        func malformedMessagesEndTheLink(bytes: [UInt8]) async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            let key = SigningKey()
            let peer = try HostilePeer.greeted(node, key: key)
            try peer.send(.bundles([bundle([try entry("apps/before", .bool(true), by: key)], by: key)]))
            try peer.send(plaintext: bytes)
            // 99 is a tag of the future: ignored. Everything else closes.
            if bytes == [0x82, 0x18, 0x63] {
                try peer.synchronise()
            } else {
                try peer.waitForClose()
            }
            #expect(try client.value("apps/before") == .bool(true))
        }

        /// Not canonical: accepted nowhere, or one entry would have two ids.
        @Test func aSecondEncodingOfAnEntryIsRefused() async throws {
            let node = try await TestNode("anna")
            let key = SigningKey()
            let peer = try HostilePeer.greeted(node, key: key)
            var bytes = PeerMessage.bundles([bundle([try entry("apps/x", .integer(7), by: key)], by: key)]).encoded
            // The value is the last byte: 7 as one byte becomes 7 as two.
            #expect(bytes.removeLast() == 7)
            try peer.send(plaintext: bytes + [0x18, 7])
            try peer.waitForClose()
            #expect(try node.client().value("apps/x") == .null)
        }
    }
}
