internal import Replication
internal import Seal
internal import Simulation
internal import Store
internal import Tree
internal import Wire

/// What has to hold at the end, when all nodes are equal.
extension Scenario {
    /// How long nothing must be transferred any more, after what was under way has arrived.
    private static let lastMs: UInt64 = 5000
    private static let quietMs: UInt64 = 25_000
    /// A sweep through the soft state, and messages under way.
    private static let sweepMs: UInt64 = 1000
    /// In a large network what is not pushed is announced after 2 s and asked for a second later, more than once on its
    /// way where the tree has just been torn.
    private static let lazyMs: UInt64 = 10_000
    /// Nobody takes a presence that is older than its life and this.
    private static let replayMs: UInt64 = 60_000

    func checkAll(isEqual: Bool) throws {
        if isEqual, !hasOtherTimes { try checkQuiet() }
        for node in honest {
            try checkEntries(node)
            try records.checkObservers(node)
            records.checkUnread(node)
            try checkReplay(node)
        }
        if isEqual, !hasOtherTimes { try checkEqualTrees() }
        checkAcknowledged()
        checkSizes()
        if profile.has(.soft) {
            if hasRightClocks { try checkPresence() }
            try checkSoftEnds()
        }
        if hostile == nil {
            for node in honest where node.refusedCount > 0 {
                records.complain("node \(node.index) refused \(node.refusedCount) entries, but nobody is hostile")
            }
        }
    }

    /// Equal nodes stay equal, and send each other no entries.
    private func checkQuiet() throws {
        try pass(ms: Scenario.lastMs)
        func copies() -> Int { honest.reduce(0) { $0 + $1.traffic.entries } }
        var before = copies()
        try pass(ms: Scenario.quietMs)
        if copies() != before {
            // Somebody may have waited for an answer until he gave up.
            before = copies()
            try pass(ms: Scenario.quietMs)
        }
        if hostile == nil, copies() != before {
            records.complain("\(copies() - before) entries were sent among equal nodes")
        }
        if !isConverged { records.complain("equal nodes became different") }
    }

    /// Every entry can be given away with a proof that verifies, and the digests are those of a recount.
    private func checkEntries(_ node: SimulatedNode) throws {
        let references = node.store.allReferences
        let (bundles, gone) = try node.store.bundles(for: references)
        if !gone.isEmpty { records.complain("node \(node.index): \(gone.count) entries cannot be found") }
        for bundle in bundles where !simulation.verifies(bundle) {
            records.complain("node \(node.index): a bundle does not verify any more")
        }
        var recount: [TimeBucket: BucketDigest] = [:]
        let entries = bundles.flatMap(\.leaves).map(\.entry)
        if entries.count != references.count {
            records.complain("node \(node.index): \(references.count) entries, \(entries.count) of them transferable")
        }
        for entry in entries {
            for level in 0...TimeBucket.levelMax {
                recount[TimeBucket(level: level, containing: entry.hlc), default: .empty].add(entry.id)
            }
        }
        for (bucket, digest) in recount where node.store.digest(of: bucket) != digest {
            records.complain("node \(node.index): the digest of \(bucket) is not that of a recount")
        }
        if entries.isEmpty, node.store.digest(of: .root) != .empty {
            records.complain("node \(node.index): the digest of nothing is not empty")
        }
    }

    private func liveEntries(_ node: SimulatedNode) -> [Entry] {
        var entries: [Entry] = []
        node.store.scan(from: PathKey(bytes: []), to: PathKey(bytes: [0xFF]), descending: false) { entry in
            entries.append(entry)
            return true
        }
        return entries
    }

    /// The tree is what the entries make that are there, replayed in stamp order; sums and priorities have a rule of
    /// their own.
    private func checkReplay(_ node: SimulatedNode) throws {
        let sums = try Path(parsing: "apps/n")
        let replay = NaiveReplay()
        for entry in liveEntries(node).sorted(by: { $0.stamp < $1.stamp }) where !sums.contains(entry.path) {
            replay.set(entry.path.keys[...], entry.kind == Entry.set ? entry.value : .null)
        }
        var tree = try node.value(at: .root)
        tree.overlay(sums.keys[...], .null)
        if let difference = replay.difference(from: tree) {
            records.complain("node \(node.index): the tree is not the replay: \(difference)")
        }
    }

