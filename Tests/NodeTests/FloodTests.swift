import ControlAPI
import class Foundation.Thread
@testable import Node
import Replication
import Seal
import Testing
import Tree
import Wire

extension NodeTests {
    /// A member that sends far too much: the others go on, memory stays bounded.
    @Suite struct FloodTests {
        /// How long a client's request takes while a peer floods, at most.
        private func slowestMs(_ client: LineClient, while flood: @escaping @Sendable () throws -> Void) throws
            -> UInt64
        {
            let thread = Thread { try? flood() }
            thread.stackSize = 4 << 20
            thread.start()
            var slowestNs: UInt64 = 0
            while !thread.isFinished {
                let start = Deadline.nowNs
                _ = try client.call("tree.newKey")
                slowestNs = max(slowestNs, Deadline.nowNs - start)
            }
            return slowestNs / 1_000_000
        }

        private final class Box: @unchecked Sendable {
            let peer: HostilePeer
            init(_ peer: HostilePeer) { self.peer = peer }
        }

        private func references(_ count: Int, _ seed: UInt64 = 0) -> [EntryReference] {
            (0..<count).map {
                EntryReference(hlc: HLC(ms: HostilePeer.nowMs - UInt64($0)), idPrefix: seed << 32 | UInt64($0))
            }
        }

        private static let messages:
            [(name: String, count: Int, make: @Sendable (Int, [EntryReference]) -> PeerMessage)] = [
                ("offers", 20, { _, references in .have(references) }),
                (
                    "unasked ends", 5000,
                    { _, references in .sifted(through: references[0], reached: references[1]) }
                ),
                ("comparisons", 600, { _, _ in .compare(.root, []) }),
                (
                    "ranges", 100,
                    { _, _ in
                        .sift(Sift(range: ReferenceRange(.root), salt: .quick(1), bytesMax: 1 << 20, known: []))
                    }
                ),
                ("pings", 1000, { _, _ in .ping(HostilePeer.emptyVitals) }),
                ("refusals", 2000, { _, _ in .notice("no\u{1B}[31m\nnot so") }),
            ]

        @Test(arguments: messages.map(\.name))
        func othersAreServedMeanwhile(name: String) async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            for number in 0..<200 {
                try client.request("message.send", ["to": "#general", "text": .string("\(number)")])
            }
            for _ in 0..<200 { _ = try client.answer() }
            let flood = try #require(FloodTests.messages.first { $0.name == name })
            let box = Box(try HostilePeer.greeted(node))
            let references = references(4096)
            let slowest = try slowestMs(client) {
                for number in 0..<flood.count { try box.peer.send(flood.make(number, references)) }
                try box.peer.synchronise()
            }
            #expect(slowest < Pace.ms(1000), "a request took \(slowest) ms")
            #expect(node.log.utf8.count < 200_000)
            try client.send(message: "afterwards")
        }

        /// A peer that claims to have ever more and never delivers is not asked without end.
        @Test func offersThatAreNeverKeptAreBounded() async throws {
            let node = try await TestNode("anna")
            let peer = try HostilePeer.greeted(node)
            var wanted = 0
            for round in 0..<25 { try peer.send(.have(references(4096, UInt64(round + 1)))) }
            try peer.send(.ping(HostilePeer.emptyVitals))
            try peer.next("pong") { message in
                if case .want(let references) = message { wanted += references.count }
                if case .pong = message { return true }
                return false
            }
            #expect(wanted <= 512)
        }

        /// An answer that leads nowhere ends the link, instead of the two asking each other for ever.
        @Test func anAnswerThatOnlyPromisesEndsTheLink() async throws {
            let node = try await TestNode("anna")
            let peer = try HostilePeer(node)
            let vitals = Vitals(
                clockMs: HostilePeer.nowMs, isSynchronised: false, highWater: HLC(ms: HostilePeer.nowMs),
                root: DigestPrefix(count: 50_000, sum: 7))
            try peer.send(.hello(vitals, peers: []))
            try peer.next("the comparison") { if case .compare(.root, _) = $0 { true } else { false } }
            let child = TimeBucket(level: 1, containing: HLC(ms: HostilePeer.nowMs))
            let summary = BucketSummary(index: child.index, digest: DigestPrefix(count: 900, sum: 7))
            try peer.send(.differ(.root, [summary]))
            let range = ReferenceRange(child)
            try peer.next("the question") { if case .sift(let sift) = $0 { sift.range == range } else { false } }
            try peer.send(.sifted(through: range.through, reached: references(1)[0]))
            try peer.waitForClose()
        }

