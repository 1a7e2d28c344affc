/// The workspace a node is in.
public struct WorkspaceRow: Sendable, Equatable {
    public var name: String
    /// Hexadecimal; the same for every member and for ever.
    public var id: String
    /// False for the open workspace, which anybody on the network can read.
    public var isPrivate: Bool
    /// People that are known in it, oneself included.
    public var members: Int64?
    /// How often the key of a private one was changed.
    public var epoch: Int64?
    /// Who has made a private one.
    public var creator: String?
    public var creatorName: String?
    /// Whether the open workspace rests because this is another network than its own.
    public var isPaused = false
    /// The networks that the open workspace lives on, and those this machine is on now.
    public var networks: [String] = []
    public var network: [String] = []
    /// Files that a workspace which was left leaves behind.
    public var kept: [String] = []

    public init(name: String, id: String, isPrivate: Bool) {
        self.name = name
        self.id = id
        self.isPrivate = isPrivate
    }

    /// - Throws: ``RPCError/invalidParams(_:)`` with the field that is missing or of the wrong kind.
    public init(json: JSON) throws(RPCError) {
        let fields = try Fields(json)
        self.init(
            name: try fields.string("name"), id: try fields.string("id"), isPrivate: try fields.bool("private"))
        members = try fields.optionalInt("members")
        epoch = try fields.optionalInt("epoch")
        creator = try fields.optionalString("creator")
        creatorName = try fields.optionalString("creatorName")
        isPaused = try fields.optionalBool("paused") ?? false
        if fields["networks"] != nil { networks = try fields.strings("networks") }
        if fields["network"] != nil { network = try fields.strings("network") }
        if fields["kept"] != nil { kept = try fields.strings("kept") }
    }

    /// The row with the fields of the fixed surface.
    public var json: JSON {
        var object: JSONObject = [
            "name": .string(name), "id": .string(id), "private": .bool(isPrivate),
            "readers": .string(isPrivate ? "members" : "anybody on the network"),
        ]
        object.append("members", ifPresent: members.map(JSON.int))
        object.append("epoch", ifPresent: epoch.map(JSON.int))
        object.append("creator", ifPresent: creator.map(JSON.string))
        object.append("creatorName", ifPresent: creatorName.map(JSON.string))
        if !isPrivate {
            object["paused"] = .bool(isPaused)
            object["networks"] = .array(networks.map(JSON.string))
            object["network"] = .array(network.map(JSON.string))
        }
        if !kept.isEmpty { object["kept"] = .array(kept.map(JSON.string)) }
        return .object(object)
    }
}

extension NoticeRow.Kind {
    /// The key of the workspace has changed and is not for this machine.
    public static let workspace = NoticeRow.Kind(rawValue: "workspace")
    /// The open workspace rests, because this is another network than its own.
    public static let network = NoticeRow.Kind(rawValue: "network")
}
