internal import Replication
public import Seal
internal import Store
internal import Tree
internal import Wire

/// Several nodes and the network between them in one process, on virtual time, from one seed.
///
/// The machines are the daemon's own, and what is around them does what the daemon's shell does. The same seed gives
/// the same run, down to ``traceHash``. Nothing that happens costs more the more nodes there are.
public final class Simulation {
    /// How messages get from one node to another.
    public enum Transfer: Sendable {
        /// As values: nobody counts bytes.
        case values
        /// As values, and their encoding is counted.
        case counted
        /// Through their encoding.
        case encoded
    }

    public struct Options: Sendable {
        /// One-way delays of messages.
        public var delayMs: ClosedRange<UInt64> = 1...40
        public var transfer = Transfer.encoded
        /// What one direction of a link carries, if that is limited; messages are encoded for it.
        public var bytesPerMs: Int?
        /// Whether nodes that reach each other connect by themselves, all of them.
        public var dials = false
        /// How many others each node knows of when it starts, at random; nil for everybody.
        public var knows: Int?
        /// Whether power failures lose what was written last. Costs a copy of the store now and then.
        public var losesUnflushed = false

        public init() {}
    }

    /// How a node ends.
    public enum Crash: Sendable {
        /// The process is killed; what was committed is there, and others notice at once.
        case kill
        /// What was not flushed is lost, and others notice nothing.
        case powerFailure
    }

    enum Payload {
        case message(PeerMessage)
        case bytes([UInt8])
        /// Lost on its way.
        case nothing
    }

    enum Event {
        /// To the node at a side of a connection.
        case deliver(Connection, Int, Payload)
        /// The other end was closed.
        case closed(Connection, Int)
        case linkUp(Connection, Int)
        case timer(Int)
        case maintain(Int, start: UInt64)
        case drained(Connection, Int)
        case dial(Int, Int)
        case unreachable(Int, start: UInt64, Int)
        case boot(Int)
    }

    struct Pair: Hashable {
        let a: Int
        let b: Int

        init(_ x: Int, _ y: Int) {
            a = min(x, y)
            b = max(x, y)
        }
    }

    /// True time at the start, in milliseconds since 1970.
    public static let epochMs: UInt64 = 1_800_000_000_000

    public let options: Options
    public let workspace: Bytes32
    public internal(set) var nodes: [SimulatedNode] = []
    public internal(set) var nowMs: UInt64 = 0
    public var random: SplitMix64
    public weak var watcher: (any SimulationWatcher)?
    /// A digest of everything that was delivered, committed and written, and of all that broke, in order.
    public var traceHash: UInt64 { trace.hash }
    /// Events that were carried out: what a run costs.
    public internal(set) var eventCount = 0
    var trace = Trace()
    var queue = EventQueue<Event>()
    /// Links between nodes of which no end is closed.
    var connections: [Pair: Connection] = [:]
    /// What becomes of new links.
    var linkFaults: [Pair: LinkFaults] = [:]
    var nextLink = 0
    let signatures = SignatureCache()

    public init(nodes count: Int, seed: UInt64, skewsMs: [Int64] = [], options: Options = Options()) {
        random = SplitMix64(seed: seed)
        workspace = Bytes32(repeating: 7)
        self.options = options
        for index in 0..<count { addNode(skewMs: index < skewsMs.count ? skewsMs[index] : 0) }
        if let knows = options.knows { letKnow(knows) }
    }

    /// From here on each node has heard of others only at random, and of whom it then hears from them.
    ///
    /// - `count`: of so many others at most.
    public func letKnow(_ count: Int) {
        for node in nodes {
            node.known = []
            for _ in 0..<count { tell(node.index, of: Int.random(in: nodes.indices, using: &random)) }
        }
    }

    /// Adds a node and starts it.
    ///
    /// - `key`: nil for a key of its own.
    /// - `disk`: a copy of what its disk holds.
    @discardableResult
    public func addNode(skewMs: Int64 = 0, key: SigningKey? = nil, disk: DiskImage? = nil) -> SimulatedNode {
        let index = nodes.count
        let key = key ?? SigningKey(seed: BLAKE2b.hash(Array("node \(index)".utf8)))
        let node = SimulatedNode(
            index: index, key: key, skewMs: skewMs, instance: random.next(), workspace: workspace)
        if let disk { (node.store, node.notes) = (disk.store.copy(), disk.notes) }
        nodes.append(node)
        if options.losesUnflushed { node.durable = image(of: node) }
        start(node)
        return node
    }

    // MARK: Time

    /// Lets time pass, and with it everything that is due.
    public func run(forMs duration: UInt64) {
        let end = nowMs + duration
        while let next = queue.nextMs, next <= end, let (atMs, event) = queue.removeFirst() {
            nowMs = max(nowMs, atMs)
            eventCount += 1
            handle(event)
        }
        nowMs = end
    }

    /// Lets time pass until `condition` holds; false if it does not within the limit.
    ///
    /// - `everyMs`: how often it is looked at.
    public func run(
        atMostMs limit: UInt64, everyMs: UInt64 = 50, until condition: () throws -> Bool
    ) rethrows -> Bool {
        let end = nowMs + limit
        while nowMs < end {
            if try condition() { return true }
            run(forMs: min(everyMs, end - nowMs))
        }
        return try condition()
    }

    private func handle(_ event: Event) {
        switch event {
        case .deliver(let connection, let side, let payload): deliver(connection, side, payload)
        case .closed(let connection, let side): closed(connection, side)
        case .linkUp(let connection, let side): linkUp(connection, side)
        case .drained(let connection, let side): drained(connection, side)
        case .dial(let x, let y): dialDue(x, y)
        case .unreachable(let index, let start, let other): unreachable(index, start: start, other)
        case .boot(let index): boot(index)
        case .maintain(let index, let start):
            if nodes[index].starts == start { maintain(nodes[index]) }
        case .timer(let index):
            let node = nodes[index]
            guard node.timerMs == nowMs, node.state == .running else { return }
            node.timerMs = nil
            node.traffic.wakeUps += 1
            feed(node, .tick)
        }
    }

    /// Whether all nodes that run a machine hold the same entries.
    public var isConverged: Bool {
        var root: BucketDigest?
        for node in nodes where node.intruder == nil && node.state == .running {
            let own = node.store.digest(of: .root)
            if let root, root != own { return false }
            root = own
        }
        return true
    }
}
