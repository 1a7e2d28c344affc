import ControlAPI
import Net
@testable import Node
import Testing

extension NodeTests {
    /// Peers that the user gives by name.
    @Suite struct NamedPeerTests {
        /// However often it is given, there is one look-up that counts, and one that follows.
        @Test func aNameIsLookedUpOnceAtATime() async throws {
            let anna = try await TestNode("anna")
            let client = try anna.client()
            for _ in 0..<5 { try client.call("node.addPeer", ["address": "no-such-host.invalid:5000"]) }
            let peer = try #require(HostPort("no-such-host.invalid:5000"))
            let deadline = Deadline(afterMs: LineClient.timeoutMs)
            while await anna.node.namedLookups[peer]?.again == nil { try #require(deadline.leftMs > 0) }
            #expect(await anna.node.namedLookups[peer]?.number == 5)
            try client.call("node.removePeer", ["address": "no-such-host.invalid:5000"])
            #expect(await anna.node.namedLookups.isEmpty)
        }

        /// An address that a name has no longer is like one that was only heard of.
        @Test func whatANameHasNoLongerIsForgotten() throws {
            var dialer = Dialer()
            let place = try #require(SocketAddress("192.0.2.1:5000"))
            dialer.offer(place, .named, nowMs: 0)
            #expect(!dialer.isFailing(place))
            var nowMs: UInt64 = 0
            func failOnce() {
                nowMs = max(nowMs, dialer.nextDeadlineMs ?? nowMs)
                for address in dialer.due(nowMs: nowMs, connected: []) {
                    dialer.failed(address, reason: "no answer", nowMs: nowMs, jitter: 0)
                }
            }
            for _ in 0..<200 { failOnce() }
            #expect(dialer.isFailing(place) && dialer.candidates[place] != nil)
            dialer.forgetName(place)
            for _ in 0..<200 where dialer.candidates[place] != nil { failOnce() }
            #expect(dialer.candidates[place] == nil)
        }
    }
}
