import Seal
import Testing
import Tree

/// Entries in an array: the simplest reader there is.
private struct ArrayReader: EntryReader {
    private let entries: [(key: PathKey, entry: Entry)]

    init(_ entries: [Entry]) {
        self.entries = entries.map { (PathKey($0.path), $0) }.sorted { $0.0 < $1.0 }
    }

    func entry(at path: PathKey) -> Entry? { entries.first { $0.key == path }?.entry }

    func scan(from lower: PathKey, to upper: PathKey, descending: Bool, _ body: (Entry) throws -> Bool) rethrows {
        let range = entries.filter { !($0.key < lower) && $0.key < upper }
        for item in descending ? range.reversed() : range where try !body(item.entry) { return }
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

    @Test func additionsCountOnTopOfTheirBase() throws {
        let author = Bytes32(repeating: 1)
        func addition(_ path: String, _ ms: UInt64, _ value: Value) throws -> Entry {
            let hlc = HLC(ms: ms)
            let key = Key.addition(AutoID(hlc: hlc, author: author))
            return try Entry(
                path: #require(Path(parsing: path).appending(key)), hlc: hlc, author: author, value: value)
        }
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

    @Test func prioritiesAndUnknownKindsAreShownNowhere() throws {
        let author = Bytes32(repeating: 1)
        let priority = try #require(Path(parsing: "a").appending(.priority))
        let path = try Path(parsing: "a/x")
        let view = try view(
            testEntry("a", object(("x", .integer(1)), ("y", .integer(2))), ms: 10),
            Entry(path: priority, hlc: HLC(ms: 20), author: author, value: .integer(5)),
            Entry(path: path, hlc: HLC(ms: 20), author: author, value: .integer(9), kind: 4))
        #expect(try value(view, "a/x") == .null, "it has killed what stood there")
        #expect(try value(view, "a")["y"] == .integer(2))
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