    /// Which entries some nodes have and others do not.
    func noteDifferences() {
        var holders: [EntryReference: [Int]] = [:]
        for node in honest {
            for reference in node.store.allReferences { holders[reference, default: []].append(node.index) }
        }
        for (reference, nodes) in holders.sorted(by: { $0.key < $1.key }) where nodes.count < honest.count {
            guard let index = nodes.first, let node = honest.first(where: { $0.index == index }),
                let bundle = try? node.store.bundles(for: [reference]).bundles.first, let leaf = bundle.leaves.first
            else { continue }
            note("only at \(nodes): \(short(leaf.entry)), signed with \(bundle.count)")
        }
    }

    private func checkEqualTrees() throws {
        guard let first = honest.first else { return }
        let (ids, tree) = (liveEntries(first).map(\.id), try first.value(at: .root))
        let nonce: [UInt8] = Array(repeating: 0xA5, count: 32)
        let sum = try first.store.keyedDigest(nonce: nonce, of: .root)
        for node in honest.dropFirst() {
            if try node.store.keyedDigest(nonce: nonce, of: .root) != sum {
                records.complain("nodes \(first.index) and \(node.index) hold other entries, though their roots agree")
            }
            if liveEntries(node).map(\.id) != ids {
                records.complain("nodes \(first.index) and \(node.index) have other live entries")
            }
            if try node.value(at: .root) != tree {
                records.complain("nodes \(first.index) and \(node.index) read other trees")
            }
        }
    }

    /// What a client was told is done is there, unless something later has replaced it, or a disk has lost it that had
    /// it alone.
    private func checkAcknowledged() {
        for item in records.acknowledged where !records.lost.contains(item.entry.id) {
            for node in honest where !Records.covers(node.store, item.entry) {
                records.complain("\(short(item.entry)), written at node \(item.node), is missing at \(node.index)")
            }
        }
    }

    /// Nobody makes a node keep more than this for him.
    func checkSizes() {
        for node in running {
            let sizes = node.replicator.sizes
            let bounds = [
                (sizes.inFlight, sizes.outstanding, "entries in flight"), (sizes.remembered, 65_536, "remembered"),
                (sizes.outstanding, 512 * sizes.links, "asked for"), (sizes.waitingMax, 3 * 4096, "waiting"),
                (sizes.owedMax, 8192 + 128 * 4096, "owed"), (sizes.soft, 16_384, "soft"),
                (sizes.bucketsMax, 1 << 18, "buckets"),
            ]
            for (size, bound, words) in bounds where size > bound {
                records.complain("node \(node.index) keeps \(size) \(words), not \(bound)")
            }
        }
    }

    /// Everybody sees everybody online.
    private func checkPresence() throws {
        // Who was not reached in time is heard of with his next refresh.
        let limitMs = profile.isLarge ? presenceLifeMs : 0
        let authors = Set(running.map(\.author)).count
        let endMs = simulation.nowMs + limitMs
        while simulation.nowMs < endMs, !running.allSatisfy({ $0.replicator.soft.liveAuthorCount >= authors }) {
            try pass(ms: 1000)
        }
        for node in running {
            for other in running where !node.replicator.soft.isLive(other.author) {
                records.complain("node \(node.index) does not see that \(other.index) is online")
            }
        }
    }

    /// How long anybody's presence lives: in a large network it is refreshed ever more slowly.
    private var presenceLifeMs: UInt64 {
        let lives = running.flatMap { node in node.replicator.soft.live(of: node.author).map(\.ttlMs) }
        return max(Scenario.presenceTTLMs, lives.max() ?? 0)
    }

    /// How much later than everybody else somebody may hear of a presence. Whose time is another one in a large network
    /// sees few, is told of all by each new neighbour, and then counts from there; until it is too old to be believed.
    private var lateMs: UInt64 {
        guard profile.isLarge else { return 0 }
        return hasRightClocks ? Scenario.lazyMs : presenceLifeMs + Scenario.replayMs
    }

    /// Of a node that has ended without a word nothing is left when its time is up.
    private func checkSoftEnds() throws {
        guard honest.count > 1 else { return }
        let dead = pick(honest)
        guard honest.count(where: { $0.author == dead.author }) == 1 else { return }
        // Who has just come hears of him from others, and counts from then.
        try pass(ms: presenceLifeMs / 2 + Scenario.sweepMs)
        note("node \(dead.index) ends for good")
        simulation.stop(dead.index, chance(2) ? .kill : .powerFailure)
        try pass(ms: presenceLifeMs + Scenario.sweepMs + lateMs)
        for node in running where !node.replicator.soft.live(of: dead.author).isEmpty {
            let left = node.replicator.soft.live(of: dead.author).map { "\($0.path) of \($0.hlc), \($0.ttlMs) ms" }
            records.complain("node \(node.index) still shows of \(dead.index), which has ended: \(left)")
        }
    }
}
