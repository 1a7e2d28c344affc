import CBOR
import Seal
import Testing
import Tree

/// Values in their one normal form.
@Suite struct ValueTests {
    private func key(_ text: String) throws -> Key { try #require(Key(text)) }

    private static let doubleCases: [(Double, Value)] = [
        (0.0, Value.integer(0)), (-0.0, .integer(0)), (1.0, .integer(1)), (-5.0, .integer(-5)), (0.5, .double(0.5)),
        (9007199254740992, .integer(1 << 53)), (-9007199254740992, .integer(-(1 << 53))),
        (9007199254740994, .double(9007199254740994)), (1e308, .double(1e308)),
        (.leastNonzeroMagnitude, .double(.leastNonzeroMagnitude)),
        (9223372036854775808, .double(9223372036854775808)), (-9223372036854775808, .double(-9223372036854775808)),
    ]

    @Test(arguments: doubleCases) func doubles(number: Double, expected: Value) {
        let value = Value.number(number)
        #expect(value == expected)
        if case .integer(0)? = value { #expect(number == 0) }
    }

    @Test(arguments: [Double.nan, .infinity, -.infinity, .signalingNaN])
    func noNumber(number: Double) {
        #expect(Value.number(number) == nil)
    }

    private static let integerCases: [(Int64, Value)] = [
        (Int64(0), Value.integer(0)), (9_007_199_254_740_992, .integer(1 << 53)),
        (9_007_199_254_740_993, .integer(1 << 53)), (9_007_199_254_740_995, .double(9_007_199_254_740_996)),
        (-9_007_199_254_740_992, .integer(-9_007_199_254_740_992)), (.max, .double(9223372036854775808)),
        (.min, .double(-9223372036854775808)),
    ]

    @Test(arguments: integerCases) func integers(number: Int64, expected: Value) {
        #expect(Value.number(number) == expected)
    }

    @Test func objectsAreNormalised() throws {
        let (a, b, c) = try (key("a"), key("b"), key("c"))
        let empty = Value.object(ObjectValue([(a, .null)]))
        let object = ObjectValue([(c, .integer(3)), (a, .null), (b, empty), (c, .integer(4))])
        #expect(object.children.map(\.key) == [c] && object[c] == .integer(4))
        #expect(ObjectValue([(a, .null)]).isEmpty)
        var changing = object
        changing[a] = .integer(1)
        changing[c] = .null
        changing[b] = empty
        #expect(changing.children.map(\.key) == [a])
        #expect(try Entry(path: Path(parsing: "x"), hlc: .zero, author: .zero, value: empty).value == .null)
    }

    @Test func objectsKeepTheTreesOrder() throws {
        let keys = try ["10", "b", "9", "a", "-1"].map { try key($0) }
        var inserted = ObjectValue()
        for key in keys { inserted[key] = .bool(true) }
        let made = ObjectValue(keys.map { ($0, .bool(true)) })
        #expect(made == inserted)
        #expect(made.children.map(\.key.text) == ["-1", "9", "10", "a", "b"])
    }

    @Test func overlays() throws {
        let (a, b) = try (key("a"), key("b"))
        var value = Value.integer(1)
        value.overlay([a, b], .integer(2))
        #expect(value["a"]["b"] == .integer(2), "a scalar becomes an object")
        value.overlay([a, b], .null)
        #expect(value == .null, "what becomes empty disappears")
        value = .integer(1)
        value.overlay([a], .null)
        #expect(value == .null, "null below a scalar removes it")
        value.overlay([], .string("x"))
        #expect(value == .string("x"))
    }

    /// The shape of what is stored: no null and no empty object inside, keys ascending, numbers in their one form.
    private func isNormal(_ value: Value, isTop: Bool = true) -> Bool {
        switch value {
        case .null: isTop
        case .bool, .string: true
        case .integer(let integer): integer.magnitude <= 1 << 53
        case .double(let double): double.isFinite && Value.number(double) == value
        case .object(let object):
            !object.isEmpty && zip(object.children, object.children.dropFirst()).allSatisfy { $0.key < $1.key }
                && object.children.allSatisfy { isNormal($0.value, isTop: false) }
        }
    }

    @Test func roundTripsThroughCBOR() throws {
        var random = SeededRandom(seed: 7)
        for index in 0..<1500 {
            let value = randomValue(&random)
            try #require(isNormal(value), "\(index): \(value)")
            var writer = CBORWriter()
            value.encode(to: &writer)
            var reader = CBORReader(writer.bytes)
            let read = try Value(from: &reader)
            try reader.expectEnd()
            try #require(read == value && isNormal(read), "\(index): \(value)")
            try #require(read.hashValue == value.hashValue)
        }
    }
}
