import ControlAPI
import Node
import Seal
import Testing
import Tree
import Wire

extension NodeTests {
    /// Comparing with peers, and what `status` says of them.
    @Suite struct VerifyTests {
        @Test func withoutPeersThereIsNothingToCompare() async throws {
            let node = try await TestNode("anna")
            #expect(try node.client().call("node.verify") == ["peers": []])
        }

        @Test func equalPeersAreEqual() async throws {
            let a = try await TestNode("anna")
            let b = try await TestNode("bert", peers: [a])
            let (atA, atB) = (try a.client(), try b.client())
            for number in 0..<50 { try atA.send(message: "\(number)") }
            try atB.waitForMessage("49")
            try atB.waitUntilEqual(peers: 1)
            let row = try #require(try atB.call("node.verify")["peers"]?[0])
            #expect(row["uid"]?.string == UID.text(a.uid))
            #expect(row["name"]?.string == "anna")
            #expect(row["theyLack"]?.int == 0 && row["weLack"]?.int == 0)
            let status = try atB.status()
            #expect(status["peers"]?[0]?["state"]?.string == "connected")
            #expect(status["entries"]?.int == (try atA.status())["entries"]?.int)
            #expect(status["held"]?.int == 0 && status["denied"]?.int == 0)
        }

        /// A peer that answers wrongly or not at all is reported so, and one that goes away is not waited for.
        @Test func whoAnswersWronglyIsReported() async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            try client.send(message: "something")
            let peer = try HostilePeer.greeted(node)
            try client.request("node.verify")
            let asked = try peer.next("the question") { if case .verify = $0 { true } else { false } }
            guard case .verify(let nonce) = asked else { return }
            // Many wrong answers cost one comparison.
            for _ in 0..<50 {
                try peer.send(.verified(nonce: nonce, answer: nonce, count: 1, sum: .zero))
            }
            try peer.synchronise()
            peer.close()
            #expect(try client.answer()["result"] == ["peers": []])
        }

        /// Questions cost a scan each: one peer's flood of them neither stops the node nor is answered one by one.
        @Test func aFloodOfQuestionsIsAnsweredOnce() async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            var members: [JSONObject.Member] = []
            for number in 0..<4000 { members.append(.init(key: "\(number)", value: 1)) }
            for _ in 0..<3 {
                try client.call("tree.update", ["path": "apps", "values": .object(JSONObject(members: members))])
            }
            let peer = try HostilePeer.greeted(node)
            let other = try HostilePeer.greeted(node)
            for number in 0..<500 { try peer.send(.verify(nonce: [UInt8](repeating: UInt8(number % 256), count: 16))) }
            try other.send(.verify(nonce: [UInt8](repeating: 7, count: 16)))
            let start = Deadline.nowNs
            try client.send(message: "meanwhile")
            #expect(Deadline.nowNs - start < Pace.ns(1000))
            try other.next("an answer") { if case .verified = $0 { true } else { false } }
            try peer.next("an answer to the last") {
                if case .verified(let nonce, _, _, _) = $0 { nonce[0] == UInt8(499 % 256) } else { false }
            }
        }
    }
}
