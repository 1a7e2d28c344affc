import ControlAPI
import Lab
@testable import Node
import Seal
import Testing
import Tree

extension NodeTests {
    /// Old messages of a channel that belongs to somebody end for everybody.
    @Suite struct RetentionTests {
        private static let dayMs: UInt64 = 24 * 3600 * 1000

        /// A key that a node made so many days ago.
        private static func key(_ node: TestNode, daysAgo: UInt64) -> JSON {
            .string(AutoID(hlc: HLC(ms: HostilePeer.nowMs - daysAgo * dayMs), author: node.uid).text)
        }

        private static func send(_ text: String, _ node: TestNode, daysAgo: UInt64, to channel: JSON) throws {
            try node.client().call(
                "message.send",
                ["to": channel, "text": .string(text), "key": key(node, daysAgo: daysAgo)])
        }

        private static func retain(_ channel: JSON, _ name: String, _ value: JSON, trial: Bool = false) -> JSON {
            var params: JSONObject = ["channel": channel, "trial": .bool(trial)]
            params.append(name, value)
            return .object(params)
        }

        @Test func messagesEndOnEveryNode() async throws {
            let a = try await TestNode("anna")
            let b = try await TestNode("bert", peers: [a])
            let (atA, atB) = (try a.client(), try b.client())
            let channel = try #require(try atA.call("channel.create", ["name": "#log", "own": true])["key"])
            let name = try #require(channel.string)
            try Self.send("ten days old", a, daysAgo: 10, to: channel)
            try Self.send("two days old", a, daysAgo: 2, to: channel)
            try atB.waitForMessage("two days old", in: name)
            try Self.send("nine days old", b, daysAgo: 9, to: channel)
            try atA.waitForMessage("nine days old", in: name)
            let ended = try #require(try atB.messages(name).first?["key"])

            let keep = JSON.int(Int64(5 * Self.dayMs))
            let trial = try atA.call("channel.retain", Self.retain(channel, "keepMs", keep, trial: true))
            #expect(trial["removes"]?.int == 2 && trial["before"] == nil)
            #expect(try atA.messages(name).count == 3)
            #expect(try atB.refusal("channel.retain", Self.retain(channel, "keepMs", keep)) == "permission_denied")
            let answer = try atA.call("channel.retain", Self.retain(channel, "keepMs", keep))
            #expect(answer["removes"]?.int == 2 && answer["keepMs"] == keep)
            let before = try #require(answer["before"]?.int)
            #expect(try atA.texts(name) == ["two days old"])
            // Whoever follows the channel sees them go.
            try atB.event("the end of a message") { $0["event"]?.string == "deleted" && $0["key"] == ended }
            #expect(try atB.texts(name) == ["two days old"])
            let row = try atB.call("channel.list")["channels"]?.array?.first { $0["key"] == channel }
            #expect(row?["before"]?.int == before && row?["keepMs"] == nil)
            #expect(try atB.refusal("message.edit", ["key": ended, "text": "still"]) == "not_found")
            let late: JSON = ["to": channel, "text": "late", "key": Self.key(b, daysAgo: 20)]
            #expect(try atB.refusal("message.send", late) == "permission_denied")

            // The limit does not fall, and the end of the rule brings nothing back.
            #expect(
                try atA.refusal("channel.retain", Self.retain(channel, "before", .int(before - 1))) == "invalid_params")
            let off = try atA.call("channel.retain", Self.retain(channel, "keepMs", 0))
            #expect(off["keepMs"] == nil && off["before"]?.int == before)
            try atB.waitUntilEqual(peers: 1)
            #expect(try atA.root() == atB.root())
        }

        /// Where nobody is certified nobody may end what others wrote.
        @Test func namedChannelsBelongToNobody() async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            try client.call("channel.create", ["name": "#lunch"])
            for channel in ["#general", "#lunch"] {
                let request = Self.retain(.string(channel), "before", 1000)
                #expect(try client.refusal("channel.retain", request) == "permission_denied")
                let shown = try client.call("channel.retain", ["channel": .string(channel)])
                #expect(shown["before"] == nil && shown["removes"]?.int == 0)
            }
            #expect(try client.refusal("channel.create", ["name": "#lunch", "own": true]) == "permission_denied")
            let own = try client.call("channel.create", ["name": "#mine", "own": true])
            #expect(try client.call("channel.create", ["name": "#mine", "own": true])["key"] == own["key"])
            for (name, value) in [("before", JSON.int(-1)), ("before", .int(1 << 60)), ("keepMs", 5), ("keepMs", -1)] {
                let request = Self.retain("#mine", name, value)
                #expect(try client.refusal("channel.retain", request) == "invalid_params")
            }
            let both: JSON = ["channel": "#mine", "keepMs": 0, "before": 1000]
            #expect(try client.refusal("channel.retain", both) == "invalid_params")
        }

        /// A rule goes on by itself, an entry a day; what is kept for hours, an entry an hour.
        @Test func aRuleAdvances() {
            let (day, hour): (UInt64, UInt64) = (Self.dayMs, 3600 * 1000)
            let now = 1000 * day
            let kept = 90 * day
            #expect(Node.advanced(0, keeping: kept, nowMs: now) == 910 * day)
            #expect(Node.advanced(910 * day - hour, keeping: kept, nowMs: now) == nil)
            #expect(Node.advanced(909 * day, keeping: kept, nowMs: now) == 910 * day)
            #expect(Node.advanced(990 * day, keeping: kept, nowMs: now) == nil)
            #expect(Node.advanced(0, keeping: kept, nowMs: day) == nil)
            #expect(Node.advanced(now - 8 * hour, keeping: 6 * hour, nowMs: now) == now - 6 * hour)
            #expect(Node.advanced(now - 6 * hour - 1, keeping: 6 * hour, nowMs: now) == nil)
        }

        @Test func aRuleIsFollowedByTheDaemon() async throws {
            let a = try await TestNode("anna")
            let b = try await TestNode("bert", peers: [a])
            let atA = try a.client()
            try atA.waitForPerson(UID.text(b.uid), "bert online") { $0["state"]?.string == "online" }
            let channel = try #require(try atA.call("channel.create", ["name": "#log", "own": true])["key"])
            let name = try #require(channel.string)
            try Self.send("old", a, daysAgo: 10, to: channel)
            try atA.set("users/\(UID.text(a.uid))/retention/\(name)", .int(Int64(5 * Self.dayMs)))
            #expect(try atA.texts(name) == ["old"])
            // The hour is over.
            try await eventually("the rule has been followed", within: .seconds(60)) {
                await a.node.followRulesNow()
                return try atA.texts(name).isEmpty
            }
        }
    }
}

extension Node {
    fileprivate func followRulesNow() {
        retentionDueMs = 0
        followRetentionRules()
    }
}
