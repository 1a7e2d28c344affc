import Seal
import Testing
@testable import Tree

/// What a query reads of what others decide.
@Suite struct QueryWindowTests {
    private func priority(_ path: String, _ value: Value) throws -> Entry {
        let place = try #require(Path(parsing: path).appending(.priority))
        return try Entry(path: place, hlc: HLC(ms: 1 << 41), author: .zero, value: value)
    }

    /// A limit bounds how many children are returned, and the size how many are kept until it is known which.
    @Test(arguments: [Query.Order.priority, .value, .child(try Path(parsing: "x"))])
    func largeChildren(_ order: Query.Order) throws {
        var entries: [Entry] = []
        for number in 0..<60 {
            let text = String(repeating: "z", count: 1000)
            entries.append(try testEntry("l/\(number)/x", .integer(Int64(60 - number))))
            entries.append(try testEntry("l/\(number)/text", .string(text)))
            entries.append(try priority("l/\(number)", .integer(Int64(60 - number))))
        }
        let view = TreeView(ArrayReader(entries))
        let path = try Path(parsing: "l")
        func keys(_ limit: Query.Limit?) throws -> [String] {
            try view.window(of: path, Query(order: order, limit: limit), sizeMax: 20_000).children.map(\.key.text)
        }
        let isReversed = order != .value  // objects are equal, so their keys decide
        #expect(try keys(.first(3)) == (isReversed ? ["59", "58", "57"] : ["0", "1", "2"]))
        #expect(try keys(.last(3)) == (isReversed ? ["2", "1", "0"] : ["57", "58", "59"]))
        for limit in [nil, .first(50), .last(50), .first(.max), .last(1 << 30)] as [Query.Limit?] {
            #expect(throws: ReadError.tooLarge) { try keys(limit) }
        }
    }

    /// Where the order is by priority, children without one come first, however large the others are.
    @Test func thoseWithoutAPriorityComeFirst() throws {
        let large = Value.string(String(repeating: "z", count: 9000))
        var entries = try (0..<9).map { try testEntry("l/a\($0)") }
        for number in 0..<9 {
            entries += [try testEntry("l/b\(number)", large), try priority("l/b\(number)", .integer(1))]
        }
        let view = TreeView(ArrayReader(entries))
        let first = try view.window(
            of: Path(parsing: "l"), Query(order: .priority, limit: .first(9)), sizeMax: 10_000)
        #expect(first.children.map(\.key.text) == (0..<9).map { "a\($0)" })
        let last = try view.window(of: Path(parsing: "l"), Query(order: .priority, limit: .last(1)), sizeMax: 10_000)
        #expect(last.children.map(\.key.text) == ["b8"])
    }

    /// Priorities deep inside the children are not those of the children.
    @Test func deepPriorities() throws {
        var entries = [try testEntry("l/a"), try priority("l/a", .integer(2)), try testEntry("l/b/x/y")]
        for number in 0..<20 {
            entries += [try testEntry("l/c/\(number)/x"), try priority("l/c/\(number)", .integer(1))]
        }
        entries += [try priority("l/c", .integer(1)), try testEntry("l/d"), try priority("l/b/x", .integer(7))]
        let view = TreeView(ArrayReader(entries))
        let window = try view.window(of: Path(parsing: "l"), Query(order: .priority), sizeMax: 1 << 20)
        #expect(window.children.map(\.key.text) == ["b", "d", "c", "a"])
    }
}
