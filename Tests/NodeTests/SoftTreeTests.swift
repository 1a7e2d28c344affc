import ControlAPI
@testable import Node
import Seal
import Testing
import Tree
import Wire

extension NodeTests {
    /// Presence and typing in the tree: children like any others, until they vanish.
    @Suite struct SoftTreeTests {
        private func general(_ client: LineClient) throws -> String {
            try #require(try client.call("channel.list")["channels"]?[0]?["key"]?.string)
        }

        private func observe(_ client: LineClient, _ path: String, _ events: String...) throws -> JSON {
            let params: JSON = ["path": .string(path), "events": .array(events.map(JSON.string))]
            return try client.call("tree.observe", params)["subscription"] ?? .null
        }

        @Test func presenceIsSeenAtEveryLevel() async throws {
            let a = try await TestNode("anna")
            let remote = try a.client()
            let (own, ownUid) = (try remote.value("presence"), UID.text(a.uid))
            #expect(own.object?.count == 1 && own[ownUid]?["state"]?.string == "online")
            #expect(own[ownUid]?["since"]?.int != nil)
            let b = try await TestNode("bert")
            let uid = UID.text(b.uid)
            let all = try observe(remote, "presence", "child_added", "child_removed")
            let state = try observe(remote, "presence/\(uid)/state", "value")
            let root = try observe(remote, "", "child_changed")
            try b.client().call("node.addPeer", ["address": .string(a.address)])
            var left = [all, state, root]
            while !left.isEmpty {
                try remote.event("bert is there at every level") { event in
                    guard let number = event["subscription"], let index = left.firstIndex(of: number) else {
                        return false
                    }
                    switch number {
                    case all: guard event["key"]?.string == uid else { return false }
                    case state: guard event["value"]?.string == "online" else { return false }
                    default: guard event["key"]?.string == "presence", event["value"]?[uid] != nil else { return false }
                    }
                    left.remove(at: index)
                    return true
                }
            }
            #expect(try remote.value("presence").object?.count == 2)
            #expect(try remote.value("presence/\(uid)/state").string == "online")
            let shallow = try remote.call("tree.get", ["path": "", "shallow": true])["value"]
            #expect(shallow?["presence"] == true && shallow?["users"] == true)
            let last: JSON = ["path": "presence", "query": ["limitToLast": 1]]
            #expect(try remote.call("tree.get", last)["value"]?.object?.members.map(\.key) == [max(uid, ownUid)])
            let online: JSON = ["path": "presence", "query": ["orderBy": "state", "equalTo": "online"]]
            #expect(try remote.call("tree.get", online)["value"]?.object?.count == 2)
            await b.stop()
            try remote.event("bert goes") {
                $0["subscription"] == all && $0["event"]?.string == "child_removed" && $0["key"]?.string == uid
            }
            #expect(try remote.value("presence").object?.count == 1)
            // It is not part of what is stored and compared.
            #expect(try remote.refusal("tree.remove", ["path": "presence"]) == "permission_denied")
        }

