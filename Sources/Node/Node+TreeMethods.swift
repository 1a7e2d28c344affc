internal import Replication
internal import Chat
internal import ControlAPI
internal import Tree

extension Node {
    /// Bytes a snapshot or a window may have as JSON; an answer must fit into a line of 4 MiB.
    static let snapshotMax = 3 << 20
    /// Bytes an update may have in all.
    static let updateMax = 2 << 20

    var view: TreeView { TreeView(store) }

    func path(_ params: Fields, _ name: String = "path") throws(RPCError) -> Path {
        do throws(PathError) {
            return try Path(parsing: try Node.string(params, name))
        } catch {
            throw RPCError(reason: .invalidPath, message: "\(error)")
        }
    }

    /// A string parameter, or "" where a missing one means the root.
    private static func string(_ params: Fields, _ name: String) throws(PathError) -> String {
        guard case .string(let text)? = params[name] else { throw .invalidKey("") }
        return text
    }

    func treeGet(_ params: Fields) throws -> JSON {
        let path = try path(params)
        if try params.optionalBool("shallow") == true {
            var members = JSONObject()
            var size = 0
            // The shortest member takes nine bytes.
            for key in try view.childKeys(of: path, limit: Node.snapshotMax / 9 + 1) {
                guard let child = path.appending(key), try !view.isAbsent(at: child) else { continue }
                size += key.text.utf8.count + 8
                guard size <= Node.snapshotMax else { throw ReadError.tooLarge }
                members.append(key.text, true)
            }
            if members.isEmpty { return ["value": JSON(try view.value(at: path, sizeMax: Node.snapshotMax))] }
            return ["value": .object(members)]
        }
        guard let query = try query(params) else {
            return ["value": JSON(try view.value(at: path, sizeMax: Node.snapshotMax))]
        }
        let window = try view.window(of: path, query, sizeMax: Node.snapshotMax)
        var members = JSONObject()
        for child in window.children { members.append(child.key.text, JSON(child.value)) }
        return ["value": window.children.isEmpty ? .null : .object(members)]
    }

    func treeSet(_ params: Fields) throws -> JSON {
        try write(at: try path(params), try resolved(params["value"] ?? .null))
        return [:]
    }

    /// Values a client gives, with the one server value that needs no other state.
    private func resolved(_ json: JSON) throws(RPCError) -> Value {
        guard case .object(let object) = json else { return try json.value() }
        if object.count == 1, let server = object[".sv"] {
            guard server.string == "timestamp" else { throw .invalidParams("unknown server value") }
            return .number(Int64(clamping: replicator.workspaceMs(moment)))
        }
        var pairs: [(Key, Value)] = []
        for member in object.members {
            guard let key = Key(member.key) else {
                throw RPCError(reason: .invalidPath, message: "\(PathError.invalidKey(member.key))")
            }
            pairs.append((key, try resolved(member.value)))
        }
        let value = ObjectValue(pairs)
        return value.isEmpty ? .null : .object(value)
    }

    func write(at path: Path, _ value: Value) throws {
        if try changesNothing(path, value) { return }
        try write([(path, value)])
    }

    /// Whether there is nothing to remove; but a place that is not ours must not look as if it could be removed.
    private func changesNothing(_ path: Path, _ value: Value) throws -> Bool {
        guard value.isNull, !path.isRoot, try view.isAbsent(at: path) else { return false }
        if let entry = try? Entry(path: path, hlc: HLC(ms: HLC.msMax), author: uid, value: .null),
            let denial = Ownership.denial(of: entry)
        {
            throw RPCError(reason: .permissionDenied, message: "\(path): \(denial)")
        }
        return true
    }

    func treeUpdate(_ params: Fields) throws -> JSON {
        let base = try path(params)
        guard case .object(let values)? = params["values"] else {
            throw RPCError.invalidParams("\"values\" must be an object of paths and values")
        }
        guard values.count <= Bundle.countMax else {
            throw RPCError(reason: .tooLarge, message: "an update has at most \(Bundle.countMax) paths")
        }
        var writes: [(path: Path, value: Value)] = []
        for member in values.members {
            let relative: Path
            do throws(PathError) {
                relative = try Path(parsing: member.key)
            } catch {
                throw RPCError(reason: .invalidPath, message: "\(error)")
            }
            guard let path = base.appending(relative) else {
                throw RPCError(reason: .invalidPath, message: "\(PathError.tooLong)")
            }
            writes.append((path, try resolved(member.value)))
        }
        // Sorted, a path stands directly before those below it.
        let sorted = writes.map { (key: PathKey($0.path), path: $0.path) }.sorted { $0.key < $1.key }
        for (a, b) in zip(sorted, sorted.dropFirst()) where a.path.contains(b.path) {
            throw RPCError(reason: .invalidPath, message: "an update may not name a path and one below it: \(a.path)")
        }
        try write(try writes.filter { try !changesNothing($0.path, $0.value) })
        return [:]
    }

