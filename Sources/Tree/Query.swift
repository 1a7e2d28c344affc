/// Which children of a path, in which order: Firebase's queries.
public struct Query: Sendable, Hashable {
    public enum Order: Sendable, Hashable {
        case key
        case value
        case priority
        /// By the value at a path below each child; absent comes first.
        case child(Path)
    }

    public enum Limit: Sendable, Hashable {
        case first(Int)
        case last(Int)
    }

    /// One end of a range, in terms of what the order looks at, and of the key among those that are equal in it.
    public struct Bound: Sendable, Hashable {
        public let value: Value
        /// Where among equal children the range begins or ends; nil takes all of them in, or none if exclusive.
        public let key: Key?
        public let isInclusive: Bool

        public init(_ value: Value, key: Key? = nil, isInclusive: Bool) {
            self.value = value
            self.key = key
            self.isInclusive = isInclusive
        }
    }

    public var order: Order
    public var limit: Limit?
    public var start: Bound?
    public var end: Bound?

    public init(order: Order = .key, limit: Limit? = nil, start: Bound? = nil, end: Bound? = nil) {
        self.order = order
        self.limit = limit
        self.start = start
        self.end = end
    }

    /// Everything, by key.
    public static let all = Query()

    /// Whether it returns all children, in whatever order.
    public var isWhole: Bool { limit == nil && start == nil && end == nil }

    /// What the order looks at in a child.
    func sortValue(_ key: Key, _ value: Value) -> Value { order.sortValue(key, value) }

    /// Whether child `a` comes before child `b`.
    func precedes(_ a: (key: Key, value: Value), _ b: (key: Key, value: Value)) -> Bool {
        if order == .key { return a.key < b.key }
        switch Query.compare(sortValue(a.key, a.value), sortValue(b.key, b.value)) {
        case ..<0: return true
        case 0: return a.key < b.key
        default: return false
        }
    }

    /// Whether a child lies between the bounds.
    func admits(_ key: Key, _ value: Value) -> Bool {
        if let start, !within(key, value, start, sign: 1) { return false }
        if let end, !within(key, value, end, sign: -1) { return false }
        return true
    }

    private func within(_ key: Key, _ value: Value, _ bound: Bound, sign: Int) -> Bool {
        var comparison: Int
        if order == .key {
            guard let text = bound.value.string, let boundKey = Key(text) else { return true }
            comparison = key == boundKey ? 0 : (key < boundKey ? -1 : 1)
        } else {
            comparison = Query.compare(sortValue(key, value), bound.value)
            if comparison == 0, let boundKey = bound.key {
                comparison = key == boundKey ? 0 : (key < boundKey ? -1 : 1)
            }
        }
        return comparison == 0 ? bound.isInclusive : (comparison > 0) == (sign > 0)
    }

    /// Negative, zero or positive by Firebase's order of values: absent, false, true, numbers, strings, objects.
    static func compare(_ a: Value, _ b: Value) -> Int {
        let (rankA, rankB) = (rank(a), rank(b))
        if rankA != rankB { return rankA - rankB }
        switch (a, b) {
        case (.string(let x), .string(let y)):
            if x.hasSameBytes(as: y) { return 0 }
            return x.utf16.lexicographicallyPrecedes(y.utf16) ? -1 : 1
        case (.integer(let x), .integer(let y)): return x == y ? 0 : (x < y ? -1 : 1)
        default:
            guard let x = a.asDouble, let y = b.asDouble else { return 0 }
            return x == y ? 0 : (x < y ? -1 : 1)
        }
    }

    private static func rank(_ value: Value) -> Int {
        switch value {
        case .null: 0
        case .bool(false): 1
        case .bool(true): 2
        case .integer, .double: 3
        case .string: 4
        case .object: 5
        }
    }

    var limitCount: Int? {
        switch limit {
        case .first(let count), .last(let count): count
        case nil: nil
        }
    }
}

extension Query.Order {
    /// Whether a child with another value may stand elsewhere, as Firebase sees it. By a path all objects are equal.
    func isMoved(_ key: Key, from old: Value, to new: Value) -> Bool {
        switch self {
        case .key: false
        case .value, .priority: sortValue(key, old) != sortValue(key, new)
        case .child: Query.compare(sortValue(key, old), sortValue(key, new)) != 0
        }
    }

    /// What it looks at in a child.
    func sortValue(_ key: Key, _ value: Value) -> Value {
        switch self {
        case .key: .string(key.text)
        case .value: value.leaf
        case .priority: value.priority
        case .child(let path): value.descendant(path.keys).leaf
        }
    }
}

extension Value {
    fileprivate var asDouble: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .double(let value): value
        default: nil
        }
    }
}

extension Query {
    /// Cuts a sorted list to the limit, at the end that the limit keeps away from, and returns what was cut off.
    @discardableResult
    func trim(_ children: inout [QueryWindow.Child]) -> [QueryWindow.Child] {
        let excess = max(0, children.count - (limitCount ?? .max))
        guard excess > 0 else { return [] }
        if case .first = limit {
            defer { children.removeLast(excess) }
            return Array(children.suffix(excess))
        }
        defer { children.removeFirst(excess) }
        return Array(children.prefix(excess))
    }

    /// Whether a window of this size may have more behind its edge.
    func isFull(_ count: Int) -> Bool { limitCount.map { count >= $0 } ?? false }
}
