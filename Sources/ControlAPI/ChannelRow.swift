/// A channel as the client API shows it.
public struct ChannelRow: Sendable, Equatable {
    public var key: String
    /// Without `#`.
    public var name: String
    public var topic: String?
    /// Messages after the place up to which this user has read.
    public var unread: Int64
    /// Key of the youngest message; nil in an empty channel.
    public var last: String?
    public var archived: Bool
    /// Messages older than this time, in milliseconds since 1970, have ended for good; nil if the channel keeps all.
    public var before: Int64?
    /// This user's rule keeps messages so many milliseconds; nil without one.
    public var keepMs: Int64?

    public init(
        key: String, name: String, topic: String? = nil, unread: Int64 = 0, last: String? = nil, archived: Bool = false,
        before: Int64? = nil, keepMs: Int64? = nil
    ) {
        self.key = key
        self.name = name
        self.topic = topic
        self.unread = unread
        self.last = last
        self.archived = archived
        self.before = before
        self.keepMs = keepMs
    }

    /// - Throws: ``RPCError/invalidParams(_:)`` with the field that is missing or of the wrong kind.
    public init(json: JSON) throws(RPCError) {
        let fields = try Fields(json)
        self.init(
            key: try fields.string("key"), name: try fields.string("name"), topic: try fields.optionalString("topic"),
            unread: try fields.int("unread"), last: try fields.optionalString("last"),
            archived: try fields.optionalBool("archived") ?? false, before: try fields.optionalInt("before"),
            keepMs: try fields.optionalInt("keepMs"))
    }

    /// The row with the fields of the fixed surface; what there is none of is left out, and `archived` unless it is
    /// true.
    public var json: JSON {
        var object: JSONObject = ["key": .string(key), "name": .string(name)]
        object.append("topic", ifPresent: topic.map(JSON.string))
        object.append("unread", .int(unread))
        object.append("last", ifPresent: last.map(JSON.string))
        object.append("archived", ifPresent: archived ? true : nil)
        object.append("before", ifPresent: before.map(JSON.int))
        object.append("keepMs", ifPresent: keepMs.map(JSON.int))
        return .object(object)
    }
}
