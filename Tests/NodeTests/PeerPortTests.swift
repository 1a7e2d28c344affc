import ControlAPI
import Foundation
@testable import Node
import Seal
import Testing
import Tree
import Wire

extension NodeTests {
    /// What strangers send to the peer port.
    @Suite struct PeerPortTests {
        static let greetings: [(name: String, bytes: [UInt8])] = {
            var random = SystemRandomNumberGenerator()
            return [
                ("HTTP", Array("GET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8)),
                ("SSH", Array("SSH-2.0-OpenSSH_9.2\r\n".utf8)),
                (
                    "TLS",
                    [0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xFC, 0x03, 0x03]
                        + [UInt8](repeating: 7, count: 32)
                ),
                ("random bytes", (0..<4096).map { _ in UInt8.random(in: 0x80...0xFF, using: &random) }),
                ("a length of 1 GiB", [0x40, 0x00, 0x00, 0x00]),
                ("a length of 1 GiB after the magic", Array("STR1".utf8) + [0x40, 0x00, 0x00, 0x00]),
                (
                    "a first message that is too long",
                    Array("STR1".utf8) + [0xFF, 0xFF] + [UInt8](repeating: 1, count: 60_000)
                ),
                ("a first message that is too short", Array("STR1".utf8) + [0, 1, 0]),
                ("an empty first message", Array("STR1".utf8) + [0, 0]),
                ("a first message of noise", Array("STR1".utf8) + [0, 48] + [UInt8](repeating: 9, count: 48)),
                ("a line", Array("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"node.status\"}\n".utf8)),
            ]
        }()

        /// Closed without an answer, one line in the log each, the node goes on.
        @Test func strangersAreClosedWithOneLineEach() async throws {
            let node = try await TestNode("anna")
            for (name, bytes) in PeerPortTests.greetings {
                let before = node.logLines("closed before a handshake").count
                let stranger = try RawTCP(port: node.port)
                stranger.trySend(bytes)
                #expect(try stranger.receive() == nil, "\(name) was answered")
                try await node.waitForLog("closed before a handshake", count: before + 1)
                let lines = node.logLines("closed before a handshake")
                #expect(lines.count == before + 1, "\(name): \(lines.dropFirst(before))")
            }
            try node.client().send(message: "still here")
        }

        @Test func aByteAtATimeIsClosedAtTheFirstWrongOne() async throws {
            let node = try await TestNode("anna")
            let stranger = try RawTCP(port: node.port)
            try stranger.send([UInt8(ascii: "S")])
            try stranger.send([UInt8(ascii: "T")])
            try stranger.send([UInt8(ascii: "x")])
            #expect(try stranger.receive() == nil)
        }

        /// Whoever goes on sending, but slowly, is closed all the same: the deadline is for the whole handshake.
        @Test func aSlowHandshakeIsClosed() async throws {
            let node = try await TestNode("anna") { $0.handshakeMs = 500 }
            let stranger = try RawTCP(port: node.port)
            // A byte short of the first message, so that nothing in it is looked at.
            let bytes = Array("STR1".utf8) + [0, 48] + [UInt8](repeating: 1, count: 47)
            var isOpen = true
            for byte in bytes where isOpen {
                stranger.trySend([byte])
                isOpen = stranger.isOpen(forMs: 50)
            }
            let deadline = Deadline(afterMs: LineClient.timeoutMs)
            while isOpen, deadline.leftMs > 0 { isOpen = stranger.isOpen(forMs: 50) }
            #expect(!isOpen)
            // Whoever keeps silent, too.
            #expect(try RawTCP(port: node.port).receive() == nil)
            try await node.waitForLog("no handshake within 500 ms", count: 2)
        }

        @Test func aForeignNetworkKeyIsClosed() async throws {
            let node = try await TestNode("anna")
            #expect(throws: TestFailure.self) { try HostilePeer(node, networkKey: Bytes32(repeating: 3)) }
            try await node.waitForLog("another network key", count: 1)
            let foreign = Workspace(name: "other", id: Workspace.open.id, networkKey: Bytes32(repeating: 3))
            let other = try await TestNode("eve", peers: [node], workspace: foreign)
            try await node.waitForLog("another network key", count: 2)
            let peers = try other.client().status()["peers"]?.array ?? []
            #expect(peers.allSatisfy { $0["state"]?.string != "connected" })
        }

        /// Places for handshakes are few; nobody can hold all of them.
        @Test func halfOpenConnectionsDoNotKeepOthersOut() async throws {
            let node = try await TestNode("anna")
            var idle: [RawTCP] = []
            for _ in 0..<(Node.halfOpenPerAddressMax + 8) { idle.append(try RawTCP(port: node.port)) }
            // Those beyond the limit of one address are closed at once.
            for stranger in idle.suffix(8) { #expect(try stranger.receive() == nil) }
            for stranger in idle { stranger.close() }
            try await node.waitForLog("closed before a handshake", count: Node.halfOpenPerAddressMax)
            let peer = try HostilePeer.greeted(node)
            try peer.synchronise()
        }

        /// With many addresses nobody gets more: the oldest handshake gives way to a newcomer.
        @Test func theOldestHandshakeGivesWay() async throws {
            let node = try await TestNode("anna") { $0.handshakeMs = 60_000 }
            var idle: [RawTCP] = []
            for number in 0..<(Node.halfOpenMax + 2) {
                let host = UInt8(2 + number / Node.halfOpenPerAddressMax)
                idle.append(try RawTCP(port: node.port, from: host))
            }
            for stranger in idle.prefix(2) { #expect(try stranger.receive() == nil) }
            #expect(idle.suffix(Node.halfOpenMax - 1).allSatisfy { $0.isOpen(forMs: 0) })
            try HostilePeer.greeted(node).synchronise()
            #expect(node.logLines("too many handshakes are under way").count == 3)
        }

        /// One identity cannot take all places, however many instances it claims to be.
        @Test func oneIdentityHasFewLinks() async throws {
            let node = try await TestNode("anna")
            let key = SigningKey()
            var links: [HostilePeer] = []
            for _ in 0..<Node.linksPerNodeMax { links.append(try HostilePeer.greeted(node, key: key)) }
            let oneMore = try HostilePeer(node, key: key)
            try oneMore.waitForClose()
            for link in links { try link.synchronise() }
            #expect(try node.client().status()["peers"]?.array?.count == Node.linksPerNodeMax)
        }

        /// A second connection of the same program takes the place of the first: nobody opens one who has another that
        /// works.
        @Test func aNewerConnectionReplacesTheOlder() async throws {
            let node = try await TestNode("anna")
            let key = SigningKey()
            var link = try HostilePeer(node, key: key, instance: 7)
            try link.synchronise()
            for _ in 0..<3 {
                let newer = try HostilePeer(node, key: key, instance: 7)
                try link.waitForClose()
                try newer.synchronise()
                link = newer
            }
            #expect(try node.client().status()["peers"]?.array?.count == 1)
        }

        /// A peer of another protocol version, or with a payload that is none, is told and closed; its place is free
        /// again.
        @Test func otherVersionsAreClosed() async throws {
            let node = try await TestNode("anna")
            let later = LinkPayload(versionMin: 7, versionMax: 9, instance: 1, port: 0).encoded
            for payload in [later, [], [0xFF], [0x84, 1, 1, 1]] {
                let key = SigningKey()
                for _ in 0..<3 {
                    let peer = try HostilePeer(node, key: key, payload: payload)
                    try peer.waitForClose()
                }
            }
            // Of the one with a payload it is known why.
            let peers = try node.client().status()["peers"]?.array ?? []
            #expect(peers.count == 1 && peers.first?["failure"] == "version", "\(peers)")
            try HostilePeer.greeted(node).synchronise()
        }
    }
}
