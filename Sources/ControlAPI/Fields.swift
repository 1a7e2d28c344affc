/// Reads the members of an object and says which one is missing or of the wrong kind: for the parameters of a request
/// and for rows.
public struct Fields: Sendable {
    /// The members themselves.
    public let object: JSONObject

    /// - Throws: ``RPCError/invalidParams(_:)`` if this is no object.
    public init(_ json: JSON) throws(RPCError) {
        guard case .object(let object) = json else { throw .invalidParams("expected an object") }
        self.object = object
    }

    /// The member, or nil if it is missing or `null`.
    public subscript(key: String) -> JSON? {
        guard let value = object[key], !value.isNull else { return nil }
        return value
    }

    private func required<Value>(_ value: Value?, _ key: String, _ kind: String) throws(RPCError) -> Value {
        guard let value else { throw .invalidParams("\(key) must be \(kind)") }
        return value
    }

    /// A string that must be there.
    public func string(_ key: String) throws(RPCError) -> String {
        try required(self[key]?.string, key, "a string")
    }

    /// A string; nil if it is missing or `null`.
    public func optionalString(_ key: String) throws(RPCError) -> String? {
        self[key] == nil ? nil : try string(key)
    }

    /// An integer that must be there.
    public func int(_ key: String) throws(RPCError) -> Int64 {
        try required(self[key]?.int, key, "an integer")
    }

    /// An integer; nil if it is missing or `null`.
    public func optionalInt(_ key: String) throws(RPCError) -> Int64? {
        self[key] == nil ? nil : try int(key)
    }

    /// A number; nil if it is missing or `null`.
    public func optionalDouble(_ key: String) throws(RPCError) -> Double? {
        guard let value = self[key] else { return nil }
        return try required(value.double, key, "a number")
    }

    /// A boolean that must be there.
    public func bool(_ key: String) throws(RPCError) -> Bool {
        try required(self[key]?.bool, key, "true or false")
    }

    /// A boolean; nil if it is missing or `null`.
    public func optionalBool(_ key: String) throws(RPCError) -> Bool? {
        self[key] == nil ? nil : try bool(key)
    }

    /// An array of strings; empty if it is missing or `null`.
    public func strings(_ key: String) throws(RPCError) -> [String] {
        guard let value = self[key] else { return [] }
        let elements = try required(value.array, key, "an array of strings")
        var strings: [String] = []
        for element in elements { strings.append(try required(element.string, key, "an array of strings")) }
        return strings
    }

    /// The elements of an array of rows.
    public func rows<Row>(
        _ key: String, _ read: (JSON) throws(RPCError) -> Row
    ) throws(RPCError) -> [Row] {
        let elements = try required(self[key]?.array, key, "an array")
        var rows: [Row] = []
        rows.reserveCapacity(elements.count)
        for element in elements { rows.append(try read(element)) }
        return rows
    }
}
