import ControlAPI
import Foundation
import Testing
import Tree

extension NodeTests {
    /// Writes that a client sends without waiting for the answers are stored and told together.
    @Suite struct WriteGroupTests {
        /// Requests of one client in one piece, numbered from 1.
        private func pipeline(_ client: LineClient, _ requests: [(method: String, params: JSON)]) throws -> [JSON] {
            let lines = requests.enumerated().map { index, request in
                RPCRequest(id: .int(Int64(index + 1)), method: request.method, params: request.params).line
            }
            try client.send(lines.reduce(into: []) { $0 += $1 })
            let answers = try requests.map { _ in try client.answer() }
            #expect(answers.compactMap { $0["id"]?.int } == (1...Int64(requests.count)).map { $0 }, "in order")
            return answers
        }

        private func sends(_ count: Int) -> [(method: String, params: JSON)] {
            (1...count).map { ("message.send", ["to": "#general", "text": .string("\($0)")]) }
        }

        /// Whoever follows the last two sees all of them, on this node and on another.
        @Test func everyMessageOfABurstIsSeen() async throws {
            let anna = try await TestNode("anna")
            let bert = try await TestNode("bert", peers: [anna])
            // Also of one that is greater than a quota, whether others have to wait for it or not.
            await bert.node.setPushLimits(burst: 50, rate: 500)
            let (client, near, far) = (try anna.client(), try anna.client(), try bert.client())
            for follower in [near, far] {
                try follower.call("message.observe", ["in": "#general", "limitToLast": 2])
                try follower.waitUntilEqual(peers: 1)
            }
            let count = 700
            let answers = try pipeline(client, sends(count))
            let keys = answers.compactMap { $0["result"]?["key"]?.string }
            #expect(Set(keys).count == count)
            for follower in [near, far] {
                let seen = try (0..<count).map { _ in
                    try follower.event("a message") { $0["event"]?.string == "message" }["message"]?["key"]?.string
                }
                #expect(seen == keys)
            }
            #expect(try client.messages().compactMap { $0["key"]?.string } == keys)
            try client.waitUntilEqual(peers: 1)
        }

        /// Each request is answered for itself, also between others, and sees what came before it.
        @Test func refusalsAndReadsStandInTheirPlace() async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            var requests = sends(3)
            requests.append(("message.send", ["to": "#nobody-opened-this", "text": "x"]))
            requests.append(("message.send", ["to": "#general", "text": ""]))
            requests += sends(2)
            requests.append(("message.list", ["in": "#general"]))
            requests.append(("tree.push", ["path": "demo", "value": 1]))
            requests.append(("tree.push", ["path": "channels", "value": ["name": "lunch"]]))
            requests.append(("message.send", ["to": "#lunch", "text": "made a line before"]))
            requests.append(("tree.push", ["path": "users", "value": 1]))
            requests.append(("tree.get", ["path": "demo"]))
            requests.append(("node.nothing", [:]))
            let answers = try pipeline(client, requests)
            let refusals = answers.map { $0["error"]?["data"]?["reason"]?.string ?? "" }
            #expect(refusals[3] == "not_found" && refusals[4] == "invalid_params" && refusals[13] != "")
            #expect(refusals[11] == "permission_denied")
            #expect(refusals.count { $0 != "" } == 4, "\(refusals)")
            #expect(answers[7]["result"]?["messages"]?.array?.count == 5)
            #expect(answers[12]["result"]?["value"]?.object?.count == 1)
            #expect(try client.texts("#lunch") == ["made a line before"])
        }

        /// A push below what the same burst has pushed would look at something that is not there yet.
        @Test func aKeyOfTheBurstIsNoSecret() async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            // A scalar is replaced by what is pushed below it only if the push sees it.
            let requests: [(method: String, params: JSON)] = [
                ("tree.set", ["path": "demo", "value": "scalar"]), ("tree.push", ["path": "demo", "value": "a"]),
                ("tree.push", ["path": "demo", "value": .null]), ("tree.push", ["path": "demo", "value": "b"]),
            ]
            let answers = try pipeline(client, requests)
            #expect(answers.allSatisfy { $0["result"] != nil })
            #expect(try client.value("demo").object?.members.map(\.value) == ["a", "b"])
        }

        /// One signature and one transaction; and it is a bundle that a node which comes later gets in parts.
        @Test func aLaterNodeGetsWhatIsLeftOfABurst() async throws {
            let anna = try await TestNode("anna")
            let client = try anna.client()
            let keys = try pipeline(client, sends(300)).compactMap { $0["result"]?["key"]?.string }
            for (index, key) in keys.enumerated() where index % 3 != 0 {
                try client.call("message.delete", ["key": .string(key)])
            }
            let bert = try await TestNode("bert", peers: [anna])
            let other = try bert.client()
            try other.waitUntilEqual(peers: 1)
            #expect(try other.messages().count == 100)
            #expect(try other.root() == client.root())
        }
    }
}
