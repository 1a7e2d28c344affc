import Seal
import Store
import Tree
import TreeModel

/// Plays one case against the engine: the real store and the real observers, below `apps/oracle`.
///
/// Writes of the user and of the server are entries of two authors. Firebase shows a server's value under a write that
/// is not acknowledged yet only once it is; the same follows here from stamps: what the server sends while writes are
/// pending is older than they are. There is no server that acknowledges or reverts: where that changes what Firebase
/// shows, it is played as the write that changes it so, and ``usesServer`` tells.
final class OracleRun {
    struct Reported: Equatable, CustomStringConvertible {
        let path: String
        let type: String
        let name: String?
        let prevName: String?
        let data: Value

        var description: String { "\(type) \(path)/\(name ?? "") after \(prevName ?? "-"): \(data.short)" }

        init(path: String, type: String, name: String?, prevName: String?, data: Value) {
            (self.path, self.type, self.name, self.prevName, self.data) = (path, type, name, prevName, data)
        }

        /// One `value` event of the cases has an empty name, the others none.
        init(_ event: OracleCase.Event) {
            self.init(
                path: OracleRun.text(event.path), type: event.type, name: event.type == "value" ? nil : event.name,
                prevName: event.prevName,
                data: event.data?.exported() ?? .null)
        }
    }

    struct Listener {
        let path: String
        let callbackId: Int?
        let query: NaiveQuery
        var observation: Observation
        /// The window as the events told it.
        var replay = Replay()
    }

    /// A write in the order in which the server would carry it out.
    private struct Write {
        let step: OracleCase.Step
        let timeMs: UInt64
        /// A priority of what did not exist, or something the case itself hides.
        var isVoid = false
        /// Only what the server has said or acknowledged is its own.
        var isAcknowledged: Bool
    }

    private let store = MemoryStore()
    private let user = SigningKey(seed: Bytes32(repeating: 1))
    private let serverKey = SigningKey(seed: Bytes32(repeating: 2))
    private(set) var listeners: [Int: Listener] = [:]
    private var lastListener = 0
    private var index = ObserverIndex()
    private var writes: [Write] = []
    /// Places in ``writes`` of the user's, by their number.
    private var userWrites: [Int] = []
    private(set) var usesServer = false
    private var timeMs: UInt64 = 1_000_000
    /// Times of server writes between two pending ones.
    private var between: UInt64 = 0

    private static func path(_ keys: some Sequence<String>) throws -> Path {
        try Path(parsing: (["apps", "oracle"] + keys).joined(separator: "/"))
    }

    /// Carries out one step and returns the events it raised.
    func play(_ step: OracleCase.Step) throws -> [Reported] {
        switch step.type {
        case "listen": return try listen(step)
        case "unlisten":
            let path = OracleRun.text(step.path)
            for (number, listener) in listeners where listener.path == path && listener.callbackId == step.callbackId {
                listeners[number] = nil
                index.remove(number, at: listener.observation.path)
            }
            return []
        case "set", "update":
            timeMs += 1000
            between = 0
            userWrites.append(writes.count)
            let written = OracleRun.writes(step)
            let isLost = written.allSatisfy { $0.0.last == ".priority" && shown[$0.0.dropLast()].isNull }
            let isVoid = !(step.visible ?? true) || isLost
            writes.append(Write(step: step, timeMs: timeMs, isVoid: isVoid, isAcknowledged: false))
            guard !isVoid else { return [] }
            return try write(OracleRun.writes(step), timeMs, user)
        case "serverUpdate", "serverMerge":
            let oldest = writes.first { !$0.isAcknowledged }?.timeMs
            if let oldest {
                between += 1
                writes.append(Write(step: step, timeMs: oldest - 500 + between, isAcknowledged: true))
            } else {
                timeMs += 1000
                writes.append(Write(step: step, timeMs: timeMs, isAcknowledged: true))
            }
            return try write(OracleRun.writes(step), writes[writes.count - 1].timeMs, serverKey)
        case "ackUserWrite": return try acknowledge(step)
        default: return []
        }
    }

    /// What Firebase shows once everything is loaded: what the server has, and over it what it has not acknowledged.
    var shown: NaiveTree {
        var tree = NaiveTree()
        for write in writes.filter(\.isAcknowledged) + writes.filter({ !$0.isAcknowledged }) {
            guard !write.isVoid else { continue }
            for (path, value) in OracleRun.writes(write.step) { tree.write(path, value) }
        }
        return tree
    }

