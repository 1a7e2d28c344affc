import ControlAPI
@testable import Node
import Testing
import Tree

/// How what a client has left for its end changes with what it leaves and cancels later.
@Suite struct DisconnectWritesTests {
    /// Carries out steps, `set` with a value or `cancel` without one, and looks at what is left; what the changes say
    /// of the stored rows has to come to the same.
    private func left(_ steps: [(path: String, value: JSON?)]) throws -> JSON {
        var writes = DisconnectWrites()
        var stored: [PathKey: [UInt8]] = [:]
        for step in steps {
            var changes = DisconnectWrites.Changes()
            if let value = step.value {
                writes.set(try Path(parsing: step.path), value, &changes)
            } else {
                writes.cancel(try Path(parsing: step.path), &changes)
            }
            for key in changes.removed { stored[key] = nil }
            stored.merge(changes.added) { $1 }
        }
        #expect(stored == writes.all)
        #expect(DisconnectWrites(stored).bytes == writes.bytes)
        return .object(JSONObject(members: writes.writes.map { .init(key: "\($0.path)", value: $0.value) }))
    }

    @Test func aSetReplacesWhatWasLeftAtAndBelowIt() throws {
        #expect(try left([("a/b", 1), ("a/c/d", 2), ("ab", 3), ("a", 4)]) == ["a": 4, "ab": 3])
        #expect(try left([("a/b", 1), ("a/b", .null)]) == ["a/b": .null])
        #expect(try left([("10", 1), ("9", 2), ("b", 3), ("a", 4)]) == ["9": 2, "10": 1, "a": 4, "b": 3])
    }

    @Test func belowAValueItChangesThatValue() throws {
        #expect(try left([("a", ["b": 1, "c": 2]), ("a/b", 3)]) == ["a": ["b": 3, "c": 2]])
        #expect(try left([("a", 1), ("a/b/c", 3)]) == ["a": ["b": ["c": 3]]])
        #expect(try left([("a", [".sv": "timestamp"]), ("a/b", 3)]) == ["a": ["b": 3]])
        #expect(try left([("a", [".value": 1, ".priority": 2]), ("a/b", 3)]) == ["a": ["b": 3, ".priority": 2]])
        #expect(try left([("a", [5, 6]), ("a/1", 7)]) == ["a": ["0": 5, "1": 7]])
        // Nothing is taken away where nothing is.
        #expect(try left([("a", ["b": 1]), ("a/b", .null)]) == ["a": .null])
        #expect(try left([("a", 1), ("a/b", .null)]) == ["a": 1])
        #expect(try left([("a", .null), ("a/b/c", .null)]) == ["a": .null])
        #expect(try left([("a", [".sv": "timestamp"]), ("a/b", .null)]) == ["a": [".sv": "timestamp"]])
    }

    @Test func cancelling() throws {
        #expect(try left([("a/b", 1), ("a/c/d", 2), ("ab", 3), ("a", nil)]) == ["ab": 3])
        #expect(try left([("a/b", 1), ("ab", 3), ("", nil)]) == [:])
        #expect(try left([("a/b", 1), ("a/b/c", nil), ("x", nil)]) == ["a/b": 1])
        // A value above is taken apart.
        let value: JSON = ["b": ["c": 1, "d": [2, 3]], "e": 4, ".priority": 5]
        #expect(try left([("a", value), ("a/b/d/0", nil)]) == ["a/b/c": 1, "a/b/d/1": 3, "a/e": 4])
        #expect(try left([("a", value), ("a/x", nil)]) == ["a/b": ["c": 1, "d": [2, 3]], "a/e": 4])
        #expect(try left([("a", [".sv": "timestamp"]), ("a/x", nil)]) == ["a": [".sv": "timestamp"]])
        #expect(try left([("a", .null), ("a/x", nil)]) == ["a": .null])
    }
}
