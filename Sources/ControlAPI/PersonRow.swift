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
    /// This user wants to see nothing of them.
    public var muted: Bool
    /// The same, and this node does not connect to theirs.
    public var blocked: Bool
    /// The uid of somebody who was known by the same name before, with another key; nil if this user knows of both.
    public var namesakeOf: String?

    public init(
        uid: String, name: String, state: State, since: Int64?, typing: [String] = [], verified: Bool = false,
        isSelf: Bool = false, muted: Bool = false, blocked: Bool = false, namesakeOf: String? = nil
    ) {
        self.uid = uid
        self.name = name
        self.state = state
        self.since = since
        self.typing = typing
        self.verified = verified
        self.isSelf = isSelf
        self.muted = muted
        self.blocked = blocked
        self.namesakeOf = namesakeOf
    }

    /// - Throws: ``RPCError/invalidParams(_:)`` with the field that is missing or of the wrong kind.
    public init(json: JSON) throws(RPCError) {
        let fields = try Fields(json)
        self.init(
            uid: try fields.string("uid"), name: try fields.string("name"),
            state: State(rawValue: try fields.string("state")), since: try fields.optionalInt("since"),
            typing: try fields.strings("typing"), verified: try fields.bool("verified"),
            isSelf: try fields.bool("self"), muted: try fields.optionalBool("muted") ?? false,
            blocked: try fields.optionalBool("blocked") ?? false, namesakeOf: try fields.optionalString("namesakeOf"))
    }

    /// The row with the fields of the fixed surface; `muted`, `blocked` and `namesakeOf` only where they say something.
    public var json: JSON {
        var object: JSONObject = [
            "uid": .string(uid), "name": .string(name), "state": .string(state.rawValue),
            "since": since.map(JSON.int) ?? .null, "typing": .array(typing.map(JSON.string)),
            "verified": .bool(verified), "self": .bool(isSelf),
        ]
        if muted { object.append("muted", true) }
        if blocked { object.append("blocked", true) }
        object.append("namesakeOf", ifPresent: namesakeOf.map(JSON.string))
        return .object(object)
    }
}
