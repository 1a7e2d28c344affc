import Seal
import Testing
@testable import Tree

/// Entries that know how often they were asked.
private final class CountingReader: EntryReader {
    private var all: [Entry]
    private var entries: ArrayReader
    var readCount = 0

    init(_ entries: [Entry]) {
        all = entries
        self.entries = ArrayReader(entries)
    }

    func insert(_ entry: Entry) {
        all.removeAll { $0.path == entry.path }
        all.append(entry)
        entries = ArrayReader(all)
    }

    func entry(at path: PathKey) -> Entry? {
        readCount += 1
        return entries.entry(at: path)
    }

    func scan(from lower: PathKey, to upper: PathKey, descending: Bool, _ body: (Entry) throws -> Bool) throws {
        try entries.scan(from: lower, to: upper, descending: descending) { entry in
            readCount += 1
            return try body(entry)
        }
    }

    func scanPriorities(from lower: PathKey, to upper: PathKey, _ body: (Entry) throws -> Bool) throws {
        try entries.scanPriorities(from: lower, to: upper, body)
    }
}

/// What a write becomes as entries.
@Suite struct MutationTests {
    private let author = Bytes32(repeating: 1)

    private func entries(_ reader: some EntryReader, _ mutations: [Mutation]) throws -> [Entry] {
        var hlc = HLC(ms: 1 << 41)
        return try TreeView(reader).entries(of: mutations, by: author) {
            hlc = hlc.next
            return hlc
        }
    }

    private func addition(_ path: Path, _ ms: UInt64, id: UInt64? = nil, _ value: Value = .integer(1)) throws -> Entry {
        let place = try #require(path.appending(.addition(AutoID(hlc: HLC(ms: id ?? ms), author: author))))
        return try Entry(path: place, hlc: HLC(ms: ms), author: author, value: value)
    }

    /// Whether a node is there to get a priority is decided by what the same update leaves of it.
    @Test func aPrioritySeesTheValuesOfItsUpdate() throws {
        let (node, x, y) = (try Path(parsing: "demo/p"), try Path(parsing: "demo/p/x"), try Path(parsing: "demo/p/y"))
        let place = try #require(node.appending(.priority))
        func paths(_ reader: some EntryReader, _ mutations: [Mutation]) throws -> [Path] {
            try entries(reader, mutations).map(\.path)
        }
        let (one, empty) = (Value.integer(1), ArrayReader([]))
        #expect(try paths(empty, [.setPriority(node, one), .set(y, one)]) == [y, place])
        #expect(try paths(empty, [.setPriority(node, one), .add(y, one)]).last == place)
        #expect(try paths(empty, [.setPriority(node, one), .set(y, .null)]).isEmpty)
        let there = ArrayReader([try Entry(path: x, hlc: HLC(ms: 1 << 40), author: author, value: one)])
        #expect(try paths(there, [.setPriority(node, one), .set(x, .null)]) == [x])
        #expect(try paths(there, [.setPriority(node, one), .set(x, .null), .set(y, one)]).last == place)
        #expect(try paths(there, [.setPriority(node, one)]) == [place])
        // What ends with the node is ended once.
        let ranked = ArrayReader([
            try Entry(path: place, hlc: HLC(ms: 1 << 40), author: author, value: one),
            try Entry(path: x, hlc: HLC(ms: 1 << 40), author: author, value: one),
        ])
        let ended = try entries(ranked, [.setPriority(node, .integer(2)), .set(x, .null)])
        #expect(ended.map(\.path) == [x, place] && ended.last?.value == .null)
    }

    /// A counter to which much was added takes one more, and nobody reads what was added before.
    @Test func anAdditionToMany() throws {
        let path = try Path(parsing: "apps/n")
        let reader = CountingReader(try (0..<5000).map { try addition(path, 1000 + $0) })
        let added = try entries(reader, [.add(path, .integer(1))])
        #expect(added.map(\.path.parent) == [path])
        #expect(reader.readCount < 20)
    }

    /// Nor does who observes it, at the number or above it. What does not come last, and what its author replaces, is
    /// not mistaken for more.
    @Test(arguments: ["apps/n", "apps", ""]) func observersOfACounter(_ place: String) throws {
        let path = try Path(parsing: "apps/n")
        let observed = try Path(parsing: place)
        let reader = CountingReader(try (0..<1000).map { try addition(path, 1000 + $0) })
        var observation = Observation(path: observed, query: .all, kinds: [.value], sizeMax: 1 << 20)
        _ = try observation.start(TreeView(reader))
        func told(_ entries: [Entry]) throws -> Value? {
            entries.forEach(reader.insert)
            reader.readCount = 0
            return try observation.apply(entries.map(\.path), TreeView(reader)).last?.value
                .descendant(path.keys[observed.depth...])
        }
        #expect(try told([addition(path, 5000)]) == .integer(1001))
        #expect(try told([addition(path, 5001)]) == .integer(1002))
        #expect(reader.readCount < 40)
        #expect(try told([addition(path, 5003), addition(path, 5002)]) == .integer(1004))
        #expect(reader.readCount < 40)
        #expect(try told([addition(path, 5004, id: 900)]) == .integer(1005))
        #expect(try told([addition(path, 5005, id: 5003, .integer(9))]) == .integer(1013))
        #expect(try told([addition(path, 5006), addition(path, 5005)]) == .integer(1015))
        #expect(try told([testEntry("apps/n/below", .null, ms: 6000)]) == .null)
        #expect(try told([addition(path, 7000)]) == .integer(1))
    }

    /// Of what has children it makes a number, as Firebase does.
    @Test func anAdditionToAnObject() throws {
        let path = try Path(parsing: "apps/n")
        let object = try ArrayReader([testEntry("apps/n/x")])
        #expect(try entries(object, [.add(path, .integer(1))]).map(\.path) == [path])
        let emptied = try ArrayReader([testEntry("apps/n/x", .null)])
        #expect(try entries(emptied, [.add(path, .integer(1))]).map(\.path.parent) == [path])
    }

    /// Many removals side by side below a node with a priority: what becomes of it is found out once.
    @Test func manyRemovalsBelowAPriority() throws {
        let paths = try (0..<200).map { try Path(parsing: "apps/n/\($0)") }
        let place = try #require(Path(parsing: "apps/n").appending(.priority))
        func reader(_ more: [Entry]) throws -> CountingReader {
            CountingReader(
                try paths.map { try testEntry("\($0)", ms: 10) } + more
                    + [Entry(path: place, hlc: HLC(ms: 20), author: author, value: .integer(1))])
        }
        let some = try reader([testEntry("apps/n/stays", ms: 10)])
        #expect(try entries(some, paths.map { .set($0, .null) }).count == 200)
        #expect(some.readCount < 2000)
        let all = try entries(reader([]), paths.map { .set($0, .null) })
        #expect(all.count == 201)
        #expect(all.last?.path == place)
    }
}
