import Seal
import Store
import Testing
import Tree

/// The merge rule on the real code: whatever the order, repetition and route, replicas end equal, and equal to
/// replaying all entries in stamp order.
@Suite struct MergeRuleTests {
    static let traceCount = 20_000
    static let traceCountInDatabase = 100

    @Test(arguments: 0..<4) func convergesInMemory(part: Int) throws {
        let count = MergeRuleTests.traceCount / 4
        for seed in (part * count)..<((part + 1) * count) {
            var trace = try Trace(seed: UInt64(seed))
            try trace.run { MemoryStore() }
        }
    }

    @Test func convergesInDatabase() throws {
        let folder = try TemporaryFolder()
        var count = 0
        for seed in 0..<MergeRuleTests.traceCountInDatabase {
            var trace = try Trace(seed: 1_000_000 + UInt64(seed))
            try trace.run {
                count += 1
                return try DatabaseStore(path: folder.path("\(count).db"))
            }
        }
    }
}

/// One random history, delivered to three replicas in a random way.
private struct Trace {
    static let replicaCount = 3
    private static let keys = ["a", "b", "1"].compactMap { Key($0) }
    private static let authors = [Bytes32(repeating: 1), Bytes32(repeating: 2)]

    let seed: UInt64
    /// What each replica was given, in order.
    private var given: [[Bundle]] = Array(repeating: [], count: Trace.replicaCount)
    private var random: SeededRandom
    /// Groups of one author with one time, as an `update` makes them, or single ones.
    private var groups: [[Entry]] = []

    init(seed: UInt64) throws {
        self.seed = seed
        random = SeededRandom(seed: seed)
        // Most differences show in few entries; one trace in sixteen is longer.
        for _ in 0...random.below(random.below(16) == 0 ? 12 : 4) {
            let author = random.element(Trace.authors)
            let hlc = HLC(ms: UInt64(1 + random.below(6)), counter: UInt64(random.below(2)))
            let count = random.below(3) == 0 ? 2 + random.below(2) : 1
            var group: [Entry] = []
            for _ in 0..<count {
                let entry = try Entry(path: randomPath(1), hlc: hlc, author: author, value: randomValue(2))
                if !group.contains(entry) { group.append(entry) }
            }
            groups.append(group.sorted { $0.stamp < $1.stamp })
        }
    }

    private mutating func randomPath(_ depthMin: Int) -> Path {
        let depth = depthMin + random.below(4 - depthMin)
        return Path((0..<depth).map { _ in random.element(Trace.keys) }) ?? .root
    }

    private mutating func randomValue(_ depth: Int) -> Value {
        let choice = random.below(20)
        if choice < 6 { return .null }
        if choice < 13 || depth == 0 { return .integer(Int64(random.below(10))) }
        let object = ObjectValue(
            (0..<random.below(3)).map { _ in (random.element(Trace.keys), randomValue(depth - 1)) })
        return object.isEmpty ? .null : .object(object)
    }

    /// Delivers, repeats, forwards, and compares.
    mutating func run(_ makeStore: () throws -> any NodeStore) throws {
        let stores = try (0..<Trace.replicaCount).map { _ in try makeStore() }
        var deliveries = Array(groups.indices) + (0..<random.below(3)).map { _ in random.below(groups.count) }
        deliveries.shuffle(using: &random)
        for group in deliveries {
            let bundle = try randomPart(of: group)
            try give([bundle], random.below(stores.count), stores)
            if random.below(5) == 0 { try join(random.below(stores.count), random.below(stores.count), stores) }
        }
        // The rest of what was cut into parts, and then a round that reaches everybody.
        for group in groups.indices where groups[group].count > 1 {
            try give([testBundle(groups[group])], random.below(stores.count), stores)
        }
        let order = Array(stores.indices).shuffled(using: &random)
        for (from, to) in [(0, 1), (1, 2), (2, 0), (0, 1)] { try join(order[from], order[to], stores) }
        try check(stores)
        for index in stores.indices { try checkGraves(stores[index], given[index]) }
    }

    private mutating func give(_ bundles: [Bundle], _ index: Int, _ stores: [any NodeStore]) throws {
        _ = try stores[index].commit(bundles, heldAfter: farFuture)
        given[index] += bundles
    }

    /// A group as one bundle, or a part of it with a proof.
    private mutating func randomPart(of group: Int) throws -> Bundle {
        let entries = groups[group]
        guard entries.count > 1, random.below(2) == 0 else { return try testBundle(entries) }
        let present = entries.indices.filter { _ in random.below(2) == 0 }
        return try testBundle(entries, present: present.isEmpty ? [random.below(entries.count)] : present)
    }

