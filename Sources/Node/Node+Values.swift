internal import ControlAPI
internal import Replication
internal import Tree

/// Where a client writes: a node, or its priority.
struct WriteTarget {
    let path: Path
    var isPriority = false

    init(path: Path, isPriority: Bool) {
        self.path = path
        self.isPriority = isPriority
    }

    /// A path that may end with `.priority`.
    init(parsing text: String) throws(PathError) {
        let name = Key.priority.text
        if text == name || text.hasSuffix("/" + name) {
            path = try Path(parsing: String(text.dropLast(name.count)))
            isPriority = true
        } else {
            path = try Path(parsing: text)
        }
    }
}

extension Node {
    func target(_ params: Fields) throws -> WriteTarget {
        try WriteTarget(parsing: try params.string("path"))
    }

    /// What a client means by writing JSON.
    func mutation(_ target: WriteTarget, _ json: JSON) throws -> Mutation {
        if target.isPriority { return .setPriority(target.path, try priority(json)) }
        if let amount = try increment(json) { return .add(target.path, amount) }
        return .set(target.path, try resolved(json, at: target.path))
    }

    /// Writes what clients mean: one bundle, one transaction, all or nothing.
    ///
    /// - Parameter hlc: the time of the write, if it was drawn already for a key.
    /// - Throws: as the write of entries does.
    func write(_ mutations: [Mutation], at hlc: HLC? = nil) throws {
        for mutation in mutations { try refuse(mutation) }
        var drawn = hlc
        let entries = try storedView.entries(of: mutations, by: uid) {
            defer { drawn = nil }
            return if let drawn { drawn } else { try tick() }
        }
        try write(entries)
    }

    func write(at path: Path, _ value: Value) throws { try write([.set(path, value)]) }

    /// A place that is not ours must not look as if it could be written where nothing is to be changed.
    private func refuse(_ mutation: Mutation) throws {
        let place: Path?
        switch mutation {
        case .set(let path, .null), .add(let path, _): place = path
        case .setPriority(let path, _): place = path.appending(.priority)
        case .set: return
        }
        guard let place else { throw PathError.tooLong }
        let entry = try Entry(path: place, hlc: HLC(ms: HLC.msMax), author: uid, value: .null)
        if let denial = Ownership.denial(of: entry) {
            throw RPCError(reason: .permissionDenied, message: "\(place): \(denial)")
        }
    }

    /// Bytes of a number, whatever its priority: more than any has.
    private static let numberMax = 4096

    /// The value a client means: export form, with the values that the daemon knows better filled in.
    func resolved(_ json: JSON, at path: Path) throws -> Value {
        try resolved(json) { try Path(path.keys + $0).map(number(at:)) ?? .null }
    }

    /// What an addition is added to: null for what is large, and so no number.
    private func number(at path: Path) throws -> Value {
        do {
            return try storedView.value(at: path, sizeMax: Node.numberMax).leaf
        } catch ReadError.tooLarge {
            return .null
        }
    }

    /// - `keys`: leads from the path that is written to this value.
    /// - `present`: the value below the path as it is now.
    private func resolved(
        _ json: JSON, _ keys: [Key] = [], present: ([Key]) throws -> Value
    ) throws -> Value {
        switch json {
        case .array(let elements):
            let pairs = try elements.enumerated().compactMap { index, element -> (Key, Value)? in
                guard let key = Key("\(index)") else { return nil }
                return (key, try resolved(element, keys + [key], present: present))
            }
            return Node.object(pairs)
        case .object(let object):
            if object[Node.serverValue] != nil {
                if let amount = try increment(json) { return Node.sum(try present(keys), amount) }
                return .number(Int64(clamping: replicator.workspaceMs(moment)))
            }
            let ranking = try priority(object[Key.priority.text] ?? .null)
            if let inner = object[Key.value.text] {
                guard object.members.allSatisfy({ [Key.value.text, Key.priority.text].contains($0.key) }) else {
                    throw RPCError.invalidParams(".value stands beside .priority alone")
                }
                var value = try resolved(inner, keys, present: present)
                guard value.object == nil else { throw RPCError.invalidParams("a .value is no object") }
                value.setPriority(ranking)
                return value
            }
            var pairs: [(Key, Value)] = []
            for member in object.members where member.key != Key.priority.text {
                guard let key = Key(member.key) else { throw PathError.invalidKey(member.key) }
                pairs.append((key, try resolved(member.value, keys + [key], present: present)))
            }
            var value = Node.object(pairs)
            value.setPriority(ranking)
            return value
        default: return try json.value()
        }
    }

    private static func object(_ pairs: [(Key, Value)]) -> Value {
        let object = ObjectValue(pairs)
        return object.isEmpty ? .null : .object(object)
    }

    private static func sum(_ present: Value, _ amount: Value) -> Value {
        present.isNumber ? present.adding(amount) : amount
    }

    private static let serverValue = ".sv"

    /// The number that a server value adds; nil for everything else but a server value of another kind, which throws.
    private func increment(_ json: JSON) throws(RPCError) -> Value? {
        guard case .object(let object) = json, let server = object[Node.serverValue] else { return nil }
        guard object.count == 1 else { throw .invalidParams("a server value stands alone") }
        if server.string == "timestamp" { return nil }
        guard case .object(let what) = server, what.count == 1, let amount = what["increment"] else {
            throw .invalidParams("a server value is \"timestamp\" or {\"increment\": number}")
        }
        let number = try amount.value()
        guard number.isNumber else { throw .invalidParams("an increment is a number") }
        return number
    }

    private func priority(_ json: JSON) throws -> Value {
        let value = try resolved(json) { _ in .null }
        switch value {
        case .null, .integer, .double, .string: return value
        case .bool, .object: throw RPCError.invalidParams("a priority is a number, a string or null")
        }
    }
}