    private func acknowledge(_ step: OracleCase.Step) throws -> [Reported] {
        guard let id = step.writeId, userWrites.indices.contains(id) else { return [] }
        let index = userWrites[id]
        let write = writes[index]
        writes[index].isAcknowledged = true
        if step.revert ?? false {
            writes.remove(at: index)
            userWrites = userWrites.map { $0 > index ? $0 - 1 : $0 }
        }
        let shown = shown
        var differences: [([String], OracleJSON)] = []
        for (path, _) in OracleRun.writes(write.step) {
            var node = path.last == ".priority" ? Array(path.dropLast()) : path
            // A scalar above it is what the place is part of.
            while !node.isEmpty, shown[Array(node.dropLast())].children.isEmpty, shown[node].isNull {
                node.removeLast()
            }
            let seen = try TreeView(store).value(at: OracleRun.path(node))
            if seen != shown[node].exported() { differences.append((node, shown[node])) }
        }
        guard !differences.isEmpty else { return [] }
        usesServer = true
        timeMs += 1000
        return try self.write(differences, timeMs, serverKey)
    }

    /// The paths that a step writes, with their values.
    static func writes(_ step: OracleCase.Step) -> [([String], OracleJSON)] {
        let path = keys(step.path)
        guard ["update", "serverMerge"].contains(step.type) else { return [(path, step.data ?? .null)] }
        guard case .object(let members)? = step.data else { return [] }
        return members.map { (path + keys($0.key), $0.value) }
    }

    static func keys(_ path: String?) -> [String] { (path ?? "").split(separator: "/").map(String.init) }

    static func text(_ path: String?) -> String { keys(path).joined(separator: "/") }

    private func listen(_ step: OracleCase.Step) throws -> [Reported] {
        let path = OracleRun.text(step.path)
        var observation = Observation(
            path: try OracleRun.path(OracleRun.keys(step.path)), query: try OracleRun.query(step.params),
            kinds: Set(TreeEvent.Kind.allCases), sizeMax: 1 << 20)
        let events = try observation.start(TreeView(store))
        lastListener += 1
        var listener = Listener(
            path: path, callbackId: step.callbackId, query: NaiveQuery(step.params), observation: observation)
        listener.replay.apply(events)
        listeners[lastListener] = listener
        index.insert(lastListener, at: observation.path)
        return events.map { OracleRun.reported($0, path) }
    }

    private static func reported(_ event: TreeEvent, _ path: String) -> Reported {
        Reported(
            path: path, type: event.kind.rawValue, name: event.key?.text, prevName: event.previous?.text,
            data: event.value)
    }

    private static func query(_ params: OracleCase.Params?) throws -> Query {
        var query = Query(order: .priority)
        guard let params else { return query }
        if params.orderByKey == true { query.order = .key }
        if let order = params.orderBy { query.order = .child(try Path(parsing: order)) }
        if let count = params.limitToFirst { query.limit = .first(count) }
        if let count = params.limitToLast { query.limit = .last(count) }
        func bound(_ bound: OracleCase.Params.Bound?, _ isInclusive: Bool) throws -> Query.Bound? {
            guard let bound else { return nil }
            return Query.Bound(
                bound.index?.exported() ?? .null, key: bound.name.flatMap { Key($0) }, isInclusive: isInclusive)
        }
        query.start = try bound(params.startAt, true) ?? bound(params.startAfter, false)
        query.end = try bound(params.endAt, true) ?? bound(params.endBefore, false)
        if let equal = try bound(params.equalTo, true) {
            query.start = equal
            query.end = equal
        }
        return query
    }

    private func write(
        _ writes: [(path: [String], value: OracleJSON)], _ atMs: UInt64, _ author: SigningKey
    ) throws -> [Reported] {
        let mutations = try writes.map { path, value -> Mutation in
            guard path.last == ".priority" else { return .set(try OracleRun.path(path), value.exported()) }
            return .setPriority(try OracleRun.path(path.dropLast()), value.exported())
        }
        var hlc = HLC(ms: atMs)
        let entries = try TreeView(store).entries(of: mutations, by: author.publicKey) {
            defer { hlc = hlc.next }
            return hlc
        }
        guard !entries.isEmpty else { return [] }
        let bundle = Bundle(signing: entries, by: author, workspace: .zero)
        let result = try store.commit([bundle], heldAfter: HLC(ms: HLC.msMax))
        var reported: [Reported] = []
        for number in index.observers(of: result.applied.map(\.path)) {
            guard let listener = listeners[number] else { continue }
            let events = try listeners[number]?.observation.apply(result.applied.map(\.path), TreeView(store)) ?? []
            listeners[number]?.replay.apply(events)
            reported += events.map { OracleRun.reported($0, listener.path) }
        }
        return reported
    }
}
