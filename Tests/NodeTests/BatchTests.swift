import ControlAPI
@testable import Node
import Testing

extension NodeTests {
    /// Batches that take long.
    @Suite struct BatchTests {
        /// Used by one thread at a time.
        private final class Box: @unchecked Sendable {
            let client: LineClient
            init(_ client: LineClient) { self.client = client }
        }

        private static func batch(_ requests: [RPCRequest]) -> [UInt8] {
            let lines = requests.map { String(decoding: $0.line.dropLast(), as: UTF8.self) }
            return Array(("[" + lines.joined(separator: ",") + "]\n").utf8)
        }

        /// Both have asked before the node looks: the other is served after the first turn of the batch, and the batch
        /// sees that in the end. Its answers stand on one line all the same.
        @Test func aLongBatchDoesNotHoldUpOthers() async throws {
            let node = try await TestNode("anna")
            let (busy, other) = (Box(try node.client()), Box(try node.client()))
            for half in ["a", "b"] {
                try busy.client.set("apps/large/" + half, .string(String(repeating: "a", count: 900_000)))
            }
            // Nothing is written, and the value is read each time.
            let long = RPCRequest(
                id: nil, method: "tree.transaction", params: ["path": "apps/large", "expect": 0, "value": 1])
            let first = RPCRequest(id: 1, method: "tree.get", params: ["path": "apps/flag"])
            let last = RPCRequest(id: 2, method: "tree.get", params: ["path": "apps/flag"])
            let batch = BatchTests.batch([first] + Array(repeating: long, count: 60) + [last])
            let flag = RPCRequest(id: 1, method: "tree.set", params: ["path": "apps/flag", "value": true]).line
            try await node.node.hold {
                try busy.client.send(batch)
                try other.client.send(flag)
            }
            #expect(try other.client.answer()["result"] != nil)
            let answers = try #require(try busy.client.answer().array)
            #expect(answers.map { $0["id"]?.int } == [1, 2])
            #expect(answers.map { $0["result"]?["value"] } == [.null, true])
            // What follows the batch waits for it.
            try busy.client.send(batch + RPCRequest(id: 3, method: "tree.newKey").line)
            #expect(try busy.client.answer().array?.count == 2)
            #expect(try busy.client.answer()["id"]?.int == 3)
            // Whoever ends his side gets the answers as well.
            try busy.client.send(batch)
            busy.client.endSending()
            #expect(try busy.client.answer().array?.count == 2)
            #expect(try busy.client.line() == nil)
        }
    }
}

extension Node {
    /// While this runs nothing else does.
    fileprivate func hold(_ body: @Sendable () throws -> Void) rethrows { try body() }
}
