internal import Replication
internal import Chat
internal import ControlAPI
internal import Tree

extension Node {
    /// Bytes a snapshot or a window may have as JSON; an answer must fit into a line of 4 MiB.
    static let snapshotMax = 3 << 20
    /// Bytes an update may have in all.
    static let updateMax = 2 << 20

    /// What clients see as the tree: the stored entries, and soft state laid over them.
    var view: TreeView { TreeView(SoftOverlay(stored: store, soft: soft)) }
    /// The stored entries alone, which is where the chat looks.
    var storedView: TreeView { TreeView(store) }

    func path(_ params: Fields, _ name: String = "path") throws(RPCError) -> Path {
        let text = try params.string(name)
        do throws(PathError) {
            return try Path(parsing: text)
        } catch {
            throw RPCError(reason: .invalidPath, message: "\(error)")
        }
    }

    func treeGet(_ params: Fields, _ session: ControlSession, _ id: JSON?) throws -> JSON? {
        let path = try path(params)
        let form = try ValueForm(params)
        func begin(_ kind: RunningRead.Kind) throws -> JSON? {
            try self.begin(RunningRead(session: session.id, id: id, path: path, kind: kind), session)
        }
        if let query = try query(params) { return try begin(.window(query, form)) }
        if form == .shallow { return try begin(.keys(JSONObject(), size: 0, last: nil)) }
        return ["value": form.json(try view.value(at: path, sizeMax: Node.snapshotMax))]
    }

    func treeSet(_ params: Fields) throws -> JSON {
        try write([try mutation(try target(params), params["value"] ?? .null)])
        return [:]
    }

    func treeUpdate(_ params: Fields) throws -> JSON {
        let base = try path(params)
        guard case .object(let values)? = params["values"] else {
            throw RPCError.invalidParams("\"values\" must be an object of paths and values")
        }
        guard values.count <= Bundle.countMax else {
            throw RPCError(reason: .tooLarge, message: "an update has at most \(Bundle.countMax) paths")
        }
        var mutations: [Mutation] = []
        for member in values.members {
            let relative = try WriteTarget(parsing: member.key)
            guard let path = base.appending(relative.path) else { throw PathError.tooLong }
            mutations.append(try mutation(WriteTarget(path: path, isPriority: relative.isPriority), member.value))
        }
        // Sorted, a path stands directly before those below it.
        let sorted = try mutations.map(place(of:)).map { (key: PathKey($0), path: $0) }.sorted { $0.key < $1.key }
        for (a, b) in zip(sorted, sorted.dropFirst()) where a.path.contains(b.path) {
            throw RPCError(
                reason: .invalidPath,
                message: "an update may not name a path and one below it: \"\(a.path)\" and \"\(b.path)\"")
        }
        try write(mutations)
        return [:]
    }

    /// Where a mutation writes: a priority stands beside the node's children.
    private func place(of mutation: Mutation) throws(PathError) -> Path {
        guard case .setPriority(let path, _) = mutation else { return mutation.path }
        guard let place = path.appending(.priority) else { throw .tooLong }
        return place
    }

    func treePush(_ params: Fields) throws -> JSON {
        let parent = try path(params)
        let hlc = try tick()
        let id = AutoID(hlc: hlc, author: uid)
        guard let path = parent.appending(id.text) else { throw PathError.tooLong }
        try write([try mutation(WriteTarget(path: path, isPriority: false), params["value"] ?? .null)], at: hlc)
        return ["key": .string(id.text)]
    }

    func treeRemove(_ params: Fields) throws -> JSON {
        try write([try mutation(try target(params), .null)])
        return [:]
    }

    /// `tree.transaction`: writes if the value is the one expected. This node alone decides, so of two that do it on
    /// different nodes at once both may succeed, and the later counts.
    func treeTransaction(_ params: Fields) throws -> JSON {
        let target = try target(params)
        guard !target.isPriority else { throw PathError.invalidKey(Key.priority.text) }
        let form = try ValueForm(params)
        let expected = try resolved(params["expect"] ?? .null, at: target.path)
        let mutation = try mutation(target, params["value"] ?? .null)
        let present = try storedView.value(at: target.path, sizeMax: Node.snapshotMax)
        // Who says nothing of priorities does not mean that there are none.
        let isExpected = expected == present || expected == present.plain
        guard isExpected else { return ["committed": false, "value": form.json(present)] }
        // What could not be answered is not written either.
        if case .set(_, let value) = mutation, value.approximateSize > Node.snapshotMax { throw ReadError.tooLarge }
        try write([mutation])
        let now = try storedView.value(at: target.path, sizeMax: Node.snapshotMax)
        return ["committed": true, "value": form.json(now)]
    }

    func treeNewKey() throws -> JSON { ["key": .string(AutoID(hlc: try tick(), author: uid).text)] }

    func treeObserve(_ params: Fields, _ session: ControlSession, _ id: JSON?) throws -> JSON? {
        let path = try path(params)
        let form = try ValueForm(params)
        let observation = try observation(params, path)
        let read = RunningRead(session: session.id, id: id, path: path, kind: .observation(observation, form))
        return try begin(read, session)
    }

    /// What a client asks to observe.
    func observation(_ params: Fields, _ path: Path) throws -> Observation {
        var kinds = Set(TreeEvent.Kind.allCases)
        if params["events"] != nil {
            kinds = []
            for name in try params.strings("events") {
                guard let kind = TreeEvent.Kind(rawValue: name) else {
                    throw RPCError.invalidParams("no event is called \(name)")
                }
                kinds.insert(kind)
            }
        }
        // Firebase's order where none is named.
        let query = try query(params) ?? Query(order: .priority)
        return Observation(path: path, query: query, kinds: kinds, sizeMax: Node.snapshotMax)
    }

    func treeUnobserve(_ params: Fields, _ session: ControlSession) throws -> JSON {
        let number = Int(try params.int("subscription"))
        guard session.subscriptions.remove(number) != nil else {
            throw RPCError(reason: .notFound, message: "no such subscription")
        }
        subscriptions.remove(number)
        return [:]
    }
}
