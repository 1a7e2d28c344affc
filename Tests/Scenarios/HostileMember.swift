package import Replication
package import Seal
package import Simulation
internal import Tree
package import Wire

/// Somebody who has a key of the workspace and means ill: he forges, withholds, lies about what he has, answers with
/// nonsense and floods. The others must become equal in spite of him, and lose nothing.
package final class HostileMember: Intruder {
    private var random: SplitMix64
    private let key: SigningKey
    private unowned let node: SimulatedNode
    private var links: [LinkID: Bytes32] = [:]
    /// What others have sent, to be spoiled or withheld.
    private var seen: [Bundle] = []
    private var victims: [Bytes32] = []
    /// He lies about his clock too. Without clocks that are wrong by themselves he is a minority then.
    private let liesAboutTime: Bool
    /// He announces bundles too, drawn from this.
    var sealing: SplitMix64?
    /// He signs nothing new any more, and goes on with everything else.
    var isCalm = false

    private static let seenMax = 64
    private static let victimsMax = 200

    package init(seed: UInt64, node: SimulatedNode, liesAboutTime: Bool = false) {
        self.liesAboutTime = liesAboutTime
        random = SplitMix64(seed: seed)
        key = node.key
        self.node = node
        node.intruder = self
    }

    private func below(_ n: Int) -> Int { Int.random(in: 0..<max(1, n), using: &random) }
    private func chance(_ n: Int) -> Bool { below(n) == 0 }

    // MARK: What is said to him

    package func linkUp(_ link: LinkID, peer: Bytes32, _ node: SimulatedNode, _ simulation: Simulation) {
        links[link] = peer
        if victims.count < HostileMember.victimsMax, !victims.contains(peer) { victims.append(peer) }
        simulation.send(.hello(vitals(simulation, like: nil), peers: connected()), node, link)
    }

    package func linkDown(_ link: LinkID, _ node: SimulatedNode, _ simulation: Simulation) { links[link] = nil }

    package func received(
        _ message: PeerMessage, _ link: LinkID, _ node: SimulatedNode, _ simulation: Simulation
    ) {
        // Silence is an answer too.
        guard !chance(8) else { return }
        switch message {
        case .hello(let vitals, _), .ping(let vitals):
            simulation.send(.pong(self.vitals(simulation, like: vitals)), node, link)
        case .compare(let bucket, _): differ(bucket, link, simulation)
        case .sift(let sift): answer(sift, link, simulation)
        case .want(let references): answer(references, link, simulation)
        case .have(let references): if chance(2) { simulation.send(.want(references), node, link) }
        case .bundles(let bundles):
            seen += bundles
            seen.removeFirst(max(0, seen.count - HostileMember.seenMax))
        default: break
        }
    }

    private func vitals(_ simulation: Simulation, like theirs: Vitals?) -> Vitals {
        // While nobody has written anything, one clock is as good as another.
        let liesAboutTime = liesAboutTime && !seen.isEmpty
        let hours = liesAboutTime ? [0, 0, 1, -3, 9000][below(5)] : 0
        let clock = Int64(clamping: Simulation.epochMs + simulation.nowMs) + Int64(hours) * 3_600_000
        var root = DigestPrefix(count: below(100_000), sum: random.next())
        if let theirs, chance(3) { root = theirs.root }
        return Vitals(
            clockMs: liesAboutTime && chance(10) ? .max : UInt64(clamping: clock), isSynchronised: false,
            highWater: HLC(ms: chance(4) ? 0 : UInt64(clamping: clock)), root: root)
    }

    /// He claims to be connected to everybody, and to some who do not exist.
    private func connected() -> [Bytes32] {
        Array(Set(victims + (0..<below(20)).map { BLAKE2b.hash([UInt8($0)]) })).sorted()
    }

    private func reference(in bucket: TimeBucket) -> EntryReference {
        let (low, high) = (bucket.lowerBound.ms, bucket.upperBound.ms)
        return EntryReference(hlc: HLC(ms: UInt64.random(in: low...high, using: &random)), idPrefix: random.next())
    }

    private func differ(_ bucket: TimeBucket, _ link: LinkID, _ simulation: Simulation) {
        guard bucket.level < TimeBucket.levelMax else { return }
        simulation.send(.differ(bucket, summaries(below: bucket)), node, link)
    }

    private func summaries(below bucket: TimeBucket) -> [BucketSummary] {
        guard bucket.level < TimeBucket.levelMax else { return [] }
        var children: [BucketSummary] = []
        for _ in 0..<below(8) {
            let inside = TimeBucket(level: bucket.level + 1, containing: reference(in: bucket).hlc)
            let index = chance(10) ? random.next() >> 40 : inside.index
            children.append(
                BucketSummary(
                    index: index, digest: DigestPrefix(count: below(1 << 20), sum: random.next()),
                    children: chance(3) ? summaries(below: inside) : []))
        }
        // Mostly as the protocol wants it, or nobody would believe the rest.
        if !chance(6) {
            children.sort { $0.index < $1.index }
            children = children.enumerated().filter { $0 == 0 || children[$0 - 1].index < $1.index }.map(\.1)
        }
        return children
    }

    private func answer(_ sift: Sift, _ link: LinkID, _ simulation: Simulation) {
        let wanted = seen.filter { $0.leaves.contains { sift.range.contains($0.entry.reference) } }
        if chance(2) { simulation.send(.bundles(chance(2) ? wanted : wanted.map(spoiled)), node, link) }
        var reached = sift.range.after
        if chance(3) { reached = reference(in: .root) }
        let through = chance(6) ? reference(in: .root) : sift.range.through
        simulation.send(.sifted(through: through, reached: reached), node, link)
    }

    private func answer(_ references: [EntryReference], _ link: LinkID, _ simulation: Simulation) {
        let asked = Set(references)
        let wanted = seen.filter { $0.leaves.contains { asked.contains($0.entry.reference) } }
        switch below(4) {
        case 0: simulation.send(.gone(references), node, link)
        case 1: simulation.send(.bundles(wanted), node, link)
        case 2: simulation.send(.bundles(wanted.map(spoiled)), node, link)
        default: break
        }
    }

    /// A good entry with a bad signature.
    private func spoiled(_ bundle: Bundle) -> Bundle {
        var bytes = bundle.signature.bytes
        bytes[below(32)] ^= 1
        return Bundle(
            author: bundle.author, count: bundle.count, signature: Signature(bytes) ?? bundle.signature,
            leaves: bundle.leaves, omitted: bundle.omitted)
    }

    // MARK: What he does by himself

    package func act(_ simulation: Simulation) {
        guard node.state == .running else { return }
        for link in links.keys.sorted() where chance(3) { attack(link, simulation) }
        for link in links.keys.sorted() { announce(link, simulation) }
    }

    /// Bundles of entries that he has seen: of others with a signature that is not theirs, of his own with a good one,
    /// though nobody may hold exactly those.
    private func announce(_ link: LinkID, _ simulation: Simulation) {
        guard var random = sealing else { return }
        defer { sealing = random }
        guard Int.random(in: 0..<10, using: &random) == 0 else { return }
        let stamps = seen.shuffled(using: &random).flatMap(\.leaves).map(\.entry.stamp)
        let author = Bool.random(using: &random) ? key.publicKey : stamps.first?.author ?? key.publicKey
        let chosen = Array(Set(stamps.filter { $0.author == author })).sorted()
        guard let first = chosen.first, let last = chosen.last else { return }
        let root = MerkleTree.root(chosen.map(\.id))
        let message = Bundle.message(
            workspace: simulation.workspace, author: author, count: chosen.count, root: root)
        let seal = BundleSeal(
            first: first, last: last, count: chosen.count, root: root, signature: key.sign(message))
        for _ in 0..<Int.random(in: 1...20, using: &random) { simulation.send(.rebundle(seal), node, link) }
    }

    private func attack(_ link: LinkID, _ simulation: Simulation) {
        func send(_ message: PeerMessage) { simulation.send(message, node, link) }
        switch below(12) {
        case 0: send(.have((0..<below(4096)).map { _ in reference(in: .root) }))
        case 1: for _ in 0...below(3) { send(.want((0..<4096).map { _ in reference(in: .root) })) }
        case 2: send(.bundles(seen.shuffled(using: &random).prefix(8).map(spoiled)))
        case 3: if let bundle = seen.randomElement(using: &random) { send(.have(bundle.leaves.map(\.entry.reference))) }
        case 4: send(.pong(vitals(simulation, like: nil)))
        case 5: send(.peers(connected: connected(), addresses: []))
        case 6: send(.verify(nonce: Array(repeating: UInt8(below(256)), count: PeerMessage.nonceBytes)))
        case 7: if let records = forgedSoft(simulation) { send(.soft(records)) }
        case 8: send(.notice("you are wrong"))
        case 9: if chance(4) { send(.goodbye("no")) }
        case 10: if let bundle = forged(simulation) { send(.bundles([bundle])) }
        default: if !isCalm, let bundle = signed(simulation) { send(.bundles([bundle])) }
        }
    }

    private func hlc(_ simulation: Simulation, aheadHours: UInt64 = 0) -> HLC {
        HLC(ms: Simulation.epochMs + simulation.nowMs + aheadHours * 3_600_000, counter: UInt64(below(64)))
    }

    private func path(_ text: String) -> Path? { try? Path(parsing: text) }

    /// An entry in somebody else's name, with a signature that is not his.
    private func forged(_ simulation: Simulation) -> Bundle? {
        guard let victim = victims.randomElement(using: &random), let path = path("apps/t/a"),
            let entry = try? Entry(path: path, hlc: hlc(simulation), author: victim, value: .string("forged"))
        else { return nil }
        let own = Bundle(signing: [entry], by: key, workspace: simulation.workspace)
        return Bundle(author: victim, count: 1, signature: own.signature, leaves: own.leaves, omitted: [])
    }

    /// What he may sign: good entries beside such as he may not write, and times that have not come.
    private func signed(_ simulation: Simulation) -> Bundle? {
        guard let victim = victims.randomElement(using: &random) else { return nil }
        let time = hlc(simulation, aheadHours: chance(4) ? 9000 : 0)
        let mid = AutoID(hlc: time, author: victim).text
        let denied = ["users/\(UID.text(victim))", "channels/---------lunchlunchlun/messages/\(mid)", "channels/x"]
        var texts = ["apps/h/\(below(10))"]
        if chance(2) { texts.append(denied[below(denied.count)]) }
        if chance(4) { texts.append("apps/t") }
        let entries = texts.compactMap(path).compactMap {
            try? Entry(path: $0, hlc: time, author: key.publicKey, value: .integer(Int64(below(100))))
        }
        return Bundle(
            signing: entries.sorted { $0.stamp < $1.stamp }, by: key, workspace: simulation.workspace)
    }

    private func forgedSoft(_ simulation: Simulation) -> [SoftRecord]? {
        guard let victim = victims.randomElement(using: &random), let path = path("presence/\(UID.text(victim))"),
            let own = self.path("presence/\(UID.text(key.publicKey))")
        else { return nil }
        let mine = SoftRecord(
            signing: own, value: .string("online"), hlc: hlc(simulation), ttlMs: 1000, instance: random.next(),
            by: key, workspace: simulation.workspace)
        let his = SoftRecord(
            author: victim, instance: random.next(), path: path, hlc: hlc(simulation, aheadHours: 1), ttlMs: 600_000,
            value: .string("away"), signature: mine.signature)
        return [mine, his]
    }
}
