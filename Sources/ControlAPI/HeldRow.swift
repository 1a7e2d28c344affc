/// An author whose entries wait because they lie too far in the future.
public struct HeldRow: Sendable, Equatable {
    public var uid: String
    public var name: String
    /// Entries of his that wait.
    public var count: Int64
    /// How far the latest is ahead of workspace time, in milliseconds: how wrong his clock was.
    public var skewMs: Int64

    public init(uid: String, name: String, count: Int64, skewMs: Int64) {
        self.uid = uid
        self.name = name
        self.count = count
        self.skewMs = skewMs
    }

    /// - Throws: ``RPCError/invalidParams(_:)`` with the field that is missing or of the wrong kind.
    public init(json: JSON) throws(RPCError) {
        let fields = try Fields(json)
        self.init(
            uid: try fields.string("uid"), name: try fields.string("name"), count: try fields.int("count"),
            skewMs: try fields.int("skewMs"))
    }

    /// The row with the fields of the fixed surface.
    public var json: JSON {
        ["uid": .string(uid), "name": .string(name), "count": .int(count), "skewMs": .int(skewMs)]
    }
}
