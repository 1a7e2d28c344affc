import Seal
import Testing
import Tree

/// Live entries by path: what a path holds is replaced, what lies below it dies.
private final class Entries: EntryReader {
    private var entries: [(key: PathKey, entry: Entry)] = []
    private var ms: UInt64 = 1 << 40

    func write(_ path: Path, _ value: Value) throws {
        ms += 1
        let entry = try Entry(path: path, hlc: HLC(ms: ms), author: Bytes32(repeating: 1), value: value)
        entries.removeAll { path.contains($0.entry.path) }
        entries.append((PathKey(path), entry))
        entries.sort { $0.key < $1.key }
    }

    func entry(at path: PathKey) -> Entry? { entries.first { $0.key == path }?.entry }

    func scan(from lower: PathKey, to upper: PathKey, descending: Bool, _ body: (Entry) throws -> Bool) rethrows {
        let range = entries.filter { !($0.key < lower) && $0.key < upper }
        for item in descending ? range.reversed() : range where try !body(item.entry) { return }
    }

    func scanPriorities(from lower: PathKey, to upper: PathKey, _ body: (Entry) throws -> Bool) rethrows {
        try scan(from: lower, to: upper, descending: false) { $0.path.last == .priority ? try body($0) : true }
    }
}

/// What observers are told, held against what changed between two readings.
@Suite struct ObservationTests {
    private static let queries: [Query] = {
        var queries: [Query] = [.all]
        let (b, f) = (Query.Bound(.string("b"), isInclusive: true), Query.Bound(.string("f"), isInclusive: false))
        var orders: [Query.Order] = [.key, .value]
        if let path = try? Path(parsing: "n") { orders.append(.child(path)) }
        for order in orders {
            for limit in [nil, .first(1), .first(3), .last(1), .last(3)] as [Query.Limit?] {
                queries.append(Query(order: order, limit: limit))
                if order == .key { queries.append(Query(order: order, limit: limit, start: b, end: f)) }
            }
        }
        return queries
    }()

    private struct Reading {
        var children: [(key: Key, value: Value)] = []
        var value: Value = .null

        init(_ view: TreeView, _ path: Path, _ query: Query) throws {
            children = try view.window(of: path, query, sizeMax: .max).children.map { ($0.key, $0.value) }
            value = .object(ObjectValue(children))
            guard children.isEmpty else { return }
            value = .null
            // A query chooses among children; a scalar has none.
            guard query.isWhole else { return }
            let whole = try view.value(at: path)
            value = whole.object == nil ? whole : .null
        }
    }

    /// Firebase's events, in their order, from the two readings alone.
    private func expected(_ before: Reading, _ after: Reading, _ query: Query) -> [TreeEvent] {
        // By a path all objects are equal.
        func differ(_ a: Value, _ b: Value) -> Bool { a != b && (a.object == nil || b.object == nil) }
        func moves(_ a: Value, _ b: Value) -> Bool {
            switch query.order {
            case .key, .priority: false
            case .value: a != b
            case .child(let path): differ(a.descendant(path.keys), b.descendant(path.keys))
            }
        }
        func event(_ kind: TreeEvent.Kind, _ index: Int) -> TreeEvent {
            TreeEvent(
                kind: kind, key: after.children[index].key, value: after.children[index].value,
                previous: index > 0 ? after.children[index - 1].key : nil)
        }
        var events = before.children.filter { old in !after.children.contains { $0.key == old.key } }.map {
            TreeEvent(kind: .childRemoved, key: $0.key, value: $0.value, previous: nil)
        }
        let old = after.children.map { new in before.children.first { $0.key == new.key }?.value }
        for (index, old) in old.enumerated() where old == nil { events.append(event(.childAdded, index)) }
        for (index, old) in old.enumerated() {
            if let old, moves(old, after.children[index].value) { events.append(event(.childMoved, index)) }
        }
        for (index, old) in old.enumerated() {
            if let old, old != after.children[index].value { events.append(event(.childChanged, index)) }
        }
        if !events.isEmpty || before.value != after.value {
            events.append(TreeEvent(kind: .value, key: nil, value: after.value, previous: nil))
        }
        return events
    }