    func treePush(_ params: Fields) throws -> JSON {
        let parent = try path(params)
        let value = try resolved(params["value"] ?? .null)
        let hlc = try tick()
        let id = AutoID(hlc: hlc, author: uid)
        guard let path = parent.appending(id.text) else {
            throw RPCError(reason: .invalidPath, message: "\(PathError.tooLong)")
        }
        if !value.isNull { try write([(path, value)], at: hlc) }
        return ["key": .string(id.text)]
    }

    func treeRemove(_ params: Fields) throws -> JSON {
        try write(at: try path(params), .null)
        return [:]
    }

    func treeNewKey() throws -> JSON { ["key": .string(AutoID(hlc: try tick(), author: uid).text)] }

    /// The query of a request, nil where it has none.
    func query(_ params: Fields) throws -> Query? {
        guard let json = params["query"], !json.isNull else { return nil }
        let fields = try Fields(json)
        var query = Query()
        switch try fields.optionalString("orderBy") {
        case nil, "$key"?: query.order = .key
        case "$value"?: query.order = .value
        case "$priority"?: query.order = .priority
        case let text?:
            do throws(PathError) {
                query.order = .child(try Path(parsing: text))
            } catch {
                throw RPCError(reason: .invalidPath, message: "orderBy: \(error)")
            }
        }
        let first = try fields.optionalInt("limitToFirst")
        let last = try fields.optionalInt("limitToLast")
        if first != nil, last != nil { throw RPCError.invalidParams("only one limit is possible") }
        for count in [first, last].compactMap({ $0 }) where count < 1 || count > 1 << 30 {
            throw RPCError.invalidParams("a limit is at least 1")
        }
        if let first { query.limit = .first(Int(first)) }
        if let last { query.limit = .last(Int(last)) }
        query.start = try bound(fields, "startAt", "startAfter")
        query.end = try bound(fields, "endAt", "endBefore")
        if let equal = fields["equalTo"] {
            guard query.start == nil, query.end == nil else {
                throw RPCError.invalidParams("equalTo cannot be combined with other bounds")
            }
            query.start = Query.Bound(try equal.value(), isInclusive: true)
            query.end = query.start
        }
        if query.order == .key {
            for bound in [query.start, query.end].compactMap({ $0 })
            where bound.value.string.flatMap({ Key($0) }) == nil {
                throw RPCError.invalidParams("bounds of an order by key are keys")
            }
        }
        return query
    }

    private func bound(_ fields: Fields, _ inclusive: String, _ exclusive: String) throws -> Query.Bound? {
        switch (fields[inclusive], fields[exclusive]) {
        case (nil, nil): return nil
        case (let value?, nil): return Query.Bound(try value.value(), isInclusive: true)
        case (nil, let value?): return Query.Bound(try value.value(), isInclusive: false)
        default: throw RPCError.invalidParams("\(inclusive) and \(exclusive) exclude each other")
        }
    }

    func treeObserve(_ params: Fields, _ session: ControlSession, _ id: JSON?) throws -> JSON? {
        let path = try path(params)
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
        let query = try query(params) ?? .all
        var observation = Observation(path: path, query: query, kinds: kinds, sizeMax: Node.snapshotMax)
        let events = try observation.start(view)
        try subscribe(session, .tree(observation), id) { number in
            events.lazy.map { Node.notification(number, path, $0) }
        }
        return nil
    }

    func treeUnobserve(_ params: Fields, _ session: ControlSession) throws -> JSON {
        let number = Int(try params.int("subscription"))
        guard session.subscriptions.remove(number) != nil else {
            throw RPCError(reason: .notFound, message: "no such subscription")
        }
        subscriptions[number] = nil
        return [:]
    }

    static func notification(_ subscription: Int, _ path: Path, _ event: TreeEvent) -> JSON {
        RPCResponse.notification(
            "event",
            [
                "subscription": .int(Int64(subscription)), "event": .string(event.kind.rawValue),
                "path": .string("\(path)"), "key": event.key.map { .string($0.text) } ?? .null,
                "value": JSON(event.value), "previous": event.previous.map { .string($0.text) } ?? .null,
            ])
    }
}
