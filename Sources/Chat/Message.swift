public import Seal
public import Tree

/// A chat message as it stands in the tree.
public struct Message: Sendable, Equatable {
    /// UTF-8 bytes of a message's text; longer things are files.
    public static let textMax = 64 * 1024

    public let key: Key
    public let senderId: String
    public let senderName: String
    public let text: String?
    /// Milliseconds since 1970 by the writer's workspace time.
    public let createdAtMs: Int64
    public let replyTo: String?
    public let editedAtMs: Int64?
    public let attachment: Value?
    /// Emoji and who gave it, in the tree's order.
    public let reactions: [(emoji: String, uids: [String])]
    /// Whether the message's key certifies its sender.
    public let isVerified: Bool

    /// Nil for a node that is no message: without sender, or with neither text nor attachment nor photo.
    public init?(key: Key, value: Value) {
        guard let sender = value["senderId"].string else { return nil }
        let attachment = value["attachment"]
        let text = value["text"].string
        guard text != nil || !attachment.isNull || value["photoURL"].string != nil else { return nil }
        self.key = key
        senderId = sender
        senderName = value["senderName"].string ?? ""
        self.text = text ?? value["photoURL"].string
        createdAtMs = value["createdAt"].integer ?? AutoID(key.text).map { Int64(clamping: $0.hlc.ms) } ?? 0
        replyTo = value["replyTo"].string
        editedAtMs = value["editedAt"].integer
        self.attachment = attachment.isNull ? nil : attachment
        reactions = Message.reactions(value["reactions"])
        isVerified = UID.parse(sender).flatMap { author in AutoID(key.text)?.isCertified(by: author) } ?? false
    }

    private static func reactions(_ value: Value) -> [(emoji: String, uids: [String])] {
        var byEmoji: [Key: [String]] = [:]
        for person in value.object?.children ?? [] {
            for emoji in person.value.object?.children ?? [] { byEmoji[emoji.key, default: []].append(person.key.text) }
        }
        return byEmoji.keys.sorted().map { ($0.text, byEmoji[$0] ?? []) }
    }

    /// The value of a new message.
    public static func value(
        sender: Bytes32, senderName: String, text: String, createdAtMs: UInt64, replyTo: String?
    ) -> Value {
        var pairs: [(String, Value)] = [
            ("senderId", .string(UID.text(sender))), ("senderName", .string(senderName)), ("text", .string(text)),
            ("createdAt", .number(Int64(clamping: createdAtMs))),
        ]
        if let replyTo { pairs.append(("replyTo", .string(replyTo))) }
        return .object(ObjectValue(pairs.compactMap { text, value in Key(text).map { ($0, value) } }))
    }

    public static func == (a: Message, b: Message) -> Bool {
        a.key == b.key && a.senderId == b.senderId && a.senderName == b.senderName && a.text == b.text
            && a.createdAtMs == b.createdAtMs && a.replyTo == b.replyTo && a.editedAtMs == b.editedAtMs
            && a.attachment == b.attachment && a.isVerified == b.isVerified
            && a.reactions.elementsEqual(b.reactions) { $0.emoji == $1.emoji && $0.uids == $1.uids }
    }
}
