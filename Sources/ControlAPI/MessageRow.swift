/// A message as the client API shows it. Times are milliseconds since 1970.
public struct MessageRow: Sendable, Equatable {
    /// One emoji and who set it.
    public struct Reaction: Sendable, Equatable {
        public var emoji: String
        public var uids: [String]

        public init(emoji: String, uids: [String]) {
            self.emoji = emoji
            self.uids = uids
        }
    }

    public var key: String
    /// Key of the channel.
    public var channel: String
    public var senderId: String
    /// What the sender was called when writing it. Names are not unique: compare `senderId`.
    public var senderName: String
    /// Nil for a message without text.
    public var text: String?
    public var createdAt: Int64
    /// The key certifies the sender. False for messages of Firebase clients, whose keys certify nobody.
    public var verified: Bool
    /// Key of the message that this one answers.
    public var replyTo: String?
    public var editedAt: Int64?
    /// The attachment as the tree holds it.
    public var attachment: JSON?
    /// In the order in which the tree holds them.
    public var reactions: [Reaction]
    /// The message is gone; of the other fields only `key` and `channel` mean something.
    public var deleted: Bool

    public init(
        key: String, channel: String, senderId: String, senderName: String, text: String?, createdAt: Int64,
        verified: Bool, replyTo: String? = nil, editedAt: Int64? = nil, attachment: JSON? = nil,
        reactions: [Reaction] = []
    ) {
        self.key = key
        self.channel = channel
        self.senderId = senderId
        self.senderName = senderName
        self.text = text
        self.createdAt = createdAt
        self.verified = verified
        self.replyTo = replyTo
        self.editedAt = editedAt
        self.attachment = attachment
        self.reactions = reactions
        deleted = false
    }

    /// The row of a message that was deleted.
    public static func deleted(key: String, channel: String) -> MessageRow {
        var row = MessageRow(
            key: key, channel: channel, senderId: "", senderName: "", text: nil, createdAt: 0, verified: false)
        row.deleted = true
        return row
    }

    /// - Throws: ``RPCError/invalidParams(_:)`` with the field that is missing or of the wrong kind.
    public init(json: JSON) throws(RPCError) {
        let fields = try Fields(json)
        if try fields.optionalBool("deleted") == true {
            self = .deleted(key: try fields.string("key"), channel: try fields.string("in"))
            return
        }
        self.init(
            key: try fields.string("key"), channel: try fields.string("in"),
            senderId: try fields.string("senderId"), senderName: try fields.string("senderName"),
            text: try fields.optionalString("text"), createdAt: try fields.int("createdAt"),
            verified: try fields.bool("verified"), replyTo: try fields.optionalString("replyTo"),
            editedAt: try fields.optionalInt("editedAt"), attachment: fields["attachment"],
            reactions: try Self.reactions(fields["reactions"]))
    }

    private static func reactions(_ json: JSON?) throws(RPCError) -> [Reaction] {
        guard let json else { return [] }
        let fields = try Fields(json)
        var reactions: [Reaction] = []
        for member in fields.object.members {
            reactions.append(Reaction(emoji: member.key, uids: try fields.strings(member.key)))
        }
        return reactions
    }

    /// The row with the fields of the fixed surface; what is absent is left out. A deleted message is
    /// `{key, in, deleted: true}`.
    public var json: JSON {
        var object: JSONObject = ["key": .string(key), "in": .string(channel)]
        guard !deleted else {
            object.append("deleted", true)
            return .object(object)
        }
        object.append("senderId", .string(senderId))
        object.append("senderName", .string(senderName))
        object.append("text", ifPresent: text.map(JSON.string))
        object.append("createdAt", .int(createdAt))
        object.append("verified", .bool(verified))
        object.append("replyTo", ifPresent: replyTo.map(JSON.string))
        object.append("editedAt", ifPresent: editedAt.map(JSON.int))
        object.append("attachment", ifPresent: attachment)
        if !reactions.isEmpty {
            var byEmoji = JSONObject()
            for reaction in reactions { byEmoji[reaction.emoji] = .array(reaction.uids.map(JSON.string)) }
            object.append("reactions", .object(byEmoji))
        }
        return .object(object)
    }
}
