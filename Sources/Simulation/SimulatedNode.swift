public import Replication
public import Seal
public import Store
public import Tree
internal import Wire

/// A node without sockets: the real machine over an in-memory store, with a wall clock of its own.
public final class SimulatedNode {
    public let index: Int
    public let key: SigningKey
    /// What survives a crash.
    public let store: MemoryStore
    public internal(set) var replicator: Replicator
    var clock: HybridClock
    /// This node's wall clock minus the true time, in milliseconds.
    public var skewMs: Int64
    var instance: UInt64
    /// Links that are up: to which node each leads.
    var links: [LinkID: Int] = [:]
    /// The time of the timer that is under way.
    var timerMs: UInt64?
    var isDown = false
    /// Bundles refused for a bad signature or a forbidden place.
    public internal(set) var refusedCount = 0
    /// Messages received, by a name for each kind: what the traffic is made of.
    public internal(set) var receivedBytes = 0

    static let buildMs: UInt64 = 1_700_000_000_000

    init(index: Int, key: SigningKey, skewMs: Int64, instance: UInt64, workspace: Bytes32) {
        self.index = index
        self.key = key
        self.skewMs = skewMs
        self.instance = instance
        store = MemoryStore()
        clock = HybridClock(workspaceMs: 0, greatestStored: .zero, randomness: 0)
        replicator = Replicator(
            workspace: workspace, key: key, instance: instance, clock: ClockEstimate(buildMs: SimulatedNode.buildMs),
            highWater: .zero)
    }

    public var author: Bytes32 { key.publicKey }

    /// A live value, as a client reads it.
    public func value(at path: Path) throws -> Value { try TreeView(store).value(at: path) }
}
