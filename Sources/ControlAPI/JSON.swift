/// A JSON text as a value (RFC 8259).
///
/// Integers that fit 64 bits stay exact and apart from other numbers, and members of an object keep their order,
/// because the tree's order is part of what clients are told. Two values are equal only if they are written alike:
/// `1` is not `1.0`, objects with the same members in another order differ, and strings are compared by their bytes.
public enum JSON: Sendable {
    case null
    case bool(Bool)
    case int(Int64)
    case double(Double)
    case string(String)
    case array([JSON])
    case object(JSONObject)
}

extension JSON {
    /// The string, or nil for any other kind.
    public var string: String? {
        if case .string(let value) = self { value } else { nil }
    }

    /// The number if it is an integer within 64 bits, also when it was written as `5.0`; nil for anything else.
    public var int: Int64? {
        switch self {
        case .int(let value): value
        case .double(let value): Int64(exactly: value)
        default: nil
        }
    }

    /// The number, rounded to the nearest double if it is an integer beyond 2^53; nil for any other kind.
    public var double: Double? {
        switch self {
        case .int(let value): Double(value)
        case .double(let value): value
        default: nil
        }
    }

    /// The boolean, or nil for any other kind.
    public var bool: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }

    /// The elements, or nil for any other kind.
    public var array: [JSON]? {
        if case .array(let value) = self { value } else { nil }
    }

    /// The members, or nil for any other kind.
    public var object: JSONObject? {
        if case .object(let value) = self { value } else { nil }
    }

    /// Whether this is `null`.
    public var isNull: Bool {
        if case .null = self { true } else { false }
    }

    /// The member of that name, or nil if there is none or this is no object. A member that is `null` is returned.
    public subscript(key: String) -> JSON? {
        if case .object(let object) = self { object[key] } else { nil }
    }

    /// The element at that position, or nil outside the array or if this is none.
    public subscript(index: Int) -> JSON? {
        guard case .array(let elements) = self, elements.indices.contains(index) else { return nil }
        return elements[index]
    }
}

extension JSON: ExpressibleByStringLiteral, ExpressibleByStringInterpolation, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    public init(stringLiteral value: String) { self = .string(value) }
    public init(integerLiteral value: Int64) { self = .int(value) }
    public init(floatLiteral value: Double) { self = .double(value) }
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(arrayLiteral elements: JSON...) { self = .array(elements) }
    /// Members in the order written; of two of one name the later stays.
    public init(dictionaryLiteral elements: (String, JSON)...) {
        var object = JSONObject()
        for (key, value) in elements { object[key] = value }
        self = .object(object)
    }
}

extension JSON: Equatable {
    public static func == (left: JSON, right: JSON) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.bool(let left), .bool(let right)): left == right
        case (.int(let left), .int(let right)): left == right
        case (.double(let left), .double(let right)): left.bitPattern == right.bitPattern
        case (.string(let left), .string(let right)): sameBytes(left, right)
        case (.array(let left), .array(let right)): left == right
        case (.object(let left), .object(let right)): left == right
        default: false
        }
    }
}

extension JSON: CustomStringConvertible {
    /// The text that `serialized` has as bytes.
    public var description: String { String(decoding: serialized, as: UTF8.self) }
}