        /// Wanting more than an honest peer ever wants ends the link; wanting what is not here is answered.
        @Test func wantsAreBounded() async throws {
            let node = try await TestNode("anna")
            let peer = try HostilePeer.greeted(node)
            let some = references(100)
            try peer.send(.want(some))
            // Perhaps in pieces: the node has just written its own name.
            var gone: [EntryReference] = []
            try peer.next("the answer") { message in
                if case .gone(let references) = message { gone += references }
                return gone.count >= some.count
            }
            #expect(gone == some)
            for round in 0..<3 { try peer.send(.want(references(4096, UInt64(round)))) }
            try peer.waitForClose()
            let other = try HostilePeer.greeted(node)
            let named = [UInt32](repeating: 0, count: 16_384)
            let sift = Sift(range: ReferenceRange(.root), salt: .quick(1), bytesMax: 0, known: named)
            for _ in 0..<300 { try? other.send(.sift(sift)) }
            try other.waitForClose()
        }

        /// Whoever writes faster than his quota is heard later; the others are not, and nothing is lost.
        @Test func whatIsPushedTooFastIsDelayed() async throws {
            let a = try await TestNode("anna")
            await a.node.setPushLimits(burst: 20, rate: 100)
            let flooder = try await TestNode("flooder", peers: [a])
            let b = try await TestNode("bert", peers: [a, flooder])
            let (atA, atB, atFlooder) = (try a.client(), try b.client(), try flooder.client())
            for node in [b, flooder] {
                try atA.waitForPerson(UID.text(node.uid), "online") { $0["state"]?.string == "online" }
            }
            try atA.call("message.observe", ["in": "#general"])
            let count = 400
            try atB.send(message: "in between 0")
            try atA.event("message 0") { $0["message"]?["text"]?.string == "in between 0" }
            for number in 0..<count {
                try atFlooder.request("tree.set", ["path": .string("apps/flood/\(number)"), "value": .int(1)])
            }
            var slowestNs: UInt64 = 0
            // The quota holds while somebody else writes.
            for number in 1...20 {
                let start = Deadline.nowNs
                try atB.send(message: "in between \(number)")
                try atA.event("message \(number)") { $0["message"]?["text"]?.string == "in between \(number)" }
                slowestNs = max(slowestNs, Deadline.nowNs - start)
            }
            #expect(slowestNs / 1_000_000 < Pace.ms(500), "a message took \(slowestNs / 1_000_000) ms")
            for _ in 0..<count { _ = try atFlooder.answer() }
            #expect(await a.node.delayedCount > 0)
            try atA.waitUntilEqual(peers: 2)
            #expect(try atA.root() == atFlooder.root())
        }

        /// A bundle of a few bytes that would be large in memory is refused.
        @Test func bundlesThatUnfoldAreRefused() async throws {
            let node = try await TestNode("anna")
            let key = SigningKey()
            let peer = try HostilePeer.greeted(node, key: key)
            let signature = try #require(Signature([UInt8](repeating: 1, count: 64)))
            let long = "apps/" + String(repeating: "x", count: 700)
            var bundles: [Bundle] = []
            for number in 0..<(Bundle.countMax + 1) {
                let entry = try Entry(
                    path: try Path(parsing: long), hlc: HLC(ms: HostilePeer.nowMs + UInt64(number)),
                    author: key.publicKey,
                    value: .bool(true))
                bundles.append(
                    Bundle(
                        author: key.publicKey, count: 1, signature: signature,
                        leaves: [Bundle.Leaf(index: 0, entry: entry)], omitted: []))
            }
            try peer.send(.bundles(bundles))
            try peer.waitForClose()
            #expect(try node.client().status()["entries"]?.int == 1)
        }
    }
}

extension Node {
    func setPushLimits(burst: Int64, rate: Int64) { replicator.setPushLimits(burst: burst, rate: rate) }
    fileprivate var delayedCount: Int { replicator.delayedCount }
}
