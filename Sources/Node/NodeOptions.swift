public import Net
internal import Replication

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
    /// On which interfaces peers are looked for.
    public var interfaces = InterfaceFilter()
    /// Up to so many nodes each links to everybody, above that to some; see PeerProtocol.
    public var everybodyMax = Replicator.everybodyMax
    /// Whether addresses of this host that others tell are dialled: for several nodes on one. Otherwise others could
    /// make this node connect to whatever listens on its host only.
    public var dialsLoopback = false
    /// The workspace of a home that has joined none.
    public var workspace: Workspace = .open
    /// A home that has joined no workspace joins this one.
    public var invite: Invite?
    /// The workspace that the home has to be in; nil for whichever it is in.
    public var workspaceName: String?
    /// Which networks this machine is on.
    var places: @Sendable () -> [NetworkPlace] = NetworkPlace.ofThisMachine
    /// How long a gateway whose hardware address does not turn out makes a node wait.
    var gatewayMs: UInt64 = 5_000
    /// Makes the kernel find out the hardware addresses of the gateways.
    var askGateways: @Sendable () -> Void = NetworkPlace.askGateways
    /// A network on which there are only link-local addresses for so long gives no others.
    var namelessMs: UInt64 = 60_000
    /// The node signs its own entries together when they are this old and it has nothing else to do: those who are
    /// there have verified each by then, those who come later have not.
    public var bundlingAgeMs: UInt64 = 10 * 60 * 1000
    /// It does not for fewer entries than this: they would soon be signed together anew.
    public var bundlingCountMin = 256
    /// A connection is closed if its handshake is not done after this, however much is going on.
    public var handshakeMs: UInt64 = 5000
    public var log = Log()

    public init(home: NodeHome) { self.home = home }
}
