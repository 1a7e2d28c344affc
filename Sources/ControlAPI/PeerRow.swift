/// Another node as the client API shows it.
public struct PeerRow: Sendable, Equatable {
    /// `connected`, `connecting`, `unreachable` or `refused`. Open: more may come.
    public struct State: RawRepresentable, Sendable, Hashable {
        public var rawValue: String

        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        public static let connected = State(rawValue: "connected")
        public static let connecting = State(rawValue: "connecting")
        public static let unreachable = State(rawValue: "unreachable")
        public static let refused = State(rawValue: "refused")
    }

    /// Where an address is known from. Open: more may come.
    public struct Path: RawRepresentable, Sendable, Hashable {
        public var rawValue: String

        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// Announced on the network, found through Avahi.
        public static let mdns = Path(rawValue: "mdns")
        /// Added by a person.
        public static let named = Path(rawValue: "named")
        /// Told by another node.
        public static let gossiped = Path(rawValue: "gossiped")
        /// The other side opened the connection.
        public static let inbound = Path(rawValue: "inbound")
        /// Good before this start.
        public static let remembered = Path(rawValue: "remembered")
    }

    /// Why an address does not lead to a connection. Open: more may come.
    public struct Failure: RawRepresentable, Sendable, Hashable {
        public var rawValue: String

        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// Nothing listens at the port, or a firewall says so (ECONNREFUSED).
        public static let refused = Failure(rawValue: "refused")
        /// No answer in time: switched off, or a firewall drops it.
        public static let timedOut = Failure(rawValue: "timedOut")
        /// The host does not answer on its own network, or there is no way to it (EHOSTUNREACH, ENETUNREACH).
        public static let unreachable = Failure(rawValue: "unreachable")
        /// This machine forbids it (EPERM, EACCES).
        public static let forbidden = Failure(rawValue: "forbidden")
        /// Something answers and ends the handshake without a word: another workspace's key, no place for another link,
        /// an open workspace that rests, or no Starling.
        public static let key = Failure(rawValue: "key")
        /// No protocol version is common to both.
        public static let version = Failure(rawValue: "version")
        /// One of the two has sent too many entries without a valid signature, and is not let in for a while.
        public static let forged = Failure(rawValue: "forged")
    }

    /// Empty while nobody has said who answers at the address.
    public var uid: String
    public var name: String
    public var address: String
    public var state: State
    /// Milliseconds there and back; nil before the first answer.
    public var rttMs: Double?
    /// How far their clock is ahead of ours, in milliseconds; nil before the first estimate.
    public var skewMs: Int64?
    /// Entries we have and they lack; nil before a comparison.
    public var lacks: Int64?
    /// Entries they have and we lack; nil before a comparison.
    public var ahead: Int64?
    /// Where the address is known from; nil from a daemon that does not say.
    public var path: Path?
    /// How long ago something was heard over the link, in milliseconds; nil without a link.
    public var heardMs: Int64?
    /// Entries of this node that were refused since the daemon started, because their authors may not write them or
    /// their signatures do not fit; nil without a link.
    public var refusals: Int64?
    /// Why it is not connected, for programs; nil where it is, or where the reason has no word.
    public var failure: Failure?
    /// The same in words.
    public var reason: String?
    /// Where `failure` is `version`: whether the other node is the newer one, so that this one is to be updated.
    public var isNewer: Bool?

    public init(
        uid: String, name: String, address: String, state: State, rttMs: Double? = nil, skewMs: Int64? = nil,
        lacks: Int64? = nil, ahead: Int64? = nil
    ) {
        self.uid = uid
        self.name = name
        self.address = address
        self.state = state
        self.rttMs = rttMs
        self.skewMs = skewMs
        self.lacks = lacks
        self.ahead = ahead
    }

    /// - Throws: ``RPCError/invalidParams(_:)`` with the field that is missing or of the wrong kind.
    public init(json: JSON) throws(RPCError) {
        let fields = try Fields(json)
        self.init(
            uid: try fields.string("uid"), name: try fields.string("name"), address: try fields.string("address"),
            state: State(rawValue: try fields.string("state")), rttMs: try fields.optionalDouble("rttMs"),
            skewMs: try fields.optionalInt("skewMs"), lacks: try fields.optionalInt("lacks"),
            ahead: try fields.optionalInt("ahead"))
        path = try fields.optionalString("path").map(Path.init(rawValue:))
        heardMs = try fields.optionalInt("heardMs")
        refusals = try fields.optionalInt("refusals")
        failure = try fields.optionalString("failure").map(Failure.init(rawValue:))
        reason = try fields.optionalString("reason")
        isNewer = try fields.optionalBool("newer")
    }

    /// The row with the fields of the fixed surface; what is not known yet is `null`.
    public var json: JSON {
        var object: JSONObject = [
            "uid": .string(uid), "name": .string(name), "address": .string(address),
            "state": .string(state.rawValue), "rttMs": rttMs.map(JSON.double) ?? .null,
            "skewMs": skewMs.map(JSON.int) ?? .null, "lacks": lacks.map(JSON.int) ?? .null,
            "ahead": ahead.map(JSON.int) ?? .null,
        ]
        object.append("path", ifPresent: path.map { .string($0.rawValue) })
        object.append("heardMs", ifPresent: heardMs.map(JSON.int))
        object.append("refusals", ifPresent: refusals.map(JSON.int))
        object.append("failure", ifPresent: failure.map { .string($0.rawValue) })
        object.append("reason", ifPresent: reason.map(JSON.string))
        object.append("newer", ifPresent: isNewer.map(JSON.bool))
        return .object(object)
    }
}
