/// Something about this node or the network that a person should know and can mend.
public struct NoticeRow: Sendable, Equatable {
    /// What it is about. Open: more may come.
    public struct Kind: RawRepresentable, Sendable, Hashable {
        public var rawValue: String

        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// Two machines run with one identity.
        public static let clone = Kind(rawValue: "clone")
        /// This machine's clock is wrong.
        public static let clock = Kind(rawValue: "clock")
        /// Somebody has a name that is known from another key.
        public static let namesake = Kind(rawValue: "namesake")
    }

    public var kind: Kind
    /// Whom it is about; nil for this machine itself.
    public var uid: String?
    /// Words for a person, with the command that mends it. When it is over they say so.
    public var text: String
    /// Whether what was noticed earlier, with the same kind and uid, is over.
    public var isOver: Bool

    public init(kind: Kind, uid: String? = nil, text: String, isOver: Bool = false) {
        self.kind = kind
        self.uid = uid
        self.text = text
        self.isOver = isOver
    }

    /// - Throws: ``RPCError/invalidParams(_:)`` with the field that is missing or of the wrong kind.
    public init(json: JSON) throws(RPCError) {
        let fields = try Fields(json)
        self.init(
            kind: Kind(rawValue: try fields.string("kind")), uid: try fields.optionalString("uid"),
            text: try fields.string("text"), isOver: try fields.optionalBool("over") ?? false)
    }

    /// The row with the fields of the fixed surface.
    public var json: JSON {
        var object: JSONObject = ["kind": .string(kind.rawValue)]
        object.append("uid", ifPresent: uid.map(JSON.string))
        object["text"] = .string(text)
        if isOver { object["over"] = true }
        return .object(object)
    }
}
