public import ControlAPI

/// Something the daemon tells without being asked each time.
public struct ControlEvent: Sendable, Equatable {
    /// As the daemon sent them: `{subscription, event, …}`.
    public let params: JSON

    public init(params: JSON) {
        self.params = params
    }

    /// `message`, `ready`, `deleted`, `channel`, `person`, `child_added` …; empty if the daemon gave none.
    public var name: String { params["event"]?.string ?? "" }

    /// What the observing call returned as `subscription`.
    public var subscription: JSON { params["subscription"] ?? .null }
}

/// The daemon's first line.
public struct Hello: Sendable, Equatable {
    /// The version of the API this library speaks.
    public static let api: Int64 = 1

    public let version: String
    public let api: Int64
    public let workspace: String
    public let uid: String

    init(params: JSON) throws(RPCError) {
        let fields = try Fields(params)
        version = try fields.string("version")
        api = try fields.int("api")
        workspace = try fields.string("workspace")
        uid = try fields.string("uid")
    }
}
