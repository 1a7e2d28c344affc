import Chat
import ControlAPI
@testable import Node
@testable import Replication
import Seal
import Testing
import Tree
import Wire

extension NodeTests {
    /// Presence, typing and names.
    @Suite struct PeopleTests {
        @Test func presenceComesAndGoes() async throws {
            let a = try await TestNode("anna")
            let b = try await TestNode("bert", peers: [a])
            let atA = try a.client()
            try atA.waitForPerson(UID.text(b.uid), "bert") {
                $0["name"]?.string == "bert" && $0["state"]?.string == "online"
            }
            let rows = try atA.call("people.list")["people"]?.array ?? []
            #expect(rows.map { $0["name"]?.string } == ["anna", "bert"])
            #expect(rows.map { $0["self"]?.bool } == [true, false])
            // Leaving is said.
            await b.stop()
            try atA.event("bert offline") {
                $0["person"]?["name"]?.string == "bert" && $0["person"]?["state"]?.string == "offline"
            }
            #expect(a.logLines("link to bert").count == 1)
        }

        /// A client that holds the typing indicator ends it by ending, however it ends.
        @Test func typingEndsWithItsClient() async throws {
            let a = try await TestNode("anna")
            let b = try await TestNode("bert", peers: [a])
            let (atA, holder, second) = (try a.client(), try b.client(), try b.client())
            let uid = UID.text(b.uid)
            func isTyping(_ event: JSON) -> Bool? {
                guard event["person"]?["uid"]?.string == uid else { return nil }
                return event["person"]?["typing"]?.array?.isEmpty == false
            }
            try atA.waitForPerson(uid, "bert online") { $0["state"]?.string == "online" }
            for client in [holder, second] {
                try client.call("typing.set", ["in": "#general", "typing": true, "hold": true])
            }
            try atA.event("bert types") { isTyping($0) == true }
            second.close()
            // The other one still holds it: what follows is no end.
            try holder.call("typing.set", ["in": "#general", "typing": true, "hold": true])
            let start = Deadline.nowNs
            holder.close()
            try atA.event("bert stopped") { isTyping($0) == false }
            #expect(Deadline.nowNs - start < Pace.ns(1000))

            let third = try b.client()
            try third.call("typing.set", ["in": "#general", "typing": true])
            try atA.event("bert types again") { isTyping($0) == true }
            let sent = Deadline.nowNs
            try third.send(message: "done typing")
            try atA.event("the message ends it") { isTyping($0) == false }
            #expect(Deadline.nowNs - sent < Pace.ns(1000))
            try third.call("typing.set", ["in": "#general", "typing": true])
            try atA.event("bert types once more") { isTyping($0) == true }
            try third.call("typing.set", ["in": "#general", "typing": false])
            try atA.event("bert stopped by himself") { isTyping($0) == false }
            #expect(try third.refusal("typing.set", ["in": "#nowhere", "typing": true]) == "not_found")
            #expect(try third.refusal("typing.set", ["in": "#general"]) == "invalid_params")
        }

        /// One client's indicator neither ends another's nor is kept on by one that was ended.
        @Test func severalClientsType() async throws {
            let a = try await TestNode("anna")
            let (holder, other) = (try a.client(), try a.client())
            let hold: JSON = ["in": "#general", "typing": true, "hold": true]
            try holder.call("typing.set", hold)
            try other.call("typing.set", ["in": "#general", "typing": true])
            let key = try other.call("channel.create", ["name": "general"])["key"]?.string
            let cid = try #require(key)
            let place = try #require(Path.root.appending("channels", cid, "typingIndicator", UID.text(a.uid)))
            // It has no end of its own.
            #expect(await a.node.replicator.localSoft[place]?.endsMs == nil)
            #expect(await a.node.replicator.localSoft[place] != nil)
            try holder.send(message: "done typing")
            #expect(await a.node.replicator.localSoft[place] == nil)
            try other.call("typing.set", hold)
            #expect(await a.node.replicator.localSoft[place] != nil)
            try other.call("typing.set", ["in": "#general", "typing": false])
            #expect(await a.node.replicator.localSoft[place] == nil)
        }

        @Test func profileAndIdentity() async throws {
            let a = try await TestNode("anna")
            let b = try await TestNode("bert", peers: [a])
            let (atA, atB) = (try a.client(), try b.client())
            try atA.waitForPerson(UID.text(b.uid), "bert online") { $0["state"]?.string == "online" }
            #expect(try atB.call("profile.set", ["name": "Bertha"])["name"]?.string == "Bertha")
            try atA.event("the new name") { $0["person"]?["name"]?.string == "Bertha" }
            for name in ["", String(repeating: "x", count: 81)] {
                #expect(try atB.refusal("profile.set", ["name": .string(name)]) == "invalid_params")
            }
            let identity = try atB.call("identity.show")
            #expect(identity["uid"]?.string == UID.text(b.uid))
            #expect(
                identity["fingerprint"]?.string?.split(separator: " ").map(\.count) == [Int](repeating: 4, count: 8))
            // Somebody's name from elsewhere may be anything: it is cut, or passed over.
            let place: JSON = .string("users/\(UID.text(b.uid))/displayName")
            try atB.call("tree.set", ["path": place, "value": .string(String(repeating: "long", count: 1000))])
            try atA.event("a cut name") { ($0["person"]?["name"]?.string ?? "").hasPrefix("longlong") }
            try atB.call("tree.set", ["path": place, "value": .string(String(repeating: "long", count: 50_000))])
            try atA.event("no name") { $0["person"]?["name"]?.string == String(UID.text(b.uid).prefix(8)) }
            let rows = try atA.call("people.list")["people"]?.array ?? []
            #expect(rows.allSatisfy { ($0["name"]?.string ?? "").utf8.count <= 80 })
        }

