/// An instance of Starling that is announced on an interface of this machine. A hint, never presence.
public struct HeardRow: Sendable, Equatable {
    /// The name of the instance, printable ASCII.
    public var instance: String
    /// The interface on which it is heard.
    public var interface: String
    /// The name of its machine, as it says.
    public var host: String
    /// Each with its port, as `10.0.0.7:47474`.
    public var addresses: [String]
    /// Whether it belongs to this node's workspace, as far as its hint tells.
    public var isOurs: Bool
    /// Whether a link to it is up, by whichever address.
    public var isConnected: Bool

    public init(
        instance: String, interface: String, host: String, addresses: [String], isOurs: Bool, isConnected: Bool
    ) {
        self.instance = instance
        self.interface = interface
        self.host = host
        self.addresses = addresses
        self.isOurs = isOurs
        self.isConnected = isConnected
    }

    /// - Throws: ``RPCError/invalidParams(_:)`` with the field that is missing or of the wrong kind.
    public init(json: JSON) throws(RPCError) {
        let fields = try Fields(json)
        self.init(
            instance: try fields.string("instance"), interface: try fields.string("interface"),
            host: try fields.string("host"), addresses: try fields.strings("addresses"),
            isOurs: try fields.bool("ours"), isConnected: try fields.bool("connected"))
    }

    /// The row with the fields of the fixed surface.
    public var json: JSON {
        [
            "instance": .string(instance), "interface": .string(interface), "host": .string(host),
            "addresses": .array(addresses.map(JSON.string)), "ours": .bool(isOurs), "connected": .bool(isConnected),
        ]
    }
}
