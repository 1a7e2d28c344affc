import ControlAPI
import Lab
@testable import Node
import Replication
import Seal
import Testing
import Tree
import Wire

extension NodeTests {
    /// Who makes a node work for nothing, and connects again and again to go on.
    @Suite struct ForgerTests {
        /// Bundles of one entry each.
        private func bundles(_ count: Int, _ round: Int, by key: SigningKey) throws -> [Bundle] {
            try (0..<count).map { number in
                let entry = try Entry(
                    path: Path(parsing: "apps/\(UID.text(key.publicKey))/\(round)/\(number)"),
                    hlc: HLC(ms: HostilePeer.nowMs), author: key.publicKey, value: .integer(Int64(number)))
                return Bundle(signing: [entry], by: key, workspace: Workspace.open.id)
            }
        }

        /// The same entries with a signature that is none.
        private func forged(_ count: Int, _ round: Int, by key: SigningKey) throws -> [Bundle] {
            let signature = try #require(Signature([UInt8](repeating: 1, count: 64)))
            return try bundles(count, round, by: key).map {
                Bundle(author: $0.author, count: 1, signature: signature, leaves: $0.leaves, omitted: [])
            }
        }

        private func entries(_ client: LineClient) throws -> Int64 { try client.status()["entries"]?.int ?? 0 }

        /// Sends another author's bundles over links of one identity, all but the last of which end at once, while
        /// others write. Returns how many entries were stored.
        private func stored(_ count: Int, links: Int, _ node: TestNode, _ client: LineClient) throws -> Int64 {
            let (key, author) = (SigningKey(), SigningKey())
            let before = try entries(client)
            for round in 1...links {
                let bundles = try bundles(count, round, by: author)
                let peer = try HostilePeer.greeted(node, key: key)
                try client.send(message: "others write")
                try peer.send(.bundles(bundles))
                if round == links { try peer.synchronise() }
                peer.close()
            }
            return try entries(client) - before - Int64(links)
        }

        /// Short messages are judged on the loop and long ones beside it. Of both no more is taken than the quota, of
        /// one message as of several, whether the peer waits until it is heard or hangs up before. One identity may
        /// have four links. The quota holds for a second after others have written, so on a slow machine a try may say
        /// nothing.
        @Test(arguments: [30, 400]) func whoConnectsAnewHasNoNewQuota(count: Int) async throws {
            let node = try await TestNode("anna")
            await node.node.limitPushes(burst: 20, rate: 0)
            let client = try node.client()
            for links in [1, 4] {
                try await eventually("20 of \(links) links", within: .seconds(60)) {
                    try self.stored(count, links: links, node, client) == 20
                }
            }
        }

        @Test(arguments: [20, 400]) func aForgerIsCutOffAndNotLetInAgain(count: Int) async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            let bert = try await TestNode("bert", peers: [node])
            try client.waitForPerson(UID.text(bert.uid), "bert") { $0["name"] == "bert" && $0["state"] == "online" }
            await node.node.limitForgeries(node: .init(burst: 100, rate: 0), address: .init(burst: 100, rate: 0))
            let key = SigningKey()
            let peer = try HostilePeer.greeted(node, key: key, from: 7)
            for round in 0..<6 { try? peer.send(.bundles(try forged(count, round, by: key))) }
            try peer.next("the reason") { if case .notice(DialFailure.forger) = $0 { true } else { false } }
            try peer.waitForClose()
            // From wherever he comes; and from there nobody who has no name here.
            for host in [7, 8] as [UInt8] {
                #expect(throws: TestFailure.self) { try HostilePeer.greeted(node, key: key, from: host) }
            }
            #expect(throws: TestFailure.self) { try HostilePeer.greeted(node, from: 7) }
            // Others go on, and are let in.
            _ = try HostilePeer.greeted(node, from: 8)
            try bert.client().send(message: "still here")
            try client.waitForMessage("still here")
            let atBert = try bert.client()
            try await eventually("both have the same", within: .seconds(60)) { try client.root() == atBert.root() }
        }

        /// What is never stored is verified all the same.
        @Test func forgedPresenceCountsToo() async throws {
            let node = try await TestNode("anna")
            await node.node.limitForgeries(node: .init(burst: 100, rate: 0), address: .init(burst: 1000, rate: 0))
            let key = SigningKey()
            let signature = try #require(Signature([UInt8](repeating: 1, count: 64)))
            let path = try Path(parsing: "presence/\(UID.text(key.publicKey))")
            let records = (0..<50).map {
                SoftRecord(
                    author: key.publicKey, instance: 1, path: path, hlc: HLC(ms: HostilePeer.nowMs + UInt64($0)),
                    ttlMs: 6000, value: .bool(true), signature: signature)
            }
            let peer = try HostilePeer.greeted(node, key: key)
            try peer.send(.soft(records))
            try peer.synchronise()
            try peer.send(.soft(records))
            try peer.waitForClose()
            #expect(throws: TestFailure.self) { try HostilePeer.greeted(node, key: key) }
        }

