import ControlAPI
import Lab
@testable import Node
import Seal
import Store
import Testing
import Tree
import Wire

extension NodeTests {
    /// Bundles between nodes: verified beside the loop, made of what was signed singly, announced and adopted.
    @Suite struct BundlingTests {
        private let workspace = Workspace.open.id

        private func entries(_ range: Range<Int>, by key: SigningKey) throws -> [Entry] {
            let start = HostilePeer.nowMs - 100_000
            return try range.map {
                try Entry(
                    path: Path(parsing: "apps/bulk/\($0)"), hlc: HLC(ms: start + UInt64($0)), author: key.publicKey,
                    value: .string("number \($0)"))
            }
        }

        private func singly(_ entries: [Entry], by key: SigningKey) -> [Bundle] {
            entries.map { Bundle(signing: [$0], by: key, workspace: workspace) }
        }

        private func count(_ client: LineClient) throws -> Int64 {
            Int64(try client.call("tree.get", ["path": "apps/bulk", "shallow": true])["value"]?.object?.count ?? 0)
        }

        /// A batch that goes to the pool, with forged entries in it, and the end of the link right after: what is good
        /// is stored, the rest counted.
        @Test func aBatchIsVerifiedBesideTheLoop() async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            let key = SigningKey()
            let all = try entries(0..<300, by: key)
            var bundles = singly(all, by: key)
            let wrong = try #require(bundles.last?.signature)
            for index in [3, 77] {
                bundles[index] = Bundle(
                    author: key.publicKey, count: 1, signature: wrong, leaves: bundles[index].leaves, omitted: [])
            }
            let peer = try HostilePeer.greeted(node, key: key)
            for part in [bundles[..<150], bundles[150...]] {
                let message = PeerMessage.bundles(Array(part))
                #expect(message.encoded.count > 8192)
                try peer.send(message)
            }
            try peer.send(.goodbye("that was all"))
            try await eventually("all good entries", within: .seconds(60)) { try count(client) == 298 }
            #expect(try client.status()["denied"]?.int == 2)
            #expect(try client.value("apps/bulk/3") == .null)
            #expect(node.logLines("refused").count == 1)
        }

        /// Bytes that are no message end the link also when they are read beside the loop; what came before is kept.
        @Test func aMalformedBatchEndsTheLink() async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            let key = SigningKey()
            let peer = try HostilePeer.greeted(node, key: key)
            let bundles = singly(try entries(0..<150, by: key), by: key)
            try peer.send(.bundles(bundles))
            var bytes = PeerMessage.bundles(bundles).encoded
            bytes.removeLast()
            try peer.send(plaintext: bytes)
            try peer.waitForClose()
            #expect(try count(client) == 150)
        }

        /// What a node has signed singly it signs together when it is idle; who has it adopts that, who comes later
        /// gets it with few signatures.
        @Test func oldEntriesAreSignedTogether() async throws {
            let change: (inout NodeOptions) -> Void = { options in
                options.bundlingAgeMs = 200
                options.bundlingCountMin = 20
            }
            let anna = try await TestNode("anna", change: change)
            let ben = try await TestNode("ben", peers: [anna])
            let (a, b) = try (anna.client(), ben.client())
            for number in 0..<30 { try a.set("apps/bulk/\(number)", .int(Int64(number))) }
            try b.waitUntilEqual(peers: 1)
            let root = try a.root()
            // Whoever asks gets bundles, from both.
            for node in [anna, ben] {
                try await eventually("a bundle of many", within: .seconds(60)) { try givesBundle(node, of: anna.uid) }
            }
            #expect(try a.root() == root)
            #expect(try b.root() == root)
        }

        /// Whether a newcomer gets entries of an author signed together.
        private func givesBundle(_ node: TestNode, of author: Bytes32) throws -> Bool {
            let got = try HostilePeer.greeted(node).fetchAll()
            #expect(got.allSatisfy { $0.verifies(workspace: workspace) })
            return got.contains { $0.author == author && $0.count >= 20 }
        }

        /// However much there is to be signed together, it is done in one slice after the other with pauses between.
        @Test func aBacklogIsSignedAtOnePace() async throws {
            let node = try await TestNode("anna") { options in
                options.bundlingAgeMs = 200
                options.bundlingCountMin = 20
            }
            try await node.node.storeSingly(2 * Bundle.countMax + 100)
            var timersMax = 0
            try await eventually("everything signed together", within: .seconds(60)) {
                timersMax = max(timersMax, await node.node.adoptionTimers)
                return try await node.node.singleCount() == 0
            }
            #expect(timersMax == 1)
        }

        /// To look at an announcement takes a signature and thousands of stamps, so a peer that sends far too many is
        /// not listened to; connecting anew does not help it.
        @Test func tooManyAnnouncementsAreLetPass() async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            let key = SigningKey()
            let all = try entries(0..<4, by: key)
            let wrong = try #require(singly(all, by: key).first?.signature)
            let sent = 2000
            for link in 0..<4 {
                let peer = try HostilePeer.greeted(node, key: key)
                for number in 0..<(sent / 4) {
                    let root = BLAKE2b.hash(Array("\(link) \(number)".utf8))
                    try peer.send(
                        .rebundle(
                            BundleSeal(
                                first: all[0].stamp, last: all[3].stamp, count: 4, root: root, signature: wrong)))
                }
                try peer.synchronise()
                peer.close()
            }
            // Those at once, and some for each second that it took.
            let denied = try #require(try client.status()["denied"]?.int)
            #expect(denied >= 16 && denied < Int64(sent / 2))
        }

        @Test func aForgedAnnouncementIsCounted() async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            let key = SigningKey()
            let all = try entries(0..<4, by: key)
            let peer = try HostilePeer.greeted(node, key: key)
            try peer.send(.bundles(singly(all, by: key)))
            let real = try #require(BundleSeal(signing: all.map(\.stamp), by: key, workspace: workspace))
            let forged = BundleSeal(
                first: real.first, last: real.last, count: 4, root: real.root,
                signature: try #require(singly(all, by: key).first?.signature))
            try peer.send(.rebundle(forged))
            try peer.synchronise()
            #expect(try client.status()["denied"]?.int == 1)
            #expect(node.logLines("without a valid signature").count == 1)
        }
    }
}

extension Node {
    /// Stores own entries that were written a while ago, each signed by itself.
    fileprivate func storeSingly(_ count: Int) throws {
        let start = HostilePeer.nowMs - 100_000
        let bundles = try (0..<count).map { number in
            let entry = try Entry(
                path: Path(parsing: "apps/bulk/\(number)"), hlc: HLC(ms: start + UInt64(number)), author: uid,
                value: .integer(Int64(number)))
            return Bundle(signing: [entry], by: key, workspace: workspace.id)
        }
        _ = try store.commit(bundles, heldAfter: heldAfter)
    }

    /// Own entries written then that are still signed by themselves.
    fileprivate func singleCount() throws -> Int {
        let end = HLC(ms: HostilePeer.nowMs - 50_000)
        return try store.singles(of: uid, from: .zero, through: end, limit: Bundle.countMax).count
    }
}

extension HostilePeer {
    /// Asks for everything that the node has.
    fileprivate func fetchAll() throws -> [Bundle] {
        try send(.sift(Sift(range: ReferenceRange(.root), salt: .quick(1), bytesMax: 64 << 10, known: [])))
        let answer = try next("the entries") { if case .bundles = $0 { true } else { false } }
        guard case .bundles(let bundles) = answer else { return [] }
        return bundles
    }
}
