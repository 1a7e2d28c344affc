/// What an order looks at in a child, as bytes in the order of ``Query``: absent, false, true, numbers, strings by
/// UTF-16 code unit, and objects, which are all equal.
///
/// A tag, and behind it for a number the eight bytes of the double with its sign bit flipped, or all bits where it is
/// negative; for a string its UTF-8, with lead bytes EE and EF raised above F4 as in ``PathKey``.
public struct SortKey: Sendable, Hashable {
    public let bytes: [UInt8]

    public init(bytes: [UInt8]) { self.bytes = bytes }

    public init(_ value: Value) {
        switch value {
        case .null: bytes = [0]
        case .bool(false): bytes = [1]
        case .bool(true): bytes = [2]
        // Whole numbers end at 2^53, so each is a double of its own.
        case .integer(let value): bytes = SortKey.number(Double(value))
        case .double(let value): bytes = SortKey.number(value)
        case .string(let text): bytes = [4] + text.utf8.map(Key.rank)
        case .object: bytes = [5]
        }
    }

    static let object = SortKey(bytes: [5])

    private static func number(_ value: Double) -> [UInt8] {
        // Adding zero makes the negative zero, which is equal to it, the other one.
        let pattern = (value + 0).bitPattern
        let ordered = pattern >> 63 == 1 ? ~pattern : pattern | 1 << 63
        return [3] + stride(from: UInt64(56), through: 0, by: -8).map { UInt8(truncatingIfNeeded: ordered >> $0) }
    }
}

/// The part of an order that a query's bounds leave: `lower` ≤ (sort key, path key of the child) < `upper`.
public struct OrderRange: Sendable, Equatable {
    public struct Edge: Sendable, Equatable {
        public let sort: [UInt8]
        public let key: [UInt8]
    }

    public let lower: Edge
    public let upper: Edge

    /// Above every sort key, and above every path key.
    private static let last: [UInt8] = [0xFF]

    public init(_ query: Query) {
        lower = query.start.map { OrderRange.edge($0, isAfterEqual: !$0.isInclusive) } ?? Edge(sort: [], key: [])
        let last = Edge(sort: OrderRange.last, key: [])
        upper = query.end.map { OrderRange.edge($0, isAfterEqual: $0.isInclusive) } ?? last
    }

    /// The edge before or after what is equal to a bound.
    private static func edge(_ bound: Query.Bound, isAfterEqual: Bool) -> Edge {
        let sort = SortKey(bound.value).bytes
        guard let path = bound.key.flatMap({ Path([$0]) }) else {
            return Edge(sort: sort, key: isAfterEqual ? last : [])
        }
        let key = PathKey(path)
        return Edge(sort: sort, key: (isAfterEqual ? key.firstBelow : key).bytes)
    }
}
