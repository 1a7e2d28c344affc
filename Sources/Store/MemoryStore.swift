public import Seal
public import Tree

/// The store in memory, for simulations with many nodes: the same rows, judged by the same `Merger`, in sorted arrays.
///
/// Insertion moves what lies behind, so it suits up to some hundred thousand entries. Nothing throws but an unverified
/// bundle.
public final class MemoryStore: NodeStore {
    /// An entry and where its signature is.
    struct Item {
        let entry: Entry
        let path: PathKey
        var proof: Proof
        var isHeld: Bool
        /// The number of the change that it became live or held with.
        var change: Int64
    }

    struct StoredBundle {
        let head: BundleHead
        var proofs: [Span: Bytes32] = [:]
        var leaves: [Int: Bytes32] = [:]
    }

    /// What tells bundles apart.
    struct BundleName: Hashable {
        let root: Bytes32
        let author: Bytes32
        let count: Int

        init(_ head: BundleHead) { (root, author, count) = (head.root, head.author, head.count) }
    }

    struct Container {
        var readMark: Int64 = 0
        /// Ascending by arrival number, which is that of the change that brought the first entry at its path.
        var messages: [(arrival: Int64, mid: String, author: Bytes32)] = []
    }

    /// Live entries by path.
    var live: [Item] = []
    /// Paths of the live priorities, in order.
    var priorities: [PathKey] = []
    /// All entries by time and id.
    var timed: [Item] = []
    var digests: [TimeBucket: BucketDigest] = [:]
    var bundles: [Int64: StoredBundle] = [:]
    var bundleIDs: [BundleName: Int64] = [:]
    var lastBundle: Int64 = 0
    var trees = BundleTrees()
    var sweeps: [Sweep] = []
    var containers: [PathKey: Container] = [:]
    /// Containers of each message key, ascending.
    var places: [String: [PathKey]] = [:]
    public internal(set) var lastChange: Int64 = 0
    private var settings: [String: [UInt8]] = [:]
    /// By the old ones.
    var renewedTimes: [HLC: HLC] = [:]
    /// By session.
    var disconnects: [Int: [PathKey: [UInt8]]] = [:]
    /// In the order of their deaths.
    var kept: [KeptGrave] = []
    var graveIDs: Set<Bytes32> = []
    var graveTotals = GraveTotals()
    var tallies: [Bytes32: Tally] = [:]
    var graveClock = GraveClock()

    public init() {}

    /// Another store that holds the same and goes its own way from now on: what a backup or a copied disk is. Costs
    /// nothing until one of the two is written to.
    public func copy() -> MemoryStore {
        let copy = MemoryStore()
        (copy.live, copy.priorities, copy.timed, copy.digests) = (live, priorities, timed, digests)
        (copy.bundles, copy.bundleIDs, copy.lastBundle, copy.sweeps) = (bundles, bundleIDs, lastBundle, sweeps)
        (copy.containers, copy.places) = (containers, places)
        (copy.settings, copy.disconnects, copy.renewedTimes) = (settings, disconnects, renewedTimes)
        (copy.kept, copy.graveIDs, copy.graveTotals, copy.graveClock) = (kept, graveIDs, graveTotals, graveClock)
        (copy.lastChange, copy.tallies) = (lastChange, tallies)
        return copy
    }

    // MARK: EntryStore

    public func commit(_ bundles: [Bundle], heldAfter: HLC) throws -> CommitResult {
        // There is no transaction to take back, so nothing begins before everything is known to fit.
        for bundle in bundles {
            let fits = bundle.count == 1 ? bundle.isSingle : bundle.root != nil
            guard fits else { throw StoreError(.unverifiedBundle) }
        }
        var merger = Merger(self, killsMax: Self.transactionEntriesMax)
        for bundle in bundles { try merger.commit(bundle, heldAfter: heldAfter) }
        try merger.finish()
        return merger.result
    }

    public func release(heldAfter: HLC) throws -> CommitResult {
        var merger = Merger(self, killsMax: Self.transactionEntriesMax)
        try merger.release(heldAfter: heldAfter, limit: Self.transactionEntriesMax)
        try merger.finish()
        return merger.result
    }

    public func sweep(limit: Int) throws -> Bool {
        var merger = Merger(self, killsMax: 0)
        let isMoreLeft = try merger.sweep(limit: limit)
        try merger.finish()
        return isMoreLeft
    }

    // MARK: EntryReader

    public func entry(at path: PathKey) -> Entry? {
        guard !hasEnded(path) else { return nil }
        let index = liveIndex(path)
        return index < live.count && live[index].path == path ? live[index].entry : nil
    }

