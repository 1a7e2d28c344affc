internal import Tree

/// A query carried out by sorting everything.
package struct NaiveQuery {
    package init() {}

    package enum Order {
        case key
        case value
        case priority
        case child([String])
    }

    package struct Bound {
        package let value: OracleJSON
        package let key: String?
        package let isInclusive: Bool

        package init(value: OracleJSON, key: String?, isInclusive: Bool) {
            self.value = value
            self.key = key
            self.isInclusive = isInclusive
        }
    }

    package var order = Order.priority
    package var start: Bound?
    package var end: Bound?
    package var first: Int?
    package var last: Int?

    package func children(of node: OracleJSON) -> [(key: String, value: OracleJSON)] {
        var sorted = node.children.map { (key: $0.key, value: $0.value) }
        sorted.sort { a, b in
            compare((index(a.key, a.value), a.key), (index(b.key, b.value), b.key)) < 0
        }
        sorted = sorted.filter { admits($0.key, $0.value) }
        if let first { sorted = Array(sorted.prefix(first)) }
        if let last { sorted = Array(sorted.suffix(last)) }
        return sorted
    }

    /// What an observer of a node is told as its value.
    package func value(of node: OracleJSON) -> OracleJSON {
        guard start != nil || end != nil || first != nil || last != nil else { return node.normalised }
        return OracleJSON.object(Dictionary(uniqueKeysWithValues: children(of: node).map { ($0.key, $0.value) }))
            .normalised
    }

    private func index(_ key: String, _ value: OracleJSON) -> OracleJSON {
        switch order {
        case .key: .string(key)
        case .value: value.scalar
        case .priority: value.priority
        case .child(let path): path.reduce(value) { $0.child($1) }.scalar
        }
    }

    private func admits(_ key: String, _ value: OracleJSON) -> Bool {
        let place = (index(key, value), key)
        if let start {
            let order = compare(place, (start.value, start.key ?? key))
            if order < 0 || (order == 0 && !start.isInclusive) { return false }
        }
        if let end {
            let order = compare(place, (end.value, end.key ?? key))
            if order > 0 || (order == 0 && !end.isInclusive) { return false }
        }
        return true
    }

    private func compare(_ a: (OracleJSON, String), _ b: (OracleJSON, String)) -> Int {
        if case .key = order, case .string(let x) = a.0, case .string(let y) = b.0 { return compareKeys(x, y) }
        let (x, y) = (a.0.rank, b.0.rank)
        if x != y { return x - y }
        switch (a.0, b.0) {
        case (.number(let x), .number(let y)) where x != y: return x < y ? -1 : 1
        case (.string(let x), .string(let y)) where x != y:
            return Array(x.utf16).lexicographicallyPrecedes(y.utf16) ? -1 : 1
        default: return compareKeys(a.1, b.1)
        }
    }

    private func compareKeys(_ a: String, _ b: String) -> Int {
        func number(_ key: String) -> Int? {
            guard let number = Int(key), String(number) == key, Int32(exactly: number) != nil else { return nil }
            return number
        }
        switch (number(a), number(b)) {
        case (let x?, let y?): return x - y
        case (.some, nil): return -1
        case (nil, .some): return 1
        default:
            if Array(a.utf16) == Array(b.utf16) { return 0 }
            return Array(a.utf16).lexicographicallyPrecedes(b.utf16) ? -1 : 1
        }
    }
}

extension OracleJSON {
    /// The node without its priority, where it has no children.
    package var scalar: OracleJSON {
        if case .object(let members) = self, let value = members[".value"] { return value }
        return self
    }

    fileprivate var rank: Int {
        switch self {
        case .null: 0
        case .bool(false): 1
        case .bool(true): 2
        case .number: 3
        case .string: 4
        case .array, .object: 5
        }
    }
}