    private func randomValue(_ random: inout SeededRandom) throws -> Value {
        let number = Value.integer(Int64(random.below(4)))
        switch random.below(5) {
        case 0, 1: return .null
        case 2: return number
        default: return try .object(ObjectValue([(#require(Key("n")), number), (#require(Key("m")), .bool(true))]))
        }
    }

    @Test func eventsAreWhatChanged() throws {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededRandom(seed: seed)
        let path = try Path(parsing: "apps/x")
        for query in Self.queries {
            let entries = Entries()
            let view = TreeView(entries)
            var observation = Observation(
                path: path, query: query, kinds: Set(TreeEvent.Kind.allCases), sizeMax: 1 << 20)
            _ = try observation.start(view)
            for step in 0..<60 {
                let before = try Reading(view, path, query)
                var written: [Path] = []
                for _ in 0...random.below(2) {
                    let place = random.element(
                        ["apps/x/a", "apps/x/b", "apps/x/c", "apps/x/d", "apps/x/e", "apps/x/f", "apps/x/7"]
                            + ["apps/x/c/n", "apps/x/e/n/deeper", "apps/x/a/m", "apps/x", "apps", "apps/other"])
                    // The whole is written seldom, or there would never be a window.
                    if place.count < 8, random.below(4) > 0 { continue }
                    written.append(try Path(parsing: place))
                    try entries.write(Path(parsing: place), randomValue(&random))
                }
                let events = try observation.apply(written, view)
                let wanted = expected(before, try Reading(view, path, query), query)
                #expect(events == wanted, "seed \(seed), \(query), step \(step), \(written)")
                guard events == wanted else { return }
            }
        }
    }

    /// What changes inside of an object that children are ordered by moves none of them.
    @Test func objectsAreEqualInAnOrder() throws {
        let entries = Entries()
        let (path, place) = (try Path(parsing: "apps/x"), try Path(parsing: "apps/x/a/n/deeper"))
        try entries.write(place, .integer(1))
        var observation = Observation(
            path: path, query: Query(order: .child(try Path(parsing: "n"))),
            kinds: [.childMoved, .childChanged], sizeMax: 1 << 20)
        _ = try observation.start(TreeView(entries))
        try entries.write(place, .integer(2))
        #expect(try observation.apply([place], TreeView(entries)).map(\.kind) == [.childChanged])
        try entries.write(try Path(parsing: "apps/x/a/n"), .integer(2))
        let events = try observation.apply([try Path(parsing: "apps/x/a/n")], TreeView(entries))
        #expect(events.map(\.kind) == [.childMoved, .childChanged])
    }

    /// Where the whole is replaced and more is written behind it, no child of before is seen beside one of after.
    @Test func aReplacedWholeIsOneStep() throws {
        let entries = Entries()
        let (path, late) = (try Path(parsing: "apps/x"), try Path(parsing: "apps/x/y"))
        for name in ["a", "b"] { try entries.write(try Path(parsing: "apps/x/" + name), .integer(1)) }
        var observation = Observation(
            path: path, query: Query(limit: .last(2)), kinds: Set(TreeEvent.Kind.allCases), sizeMax: 1 << 20)
        _ = try observation.start(TreeView(entries))
        try entries.write(path, .object(ObjectValue([(try #require(Key("x")), .integer(2))])))
        try entries.write(late, .integer(3))
        let events = try observation.apply(writes: [[path], [late]], TreeView(entries))
        let told = events.map { "\($0.kind.rawValue) \($0.key?.text ?? "") \($0.previous?.text ?? "")" }
        #expect(
            told == [
                "child_removed a ", "child_removed b ", "child_added x ", "child_added y x", "value  ",
            ])
    }

    /// A window that grows beyond its bound ends the observation, whichever way a child comes in.
    @Test func aWindowHasABound() throws {
        let entries = Entries()
        let path = try Path(parsing: "apps/x")
        var observation = Observation(path: path, query: .all, kinds: [.childAdded], sizeMax: 100)
        _ = try observation.start(TreeView(entries))
        let text = Value.string(String(repeating: "x", count: 40))
        for (name, fits) in [("a", true), ("b", true), ("c", false)] {
            let child = try Path(parsing: "apps/x/" + name)
            try entries.write(child, text)
            if fits {
                #expect(try observation.apply([child], TreeView(entries)).count == 1)
            } else {
                #expect(throws: ReadError.tooLarge) { try observation.apply([child], TreeView(entries)) }
            }
        }
    }
}
