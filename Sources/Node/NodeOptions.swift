public import Net

/// How a node is started.
public struct NodeOptions: Sendable {
    /// The port nodes listen on unless told otherwise.
    public static let portDefault: UInt16 = 47474

    public var home: NodeHome
    /// The display name to take; nil keeps the stored one, at first start the login name.
    public var name: String?
    /// Where to listen for peers; nil for every address, port 47474 or, if that is taken, a free one that is
    /// remembered.
    public var listen: SocketAddress?
    /// Peers to connect to whatever discovery says.
    public var peers: [HostPort] = []
    /// Whether to look for peers by mDNS.
    public var usesDiscovery = true
    public var workspace: Workspace = .open
    public var log = Log()

    public init(home: NodeHome) { self.home = home }
}