        /// A client sets its own indicator in the tree: it ends with the client, and with a message.
        @Test func typingInTheTree() async throws {
            let a = try await TestNode("anna")
            let b = try await TestNode("bert", peers: [a])
            let (remote, client) = (try a.client(), try b.client())
            let cid = try general(remote)
            let (indicators, uid) = ("channels/\(cid)/typingIndicator", UID.text(b.uid))
            let own: JSON = .string("\(indicators)/\(uid)")
            try client.waitUntilEqual(peers: 1)
            let number = try observe(remote, indicators, "child_added", "child_removed")
            let channel = try observe(remote, "channels/\(cid)", "child_added", "child_removed")
            let local = try observe(client, "\(indicators)/\(uid)", "value")
            try client.event("not yet") { $0["subscription"] == local && $0["value"] == .null }
            func expect(_ isThere: Bool) throws {
                for subscription in [number, channel] {
                    let event = try remote.event("typing \(isThere)") { $0["subscription"] == subscription }
                    #expect(event["event"]?.string == (isThere ? "child_added" : "child_removed"))
                    #expect(event["key"]?.string == (subscription == number ? uid : "typingIndicator"))
                }
                #expect(try remote.value(indicators) == (isThere ? .object([uid: true]) : .null))
            }
            try client.call("tree.set", ["path": own, "value": true])
            try client.event("at once") { $0["subscription"] == local && $0["value"] == true }
            try expect(true)
            try client.call("tree.remove", ["path": own])
            try client.event("at once") { $0["subscription"] == local && $0["value"] == .null }
            try expect(false)
            try client.call("tree.set", ["path": own, "value": true])
            try expect(true)
            try client.call("tree.set", ["path": own, "value": .null])
            try expect(false)
            // Its end needs no order, but one is taken.
            let typist = try b.client()
            try typist.call("tree.onDisconnect", ["path": own, "op": "remove"])
            try typist.call("tree.set", ["path": own, "value": true])
            try expect(true)
            typist.close()
            try expect(false)

            for value in [false, 1, ["x": true]] as [JSON] {
                #expect(try client.refusal("tree.set", ["path": own, "value": value]) == "invalid_params")
            }
            let ownUnknown: JSON = .string("channels/-nobody/typingIndicator/\(uid)")
            #expect(try client.refusal("tree.set", ["path": ownUnknown, "value": true]) == "not_found")
            let others: JSON = .string("\(indicators)/\(UID.text(a.uid))")
            #expect(try client.refusal("tree.set", ["path": others, "value": true]) == "permission_denied")
            let ending: JSON = ["path": own, "op": "set", "value": true]
            #expect(try client.refusal("tree.onDisconnect", ending) == "permission_denied")
        }

