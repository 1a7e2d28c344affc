/// What a node says about itself.
public struct StatusRow: Sendable, Equatable {
    public var uid: String
    public var name: String
    public var workspace: String
    /// Version of the daemon.
    public var version: String
    public var peers: [PeerRow]
    /// Entries here, live and held, and the dead that are not removed yet.
    public var entries: Int64
    /// Hexadecimal root digest: two nodes with equal roots hold the same entries.
    public var root: String
    /// Entries that lie too far in the future and wait until they are due.
    public var held: Int64
    /// Entries of kinds this version does not know.
    public var skipped: Int64
    /// Entries that were refused since the daemon started.
    public var denied: Int64
    /// Bytes of the database on disk, with its log.
    public var databaseBytes: Int64
    /// In words, how the search for others goes: `Avahi`, `no Avahi, trying again`, `off` …
    public var discovery: String
    /// Workspace time minus this machine's clock, in milliseconds.
    public var offsetMs: Int64 = 0
    /// Whose entries are held, most entries first; not more than a few.
    public var heldAuthors: [HeldRow] = []
    /// What a person should know and can mend; none of them is over.
    public var notices: [NoticeRow] = []
    /// What the entries take; nil from a daemon that does not say.
    public var storage: StorageRow?
    /// Nothing could be stored when it was tried last.
    public var isDiskFull = false

    public init(
        uid: String, name: String, workspace: String, version: String, peers: [PeerRow], entries: Int64, root: String,
        held: Int64, skipped: Int64, denied: Int64, databaseBytes: Int64, discovery: String
    ) {
        self.uid = uid
        self.name = name
        self.workspace = workspace
        self.version = version
        self.peers = peers
        self.entries = entries
        self.root = root
        self.held = held
        self.skipped = skipped
        self.denied = denied
        self.databaseBytes = databaseBytes
        self.discovery = discovery
    }

    /// - Throws: ``RPCError/invalidParams(_:)`` with the field that is missing or of the wrong kind.
    public init(json: JSON) throws(RPCError) {
        let fields = try Fields(json)
        self.init(
            uid: try fields.string("uid"), name: try fields.string("name"),
            workspace: try fields.string("workspace"), version: try fields.string("version"),
            peers: try fields.rows("peers", PeerRow.init(json:)), entries: try fields.int("entries"),
            root: try fields.string("root"), held: try fields.int("held"), skipped: try fields.int("skipped"),
            denied: try fields.int("denied"), databaseBytes: try fields.int("databaseBytes"),
            discovery: try fields.optionalString("discovery") ?? "")
        offsetMs = try fields.optionalInt("offsetMs") ?? 0
        if fields["heldAuthors"] != nil { heldAuthors = try fields.rows("heldAuthors", HeldRow.init(json:)) }
        if fields["notices"] != nil { notices = try fields.rows("notices", NoticeRow.init(json:)) }
        storage = try fields["storage"].map(StorageRow.init(json:))
        isDiskFull = try fields.optionalBool("diskFull") ?? false
    }

    /// The row with the fields of the fixed surface.
    public var json: JSON {
        var object: JSONObject = [
            "uid": .string(uid), "name": .string(name), "workspace": .string(workspace),
            "version": .string(version), "peers": .array(peers.map(\.json)), "entries": .int(entries),
            "root": .string(root), "held": .int(held), "skipped": .int(skipped), "denied": .int(denied),
            "databaseBytes": .int(databaseBytes), "discovery": .string(discovery),
            "offsetMs": .int(offsetMs), "heldAuthors": .array(heldAuthors.map(\.json)),
            "notices": .array(notices.map(\.json)),
        ]
        object.append("storage", ifPresent: storage?.json)
        if isDiskFull { object.append("diskFull", true) }
        return .object(object)
    }
}
