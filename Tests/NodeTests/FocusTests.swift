import ControlAPI
import Node
import Seal
import Testing
import Tree
import Wire

extension NodeTests {
    /// What a person looks at comes before what fills in behind.
    @Suite struct FocusTests {
        /// The channel read last, the one that is followed, and `#general`; each is asked for once, before the
        /// comparison, and those that are opened later as soon as they are.
        @Test func theEndsOfWhatIsReadAreAskedForFirst() async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            var keys: [String: String] = [:]
            for name in ["followed", "marked", "later", "general"] {
                if name != "general" { try client.call("channel.create", ["name": .string(name)]) }
                let sent = try client.call("message.send", ["to": .string("#\(name)"), "text": "here"])
                keys[name] = try #require(sent["in"]?.string)
            }
            try client.call("message.observe", ["in": "#followed"])
            try client.call("read.mark", ["in": "#marked"])

            let peer = try HostilePeer(node)
            let vitals = Vitals(
                clockMs: HostilePeer.nowMs, isSynchronised: false, highWater: HLC(ms: HostilePeer.nowMs),
                root: DigestPrefix(count: 50_000, sum: 7))
            try peer.send(.hello(vitals, peers: []))
            var asked: [String] = []
            try peer.next("the comparison") { message in
                if case .tail(let tail) = message {
                    asked.append(tail.path.keys[1].text)
                    #expect(tail.count == 200 && tail.known.count == 1)
                }
                return if case .compare(.root, _) = message { true } else { false }
            }
            #expect(asked == ["followed", "marked", "general"].map { keys[$0] })
            try client.call("message.observe", ["in": "#later"])
            try peer.next("the channel that was opened") { message in
                if case .tail(let tail) = message { tail.path.keys[1].text == keys["later"] } else { false }
            }
        }
    }
}
