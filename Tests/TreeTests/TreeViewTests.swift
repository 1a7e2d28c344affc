import Seal
import Testing
import Tree

/// Entries in an array: the simplest reader there is.
struct ArrayReader: EntryReader {
    private let entries: [(key: PathKey, entry: Entry)]

    init(_ entries: [Entry]) {
        self.entries = entries.map { (PathKey($0.path), $0) }.sorted { $0.0 < $1.0 }
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

/// JSON out of live entries.
@Suite struct TreeViewTests {
    private func object(_ pairs: (String, Value)...) -> Value {
        .object(ObjectValue(pairs.compactMap { name, value in Key(name).map { ($0, value) } }))
    }

    private func view(_ entries: Entry...) -> TreeView { TreeView(ArrayReader(entries)) }

    private func value(_ view: TreeView, _ path: String) throws -> Value { try view.value(at: Path(parsing: path)) }

    private func keys(
        _ view: TreeView, _ path: String, from lower: String? = nil, through upper: String? = nil,
        descending: Bool = false,
        limit: Int = .max
    ) throws -> [String] {
        var keys: [String] = []
        let (lower, upper) = (lower.flatMap { Key($0) }, upper.flatMap { Key($0) })
        try view.children(of: Path(parsing: path), from: lower, through: upper, descending: descending) { key, value in
            #expect(!value.isNull)
            keys.append(key.text)
            return keys.count < limit
        }
        return keys
    }

    @Test func theNearestEntryAboveDecides() throws {
        let view = try view(
            testEntry("a", object(("b", object(("c", .integer(1)))), ("x", .integer(2))), ms: 10),
            testEntry("a/b/d", .integer(3), ms: 20))
        #expect(try value(view, "a/b/c") == .integer(1))
        #expect(try value(view, "a/b") == object(("c", .integer(1)), ("d", .integer(3))))
        #expect(try value(view, "a/x/y") == .null)
        #expect(
            try value(view, "")
                == object(("a", object(("b", object(("c", .integer(1)), ("d", .integer(3)))), ("x", .integer(2))))))
        #expect(try value(view, "z") == .null)
        #expect(try view.child(#require(Key("x")), of: Path(parsing: "a")) == .integer(2))
    }

    /// `b` has no entry of its own: the elder `a` beside it says nothing about what stands below `b`.
    @Test func aSiblingIsNoAncestor() throws {
        let view = try view(testEntry("a", .integer(1), ms: 90), testEntry("b/c", .integer(2), ms: 10))
        #expect(try value(view, "") == object(("a", .integer(1)), ("b", object(("c", .integer(2))))))
        let deeper = try self.view(
            testEntry("p", object(("x", .integer(0))), ms: 1), testEntry("p/a/q", .integer(1), ms: 90),
            testEntry("p/b/c/d", .integer(2), ms: 10))
        #expect(try value(deeper, "p/b") == object(("c", object(("d", .integer(2))))))
        #expect(try value(deeper, "p")["b"]["c"]["d"] == .integer(2))
    }

    @Test func whatAnAncestorHasKilledIsSkipped() throws {
        let view = try view(
            testEntry("a", object(("k", .integer(1))), ms: 50), testEntry("a/dead", .integer(2), ms: 40),
            testEntry("a/dead/deeper", .integer(2), ms: 45), testEntry("a/live", .integer(3), ms: 60))
        #expect(try value(view, "a") == object(("k", .integer(1)), ("live", .integer(3))))
        #expect(try value(view, "a/dead") == .null)
        #expect(try value(view, "a/dead/deeper") == .null)
        #expect(try keys(view, "a") == ["k", "live"])
    }

    @Test func tombstonesAndScalars() throws {
        let view = try view(
            testEntry("a", object(("x", .integer(1)), ("y", .integer(2))), ms: 10), testEntry("a/x", .null, ms: 20),
            testEntry("s", .integer(1), ms: 10), testEntry("s/below", .integer(2), ms: 20),
            testEntry("t", .integer(1), ms: 10), testEntry("t/below", .null, ms: 20))
        #expect(try value(view, "a") == object(("y", .integer(2))))
        #expect(try value(view, "s") == object(("below", .integer(2))))
        #expect(try value(view, "t") == .null)
        #expect(try keys(view, "") == ["a", "s"])
    }

    /// Concurrent writes can leave an addition where children stand, or a tombstone below a sum: whatever is read of
    /// them, alone or as part of what is above, is the same.
    @Test func sumsBesideChildren() throws {
        func addition(_ path: String, _ ms: UInt64) throws -> Entry { try self.addition(path, ms, .integer(1)) }
        let one = object(("x", .integer(1)))
        let cases: [([Entry], Value)] = try [
            ([testEntry("a", object(("p", one)), ms: 1), addition("a/p", 2)], one),
            ([testEntry("a/p/x", .integer(1), ms: 1), addition("a/p", 2)], one),
            ([addition("a/p", 1), testEntry("a/p/x", .integer(1), ms: 2)], one),
            ([testEntry("a", object(("p", .integer(5))), ms: 1), addition("a/p", 2)], .integer(6)),
            ([testEntry("a/p/x", .null, ms: 1), addition("a/p", 2)], .integer(1)),
            ([addition("a/p", 1), testEntry("a/p/x", .null, ms: 2)], .null),
            ([addition("a/p", 1), testEntry("a/p/x", .null, ms: 2), addition("a/p", 3)], .integer(1)),
            (
                [testEntry("a/p", .integer(5), ms: 1), testEntry("a/p/x", .null, ms: 2), addition("a/p", 3)],
                .integer(1)
            ),
            (
                [testEntry("a", object(("p", one)), ms: 1), testEntry("a/p/x", .null, ms: 2), addition("a/p", 3)],
                .integer(1)
            ),
        ]
        for (number, (entries, expected)) in cases.enumerated() {
            let view = TreeView(ArrayReader(entries))
            #expect(try value(view, "a/p") == expected, "case \(number)")
            #expect(try value(view, "a")["p"] == expected, "case \(number), from above")
            #expect(try value(view, "a/p/x") == expected["x"], "case \(number), from below")
            let key = try #require(Key("p"))
            #expect(try view.child(key, of: Path(parsing: "a")) == expected, "case \(number), as a child")
        }
    }

    private func addition(_ path: String, _ ms: UInt64, _ value: Value) throws -> Entry {
        let author = Bytes32(repeating: 1)
        let hlc = HLC(ms: ms)
        let place = try #require(Path(parsing: path).appending(.addition(AutoID(hlc: hlc, author: author))))
        return try Entry(path: place, hlc: hlc, author: author, value: value)
    }

    @Test func additionsCountOnTopOfTheirBase() throws {
        let view = try view(
            testEntry("n", .integer(10), ms: 10), addition("n", 20, .integer(2)), addition("n", 21, .double(0.5)),
            addition("n", 5, .integer(100)), addition("new", 30, .integer(7)), testEntry("text", .string("x"), ms: 10),
            addition("text", 20, .integer(3)))
        #expect(try value(view, "n") == .double(12.5), "what is older than the base is dead")
        #expect(try value(view, "new") == .integer(7))
        #expect(try value(view, "text") == .integer(3))
        #expect(try value(view, "")["n"] == .double(12.5))
        #expect(try keys(view, "") == ["n", "new", "text"])
        #expect(try keys(view, "n") == [], "no child is made by the engine")
    }

    /// Of the inner sum the tombstone leaves nothing: that takes nothing away from the outer one.
    @Test func aTombstoneBelowTwoSums() throws {
        let view = try view(
            addition("a", 30, .integer(3)), addition("a/x", 10, .integer(1)), testEntry("a/x/y", .null, ms: 20))
        #expect(try value(view, "a") == .integer(3))
    }

    /// Additions and tombstones are not what makes a value large, but long keys are.
    @Test func whatMakesAValueLarge() throws {
        let additions = try (0..<3000).map { try addition("n", 10 + UInt64($0), .integer(1)) }
        #expect(try TreeView(ArrayReader(additions)).value(at: Path(parsing: "n"), sizeMax: 4000) == .integer(3000))
        let long = String(repeating: "k", count: 700)
        let wide = try TreeView(ArrayReader((0..<100).map { try testEntry("w/\(long)\($0)") }))
        #expect(throws: ReadError.tooLarge) { try wide.value(at: Path(parsing: "w"), sizeMax: 50_000) }
        let path = try Path(parsing: "w")
        let size = try wide.value(at: path).approximateSize
        #expect(try wide.value(at: path, sizeMax: size + 200).approximateSize == size, "two more bytes a member")
        // What leads to several places counts once.
        let deep = try TreeView(ArrayReader((0..<100).map { try testEntry("w/\(long)/\($0)") }))
        #expect(try !deep.value(at: path, sizeMax: 5000).isNull)
    }

    @Test func unknownKindsAreShownNowhere() throws {
        let author = Bytes32(repeating: 1)
        let priority = try #require(Path(parsing: "a").appending(.priority))
        let path = try Path(parsing: "a/x")
        let view = try view(
            testEntry("a", object(("x", .integer(1)), ("y", .integer(2))), ms: 10),
            Entry(path: priority, hlc: HLC(ms: 20), author: author, value: .integer(5)),
            Entry(path: path, hlc: HLC(ms: 20), author: author, value: .integer(9), kind: 4))
        #expect(try value(view, "a/x") == .null, "it has killed what stood there")
        #expect(try value(view, "a").plain == object(("y", .integer(2))), "from above as well")
        #expect(try value(view, "a").priority == .integer(5))
        #expect(try keys(view, "").count == 1)
    }

    @Test func childrenInOrderAndInRanges() throws {
        let view = try view(
            testEntry("l", object(("b", .integer(1)), ("10", .integer(1)), ("d", .integer(1))), ms: 10),
            testEntry("l/2", .integer(1), ms: 20), testEntry("l/c/deep/er", .integer(1), ms: 20),
            testEntry("l/d", .null, ms: 20), testEntry("l/b/x", .integer(2), ms: 20))
        #expect(try keys(view, "l") == ["2", "10", "b", "c"])
        #expect(try keys(view, "l", descending: true) == ["c", "b", "10", "2"])
        #expect(try keys(view, "l", descending: true, limit: 2) == ["c", "b"])
        #expect(try keys(view, "l", from: "10", through: "b") == ["10", "b"])
        #expect(try keys(view, "l", from: "10", through: "b", descending: true) == ["b", "10"])
        #expect(try keys(view, "l", from: "bb") == ["c"])
        #expect(try keys(view, "l", through: "a") == ["2", "10"])
        #expect(try keys(view, "l/c") == ["deep"])
        #expect(try keys(view, "none") == [])
    }

    @Test func largeValuesAreRefused() throws {
        let view = try view(
            testEntry("a/x", .string(String(repeating: "x", count: 600)), ms: 10),
            testEntry("a/y", .string(String(repeating: "y", count: 600)), ms: 11))
        #expect(throws: ReadError.tooLarge) { try view.value(at: Path(parsing: "a"), sizeMax: 1000) }
        #expect(try view.value(at: Path(parsing: "a/x"), sizeMax: 1000).string?.utf8.count == 600)
    }
}
