import Glibc
import Net
@testable import Node
import Seal
import Testing
import Wire

extension NodeTests {
    /// What others say of addresses is a suggestion, and what they send may be cut up anyhow.
    @Suite struct LyingPeerTests {
        private static let own = "192.168.7.5"

        private func mayDial(_ text: String, _ node: isolated Node) throws -> Bool {
            let interfaces = [
                NetworkInterface(
                    name: "eth0", index: 2, flags: UInt32(IFF_UP | IFF_RUNNING),
                    addresses: [
                        .init(address: try #require(SocketAddress(ip: Self.own, port: 0)), prefixLength: 24),
                        // A network of public addresses is this host's own all the same.
                        .init(address: try #require(SocketAddress(ip: "198.51.100.5", port: 0)), prefixLength: 24),
                    ])
            ]
            let before = node.interfaces
            node.interfaces = interfaces
            defer { node.interfaces = before }
            return node.mayDial(try #require(SocketAddress(text)))
        }

        /// Nobody can make a node connect to the internet, to its own machine's services or to everybody.
        @Test func onlyThisHostsNetworksAreDialled() async throws {
            let node = try await TestNode("anna")
            for text in [
                "192.168.7.9:1", "192.168.9.9:1", "10.0.0.1:47474", "172.16.3.4:47474", "169.254.1.1:47474",
                "198.51.100.77:47474", "[fe80::1%2]:47474", "[fd00::1]:47474", "\(Self.own):\(node.port &+ 1)",
            ] { #expect(try await mayDial(text, node.node), "\(text)") }
            for text in [
                "93.184.216.34:443", "8.8.8.8:53", "198.51.101.77:47474", "[2606:2800::1]:443", "127.0.0.1:22",
                "[::1]:631", "224.0.0.251:5353", "[ff02::fb%2]:5353", "255.255.255.255:1", "0.0.0.0:22", "[::]:22",
                "192.168.7.9:0", "[fe80::1]:47474", "\(Self.own):\(node.port)", "[::ffff:127.0.0.1]:22",
            ] { #expect(try await !mayDial(text, node.node), "\(text)") }
        }

        /// The same for what a peer tells over a link, and for what is no address at all.
        @Test func gossipIsNotBelieved() async throws {
            let node = try await TestNode("anna")
            let peer = try HostilePeer.greeted(node)
            let told = [
                "93.184.216.34:443", "8.8.8.8:53", "127.0.0.1:22", "[::1]:631", "224.0.0.251:5353", "0.0.0.0:1",
                "255.255.255.255:9", "[fe80::1]:47474", "[fe80::1%1]:47474", "169.254.1.1:1", "", "nonsense",
                "10.0.0.1",
                "10.0.0.1:0", "10.0.0.1:99999", "\u{1B}[31m:1", "example.org:443",
            ]
            try peer.send(
                .peers(
                    connected: [], addresses: told.map { PeerAddress(node: SecureRandom.bytes32(), address: $0) }))
            try peer.synchronise()
            #expect(await node.node.dialler.isEmpty)
        }

        /// A byte at a time is slow and no fault.
        @Test func messagesMayComeInAnyPieces() async throws {
            let node = try await TestNode("anna")
            let peer = try HostilePeer.greeted(node)
            for byte in try peer.sealed(.ping(HostilePeer.emptyVitals)) { try peer.send(raw: [byte]) }
            try peer.next("pong") { if case .pong = $0 { true } else { false } }
            let two = try peer.sealed(.ping(HostilePeer.emptyVitals)) + peer.sealed(.ping(HostilePeer.emptyVitals))
            try peer.send(raw: Array(two.prefix(two.count - 1)))
            try peer.next("pong") { if case .pong = $0 { true } else { false } }
            try peer.send(raw: [two[two.count - 1]])
            try peer.next("pong") { if case .pong = $0 { true } else { false } }
        }

        /// Frames that are too short, or are cut off by the end, cost the link and nothing else.
        @Test func brokenFramesEndTheLink() async throws {
            let node = try await TestNode("anna")
            for bytes in [[0, 0], [0, 1, 7], [0, 16] + [UInt8](repeating: 7, count: 16)] as [[UInt8]] {
                let peer = try HostilePeer.greeted(node)
                try peer.send(raw: bytes)
                try peer.waitForClose()
            }
            // Changed by a bit, sent twice, and ended in the middle.
            let peer = try HostilePeer.greeted(node)
            var frame = try peer.sealed(.ping(HostilePeer.emptyVitals))
            frame[frame.count - 1] ^= 1
            try peer.send(raw: frame)
            try peer.waitForClose()
            let repeating = try HostilePeer.greeted(node)
            let once = try repeating.sealed(.ping(HostilePeer.emptyVitals))
            try repeating.send(raw: once + once)
            try repeating.waitForClose()
            let leaving = try HostilePeer.greeted(node)
            let cut = try leaving.sealed(.ping(HostilePeer.emptyVitals))
            try leaving.send(raw: Array(cut.prefix(cut.count / 2)))
            leaving.close()
            try HostilePeer.greeted(node).synchronise()
            #expect(await node.node.linkMemory.beyondBytes == 0)
        }
    }
}

extension Node {
    fileprivate var dialler: [SocketAddress] { dialer.candidates.keys.sorted { "\($0)" < "\($1)" } }
}
