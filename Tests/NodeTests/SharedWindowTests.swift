import ControlAPI
import Testing

extension NodeTests {
    /// Observers of the same share a window: nobody may notice.
    @Suite struct SharedWindowTests {
        private static let query: JSON = ["orderBy": "$key", "limitToLast": 2]

        private func observe(_ client: LineClient, _ query: JSON = query) throws -> JSON {
            try client.call("tree.observe", ["path": "apps/s", "query": query, "events": ["child_added"]])[
                "subscription"] ?? .null
        }

        /// Of one path in the order in which they began, whatever they share.
        @Test func allAreToldInTheirOrder() async throws {
            let node = try await TestNode("anna")
            let (client, writer) = (try node.client(), try node.client())
            let first = try observe(client)
            let other = try observe(client, ["orderBy": "$key", "limitToLast": 3])
            let last = try observe(client)
            try writer.set("apps/s/a", 1)
            var told: [JSON] = []
            for _ in 0..<3 {
                let event = try client.event("a child")
                #expect(event["key"] == "a" && event["value"] == 1 && event["previous"] == .null)
                told.append(event["subscription"] ?? .null)
            }
            #expect(told == [first, other, last])
        }

        /// Who comes later begins with what is there now, and who goes does not take the window along.
        @Test func whoJoinsBeginsWithTheWindow() async throws {
            let node = try await TestNode("anna")
            let (early, late, writer) = (try node.client(), try node.client(), try node.client())
            let number = try observe(early)
            for key in ["a", "b", "c"] { try writer.set("apps/s/\(key)", .string(key)) }
            _ = try observe(late)
            #expect(try late.event("the first")["key"] == "b")
            #expect(try late.event("the second")["key"] == "c")
            try early.call("tree.unobserve", ["subscription": number])
            try writer.set("apps/s/d", "d")
            let event = try late.event("a new one")
            #expect(event["key"] == "d" && event["previous"] == "c")
            // Forms are told apart.
            try writer.call("tree.set", ["path": "apps/s/e", "value": [".value": 1, ".priority": 2]])
            try early.call("tree.observe", ["path": "apps/s", "query": Self.query, "export": true])
            #expect(try early.event("with priority") { $0["key"] == "e" }["value"] == [".priority": 2, ".value": 1])
            #expect(try late.event("without") { $0["key"] == "e" }["value"] == 1)
        }

        /// What grows too large ends for all who share it, each with a word.
        @Test func theEndIsToldToAll() async throws {
            let node = try await TestNode("anna")
            let (one, two, writer) = (try node.client(), try node.client(), try node.client())
            let whole: JSON = ["path": "apps/s", "events": ["child_added"]]
            let numbers = try [one, two].map { try $0.call("tree.observe", whole)["subscription"] ?? .null }
            for number in 0..<4 {
                try writer.set("apps/s/\(number)", .string(String(repeating: "x", count: 1_000_000)))
            }
            for (client, number) in zip([one, two], numbers) {
                let ended = try client.event("the end") { $0["event"]?.string == "ended" }
                #expect(ended["subscription"] == number && ended["reason"]?.string == "too_large")
            }
            try writer.call("tree.remove", ["path": "apps/s"])
            #expect(try one.refusal("tree.observe", whole) == "none")
        }

        /// A client's own requests in a burst: each event comes before the answer to what brought it about.
        @Test func eventsOfABurstComeBeforeTheirAnswers() async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            _ = try observe(client)
            var lines: [UInt8] = []
            for number in 0..<200 {
                let params: JSON = ["path": .string("apps/s/k\(1000 + number)"), "value": .int(Int64(number))]
                lines += RPCRequest(id: .int(Int64(10_000 + number)), method: "tree.set", params: params).line
            }
            try client.send(lines)
            for number in 0..<200 {
                let event = try client.line()
                #expect(event?["params"]?["value"] == .int(Int64(number)))
                #expect(try client.line()?["id"] == .int(Int64(10_000 + number)))
            }
        }
    }
}
