/// Somebody's write as the history of a path shows it: what stands there now, or what somebody else overwrote. Times
/// are milliseconds since 1970.
public struct HistoryRow: Sendable, Equatable {
    /// Who overwrote it, when he wrote what did, and when it died on this node.
    public struct Death: Sendable, Equatable {
        public var uid: String
        public var name: String
        public var at: Int64
        public var diedAt: Int64

        public init(uid: String, name: String, at: Int64, diedAt: Int64) {
            (self.uid, self.name, self.at, self.diedAt) = (uid, name, at, diedAt)
        }
    }

    /// The first 16 hexadecimal digits of the write's own id; the same on every node.
    public var id: String
    /// Where the value stands or stood.
    public var path: String
    /// The path of the write, where it was made above `path` and this is a part of its value.
    public var within: String?
    /// Nil if it is too large to be shown here.
    public var value: JSON?
    /// Bytes as JSON, about, of a value that is too large to be shown.
    public var tooLarge: Int64?
    public var author: String
    /// Not unique: tell people apart by `author`.
    public var authorName: String
    public var writtenAt: Int64
    /// Nil for what stands there now.
    public var death: Death?

    /// Whether it stands there now.
    public var isLive: Bool { death == nil }

    public init(
        id: String, path: String, within: String? = nil, value: JSON?, tooLarge: Int64? = nil, author: String,
        authorName: String, writtenAt: Int64, death: Death? = nil
    ) {
        self.id = id
        self.path = path
        self.within = within
        self.value = value
        self.tooLarge = tooLarge
        self.author = author
        self.authorName = authorName
        self.writtenAt = writtenAt
        self.death = death
    }

    /// - Throws: ``RPCError/invalidParams(_:)`` with the field that is missing or of the wrong kind.
    public init(json: JSON) throws(RPCError) {
        let fields = try Fields(json)
        var death: Death?
        if let uid = try fields.optionalString("replacedBy") {
            death = Death(
                uid: uid, name: try fields.string("replacedByName"), at: try fields.int("replacedAt"),
                diedAt: try fields.int("diedAt"))
        }
        let tooLarge = try fields.optionalInt("tooLarge")
        self.init(
            id: try fields.string("id"), path: try fields.string("path"), within: try fields.optionalString("within"),
            value: tooLarge == nil ? json["value"] ?? .null : nil, tooLarge: tooLarge,
            author: try fields.string("author"), authorName: try fields.string("authorName"),
            writtenAt: try fields.int("writtenAt"), death: death)
    }

    /// The row with the fields of the fixed surface; what is absent is left out.
    public var json: JSON {
        var object: JSONObject = ["id": .string(id), "path": .string(path)]
        object.append("within", ifPresent: within.map(JSON.string))
        object.append("value", ifPresent: value)
        object.append("tooLarge", ifPresent: tooLarge.map(JSON.int))
        object.append("author", .string(author))
        object.append("authorName", .string(authorName))
        object.append("writtenAt", .int(writtenAt))
        if let death {
            object.append("replacedBy", .string(death.uid))
            object.append("replacedByName", .string(death.name))
            object.append("replacedAt", .int(death.at))
            object.append("diedAt", .int(death.diedAt))
        } else {
            object.append("live", true)
        }
        return .object(object)
    }
}
