internal import ControlAPI
internal import Replication
internal import Seal
internal import Tree

/// What clients see below `.info`.
struct NodeInfo: Equatable {
    /// A smaller change of the offset is not told: clocks are compared to the millisecond and always differ a little.
    static let offsetMsMin: Int64 = 100

    /// A link to at least one peer is up.
    var isConnected = false
    /// Workspace time minus this machine's clock, in milliseconds.
    var offsetMs: Int64 = 0

    static let connected = Key("connected")
    static let serverTimeOffset = Key("serverTimeOffset")

    /// The paths, below `.info`, at which another is worth telling.
    func changes(to other: NodeInfo) -> [Path] {
        var changed: [Key?] = []
        if isConnected != other.isConnected { changed.append(NodeInfo.connected) }
        let (change, overflows) = offsetMs.subtractingReportingOverflow(other.offsetMs)
        if overflows || change.magnitude >= NodeInfo.offsetMsMin.magnitude { changed.append(NodeInfo.serverTimeOffset) }
        return changed.compactMap { key in key.flatMap { Path([$0]) } }
    }
}

/// `.info` as a small tree of its own, so that it is read and observed as everything else is.
private struct InfoReader: EntryReader {
    private var entries: [(key: PathKey, entry: Entry)] = []

    func scanPriorities(from lower: PathKey, to upper: PathKey, _ body: (Entry) throws -> Bool) {}

    init(_ info: NodeInfo) {
        let values = [
            (NodeInfo.connected, Value.bool(info.isConnected)),
            (NodeInfo.serverTimeOffset, Value.number(info.offsetMs)),
        ]
        for (key, value) in values {
            guard let path = key.flatMap({ Path([$0]) }),
                let entry = try? Entry(path: path, hlc: .zero, author: .zero, value: value)
            else { continue }
            entries.append((PathKey(path), entry))
        }
    }

    func entry(at path: PathKey) -> Entry? { entries.first { $0.key == path }?.entry }

    func scan(
        from lower: PathKey, to upper: PathKey, descending: Bool, _ body: (Entry) throws -> Bool
    ) rethrows {
        let found = entries.filter { !($0.key < lower) && $0.key < upper }
        for item in descending ? found.reversed() : found where try !body(item.entry) { return }
    }
}

extension Node {
    private static let infoName = ".info"

    /// The path below `.info` that a request names; nil if it names none there. `.info` is no key, so nothing in the
    /// tree can be called so.
    func infoPath(_ params: Fields) throws(RPCError) -> Path? {
        guard let text = params["path"]?.string else { return nil }
        var rest = text.utf8[...]
        if rest.first == UInt8(ascii: "/") { rest = rest.dropFirst() }
        guard rest.starts(with: Node.infoName.utf8) else { return nil }
        rest = rest.dropFirst(Node.infoName.utf8.count)
        guard rest.first ?? UInt8(ascii: "/") == UInt8(ascii: "/") else { return nil }
        return try path(Fields(["path": .string(String(Substring(rest)))]))
    }

    /// A method of the tree at a path below `.info`: it can be read and observed.
    func infoCall(
        _ request: RPCRequest, _ params: Fields, _ path: Path, _ session: ControlSession
    ) throws -> JSON? {
        switch request.method {
        case "tree.get":
            guard try query(params) == nil else { throw RPCError.invalidParams("\(Node.infoName) takes no query") }
            return ["value": JSON(try TreeView(InfoReader(currentInfo)).value(at: path))]
        case "tree.observe":
            guard try query(params) == nil else { throw RPCError.invalidParams("\(Node.infoName) takes no query") }
            var observation = try observation(params, path)
            let now = currentInfo
            let events = try observation.start(TreeView(InfoReader(now)))
            try subscribe(
                session, .info(observation), request.id, lines: events.lazy.map { Node.infoLine(path, $0) })
            toldInfo = toldInfo ?? now
            return nil
        case let method where method.hasPrefix("tree."):
            throw RPCError(
                reason: .permissionDenied, message: "\(Node.infoName) says how this node is: nobody writes there")
        default: throw RPCError.methodNotFound(request.method)
        }
    }

    private var currentInfo: NodeInfo {
        let now = moment
        return NodeInfo(
            isConnected: links.values.contains(where: \.isUp),
            offsetMs: Int64(clamping: replicator.workspaceMs(now)) &- Int64(clamping: now.wallMs))
    }

    /// Tells the observers of `.info` what has changed.
    func infoChanged() {
        guard let toldInfo else { return }
        let now = currentInfo
        let changed = toldInfo.changes(to: now)
        guard !changed.isEmpty else { return }
        self.toldInfo = nil
        for number in subscriptions.info.sorted() {
            guard let subscription = subscriptions[number], case .info(var observation) = subscription.kind,
                let session = sessions[subscription.session]
            else { continue }
            self.toldInfo = now
            do {
                let events = try observation.apply(changed, TreeView(InfoReader(now)))
                subscriptions.update(number, .info(observation))
                for event in events { session.send(lines: Node.infoLine(observation.path, event).bytes(for: number)) }
            } catch {
                endSubscription(number, session, error)
            }
        }
    }

    private static func infoLine(_ path: Path, _ event: TreeEvent) -> EventLine {
        let text = path.isRoot ? infoName : "\(infoName)/\(path)"
        return EventLine(event, at: JSON.string(text).serialized, .plain)
    }
}
