/// What only the daemon knows of how it stands on its network: the answer of `node.diagnose`.
public struct DiagnosisRow: Sendable, Equatable {
    /// How the search by mDNS stands. Open: more may come.
    public struct Discovery: RawRepresentable, Sendable, Hashable {
        public var rawValue: String

        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// Switched off by whoever started the daemon.
        public static let off = Discovery(rawValue: "off")
        public static let starting = Discovery(rawValue: "starting")
        public static let up = Discovery(rawValue: "up")
        public static let down = Discovery(rawValue: "down")
        /// The open workspace rests on a network that is not its own.
        public static let paused = Discovery(rawValue: "paused")
    }

    /// How sound the database is. Open: more may come.
    public struct Soundness: RawRepresentable, Sendable, Hashable {
        public var rawValue: String

        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        public static let sound = Soundness(rawValue: "sound")
        public static let damaged = Soundness(rawValue: "damaged")
        /// As far as was looked at in the time it may take, nothing is damaged.
        public static let partly = Soundness(rawValue: "partly")
    }

    /// The daemon's process.
    public var process: Int64
    /// The port on which it listens for peers.
    public var port: Int64
    public var discovery: Discovery
    /// Why discovery is down, in words.
    public var reason: String?
    /// The name under which it is announced; nil while it is not.
    public var instance: String?
    /// Instances that are announced on this network, at most 512.
    public var heard: [HeardRow]
    /// As `node.peers` tells them.
    public var peers: [PeerRow]
    /// The folder with key and database.
    public var home: String
    public var database: Soundness
    /// What is damaged, in words.
    public var damage: String?
    /// Nothing could be stored when it was tried last.
    public var isDiskFull: Bool
    /// Workspace time minus this machine's clock, in milliseconds.
    public var offsetMs: Int64
    public var notices: [NoticeRow]

    public init(
        process: Int64, port: Int64, discovery: Discovery, reason: String? = nil, instance: String? = nil,
        heard: [HeardRow] = [], peers: [PeerRow] = [], home: String, database: Soundness, damage: String? = nil,
        isDiskFull: Bool = false, offsetMs: Int64 = 0, notices: [NoticeRow] = []
    ) {
        self.process = process
        self.port = port
        self.discovery = discovery
        self.reason = reason
        self.instance = instance
        self.heard = heard
        self.peers = peers
        self.home = home
        self.database = database
        self.damage = damage
        self.isDiskFull = isDiskFull
        self.offsetMs = offsetMs
        self.notices = notices
    }

    /// - Throws: ``RPCError/invalidParams(_:)`` with the field that is missing or of the wrong kind.
    public init(json: JSON) throws(RPCError) {
        let fields = try Fields(json)
        self.init(
            process: try fields.int("process"), port: try fields.int("port"),
            discovery: Discovery(rawValue: try fields.string("discovery")),
            reason: try fields.optionalString("reason"), instance: try fields.optionalString("instance"),
            heard: try fields.rows("heard", HeardRow.init(json:)), peers: try fields.rows("peers", PeerRow.init(json:)),
            home: try fields.string("home"), database: Soundness(rawValue: try fields.string("database")),
            damage: try fields.optionalString("damage"), isDiskFull: try fields.bool("diskFull"),
            offsetMs: try fields.int("offsetMs"), notices: try fields.rows("notices", NoticeRow.init(json:)))
    }

    /// The row with the fields of the fixed surface.
    public var json: JSON {
        var object: JSONObject = [
            "process": .int(process), "port": .int(port), "discovery": .string(discovery.rawValue),
        ]
        object.append("reason", ifPresent: reason.map(JSON.string))
        object.append("instance", ifPresent: instance.map(JSON.string))
        object.append("heard", .array(heard.map(\.json)))
        object.append("peers", .array(peers.map(\.json)))
        object.append("home", .string(home))
        object.append("database", .string(database.rawValue))
        object.append("damage", ifPresent: damage.map(JSON.string))
        object.append("diskFull", .bool(isDiskFull))
        object.append("offsetMs", .int(offsetMs))
        object.append("notices", .array(notices.map(\.json)))
        return .object(object)
    }
}
