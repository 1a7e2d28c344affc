import ControlAPI
import Glibc
import Node
import Testing

extension NodeTests {
    /// Queries whose order is made in pieces, while others are served.
    @Suite struct OrderTests {
        private static let query: JSON = ["orderBy": "n", "limitToLast": 2]
        private static let read: JSON = ["path": "apps/x/list", "query": query]

        private func fill(_ client: LineClient, _ count: Int) throws {
            var values = JSONObject()
            for number in 0..<count {
                values.append("c\(number)", ["n": .int(Int64(number * 7919 % count)), "text": "some words"])
            }
            try client.call("tree.update", ["path": "apps/x/list", "values": .object(values)])
        }

        private func keys(_ answer: JSON?) -> [String] {
            answer?["value"]?.object?.members.map(\.key) ?? []
        }

        @Test func othersAreServedMeanwhile() async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            try fill(client, 3000)
            let slow = try client.request("tree.get", Self.read)
            let quick = try client.request("tree.get", ["path": "apps/x/list/c1/n"])
            let answers = try [client.answer(), client.answer()]
            #expect(answers.map { $0["id"]?.int } == [quick, slow])
            let greatest = try #require((0..<3000).first { $0 * 7919 % 3000 == 2999 })
            #expect(keys(answers.last?["result"]).last == "c\(greatest)")
            // Now there is an order, and the answer comes at once.
            let second = try client.request("tree.get", Self.read)
            let third = try client.request("tree.get", ["path": "apps/x/list/c1/n"])
            #expect(try [client.answer(), client.answer()].map { $0["id"]?.int } == [second, third])
            // What is written follows, and what leaves the window is replaced from behind its edge.
            try client.set("apps/x/list/c1/n", 9999)
            #expect(keys(try client.call("tree.get", Self.read)) == ["c\(greatest)", "c1"])
        }

        @Test func observersBeginAndGoOn() async throws {
            let node = try await TestNode("anna")
            let (client, writer) = (try node.client(), try node.client())
            try fill(writer, 2000)
            let begun = try client.request("tree.observe", Self.read)
            // While the order is made somebody writes.
            try writer.set("apps/x/list/new/n", 5000)
            let answer = try client.answer()
            #expect(answer["id"]?.int == begun && answer["result"]?["subscription"] != nil)
            try client.event("the new child") { $0["event"] == "child_added" && $0["key"] == "new" }
            try writer.call("tree.update", ["path": "apps/x/list", "values": ["new": .null, "newer/n": 6000]])
            try client.event("the child that left") { $0["event"] == "child_removed" && $0["key"] == "new" }
            try client.event("the newer child") { $0["event"] == "child_added" && $0["key"] == "newer" }
            // A write of the whole list ends the order; the window is read when there is another.
            var members = JSONObject()
            for number in 0..<1000 { members.append("m\(number)", ["n": .int(Int64(number))]) }
            try writer.set("apps/x/list", .object(members))
            try writer.set("apps/x/list/m0/n", 2000)
            try client.event("the child that left") { $0["event"] == "child_removed" && $0["key"] == "newer" }
            try client.event("the window") { event in
                event["event"] == "value" && event["value"]?.object?.members.map(\.key) == ["m0", "m999"]
            }
            try writer.call("tree.remove", ["path": "apps/x/list"])
            try client.event("nothing") { $0["event"] == "value" && $0["value"] == .null }
        }

        @Test func manyKeysComeInPieces() async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            for round in 0..<2 {
                var values = JSONObject()
                for number in 0..<2000 { values.append("k\(round)-\(number)", true) }
                try client.call("tree.update", ["path": "apps/x/list", "values": .object(values)])
            }
            let slow = try client.request("tree.get", ["path": "apps/x/list", "shallow": true])
            let quick = try client.request("tree.get", ["path": "apps/x/list/k1-1"])
            let answers = try [client.answer(), client.answer()]
            #expect(answers.map { $0["id"]?.int } == [quick, slow])
            #expect(keys(answers.last?["result"]).count == 4000)
        }

        @Test func whoLeavesIsNotWaitedFor() async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            try fill(client, 2000)
            let leaver = try node.client()
            try leaver.request("tree.get", Self.read)
            try leaver.request("tree.observe", Self.read)
            leaver.close()
            #expect(keys(try client.call("tree.get", Self.read)).count == 2)
        }
    }
}
