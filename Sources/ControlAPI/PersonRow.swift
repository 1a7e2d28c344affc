/// A person as the client API shows them. Times are milliseconds since 1970.
public struct PersonRow: Sendable, Equatable {
    /// `online`, `away` (no client activity for 10 minutes) or `offline`. Open: more may come.
    public struct State: RawRepresentable, Sendable, Hashable {
        public var rawValue: String

        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        public static let online = State(rawValue: "online")
        public static let away = State(rawValue: "away")
        public static let offline = State(rawValue: "offline")
    }

    public var uid: String
    /// Not unique: tell people apart by `uid`.
    public var name: String
    public var state: State
    /// Since when the state has held; nil if this node has never seen them.
    public var since: Int64?
    /// Keys of the channels they are typing in.
    public var typing: [String]
    /// This user compared the safety words with them.
    public var verified: Bool
    public var isSelf: Bool

    public init(
        uid: String, name: String, state: State, since: Int64?, typing: [String] = [], verified: Bool = false,
        isSelf: Bool = false
    ) {
        self.uid = uid
        self.name = name
        self.state = state
        self.since = since
        self.typing = typing
        self.verified = verified
        self.isSelf = isSelf
    }

    /// - Throws: ``RPCError/invalidParams(_:)`` with the field that is missing or of the wrong kind.
    public init(json: JSON) throws(RPCError) {
        let fields = try Fields(json)
        self.init(
            uid: try fields.string("uid"), name: try fields.string("name"),
            state: State(rawValue: try fields.string("state")), since: try fields.optionalInt("since"),
            typing: try fields.strings("typing"), verified: try fields.bool("verified"),
            isSelf: try fields.bool("self"))
    }

    /// The row with the fields of the fixed surface.
    public var json: JSON {
        [
            "uid": .string(uid), "name": .string(name), "state": .string(state.rawValue),
            "since": since.map(JSON.int) ?? .null, "typing": .array(typing.map(JSON.string)),
            "verified": .bool(verified), "self": .bool(isSelf),
        ]
    }
}
