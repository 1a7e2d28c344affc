import Testing

@testable import Tree

/// Sort keys: bytes in the order of queries.
@Suite struct SortKeyTests {
    private static func sign(_ number: Int) -> Int { number < 0 ? -1 : number > 0 ? 1 : 0 }

    private static func order(_ a: SortKey, _ b: SortKey) -> Int {
        if a == b { return 0 }
        return a.bytes.lexicographicallyPrecedes(b.bytes) ? -1 : 1
    }

    private static let edges: [Value] = {
        let texts = [
            "", "\0", "\0\0", "a", "a\0", "a\0b", "a\u{1}", "ab", "b", "\u{7F}", "\u{80}", "\u{D7FF}", "\u{E000}",
            "\u{FB01}", "\u{FFFF}", "\u{10000}", "\u{1F600}", "\u{10FFFF}", "é", "e\u{301}", "1", "10", "2",
            String(repeating: "x", count: 1000), String(repeating: "x", count: 1000) + "\0",
        ]
        let doubles: [Double] = [
            0, -0.0, 0.5, -0.5, 1e308, -1e308, .leastNonzeroMagnitude, -.leastNonzeroMagnitude,
            9_007_199_254_740_992, -9_007_199_254_740_992,
            9_007_199_254_740_994, 1e16, .greatestFiniteMagnitude, .leastNormalMagnitude,
        ]
        var values: [Value] = [.null, .bool(false), .bool(true)] + texts.map(Value.string)
        values += doubles.compactMap(Value.number)
        values += [1, -1, 2, 10, (1 << 53) - 1, -(1 << 53) + 1].map { Value.number(Int64($0)) }
        if let key = Key("k") { values += [.object(ObjectValue([(key, .null), (key, .bool(true))]))] }
        if let key = Key("a") { values += [.object(ObjectValue([(key, .string(""))]))] }
        return values
    }()

    private static func isInOrder(_ a: Value, _ b: Value) -> Bool {
        order(SortKey(a), SortKey(b)) == sign(Query.compare(a, b))
    }

    @Test func everyPairOfEdgesIsInOrder() {
        for a in Self.edges {
            let wrong = Self.edges.filter { !Self.isInOrder(a, $0) }
            #expect(wrong.isEmpty, "\(a)")
        }
    }

    @Test func randomValuesAreInOrder() {
        var random = SystemRandomNumberGenerator()
        func number() -> Value {
            let double = Double(bitPattern: random.next())
            return Value.number(double) ?? Value.number(Int64(truncatingIfNeeded: random.next() >> 40))
        }
        func text() -> Value {
            let alphabet: [Character] = ["\0", "a", "b", "\u{E000}", "\u{FFFD}", "\u{10000}", "ß"]
            return .string(String((0..<Int.random(in: 0...4)).map { _ in alphabet.randomElement() ?? "a" }))
        }
        for _ in 0..<10_000 {
            let (a, b) = Bool.random() ? (number(), number()) : (text(), text())
            if !Self.isInOrder(a, b) { Issue.record("\(a) and \(b)") }
        }
    }

    /// Between the edges lies what the bounds admit, nothing else.
    @Test func rangesHoldWhatTheBoundsAdmit() throws {
        let keys = try ["1", "2", "10", "a", "\u{FB01}", "\u{1F600}"].map { try #require(Key($0)) }
        let values: [Value] = [.null, .bool(true), .integer(0), .integer(1), .string(""), .string("a"), .string("a\0")]
        var bounds: [Query.Bound?] = [nil]
        for value in values {
            for isInclusive in [false, true] {
                bounds.append(Query.Bound(value, isInclusive: isInclusive))
                for key in keys { bounds.append(Query.Bound(value, key: key, isInclusive: isInclusive)) }
            }
        }
        func isBefore(_ a: ([UInt8], [UInt8]), _ b: OrderRange.Edge) -> Bool {
            a.0 == b.sort ? a.1.lexicographicallyPrecedes(b.key) : a.0.lexicographicallyPrecedes(b.sort)
        }
        for bound in bounds {
            for query in [Query(order: .value, start: bound), Query(order: .value, end: bound)] {
                let range = OrderRange(query)
                for key in keys {
                    for value in values {
                        let path = try #require(Path([key]))
                        let place = (SortKey(value).bytes, PathKey(path).bytes)
                        let isInside = !isBefore(place, range.lower) && isBefore(place, range.upper)
                        if isInside != query.admits(key, value) { Issue.record("\(key) \(value) \(query)") }
                    }
                }
            }
        }
    }
}
