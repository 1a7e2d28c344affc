/// Which children of a path, in which order: Firebase's queries.
public struct Query: Sendable, Equatable {
    public enum Order: Sendable, Equatable {
        case key
        case value
        case priority
        /// By the value at a path below each child; absent comes first.
        case child(Path)
    }

    public enum Limit: Sendable, Equatable {
        case first(Int)
        case last(Int)
    }

    /// One end of a range, in terms of what the order looks at.
    public struct Bound: Sendable, Equatable {
        public let value: Value
        public let isInclusive: Bool

        public init(_ value: Value, isInclusive: Bool) {
            self.value = value
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

    /// What the order looks at in a child. Priorities are not set by this version, so all are absent.
    func sortValue(_ key: Key, _ value: Value) -> Value {
        switch order {
        case .key: .string(key.text)
        case .value: value
        case .priority: .null
        case .child(let path): value.descendant(path.keys)
        }
    }

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
        let comparison: Int
        if order == .key {
            guard let text = bound.value.string, let boundKey = Key(text) else { return true }
            comparison = key == boundKey ? 0 : (key < boundKey ? -1 : 1)
        } else {
            comparison = Query.compare(sortValue(key, value), bound.value)
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

    fileprivate var limitCount: Int? {
        switch limit {
        case .first(let count), .last(let count): count
        case nil: nil
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

/// Children in the order of a query.
public struct QueryWindow: Sendable, Equatable {
    public typealias Child = ObjectValue.Child

    public var children: [Child]

    public init(_ children: [Child] = []) { self.children = children }

    /// The window as one value; null when empty.
    public var value: Value {
        let object = ObjectValue(children.map { ($0.key, $0.value) })
        return object.isEmpty ? .null : .object(object)
    }
}

extension TreeView {
    /// The children that a query returns.
    ///
    /// By key it reads only what it returns; the other orders read all children of the path.
    ///
    /// - `sizeMax`: bytes as JSON after which it throws ``ReadError/tooLarge``.
    /// - `childLimit`: what happens to a child that is too large; none may be larger than the window.
    public func window(
        of path: Path, _ query: Query, sizeMax: Int, childLimit: ChildLimit? = nil
    ) throws -> QueryWindow {
        let childLimit = childLimit ?? .refuse(sizeMax: sizeMax)
        var found: [QueryWindow.Child] = []
        var size = 0
        func take(_ key: Key, _ value: Value) throws {
            size += key.text.utf8.count + value.approximateSize
            guard size <= sizeMax else { throw ReadError.tooLarge }
            found.append(QueryWindow.Child(key: key, value: value))
        }
        guard query.order == .key else {
            try children(of: path, limit: childLimit) { key, value in
                if query.admits(key, value) { try take(key, value) }
                return true
            }
            found.sort { query.precedes(($0.key, $0.value), ($1.key, $1.value)) }
            query.trim(&found)
            return QueryWindow(found)
        }
        var descending = false
        if case .last = query.limit { descending = true }
        let bounds = (query.start?.value.string.flatMap { Key($0) }, query.end?.value.string.flatMap { Key($0) })
        try children(of: path, from: bounds.0, through: bounds.1, descending: descending, limit: childLimit) {
            key, value in
            if query.admits(key, value) { try take(key, value) }
            return found.count < query.limitCount ?? .max
        }
        if descending { found.reverse() }
        return QueryWindow(found)
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
