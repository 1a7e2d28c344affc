internal import Seal
package import Store
internal import Tree

/// Two writers who do not wait for one another, somebody who writes what no node of ours would, and a reader. What they
/// write reaches each in an order and in batches of its own. Whatever has arrived, events add up to what is there, and
/// a place holds the same wherever it is read from; once everything has arrived, it is the same on all nodes.
package struct ConcurrentRun {
    private struct Observer {
        let query: Query
        var observation: Observation
        var replay = Replay()
    }

    private struct Replica {
        let store: any NodeStore
        var hlc = HLC(ms: 1_000_000)
        var observers: [Observer] = []
        var index = ObserverIndex()
        /// What has not arrived here.
        var waiting: [Bundle] = []

        var view: TreeView { TreeView(store) }
    }

    private static let sizeMax = 1 << 20
    private static let top = ["apps"]
    private static let keys = ["a", "b", "1"]
    private static let signers = (1...3).map { SigningKey(seed: Bytes32(repeating: UInt8($0))) }
    /// The signer who is no node.
    private static let stranger = 2

    private var random: SeededRandom
    private var replicas: [Replica]
    private var failure: String?
    private let isLogging: Bool
    private var log: [String] = []

    /// - `isLogging`: writing down what is done takes longer than doing it, so only a failure is played again with it.
    package init(seed: UInt64, reader: any NodeStore, isLogging: Bool) {
        random = SeededRandom(seed: seed)
        replicas = [MemoryStore(), MemoryStore(), reader].map { Replica(store: $0) }
        self.isLogging = isLogging
    }

    private mutating func note(_ words: @autoclosure () -> String) {
        if isLogging { log.append(words()) }
    }

    /// - Returns: the first difference with the operations that led to it, or nil.
    package mutating func run(steps: Int) throws -> String? {
        for step in 0..<steps {
            if step % 4 == 0 {
                for number in replicas.indices where replicas[number].observers.count < 4 { try observe(number) }
            }
            try write()
            for number in replicas.indices where chance(2) { try deliver(number, all: false) }
            if let failure { return describe(failure) }
        }
        for number in replicas.indices { try deliver(number, all: true) }
        try compareReplicas()
        return failure.map(describe)
    }

    private func describe(_ failure: String) -> String { "\(failure) after:\n" + log.joined(separator: "\n") }

    private mutating func fail(_ words: @autoclosure () -> String) {
        if failure == nil { failure = words() }
    }

    // MARK: Chance

    private mutating func below(_ n: Int) -> Int { Int.random(in: 0..<n, using: &random) }

    private mutating func chance(_ n: Int) -> Bool { below(n) == 0 }

    private mutating func pick<T>(_ list: [T]) -> T { list[below(list.count)] }

    private mutating func path(_ depths: ClosedRange<Int>) throws -> Path {
        let depth = depths.lowerBound + below(depths.count)
        let keys = (0..<depth).map { _ in pick(ConcurrentRun.keys) }
        return try Path(parsing: (ConcurrentRun.top + keys).joined(separator: "/"))
    }

    /// Mostly one of two, so that there is something to add to.
    private mutating func counter() throws -> Path {
        try chance(4) ? path(1...3) : Path(parsing: pick(["apps/a", "apps/b/a"]))
    }

    private mutating func scalar() -> Value {
        switch below(6) {
        case 0: .bool(chance(2))
        case 1: .string(pick(["", "a", "b"]))
        default: number()
        }
    }

    private mutating func number() -> Value {
        pick([.integer(Int64(below(4))), .double(0.5), .double(1e308), .integer(-1)])
    }

    private mutating func priority() -> Value {
        chance(3) ? .null : chance(2) ? .string("x") : .integer(Int64(below(3)))
    }

    private mutating func value(depth: Int = 0) -> Value {
        var value = Value.null
        if depth > 1 || chance(2) {
            value = scalar()
        } else {
            let pairs = (0...below(2)).compactMap { _ in
                Key(pick(ConcurrentRun.keys)).map { ($0, self.value(depth: depth + 1)) }
            }
            value = .object(ObjectValue(pairs))
        }
        if chance(6) { value.setPriority(priority()) }
        return value
    }

    private mutating func query() throws -> Query {
        var query = Query(order: pick([.key, .value, .priority, .child(try Path(parsing: pick(ConcurrentRun.keys)))]))
        if chance(3), query.order != .key { query.start = Query.Bound(scalar(), isInclusive: chance(2)) }
        if chance(2) { query.limit = chance(2) ? .first(1 + below(2)) : .last(1 + below(2)) }
        return query
    }

    // MARK: Writes

    /// A write of a node that knows what has arrived there, or one that nobody who knows the tree would make.
    private mutating func write() throws {
        let signer = below(ConcurrentRun.signers.count)
        let key = ConcurrentRun.signers[signer]
        guard signer != ConcurrentRun.stranger else {
            let bundle = Bundle(signing: [try strange(key.publicKey)], by: key, workspace: .zero)
            for number in replicas.indices { replicas[number].waiting.append(bundle) }
            return
        }
        var mutations: [Mutation] = []
        for _ in 0...(chance(4) ? 1 : 0) {
            let isAddition = chance(4)
            let path = try isAddition ? counter() : path(1...3)
            guard !mutations.contains(where: { $0.path.contains(path) || path.contains($0.path) }) else { continue }
            switch isAddition ? 5 : below(5) {
            case 0: mutations.append(.set(path, .null))
            case 1: mutations.append(.setPriority(path, priority()))
            case 5: mutations.append(.add(path, number()))
            default: mutations.append(.set(path, value()))
            }
        }
        var hlc = replicas[signer].hlc
        let entries = try replicas[signer].view.entries(of: mutations, by: key.publicKey) {
            hlc = hlc.next
            return hlc
        }
        replicas[signer].hlc = hlc
        guard !entries.isEmpty else { return }
        note("writer \(signer): \(entries.map(\.short).joined(separator: ", "))")
        let bundle = Bundle(signing: entries, by: key, workspace: .zero)
        for number in replicas.indices where number != signer { replicas[number].waiting.append(bundle) }
        try arrive([bundle], at: signer)
    }

    /// Entries that are allowed and senseless: of unknown kinds, priorities of nothing, additions to objects, removals
    /// of nothing, at any time.
    private mutating func strange(_ author: Bytes32) throws -> Entry {
        let hlc = HLC(ms: 1_000_000, counter: UInt64(20 + below(12)))
        var place = try path(1...4)
        var content = number()
        var kind = Entry.set
        switch below(4) {
        case 0: kind = 7
        case 1:
            place = place.appending(.priority) ?? place
            content = priority()
            if chance(6) { kind = 7 }
        case 2:
            place = try counter()
            place = place.appending(.addition(AutoID(hlc: hlc, author: author))) ?? place
            if chance(6) { kind = 7 }
        default: content = .null
        }
        let entry = try Entry(path: place, hlc: hlc, author: author, value: content, kind: kind)
        note("stranger: \(entry.short)")
        return entry
    }

    // MARK: Arrival

    private mutating func deliver(_ number: Int, all: Bool) throws {
        while !replicas[number].waiting.isEmpty {
            replicas[number].waiting.shuffle(using: &random)
            let bundles = Array(replicas[number].waiting.suffix(1 + below(4)))
            replicas[number].waiting.removeLast(bundles.count)
            note("at \(number) arrives \(bundles.flatMap(\.leaves).map(\.entry.short).joined(separator: ", "))")
            try arrive(bundles, at: number)
            if chance(8) { _ = try replicas[number].store.sweep(limit: 1000) }
            if !all { break }
        }
    }

    private mutating func arrive(_ bundles: [Bundle], at number: Int) throws {
        let result = try replicas[number].store.commit(bundles, heldAfter: HLC(ms: HLC.msMax))
        let changed = result.applied.map(\.path)
        let writes = chance(2) ? [changed] : changed.map { [$0] }
        for entry in result.applied { replicas[number].hlc = max(replicas[number].hlc, entry.hlc) }
        let view = replicas[number].view
        for place in replicas[number].index.observers(of: changed) {
            let before = replicas[number].observers[place].replay.value
            let changes = try replicas[number].observers[place].observation.changes(writes: writes, view)
            for change in changes { replicas[number].observers[place].replay.apply(change) }
            let events = Array(changes.joined())
            if changes.count == 1, !events.isEmpty, replicas[number].observers[place].replay.value == before {
                fail("at \(number) events \(events) without a change")
            }
        }
        try compare(number)
    }

    private mutating func observe(_ number: Int) throws {
        let (path, query) = (try path(0...2), try query())
        note("at \(number) is observed \(path) by \(query)")
        var observer = Observer(query: query, observation: ConcurrentRun.observation(path, query))
        observer.replay.apply(try observer.observation.start(replicas[number].view))
        replicas[number].index.insert(replicas[number].observers.count, at: path)
        replicas[number].observers.append(observer)
    }

    private static func observation(_ path: Path, _ query: Query) -> Observation {
        Observation(path: path, query: query, kinds: Set(TreeEvent.Kind.allCases), sizeMax: sizeMax)
    }

    // MARK: Comparing

    private mutating func compare(_ number: Int) throws {
        let view = replicas[number].view
        for observer in replicas[number].observers {
            var fresh = ConcurrentRun.observation(observer.observation.path, observer.query)
            var expected = Replay()
            expected.apply(try fresh.start(view))
            if let nonsense = observer.replay.nonsense { fail("at \(number): \(nonsense)") }
            if observer.replay.children != expected.children || observer.replay.value != expected.value {
                let (told, found) = (observer.replay.value?.short ?? "-", expected.value?.short ?? "-")
                fail("at \(number), \(observer.observation.path) by \(observer.query): told \(told), found \(found)")
            }
        }
        // Read at the top, at the place and from its parent.
        let path = try path(1...4)
        let expected = try view.value(at: path.prefix(1)).descendant(path.keys.dropFirst())
        let value = try view.value(at: path)
        if value != expected { fail("at \(number), \(path) is \(value.short), from above \(expected.short)") }
        if let key = path.last, case let child = try view.child(key, of: path.parent), child != expected {
            fail("at \(number), \(path) is \(expected.short), as a child \(child.short)")
        }
        let children = try view.window(of: path, .all, sizeMax: ConcurrentRun.sizeMax).children
        if children != expected.object?.children.filter({ !$0.key.isEngine }) ?? [] {
            fail("at \(number), \(path) is \(expected.short), its children \(children.map(\.value.short))")
        }
        if try view.isAbsent(at: path) != expected.isNull { fail("at \(number), \(path) is absent and is not") }
        let priority = try expected.isNull ? .null : view.priority(at: path)
        if priority != expected.priority { fail("at \(number), \(path) is \(expected.short), not \(priority.short)") }
    }

    private mutating func compareReplicas() throws {
        let queries = try (0..<4).map { _ in (try path(0...2), try query()) }
        let first = replicas[0].view
        for number in replicas.indices.dropFirst() {
            let view = replicas[number].view
            let place = try path(0...0)
            let (a, b) = (try first.value(at: place), try view.value(at: place))
            if a != b { fail("at 0 is \(a.short), at \(number) \(b.short)") }
            for (path, query) in queries {
                let a = try first.window(of: path, query, sizeMax: ConcurrentRun.sizeMax)
                let b = try view.window(of: path, query, sizeMax: ConcurrentRun.sizeMax)
                if a != b { fail("\(query) of \(path) differs at 0 and \(number)") }
            }
        }
    }
}

extension Entry {
    fileprivate var short: String {
        "\(path)@\(hlc.ms - 1_000_000).\(hlc.counter) \(kind == Entry.set ? value.short : "kind \(kind)")"
    }
}
