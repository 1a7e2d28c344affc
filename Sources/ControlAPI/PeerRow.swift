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
    }

    /// The row with the fields of the fixed surface; what is not known yet is `null`.
    public var json: JSON {
        [
            "uid": .string(uid), "name": .string(name), "address": .string(address),
            "state": .string(state.rawValue), "rttMs": rttMs.map(JSON.double) ?? .null,
            "skewMs": skewMs.map(JSON.int) ?? .null, "lacks": lacks.map(JSON.int) ?? .null,
            "ahead": ahead.map(JSON.int) ?? .null,
        ]
    }
}
