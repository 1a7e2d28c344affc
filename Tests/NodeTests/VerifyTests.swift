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

        /// Nodes that find each other twice keep one of two links: a comparison over the other goes on there.
        @Test func aLinkThatTakesTheOthersPlaceIsAsked() async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            try client.send(message: "something")
            let key = SigningKey()
            func linked() throws -> HostilePeer {
                let peer = try HostilePeer(node, key: key, instance: 7)
                try peer.send(.hello(HostilePeer.emptyVitals, peers: []))
                return peer
            }
            let first = try linked()
            _ = try first.next("hello") { if case .hello = $0 { true } else { false } }
            try client.request("node.verify")
            _ = try first.next("the question") { if case .verify = $0 { true } else { false } }
            let second = try linked()
            try first.waitForClose()
            _ = try second.next("the question again") { if case .verify = $0 { true } else { false } }
            second.close()
            #expect(try client.answer()["result"] == ["peers": []])
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
            try peer.send(.verified(nonce: nonce, answer: nonce))
            let key = try #require(Bytes32(nonce + nonce))
            try peer.next("the sums") { $0 == .keyed(key: key, .root) }
            // Many wrong answers cost one comparison.
            let wrong = BucketSummary(index: 1, digest: DigestPrefix(count: 1, sum: 1))
            for _ in 0..<50 { try peer.send(.keyedSums(key: key, .root, [wrong])) }
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
            var keys: [Bytes32] = []
            for (index, peer) in [peer, other].enumerated() {
                let nonce = [UInt8](repeating: UInt8(index), count: 16)
                try peer.send(.verify(nonce: nonce))
                try peer.next("the other nonce") { message in
                    guard case .verified(nonce, let answer) = message, let key = Bytes32(nonce + answer) else {
                        return false
                    }
                    keys.append(key)
                    return true
                }
            }
            for _ in 0..<500 { try peer.send(.keyed(key: keys[0], .root)) }
            try other.send(.keyed(key: keys[1], .root))
            let start = Deadline.nowNs
            try client.send(message: "meanwhile")
            #expect(Deadline.nowNs - start < Pace.ns(1000))
            try other.next("an answer") { if case .keyedSums = $0 { true } else { false } }
            try peer.next("an answer") { if case .keyedSums = $0 { true } else { false } }
            // Another's key opens nothing.
            try peer.send(.keyed(key: keys[1], .root))
            try peer.synchronise()
        }
    }
}