        /// What an author no longer says ends as a removed child; no write above hides what is soft.
        @Test func itVanishesAndNothingHidesIt() async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            let key = SigningKey()
            let uid = UID.text(key.publicKey)
            let created = try #require(try client.call("tree.newKey")["key"]?.string)
            let peer = try HostilePeer.greeted(node, key: key)
            let unopened = try #require(try client.call("tree.newKey")["key"]?.string)
            let records = try [created, unopened].map { cid in
                SoftRecord(
                    signing: try Path(parsing: "channels/\(cid)/typingIndicator/\(uid)"), value: .bool(true),
                    hlc: HLC(ms: HostilePeer.nowMs), ttlMs: Pace.ms(1500), instance: 1, by: key,
                    workspace: Workspace.open.id)
            }
            let number = try observe(client, "channels/\(created)", "child_added", "child_removed")
            try peer.send(.soft(records))
            let added = try client.event("typing") { $0["subscription"] == number }
            #expect(added["key"]?.string == "typingIndicator")
            try client.set("channels/\(created)", ["name": "x"])
            #expect(try client.event("the name")["key"]?.string == "name")
            #expect(
                try client.value("channels/\(created)") == ["name": "x", "typingIndicator": .object([uid: true])])
            // A channel in which only somebody types is none for the chat.
            #expect(try client.value("channels/\(unopened)") != .null)
            #expect(try client.call("channel.list")["channels"]?.array?.count == 2)
            let removed = try client.event("its end") { $0["subscription"] == number }
            #expect(removed["event"]?.string == "child_removed" && removed["key"]?.string == "typingIndicator")
            #expect(removed["value"] == .object([uid: true]))
            #expect(try client.value("channels/\(created)") == ["name": "x"])
        }

        /// What is said again without a change raises no event.
        @Test func aRefreshIsNoChange() async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            let key = SigningKey()
            let peer = try HostilePeer.greeted(node, key: key)
            _ = try observe(client, "presence", "value")
            func say(_ value: Value, _ ms: UInt64) throws {
                let record = SoftRecord(
                    signing: try Path(parsing: "presence/\(UID.text(key.publicKey))"), value: value,
                    hlc: HLC(ms: ms), ttlMs: 60_000, instance: 1, by: key, workspace: Workspace.open.id)
                try peer.send(.soft([record]))
            }
            let now = HostilePeer.nowMs
            try say(.string("one"), now)
            for number in 1...5 { try say(.string("one"), now + UInt64(number)) }
            try say(.string("two"), now + 10)
            func value(_ text: String) -> (JSON) -> Bool {
                { $0["value"]?[UID.text(key.publicKey)]?.string == text }
            }
            try client.event("one", where: value("one"))
            #expect(value("two")(try client.event("two")))
        }
    }

    /// `.info`: how the node is.
    @Suite struct InfoTests {
        @Test func connected() async throws {
            let a = try await TestNode("anna")
            let client = try a.client()
            #expect(try client.value(".info/connected") == false)
            for path in ["/.info/connected", ".info/connected/"] { #expect(try client.value(path) == false) }
            let number = try client.call("tree.observe", ["path": ".info/connected"])["subscription"]
            let first = try client.event("at first")
            #expect(first["value"] == false && first["event"]?.string == "value")
            #expect(first["path"]?.string == ".info/connected" && first["key"] == .null)
            try client.call("tree.observe", ["path": "/.info", "events": ["child_changed"]])
            let b = try await TestNode("bert", peers: [a])
            try client.event("up") { $0["subscription"] == number && $0["value"] == true }
            let child = try client.event("up, as a child")
            #expect(child["path"]?.string == ".info" && child["key"]?.string == "connected" && child["value"] == true)
            #expect(try client.value(".info/connected") == true)
            await b.stop()
            try client.event("down") { $0["subscription"] == number && $0["value"] == false }
            try client.call("tree.unobserve", ["subscription": number ?? .null])
            #expect(try client.value(".info/connected") == false)
        }

        @Test func whatElseThereIs() async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            let info = try client.value(".info")
            #expect(info.object?.members.map(\.key) == ["connected", "serverTimeOffset"])
            let offset = try #require(try client.value(".info/serverTimeOffset").int)
            #expect(abs(offset) < 1000)
            #expect(try client.value(".info/connected/x") == .null)
            #expect(try client.value(".info/other") == .null)
            #expect(try client.call("tree.get", ["path": "", "shallow": true])["value"]?[".info"] == nil)
            #expect(try client.value("")[".info"] == nil)
            for method in ["tree.set", "tree.remove", "tree.push", "tree.update", "tree.onDisconnect"] {
                let params: JSON = [
                    "path": ".info/connected", "value": true, "values": ["x": 1], "op": "remove",
                ]
                #expect(try client.refusal(method, params) == "permission_denied", "\(method)")
            }
            #expect(try client.refusal("tree.get", ["path": ".info", "query": ["limitToLast": 1]]) == "invalid_params")
            for path in [".infos", ".info.x", "x/.info", ".info//x"] {
                #expect(try client.refusal("tree.get", ["path": .string(path)]) == "invalid_path", "\(path)")
            }
        }

        /// Clocks of others move workspace time; what is told of it is not every millisecond.
        @Test func theOffsetFollowsWorkspaceTime() async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            let peers = [try HostilePeer.greeted(node), try HostilePeer.greeted(node)]
            try client.call("tree.observe", ["path": ".info/serverTimeOffset"])
            #expect(try client.event("at first")["value"]?.int.map { abs($0) < 1000 } == true)
            var vitals = HostilePeer.emptyVitals
            vitals = Vitals(
                clockMs: vitals.clockMs + 60_000, isSynchronised: true, highWater: HLC(ms: vitals.clockMs),
                root: vitals.root)
            for peer in peers { try peer.send(.ping(vitals)) }
            var told: [Int64] = []
            let deadline = Deadline(afterMs: LineClient.timeoutMs)
            while told.count < 3, deadline.leftMs > 0 {
                // Each ping is a step, in which the clock goes on.
                for peer in peers { try peer.synchronise(vitals) }
                let event = try? client.event("the offset", timeoutMs: 20)
                if let offset = event?["value"]?.int { told.append(offset) }
            }
            #expect(told.count == 3)
            for (earlier, later) in zip(told, told.dropFirst()) {
                #expect(abs(later - earlier) >= NodeInfo.offsetMsMin)
            }
        }

        @Test func smallChangesAreNotTold() {
            let (here, there) = (NodeInfo(isConnected: true, offsetMs: 50), NodeInfo(isConnected: false, offsetMs: -49))
            #expect(here.changes(to: here).isEmpty)
            #expect(here.changes(to: there).map { "\($0)" } == ["connected"])
            let far = NodeInfo(isConnected: true, offsetMs: -50)
            #expect(here.changes(to: far).map { "\($0)" } == ["serverTimeOffset"])
            #expect(far.changes(to: NodeInfo(isConnected: true, offsetMs: .max)).count == 1)
        }
    }
}
