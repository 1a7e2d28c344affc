import Replication
import Seal
import Store
import Tree
import Wire

/// Machines over in-memory stores whose messages arrive at once, one after the other: for tests that look at what is
/// said. Links go between node 0 and each other one.
final class MachineMesh {
    struct Said {
        let from: Int
        let to: Int
        let message: PeerMessage
    }

    static let workspace = Bytes32(repeating: 7)
    static let wallMs: UInt64 = 1_800_000_000_000

    private(set) var stores: [MemoryStore]
    private(set) var said: [Said] = []
    private(set) var outcomes: [KeyedOutcome] = []
    /// Steps in which a store could not be read.
    private(set) var failures = 0
    private var machines: [Replicator] = []
    private let keys: [SigningKey]
    /// How a node's machine sees its store.
    private let reader: (MemoryStore) -> any ReplicaReader
    private var queue: [(to: Int, link: LinkID, message: PeerMessage?)] = []
    private var up: [LinkID: Int] = [:]
    private var lastLink = 0
    private(set) var nowMs: UInt64 = 1

    init(_ stores: [MemoryStore], reader: @escaping (MemoryStore) -> any ReplicaReader = { $0 }) {
        self.stores = stores
        self.reader = reader
        keys = stores.indices.map { SigningKey(seed: Bytes32(repeating: UInt8(100 + $0))) }
        for index in stores.indices {
            var machine = Replicator(
                workspace: MachineMesh.workspace, key: keys[index], instance: UInt64(index),
                clock: ClockEstimate(buildMs: 0), highWater: .zero)
            machine.start(moment)
            machines.append(machine)
        }
    }

    private var moment: Moment {
        Moment(monotonicMs: nowMs, wallMs: MachineMesh.wallMs + nowMs, isSynchronised: true)
    }

    func connect(_ other: Int) throws {
        lastLink += 1
        let link = LinkID(lastLink)
        up[link] = other
        try feed(0, .linkUp(link, peer: keys[other].publicKey, instance: UInt64(other)))
        try feed(other, .linkUp(link, peer: keys[0].publicKey, instance: 0))
    }

    func cut(_ other: Int) throws {
        for (link, node) in up where node == other {
            up[link] = nil
            try feed(0, .linkDown(link))
            try feed(other, .linkDown(link))
        }
    }

    /// Has a node write entries in one bundle; `make` is given its public key, and `meanwhile` comes when they are
    /// stored and not pushed yet.
    func write(
        _ node: Int, _ make: (Bytes32) throws -> [Entry], meanwhile: () throws -> Void = {}
    ) throws {
        let bundle = Bundle(signing: try make(keys[node].publicKey), by: keys[node], workspace: MachineMesh.workspace)
        _ = try stores[node].commit([bundle], heldAfter: HLC(ms: HLC.msMax))
        try meanwhile()
        try feed(node, .localCommit([bundle]))
    }

    /// What an author may push to a node: entries at once, and a second after it.
    func limitPushes(to node: Int, burst: Int64, rate: Int64) { machines[node].setPushLimits(burst: burst, rate: rate) }

    func verify(_ other: Int) throws {
        for (link, node) in up where node == other { try feed(0, .verify(link)) }
    }

    func feed(_ node: Int, _ event: Replicator.Event) throws {
        var events = [event]
        while !events.isEmpty {
            let effects: [Replicator.Effect]
            do {
                effects = try machines[node].step(moment, events.removeFirst(), reader(stores[node]))
            } catch let failure as StepFailure {
                failures += 1
                effects = failure.effects
            }
            for effect in effects {
                switch effect {
                case .send(let link, let message):
                    guard let other = up[link] else { continue }
                    let to = node == 0 ? other : 0
                    said.append(Said(from: node, to: to, message: message))
                    queue.append((to, link, message))
                case .commit(let link, let bundles):
                    let result = try stores[node].commit(bundles, heldAfter: HLC(ms: HLC.msMax))
                    events.append(.committed(link, admitted: bundles, result: result, denied: [], unsigned: []))
                case .awaitDrain(let link): queue.append((node, link, nil))
                case .contact: events.append(.contacted)
                case .verified(_, let outcome): outcomes.append(outcome)
                case .close(_, let reason): throw MeshError.closed(reason)
                default: break
                }
            }
        }
    }

    enum MeshError: Error { case closed(String) }

    /// Delivers messages until none is under way, or as many as that.
    func run(_ limit: Int = .max) throws {
        var count = 0
        while count < limit, !queue.isEmpty {
            count += 1
            let (to, link, message) = queue.removeFirst()
            guard up[link] != nil else { continue }
            if let message, let decoded = try PeerMessage.decode(message.encoded) {
                try feed(to, .received(link, decoded))
            } else {
                try feed(to, .drained(link))
            }
        }
    }

    /// Lets time pass, and everything that follows.
    func pass(ms: UInt64, step: UInt64 = 10) throws {
        let end = nowMs + ms
        while nowMs < end {
            nowMs += step
            for node in machines.indices { try feed(node, .tick) }
            try run()
        }
    }

    /// Delivers messages one by one until one that fits has been sent.
    func run(until fits: (Said) -> Bool) throws {
        let start = said.count
        while !queue.isEmpty, !said[start...].contains(where: fits) { try run(1) }
    }

    var isEqual: Bool { Set(stores.map { $0.digest(of: .root) }).count == 1 }

    /// Entries sent to a node, those sent twice twice.
    func entries(to node: Int) -> [Entry] {
        said.filter { $0.to == node }.flatMap { said -> [Entry] in
            guard case .bundles(let bundles) = said.message else { return [] }
            return bundles.flatMap { $0.leaves.map(\.entry) }
        }
    }
}

/// Messages at the end of a channel, so many milliseconds apart. Nobody verifies them here.
struct Chatter {
    static let path = "channels/---------lunchlunchlun/messages"
    let count: Int
    let everyMs: UInt64

    func entry(_ number: Int) throws -> Entry {
        let ms = MachineMesh.wallMs - UInt64(count - number) * everyMs
        let key = String(1_000_000 + number)
        return try Entry(
            path: try Path(parsing: "\(Chatter.path)/key-of-a-push-\(key.suffix(6))"), hlc: HLC(ms: ms),
            author: Bytes32(repeating: 1), value: .string("text \(number) " + String(repeating: "x", count: 100)))
    }

    func store(_ isIn: (Int) -> Bool) throws -> MemoryStore {
        let store = MemoryStore()
        let signature = Signature([UInt8](repeating: 7, count: 64))
        let bundles = try (0..<count).filter(isIn).compactMap { number -> Bundle? in
            guard let signature else { return nil }
            let entry = try entry(number)
            return Bundle(
                author: entry.author, count: 1, signature: signature, leaves: [Bundle.Leaf(index: 0, entry: entry)],
                omitted: [])
        }
        _ = try store.commit(bundles, heldAfter: HLC(ms: HLC.msMax))
        return store
    }
}