        /// Whoever has a name here is not kept out by somebody else at the same address, and nobody for ever.
        @Test func aForgerIsLetInAgainAndHisNeighbourAlways() async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            await node.node.limitForgeries(node: .init(burst: 30, rate: 20), address: .init(burst: 30, rate: 0))
            let key = SigningKey()
            let peer = try HostilePeer.greeted(node, key: key)
            try peer.send(.bundles(try bundles(1, 0, by: key)))
            try peer.send(.bundles(try forged(30, 1, by: key)))
            try peer.waitForClose()
            let bert = SigningKey()
            #expect(throws: TestFailure.self) { try HostilePeer.greeted(node, key: bert) }
            let name = try Entry(
                path: Path(parsing: "users/\(UID.text(bert.publicKey))/displayName"), hlc: HLC(ms: HostilePeer.nowMs),
                author: bert.publicKey, value: .string("bert"))
            let carrier = try HostilePeer.greeted(node, from: 9)
            try carrier.send(.bundles([Bundle(signing: [name], by: bert, workspace: Workspace.open.id)]))
            try carrier.synchronise()
            _ = try HostilePeer.greeted(node, key: bert)
            // The forger has given himself no name; from another address he is let in after a while.
            try await eventually("the forger is let in again", within: .seconds(60)) {
                (try? HostilePeer.greeted(node, key: key, from: 10)) != nil
            }
            #expect(try entries(client) >= 2)
        }

        /// A disk that has spoilt some entries is no reason to leave anybody alone, and they are not asked for again.
        @Test func anHonestPeerWithASpoiltDiskStays() async throws {
            let node = try await TestNode("anna")
            let key = SigningKey()
            let spoilt = try forged(200, 0, by: key)
            let wanted = spoilt.flatMap { $0.leaves.map(\.entry.reference) }
            func wants(_ peer: HostilePeer) throws -> Int {
                var count = 0
                try peer.send(.have(wanted))
                try peer.send(.ping(HostilePeer.emptyVitals))
                try peer.next("pong") { message in
                    if case .want(let references) = message { count += references.count }
                    if case .pong = message { return true }
                    return false
                }
                return count
            }
            let peer = try HostilePeer.greeted(node, key: key)
            #expect(try wants(peer) == wanted.count)
            try peer.send(.bundles(spoilt))
            try peer.synchronise()
            #expect(try wants(peer) == 0)
            peer.close()
            let again = try HostilePeer.greeted(node, key: key)
            #expect(try wants(again) == 0)
            // Somebody else may have them whole.
            #expect(try wants(try HostilePeer.greeted(node)) == wanted.count)
        }

        /// A handshake costs more than a byte of a stranger: nobody makes the node do nothing else.
        @Test func whoConnectsWithoutEndIsTurnedAway() async throws {
            let node = try await TestNode("anna")
            await node.node.limitKnocks(burst: 5, rate: 0)
            let key = SigningKey()
            for _ in 0..<5 { try HostilePeer.greeted(node, key: key, from: 7).close() }
            #expect(throws: TestFailure.self) { try HostilePeer.greeted(node, key: key, from: 7) }
            _ = try HostilePeer.greeted(node, key: key, from: 8)

            var knocks = Knocks()
            let address: [UInt8] = [10, 0, 0, 1]
            let atOnce = (0..<1000).count { _ in knocks.admits(address, nowMs: 5) }
            let later = (0..<1000).count { _ in knocks.admits(address, nowMs: 1005) }
            #expect(atOnce == Int(knocks.burst) && later == Int(knocks.rate))
            let others = (0..<1000).count { knocks.admits([1, UInt8($0 % 256), UInt8($0 / 256)], nowMs: 1005) }
            let still = knocks.admits(address, nowMs: 1005)
            #expect(others == 1000 && knocks.count == Knocks.addressesMax && !still)
        }

        @Test func whatIsHeldAgainstThemIsBounded() {
            var distrust = Distrust()
            for number in 0..<1000 {
                let id = BLAKE2b.hash([UInt8(number % 256), UInt8(number / 256)])
                distrust.add(1, node: id, address: [UInt8(number % 256), UInt8(number / 256)], nowMs: 5)
            }
            #expect(distrust.count == Distrust.countMax)
            let (worst, address) = (Bytes32(repeating: 7), [UInt8](repeating: 7, count: 4))
            distrust.add(Int.max, node: worst, address: address, nowMs: 5)
            for number in 0..<1000 {
                let id = BLAKE2b.hash([UInt8(number % 256), 9, UInt8(number / 256)])
                distrust.add(1, node: id, address: [1], nowMs: 6)
            }
            // Who has done most is forgotten last, and forgiven in a known time.
            let atOnce = [distrust.bars(node: worst, nowMs: 6), distrust.bars(address: address, nowMs: 6)]
            #expect(atOnce == [true, true])
            let stranger = distrust.bars(node: Bytes32(repeating: 8), nowMs: 6)
            #expect(!stranger)
            let forgivenMs = distrust.ofNode.burst * 1250 / distrust.ofNode.rate
            let later = [forgivenMs - 1000, forgivenMs + 6].map { distrust.bars(node: worst, nowMs: $0) }
            #expect(later == [true, false])
        }
    }
}

extension Node {
    fileprivate func limitPushes(burst: Int64, rate: Int64) { replicator.setPushLimits(burst: burst, rate: rate) }

    fileprivate func limitKnocks(burst: UInt64, rate: UInt64) { (knocks.burst, knocks.rate) = (burst, rate) }

    fileprivate func limitForgeries(node: Distrust.Limits, address: Distrust.Limits) {
        (distrust.ofNode, distrust.ofAddress) = (node, address)
    }
}
