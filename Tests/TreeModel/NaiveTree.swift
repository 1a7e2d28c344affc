package import Tree

/// A tree as anybody would write one who has a single machine and all day: JSON in the export form, rewritten whole.
package struct NaiveTree: Equatable {
    package init() {}

    package private(set) var root: OracleJSON = .null

    package subscript(path: [String]) -> OracleJSON { path.reduce(root) { $0.child($1) } }

    package mutating func set(_ path: [String], _ value: OracleJSON) {
        root = root.setting(path[...], value.normalised)
    }

    /// What does not exist gets no priority.
    package mutating func setPriority(_ path: [String], _ priority: OracleJSON) {
        root = root.setting(path[...], self[path].withPriority(priority))
    }

    /// Carries out a step's write, whose path may end with `.priority`.
    package mutating func write(_ path: [String], _ value: OracleJSON) {
        if path.last == ".priority" { setPriority(path.dropLast(), value) } else { set(path, value) }
    }
}

extension OracleJSON {
    package var isNull: Bool { self == .null }

    package var priority: OracleJSON {
        if case .object(let members) = self { return members[".priority"] ?? .null }
        return .null
    }

    /// The children, without a node's own `.priority` and `.value`.
    package var children: [String: OracleJSON] {
        if case .object(let members) = self { return members.filter { !$0.key.hasPrefix(".") } }
        return [:]
    }

    package func child(_ key: String) -> OracleJSON { children[key] ?? .null }

    /// Without nulls and empty objects, arrays as objects, and a node's `.value` only beside a priority.
    package var normalised: OracleJSON {
        switch self {
        case .array(let elements):
            return OracleJSON.object(Dictionary(uniqueKeysWithValues: elements.enumerated().map { ("\($0)", $1) }))
                .normalised
        case .object(var members):
            if let value = members[".value"] {
                if value.isNull { return .null }
                return priority.isNull ? value : .object([".value": value, ".priority": priority])
            }
            members = members.mapValues(\.normalised).filter { !$0.value.isNull }
            return members.keys.contains { !$0.hasPrefix(".") } ? .object(members) : .null
        default: return self
        }
    }

    package func withPriority(_ priority: OracleJSON) -> OracleJSON {
        if isNull { return .null }
        guard case .object(var members) = self else { return OracleJSON.leaf(self, priority) }
        members[".priority"] = priority.isNull ? nil : priority
        return OracleJSON.object(members).normalised
    }

    private static func leaf(_ value: OracleJSON, _ priority: OracleJSON) -> OracleJSON {
        priority.isNull ? value : .object([".value": value, ".priority": priority])
    }

    /// A node that has children is no leaf any more, but keeps its priority; one that loses the last is gone with it.
    package func setting(_ path: ArraySlice<String>, _ value: OracleJSON) -> OracleJSON {
        guard let key = path.first else { return value }
        let child = child(key).setting(path.dropFirst(), value)
        if child.isNull, children[key] == nil { return self }
        var members = children
        members[key] = child
        if !priority.isNull { members[".priority"] = priority }
        return OracleJSON.object(members).normalised
    }

    /// The value in the form in which views carry it.
    package func exported() -> Value {
        switch normalised {
        case .null, .array: return .null
        case .bool(let value): return .bool(value)
        case .number(let value): return Value.number(value) ?? .null
        case .string(let value): return .string(value)
        case .object(let members):
            if let inner = members[".value"] {
                var value = inner.exported()
                value.setPriority(priority.exported())
                return value
            }
            let pairs = children.compactMap { key, value in Key(key).map { ($0, value.exported()) } }
            var value = Value.object(ObjectValue(pairs))
            value.setPriority(priority.exported())
            return value
        }
    }
}
