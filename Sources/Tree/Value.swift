// Debug builds call libm for conversions of doubles; importing it is what links it.
internal import Glibc

/// A JSON value as the tree keeps it.
///
/// Values made through ``ObjectValue`` and `number(_:)` are normalised: no null and no empty object inside an object,
/// whole numbers up to 2^53 as integers, −0 as 0. Strings are compared byte by byte, not by Unicode equivalence.
public enum Value: Sendable, Hashable {
    case null
    case bool(Bool)
    case integer(Int64)
    case double(Double)
    case string(String)
    case object(ObjectValue)

    /// Whole numbers up to this magnitude are integers; beyond it a double no longer tells neighbours apart.
    public static let integerMax: Int64 = 1 << 53

    /// A number in its one normal form, or nil for NaN and infinities.
    public static func number(_ value: Double) -> Value? {
        guard value.isFinite else { return nil }
        if let whole = Int64(exactly: value), whole.magnitude <= integerMax.magnitude { return .integer(whole) }
        return .double(value)
    }

    /// A whole number in its normal form: beyond ±2^53 it becomes the nearest double, as in every JSON client.
    public static func number(_ value: Int64) -> Value {
        let double = Double(value)
        // The nearest double may be 2^53 itself, which is an integer again.
        let isInteger = value.magnitude <= integerMax.magnitude || double.magnitude <= Double(integerMax)
        return isInteger ? .integer(Int64(double)) : .double(double)
    }

    public var isNull: Bool {
        if case .null = self { return true }
        return false
    }

    public var object: ObjectValue? {
        if case .object(let object) = self { return object }
        return nil
    }

    /// The string of a node, with or without priority.
    public var string: String? {
        if case .string(let string) = leaf { return string }
        return nil
    }

    /// The whole number of a node, with or without priority.
    public var integer: Int64? {
        if case .integer(let integer) = leaf { return integer }
        return nil
    }

    /// The child at a key; null where there is none.
    public subscript(key: Key) -> Value { object?[key] ?? .null }

    /// The child at a key given as text; null where there is none.
    public subscript(text: String) -> Value { Key(stored: text).map { self[$0] } ?? .null }

    /// The value at a relative path.
    public func descendant(_ keys: some Sequence<Key>) -> Value {
        var value = self
        for key in keys { value = value[key] }
        return value
    }

    /// Lays `value` over this one at a relative path.
    ///
    /// A value laid below a scalar replaces the scalar by an object; null laid below a scalar removes it. What becomes
    /// empty disappears.
    public mutating func overlay(_ keys: ArraySlice<Key>, _ value: Value) { update(keys) { $0 = value } }

    /// Changes the value at a relative path in place, with the same consequences above it.
    mutating func update(_ keys: ArraySlice<Key>, _ change: (inout Value) -> Void) {
        guard let key = keys.first else { return change(&self) }
        var object: ObjectValue
        if case .object(let existing) = self { object = existing } else { object = ObjectValue() }
        self = .null
        object.update(key) { $0.update(keys.dropFirst(), change) }
        object[.value] = .null
        if object.hasChildren { self = .object(object) }
    }

    public static func == (a: Value, b: Value) -> Bool {
        switch (a, b) {
        case (.null, .null): true
        case (.bool(let x), .bool(let y)): x == y
        case (.integer(let x), .integer(let y)): x == y
        case (.double(let x), .double(let y)): x == y
        case (.string(let x), .string(let y)): x.hasSameBytes(as: y)
        case (.object(let x), .object(let y)): x == y
        default: false
        }
    }

    public func hash(into hasher: inout Hasher) {
        switch self {
        case .null: hasher.combine(0)
        case .bool(let value): hasher.combine(value)
        case .integer(let value): hasher.combine(value)
        case .double(let value): hasher.combine(value)
        case .string(let value): value.hashBytes(into: &hasher)
        case .object(let value): hasher.combine(value)
        }
    }
}

/// The children of a node, in Firebase's order; never holds a null or an empty object.
public struct ObjectValue: Sendable, Hashable {
    public struct Child: Sendable, Hashable {
        public let key: Key
        public fileprivate(set) var value: Value

        public init(key: Key, value: Value) {
            self.key = key
            self.value = value
        }
    }

    public private(set) var children: [Child]

    public init() { children = [] }

    /// Children from pairs in any order: nulls and empty objects are left out; of two equal keys the later one counts.
    public init(_ pairs: [(Key, Value)]) {
        children = []
        children.reserveCapacity(pairs.count)
        // Sorted once: one insertion a child would be quadratic, and pairs come from outside.
        for index in ObjectValue.sortedIndices(pairs) {
            let (key, value) = pairs[index]
            if children.last?.key == key { children.removeLast() }
            if case .object(let object) = value, object.isEmpty { continue }
            if !value.isNull { children.append(Child(key: key, value: value)) }
        }
    }

    /// Of equal keys in the order given. Most objects are small or sorted already: then nothing is moved.
    private static func sortedIndices(_ pairs: [(Key, Value)]) -> [Int] {
        var indices = Array(pairs.indices)
        let isSorted = indices.dropFirst().allSatisfy { !(pairs[$0].0 < pairs[$0 - 1].0) }
        if !isSorted {
            indices.sort { a, b in pairs[a].0 < pairs[b].0 || (a < b && pairs[a].0 == pairs[b].0) }
        }
        return indices
    }

    /// Children that must be in order, different, and neither null nor empty.
    init(sorted children: [Child]) { self.children = children }

    public var isEmpty: Bool { children.isEmpty }
    /// Whether there is a child beside the engine's own keys.
    var hasChildren: Bool { children.contains { !$0.key.isEngine } }
    public var count: Int { children.count }

    /// Index of the first child whose key is not before `key`. Appending in order costs one comparison.
    private func lowerBound(_ key: Key) -> Int {
        guard let last = children.last, !(last.key < key) else { return children.count }
        var low = 0
        var high = children.count
        while low < high {
            let middle = (low + high) / 2
            if children[middle].key < key { low = middle + 1 } else { high = middle }
        }
        return low
    }

    public subscript(key: Key) -> Value {
        get {
            let index = lowerBound(key)
            return index < children.count && children[index].key == key ? children[index].value : .null
        }
        set { update(key) { $0 = newValue } }
    }

    /// Changes one child in place; a child that becomes null is removed.
    mutating func update(_ key: Key, _ change: (inout Value) -> Void) {
        let index = lowerBound(key)
        let exists = index < children.count && children[index].key == key
        var value: Value = .null
        if exists { swap(&value, &children[index].value) }
        change(&value)
        if case .object(let object) = value, object.isEmpty { value = .null }
        switch (exists, value.isNull) {
        case (true, true): children.remove(at: index)
        case (true, false): children[index].value = value
        case (false, true): break
        case (false, false): children.insert(Child(key: key, value: value), at: index)
        }
    }
}
