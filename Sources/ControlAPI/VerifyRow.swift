/// How another node's entries compare with this one's.
public struct VerifyRow: Sendable, Equatable {
    public var uid: String
    public var name: String
    /// Both hold the same live entries.
    public var equal: Bool
    /// Entries we have and they lack; nil if the comparison did not end.
    public var theyLack: Int64?
    /// Entries they have and we lack; nil if the comparison did not end.
    public var weLack: Int64?

    public init(uid: String, name: String, equal: Bool, theyLack: Int64?, weLack: Int64?) {
        self.uid = uid
        self.name = name
        self.equal = equal
        self.theyLack = theyLack
        self.weLack = weLack
    }

    /// - Throws: ``RPCError/invalidParams(_:)`` with the field that is missing or of the wrong kind.
    public init(json: JSON) throws(RPCError) {
        let fields = try Fields(json)
        self.init(
            uid: try fields.string("uid"), name: try fields.string("name"), equal: try fields.bool("equal"),
            theyLack: try fields.optionalInt("theyLack"), weLack: try fields.optionalInt("weLack"))
    }

    /// The row with the fields of the fixed surface.
    public var json: JSON {
        [
            "uid": .string(uid), "name": .string(name), "equal": .bool(equal),
            "theyLack": theyLack.map(JSON.int) ?? .null, "weLack": weLack.map(JSON.int) ?? .null,
        ]
    }
}