    private mutating func join(_ from: Int, _ to: Int, _ stores: [any NodeStore]) throws {
        let (source, target) = (stores[from], stores[to])
        guard try source !== target && source.digest(of: .root) != target.digest(of: .root) else { return }
        let wanted = try source.allReferences().filter { try !target.contains($0) }
        guard !wanted.isEmpty else { return }
        let (bundles, gone) = try #require(try? source.bundles(for: wanted), "seed \(seed)")
        try #require(gone.isEmpty, "seed \(seed)")
        try give(bundles, to, stores)
    }

    /// Every grave is an entry that the replica was given and that another author has overwritten; whatever nobody but
    /// others has overwritten lies there; and both stores have the same.
    private func checkGraves(_ store: any NodeStore, _ given: [Bundle]) throws {
        let received = Set(given.flatMap { $0.leaves.map(\.entry) })
        let graves = try store.graves()
        try #require(Set(graves.map(\.id)).count == graves.count, "seed \(seed)")
        for grave in graves {
            let entry = try #require(received.first { $0.id == grave.id }, "seed \(seed)")
            let isSame = grave.path == entry.path && grave.value == entry.value && grave.hlc == entry.hlc
            try #require(isSame && grave.author == entry.author, "seed \(seed)")
            let killer = received.first { killer in
                killer.author == grave.killer.author && killer.hlc == grave.killer.hlc
                    && killer.author != entry.author && killer.path.contains(entry.path) && entry.stamp < killer.stamp
            }
            try #require(killer != nil, "seed \(seed)")
        }
        let ids = Set(graves.map(\.id))
        for entry in received where !ids.contains(entry.id) {
            let killers = received.filter { $0.path.contains(entry.path) && entry.stamp < $0.stamp }
            let isOwn = killers.isEmpty || killers.contains { $0.author == entry.author }
            try #require(isOwn, "\(entry.path) is missing, seed \(seed)")
        }
        guard store is DatabaseStore else { return }
        let memory: any NodeStore = MemoryStore()
        for bundle in given { _ = try memory.commit([bundle], heldAfter: farFuture) }
        let words = try memory.graves().map(\.words)
        try #require(words == graves.map(\.words), "seed \(seed)")
    }

    private mutating func check(_ stores: [any NodeStore]) throws {
        let all = groups.joined().sorted { $0.stamp < $1.stamp }
        let expected = Set(
            all.filter { entry in
                !all.contains { entry.stamp < $0.stamp && $0.path.contains(entry.path) }
            })
        var digest = BucketDigest.empty
        for entry in expected { digest.add(entry.id) }
        let replayed = Model.replay(all)
        let paths = [.root, randomPath(1), randomPath(1)]
        for store in stores {
            let live = try store.liveEntries()
            try #require(live.count == expected.count && Set(live) == expected, "live set, seed \(seed)")
            try #require(try store.digest(of: .root) == digest, "digest, seed \(seed)")
        }
        // Replicas with the same entries read the same, so one of them is read.
        let store = random.element(stores)
        for path in paths {
            let value = try TreeView(store).value(at: path)
            try #require(value == replayed.descendant(path.keys), "value at \(path), seed \(seed)")
        }
        for entry in expected {
            for above in expected where above != entry && above.path.contains(entry.path) {
                try #require(above.stamp < entry.stamp, "chain, seed \(seed)")
            }
        }
    }
}

/// Firebase's `set`, replayed naively; the one difference: null below a scalar removes the scalar.
private enum Model {
    static func replay(_ entries: [Entry]) -> Value {
        var tree: [String: Any] = [:]
        for entry in entries { set(&tree, entry.path.keys.map(\.text)[...], plain(entry.value)) }
        return value(tree)
    }

    private static func set(_ tree: inout [String: Any], _ path: ArraySlice<String>, _ new: Any?) {
        guard let key = path.first else { return }
        if path.count == 1 {
            tree[key] = new
            return
        }
        var child = tree[key] as? [String: Any] ?? [:]
        set(&child, path.dropFirst(), new)
        tree[key] = child.isEmpty ? nil : child
    }

    private static func plain(_ value: Value) -> Any? {
        switch value {
        case .null: nil
        case .object(let object):
            Dictionary(
                uniqueKeysWithValues: object.children.compactMap { child in
                    plain(child.value).map { (child.key.text, $0) }
                })
        default: value
        }
    }

    private static func value(_ any: Any) -> Value {
        guard let tree = any as? [String: Any] else { return any as? Value ?? .null }
        let object = ObjectValue(tree.compactMap { key, child in Key(key).map { ($0, value(child)) } })
        return object.isEmpty ? .null : .object(object)
    }
}
