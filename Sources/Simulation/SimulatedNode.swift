public import Replication
public import Seal
public import Store
public import Tree
public import Wire

/// A node without sockets: the real machine over an in-memory store, with clocks and a disk of its own.
public final class SimulatedNode {
    public enum State: Sendable {
        case running
        /// Suspended: nothing happens, the monotonic clock stands still, and what arrives waits.
        case asleep
        case off
    }

    /// What has reached a node and what it has cost.
    public struct Traffic: Sendable, Equatable {
        public var messages = 0
        /// Bytes of them, unless the simulation does not encode them.
        public var bytes = 0
        /// Copies of entries that came in bundles, known ones included.
        public var entries = 0
        /// Timers that fired.
        public var wakeUps = 0
        /// Bytes of soft state, and of what announces it.
        public var softBytes = 0
        /// Milliseconds in which the machine was fed something: times that a process would have woken.
        public var moments = 0
        private var lastMs = UInt64.max

        mutating func happened(atMs nowMs: UInt64) {
            if lastMs != nowMs { moments += 1 }
            lastMs = nowMs
        }
    }

    public let index: Int
    public internal(set) var key: SigningKey
    /// What the disk and the system's cache of it hold: it survives the end of the process.
    public internal(set) var store: MemoryStore
    public internal(set) var replicator: Replicator
    public internal(set) var clock: HybridClock
    public internal(set) var state = State.running
    /// This node's wall clock minus the true time, in milliseconds.
    public var skewMs: Int64
    /// Whether the kernel says that the wall clock is synchronised.
    public var isSynchronised = false
    /// Up to which time others may have seen what it wrote, while it is alone.
    var told = HLC.zero
    /// Nodes reach each other if they are in the same part of the network.
    public internal(set) var part = 0
    /// The nodes it has heard of; nil for all. And whether it dials whatever it has heard of.
    public internal(set) var known: [Int]?
    public internal(set) var dialsEverybody = true
    /// Its machine has no power, not only its program an end.
    var isHostOff = false
    /// Writing fails, reading goes on.
    public var isDiskFull = false
    /// The greatest tag that this node's version of the protocol knows; nil for all. What it does not know it neither
    /// sends nor takes.
    public var tagMax: UInt64?
    /// Somebody who holds the key and runs another program; then there is no machine.
    public var intruder: (any Intruder)?
    public internal(set) var traffic = Traffic()
    /// Bundles refused for a bad signature or a forbidden place.
    public internal(set) var refusedCount = 0

    /// What the store has thrown at the machine; nothing, but for a fault of ours.
    public internal(set) var errors: [any Error] = []

    var instance: UInt64
    /// How often it was started.
    public internal(set) var starts: UInt64 = 0
    /// Links that are up.
    var links: [LinkID: Connection] = [:]
    /// The true time of the timer that is under way.
    var timerMs: UInt64?
    /// Milliseconds that it has slept.
    var sleptMs: UInt64 = 0
    var asleepSinceMs: UInt64 = 0
    /// What has arrived while it slept.
    var deferred: [Deferred] = []
    /// What the disk holds for certain: it survives a power failure.
    var durable: DiskImage?
    /// What a watcher remembers of the store's contents: it goes back together with them.
    public var notes: (any Sendable)?
    /// It crashes after so many more effects.
    var crashPlan: (effects: Int, cause: Simulation.Crash)?

    enum Deferred {
        case message(Connection, Simulation.Payload)
        case down(Connection)
    }

    /// No clock is right that shows a time before this.
    static let buildMs: UInt64 = 1_700_000_000_000
    /// An entry further ahead of workspace time than this is held.
    static let heldMs: UInt64 = 24 * 3600 * 1000

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

    /// Nodes it has a link to, as their numbers, ascending; one of them may be there twice for a moment.
    public var neighbours: [Int] { links.values.map { $0.ends[1 - $0.side(of: index)].node }.sorted() }

    /// Received bytes, unless the simulation does not encode messages.
    public var receivedBytes: Int { traffic.bytes }

    /// A live value, as a client reads it.
    public func value(at path: Path) throws -> Value { try TreeView(store).value(at: path) }
}

/// Somebody in the workspace who runs a program of his own.
public protocol Intruder: AnyObject {
    func linkUp(_ link: LinkID, peer: Bytes32, _ node: SimulatedNode, _ simulation: Simulation)
    func linkDown(_ link: LinkID, _ node: SimulatedNode, _ simulation: Simulation)
    func received(_ message: PeerMessage, _ link: LinkID, _ node: SimulatedNode, _ simulation: Simulation)
}

/// Is told what nodes do. Nothing in the simulation depends on it.
public protocol SimulationWatcher: AnyObject {
    /// Entries became live at a node, or were held there; its own writes included.
    func applied(_ result: CommitResult, at node: SimulatedNode)
    /// A node has issued anew what nobody had seen.
    func renewed(_ result: RenewalResult, at node: SimulatedNode)
    /// A node's process begins with what its store holds.
    func started(_ node: SimulatedNode)
    /// A node's store went back to an earlier state.
    func wentBack(_ node: SimulatedNode, from before: MemoryStore)
}

/// What a disk holds at one time.
public struct DiskImage {
    public let store: MemoryStore
    let notes: (any Sendable)?
}
