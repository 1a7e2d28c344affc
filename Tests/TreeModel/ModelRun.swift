internal import Seal
package import Store
package import Tree

/// SplitMix64 (Steele, Lea and Flood, 2014): the same numbers for the same seed.
package struct SeededRandom: RandomNumberGenerator {
    private var state: UInt64

    package init(seed: UInt64) { state = seed }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}

/// Random writes on one node, delivered to another in pieces; what its observers are told is put together again and
/// held against a naive model.
package struct ModelRun {
    private struct Observer {
        let path: [String]
        let query: NaiveQuery
        var observation: Observation
        var replay = Replay()
    }

    private static let sizeMax = 1 << 20
    private static let keys = ["a", "b", "c", "1", "2", "10", "\u{FB01}", "\u{1F600}"]
    private static let key = SigningKey(seed: Bytes32(repeating: 7))

    private var random: SeededRandom
    private let writer: any NodeStore = MemoryStore()
    private let reader: any NodeStore
    private var model = NaiveTree()
    private var hlc = HLC(ms: 1_000_000)
    private var observers: [Observer] = []
    private var index = ObserverIndex()
    package private(set) var failure: String?
    private let isLogging: Bool
    private var log: [String] = []

    /// - `isLogging`: writing down what is done takes longer than doing it, so only a failure is played again with it.
    package init(seed: UInt64, reader: any NodeStore, isLogging: Bool) {
        random = SeededRandom(seed: seed)
        self.reader = reader
        self.isLogging = isLogging
    }

    private mutating func note(_ words: @autoclosure () -> String) {
        if isLogging { log.append(words()) }
    }

    /// - Returns: the first difference with the operations that led to it, or nil.
    package mutating func run(steps: Int) throws -> String? {
        for step in 0..<steps {
            if step % 4 == 0, observers.count < 4 { try observe() }
            var bundles: [Bundle] = []
            for _ in 0..<(chance(5) ? Int.random(in: 2...4, using: &random) : 1) {
                if let bundle = try write() { bundles.append(bundle) }
            }
            try deliver(bundles)
            try compare()
            if let failure { return "\(failure) after:\n" + log.joined(separator: "\n") }
        }
        return nil
    }

    private mutating func chance(_ n: Int) -> Bool { Int.random(in: 0..<n, using: &random) == 0 }

    private mutating func pick<T>(_ list: [T]) -> T { list[Int.random(in: 0..<list.count, using: &random)] }

    private mutating func path(_ depths: ClosedRange<Int>) -> [String] {
        let depth = Int.random(in: depths, using: &random)
        return (0..<depth).map { _ in pick(chance(3) ? ModelRun.keys : ["a", "b", "1"]) }
    }

    private static func place(_ keys: [String]) throws -> Path {
        try Path(parsing: (["apps"] + keys).joined(separator: "/"))
    }

    // MARK: Writes

    private mutating func scalar() -> OracleJSON {
        switch Int.random(in: 0..<8, using: &random) {
        case 0: .bool(chance(2))
        case 1: .string(pick(ModelRun.keys))
        case 2: .string("")
        case 3: .number(pick([0.5, -1, 9_007_199_254_740_992, 1e308, -0.0]))
        default: .number(Double(Int.random(in: 0...4, using: &random)))
        }
    }

    private mutating func priority() -> OracleJSON {
        chance(3) ? .string(pick(["x", "y"])) : .number(Double(Int.random(in: 0...2, using: &random)))
    }

    private mutating func value(depth: Int = 0) -> OracleJSON {
        if depth > 2 || chance(2) {
            let value = scalar()
            return chance(6) ? value.withPriority(priority()) : value
        }
        var members: [String: OracleJSON] = [:]
        for _ in 0..<Int.random(in: 1...3, using: &random) { members[pick(ModelRun.keys)] = value(depth: depth + 1) }
        if chance(6) { members[".priority"] = priority() }
        return .object(members)
    }

    /// One operation on the writing node and in the model; nil if it changes nothing.
    private mutating func write() throws -> Bundle? {
        var mutations: [Mutation] = []
        let target = path(1...4)
        switch Int.random(in: 0..<10, using: &random) {
        case 0, 1: mutations = [try set(target, .null)]
        case 2: mutations = [try setPriority(target)]
        case 3: mutations = [try add(target)]
        case 4, 5:
            var paths: [[String]] = []
            for _ in 0..<3 {
                let next = target.dropLast() + path(1...2)
                if !paths.contains(where: { $0.starts(with: next) || next.starts(with: $0) }) {
                    paths.append(Array(next))
                }
            }
            // All at once: what is removed beside what is added leaves nothing empty.
            let writes = paths.map { ($0, chance(4) ? .null : value()) }
            mutations = try writes.filter { !$0.1.isNull }.map { try set($0.0, $0.1) }
            mutations += try writes.filter { $0.1.isNull }.map { try set($0.0, $0.1) }
        default: mutations = [try set(target, value())]
        }
        let entries = try TreeView(writer).entries(of: mutations, by: ModelRun.key.publicKey) {
            hlc = hlc.next
            return hlc
        }
        guard !entries.isEmpty else { return nil }
        let bundle = Bundle(signing: entries, by: ModelRun.key, workspace: .zero)
        _ = try writer.commit([bundle], heldAfter: HLC(ms: HLC.msMax))
        return bundle
    }

    private mutating func set(_ path: [String], _ value: OracleJSON) throws -> Mutation {
        note("set \(path.joined(separator: "/")) \(value.exported().short)")
        model.set(path, value)
        return .set(try ModelRun.place(path), value.exported())
    }

    private mutating func setPriority(_ path: [String]) throws -> Mutation {
        let priority = chance(4) ? .null : priority()
        note("setPriority \(path.joined(separator: "/")) \(priority.exported().short)")
        model.setPriority(path, priority)
        return .setPriority(try ModelRun.place(path), priority.exported())
    }

    private mutating func add(_ path: [String]) throws -> Mutation {
        let amount = Double(Int.random(in: -3...3, using: &random))
        note("add \(path.joined(separator: "/")) \(amount)")
        let before = model[path]
        if case .number(let number) = before.scalar {
            model.set(path, .number(number + amount))
        } else {
            model.set(path, .number(amount))
        }
        return .add(try ModelRun.place(path), OracleJSON.number(amount).exported())
    }

    // MARK: Observers

    private mutating func bound() -> NaiveQuery.Bound {
        NaiveQuery.Bound(
            value: chance(5) ? .null : scalar(), key: chance(3) ? pick(ModelRun.keys) : nil, isInclusive: chance(2))
    }

    private mutating func query() -> NaiveQuery {
        var query = NaiveQuery()
        switch Int.random(in: 0..<6, using: &random) {
        case 0: query.order = .key
        case 1: query.order = .value
        case 2: query.order = .child(path(1...2))
        default: query.order = .priority
        }
        if chance(3) {
            if case .key = query.order {
                query.start = NaiveQuery.Bound(value: .string(pick(ModelRun.keys)), key: nil, isInclusive: chance(2))
            } else {
                query.start = bound()
            }
        }
        if chance(4) {
            if case .key = query.order {
                query.end = NaiveQuery.Bound(value: .string(pick(ModelRun.keys)), key: nil, isInclusive: chance(2))
            } else {
                query.end = bound()
            }
        }
        switch Int.random(in: 0..<4, using: &random) {
        case 0: query.first = Int.random(in: 1...3, using: &random)
        case 1: query.last = Int.random(in: 1...3, using: &random)
        default: break
        }
        return query
    }

    private mutating func observe() throws {
        let path = path(0...3)
        let query = query()
        note("observe \(path.joined(separator: "/")) \(query)")
        var observation = Observation(
            path: try ModelRun.place(path), query: try query.query(), kinds: Set(TreeEvent.Kind.allCases),
            sizeMax: ModelRun.sizeMax)
        let events = try observation.start(TreeView(reader))
        var observer = Observer(path: path, query: query, observation: observation)
        observer.replay.apply(events)
        index.insert(observers.count, at: observation.path)
        observers.append(observer)
    }

    private mutating func deliver(_ bundles: [Bundle]) throws {
        let result = try reader.commit(bundles, heldAfter: HLC(ms: HLC.msMax))
        let changed = result.applied.map(\.path)
        for number in index.observers(of: changed) {
            let before = observers[number].replay
            let events = try observers[number].observation.apply(changed, TreeView(reader))
            observers[number].replay.apply(events)
            let after = observers[number].replay
            if !events.isEmpty, after.value == before.value { failure = "events \(events) without a change" }
        }
    }

    private mutating func compare() throws {
        for (number, observer) in observers.enumerated() {
            let node = model[observer.path]
            let expected = ModelRun.window(observer.query, node)
            let told = observer.replay.children
            let value = observer.query.value(of: node).exported()
            if let nonsense = observer.replay.nonsense { failure = "observer \(number): \(nonsense)" }
            if told != expected {
                failure = "observer \(number) was told \(told.short), the model has \(expected.short)"
            }
            if observer.replay.value != value {
                failure = "observer \(number) has \(observer.replay.value?.short ?? "-"), the model \(value.short)"
            }
        }
        let path = path(0...3)
        let value = try TreeView(reader).value(at: ModelRun.place(path))
        if value != model[path].exported() {
            failure = "\(path) is \(value.short), in the model \(model[path].exported().short)"
        }
        let query = query()
        let window = try TreeView(reader).window(of: ModelRun.place(path), query.query(), sizeMax: ModelRun.sizeMax)
        let expected = ModelRun.window(query, model[path])
        if window.children != expected {
            failure = "\(query) of \(path) finds \(window.children.short), in the model \(expected.short)"
        }
    }

    private static func window(_ query: NaiveQuery, _ node: OracleJSON) -> [QueryWindow.Child] {
        query.children(of: node).compactMap { key, value in
            Key(key).map { QueryWindow.Child(key: $0, value: value.exported()) }
        }
    }
}

extension [QueryWindow.Child] {
    fileprivate var short: String { map { "\($0.key.text): \($0.value.short)" }.joined(separator: ", ") }
}

extension NaiveQuery {
    package func query() throws -> Query {
        var query = Query()
        switch order {
        case .key: query.order = .key
        case .value: query.order = .value
        case .priority: query.order = .priority
        case .child(let path): query.order = .child(try Path(parsing: path.joined(separator: "/")))
        }
        func bound(_ bound: Bound?) -> Query.Bound? {
            bound.map { Query.Bound($0.value.exported(), key: $0.key.flatMap { Key($0) }, isInclusive: $0.isInclusive) }
        }
        query.start = bound(start)
        query.end = bound(end)
        if let first { query.limit = .first(first) }
        if let last { query.limit = .last(last) }
        return query
    }
}