        /// Two of one name are told apart by their keys.
        @Test func twoBobs() async throws {
            let a = try await TestNode("bob")
            let b = try await TestNode("bob", peers: [a])
            let (atA, atB) = (try a.client(), try b.client())
            try atA.send(message: "one")
            try atB.waitForMessage("one")
            try atB.send(message: "two")
            try atA.waitForMessage("two")
            #expect(Set(try atA.messages().compactMap { $0["senderId"]?.string }).count == 2)
            #expect(try atA.call("people.list")["people"]?.array?.count == 2)
        }

        // MARK: Soft state from outside

        private func typing(
            _ key: SigningKey, _ cid: String, ms: UInt64, ttlMs: UInt64 = 6000, value: Value = .bool(true)
        ) throws -> SoftRecord {
            SoftRecord(
                signing: try Path(parsing: "channels/\(cid)/typingIndicator/\(UID.text(key.publicKey))"), value: value,
                hlc: HLC(ms: ms), ttlMs: ttlMs, instance: 1, by: key, workspace: Workspace.open.id)
        }

        /// Records that are forged, replayed, too long-lived, too large, from the far future or for another's place.
        @Test func badRecordsAreDropped() async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            let cid = try #require(try client.call("channel.list")["channels"]?[0]?["key"]?.string)
            let key = SigningKey()
            let peer = try HostilePeer.greeted(node, key: key)
            let now = HostilePeer.nowMs
            let good = try typing(key, cid, ms: now)
            let other = SigningKey()
            let forged = SoftRecord(
                author: other.publicKey, instance: 1, path: try typing(other, cid, ms: now).path, hlc: good.hlc,
                ttlMs: 6000, value: .bool(true), signature: good.signature)
            let elsewhere = SoftRecord(
                signing: try Path(parsing: "presence/\(UID.text(node.uid))"), value: .string("away"), hlc: HLC(ms: now),
                ttlMs: 6000, instance: 1, by: key, workspace: Workspace.open.id)
            let stored = SoftRecord(
                signing: try Path(parsing: "apps/x"), value: .bool(true), hlc: HLC(ms: now), ttlMs: 6000, instance: 1,
                by: key, workspace: Workspace.open.id)
            let bad = [
                forged, elsewhere, stored, try typing(SigningKey(), cid, ms: now - 120_000),
                try typing(SigningKey(), cid, ms: now + 25 * 3_600_000),
                try typing(SigningKey(), cid, ms: now, ttlMs: .max),
            ]
            try peer.send(.soft(bad))
            try peer.synchronise()
            #expect(try client.call("people.list")["people"]?.array?.count == 2)
            try peer.send(.soft([good]))
            try client.waitForPerson(UID.text(key.publicKey), "the good one") { $0["typing"]?.array?.isEmpty == false }
            try peer.send(
                .soft([try typing(key, cid, ms: now + 1, value: .string(String(repeating: "x", count: 2000)))]))
            try peer.waitForClose()
        }

        /// A flood of records from one author and from many keeps within bounds, and others are still seen.
        @Test func floodsOfRecordsAreBounded() async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            let key = SigningKey()
            let peer = try HostilePeer.greeted(node, key: key)
            let now = HostilePeer.nowMs
            for _ in 0..<10 {
                var records: [SoftRecord] = []
                for number in 0..<50 {
                    let cid = AutoID(hlc: HLC(ms: now - UInt64(number)), author: key.publicKey).text
                    records.append(try typing(key, cid, ms: now + UInt64(number)))
                }
                try peer.send(.soft(records))
            }
            try peer.synchronise()
            let rows = try client.call("people.list")["people"]?.array ?? []
            let flooder = try #require(rows.first { $0["uid"]?.string == UID.text(key.publicKey) })
            #expect((flooder["typing"]?.array?.count ?? 0) <= 32)

            var many: [SoftRecord] = []
            for _ in 0..<400 {
                let key = SigningKey()
                many.append(
                    SoftRecord(
                        signing: try Path(parsing: "presence/\(UID.text(key.publicKey))"), value: .string("x"),
                        hlc: HLC(ms: now), ttlMs: 30_000, instance: 1, by: key, workspace: Workspace.open.id))
            }
            try peer.send(.soft(many))
            try peer.synchronise()
            let start = Deadline.nowNs
            #expect((try client.call("people.list")["people"]?.array?.count ?? 0) > 400)
            #expect(Deadline.nowNs - start < Pace.ns(3000))
            let b = try await TestNode("bert", peers: [node])
            try client.waitForPerson(UID.text(b.uid), "bert") { $0["state"]?.string == "online" }
        }
    }
}
