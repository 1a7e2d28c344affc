import Seal
import Testing
@testable import Tree

/// Which entries that became live together were written together.
@Suite struct WriteOrderTests {
    private func entry(_ path: String, _ ms: UInt64, by author: UInt8 = 1) throws -> Entry {
        var place = try Path(parsing: path.replacing("/.priority", with: ""))
        if path.hasSuffix(".priority") { place = try #require(place.appending(.priority)) }
        return try Entry(
            path: place, hlc: HLC(ms: 1 << 41 + ms), author: Bytes32(repeating: author), value: .integer(1))
    }

    private func writes(_ entries: [Entry]) -> [Set<String>] {
        Entry.writes(entries.reversed()).map { Set($0.map { "\($0)" }) }
    }

    @Test func oneTimeAndAuthorIsOneWrite() throws {
        let entries = [try entry("a", 1), try entry("b", 1), try entry("c", 1, by: 2), try entry("d", 2)]
        #expect(writes(entries) == [["a", "b"], ["c"], ["d"]])
    }

    /// The priorities of a write come later, and others may have written in between.
    @Test func prioritiesJoinTheirValues() throws {
        let entries = [
            try entry("a", 1), try entry("o", 2, by: 2), try entry("a/.priority", 3), try entry("b/.priority", 3),
            try entry("b", 4), try entry("b/.priority", 5), try entry("c/.priority", 6),
            try entry("c/.priority", 7, by: 3), try entry("d/.priority", 8, by: 3),
        ]
        #expect(
            writes(entries) == [
                ["a", "a/.priority", "b/.priority"], ["o"], ["b", "b/.priority"], ["c/.priority"], ["c/.priority"],
                ["d/.priority"],
            ])
    }
}