    public func scan(
        from lower: PathKey, to upper: PathKey, descending: Bool, _ body: (Entry) throws -> Bool
    ) rethrows {
        let range = liveRange(lower, upper)
        let items = live
        let dead = WaitingDead(sweeps)
        if descending {
            for index in range.reversed() where try !dead.hasEnded(items[index].path) && !body(items[index].entry) {
                return
            }
        } else {
            for index in range where try !dead.hasEnded(items[index].path) && !body(items[index].entry) { return }
        }
    }

    public func scanPriorities(
        from lower: PathKey, to upper: PathKey, _ body: (Entry) throws -> Bool
    ) rethrows {
        let paths = priorities
        let first = partition(paths.count) { paths[$0] < lower }
        for path in paths[first...].prefix(while: { $0 < upper }) {
            guard let entry = entry(at: path) else { continue }
            guard try body(entry) else { return }
        }
    }

    /// Keeps ``priorities`` in step with what becomes live or ends.
    func notePriority(_ path: PathKey, isLive: Bool) {
        guard path.isPriority else { return }
        let index = partition(priorities.count) { priorities[$0] < path }
        let isKnown = index < priorities.count && priorities[index] == path
        if isLive, !isKnown { priorities.insert(path, at: index) }
        if !isLive, isKnown { priorities.remove(at: index) }
    }

    // MARK: Counts

    public var entryCount: Int { timed.count }
    public var unknownCount: Int { timed.reduce(0) { $0 + ($1.entry.kind == Entry.set ? 0 : 1) } }
    public var heldCount: Int { timed.reduce(0) { $0 + ($1.isHeld ? 1 : 0) } }
    var hasHeld: Bool { timed.contains(where: \.isHeld) }
    public var nextHeldDue: HLC? { timed.first(where: \.isHeld)?.entry.hlc }
    public func rest() {}
    public var databaseBytes: Int { 0 }

    public var heldAuthors: [HeldAuthor] {
        let held = Dictionary(grouping: timed.filter(\.isHeld), by: \.entry.author)
        let authors = held.map { author, items in
            HeldAuthor(author: author, count: items.count, latest: items.map(\.entry.hlc).max() ?? .zero)
        }
        let sorted = authors.sorted { $0.count != $1.count ? $0.count > $1.count : $0.author < $1.author }
        return Array(sorted.prefix(HeldAuthor.countMax))
    }

    public func greatestHLC(notAfter limit: HLC) -> HLC {
        timed[..<timeIndex(after: limit)].last { !$0.isHeld }?.entry.hlc ?? .zero
    }

    public func lastChange(at path: Path, by author: Bytes32) -> Int64 {
        let key = PathKey(path)
        return live[liveRange(key, key.subtreeEnd)].filter { $0.entry.author == author }.map(\.change).max() ?? 0
    }

    // MARK: Settings

    public func setting(_ name: String) -> [UInt8]? { settings[name] }
    public func setSetting(_ name: String, _ value: [UInt8]?) { settings[name] = value }

    // MARK: Sorted arrays

    /// Index of the first live entry whose path is not before `path`.
    func liveIndex(_ path: PathKey) -> Int {
        partition(live.count) { live[$0].path < path }
    }

    func liveRange(_ lower: PathKey, _ upper: PathKey) -> Range<Int> {
        let first = liveIndex(lower)
        return first..<max(first, liveIndex(upper))
    }

    /// Index of the first entry that is not before an id at a time.
    func timeIndex(_ hlc: HLC, _ id: Bytes32) -> Int {
        partition(timed.count) { index in
            let entry = timed[index].entry
            return entry.hlc != hlc ? entry.hlc < hlc : entry.id < id
        }
    }

    /// Index of the first entry that is not before a reference.
    func timeIndex(_ reference: EntryReference) -> Int {
        partition(timed.count) { timed[$0].entry.reference < reference }
    }

    func timeIndex(after hlc: HLC) -> Int { partition(timed.count) { !(hlc < timed[$0].entry.hlc) } }

    func timeRange(_ bucket: TimeBucket) -> Range<Int> {
        let first = timeIndex(bucket.lowerBound, .zero)
        return first..<max(first, timeIndex(after: bucket.upperBound))
    }

    /// Index of the first of `count` elements of which `isBefore` does not hold.
    private func partition(_ count: Int, _ isBefore: (Int) -> Bool) -> Int {
        var low = 0
        var high = count
        while low < high {
            let middle = (low + high) / 2
            if isBefore(middle) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
