public import Tree

extension JSON {
    /// A value of the tree as clients see it: objects in the tree's order, and arrays where Firebase makes arrays.
    ///
    /// An object becomes an array if all its keys are integers from 0 on and more than half of the places up to the
    /// greatest are taken; the others are null.
    ///
    /// - `export`: with priorities, as Firebase's `exportVal`: a node's priority is its member `.priority`, a scalar
    ///   with one is `{".value", ".priority"}`, and nothing becomes an array.
    public init(_ value: Tree.Value, export: Bool = false) {
        switch value {
        case .null: self = .null
        case .bool(let value): self = .bool(value)
        case .integer(let value): self = .int(value)
        case .double(let value): self = .double(value)
        case .string(let value): self = .string(value)
        case .object(let object):
            if !export, value.leaf != value {
                self = JSON(value.leaf)
            } else if !export, let elements = JSON.arrayElements(object) {
                self = .array(elements)
            } else {
                var members = JSONObject()
                if export, !value.priority.isNull { members.append(Tree.Key.priority.text, JSON(value.priority)) }
                for child in object.children where !child.key.isEngine || (export && child.key != .priority) {
                    members.append(child.key.text, JSON(child.value, export: export))
                }
                self = .object(members)
            }
        }
    }

    private static func arrayElements(_ object: ObjectValue) -> [JSON]? {
        // Children are in order, integers first: the last one tells whether all are integers.
        let children = object.children.filter { !$0.key.isEngine }
        guard let first = children.first?.key.integer, first >= 0, let last = children.last?.key.integer,
            Int(last) < children.count * 2
        else { return nil }
        var elements = [JSON](repeating: .null, count: Int(last) + 1)
        for child in children {
            guard let index = child.key.integer else { return nil }
            elements[Int(index)] = JSON(child.value)
        }
        return elements
    }

    /// The value of the tree that a client means: arrays become objects with integer keys, nulls and empty objects
    /// inside disappear, numbers get their one normal form.
    ///
    /// - Throws: `invalid_path` for a key that no child can have, `invalid_params` for a number that is not finite.
    public func value() throws(RPCError) -> Tree.Value {
        switch self {
        case .null: return .null
        case .bool(let value): return .bool(value)
        case .int(let value): return Tree.Value.number(value)
        case .double(let value):
            guard let number = Tree.Value.number(value) else { throw .invalidParams("a number is not finite") }
            return number
        case .string(let value): return .string(value)
        case .array(let elements):
            var pairs: [(Tree.Key, Tree.Value)] = []
            for (index, element) in elements.enumerated() {
                guard let key = Tree.Key(String(index)) else { continue }
                pairs.append((key, try element.value()))
            }
            return JSON.object(pairs)
        case .object(let object):
            var pairs: [(Tree.Key, Tree.Value)] = []
            for member in object.members {
                guard let key = Tree.Key(member.key) else {
                    let error = PathError.invalidKey(member.key)
                    throw RPCError(reason: .invalidPath, message: "\(error)")
                }
                pairs.append((key, try member.value.value()))
            }
            return JSON.object(pairs)
        }
    }

    private static func object(_ pairs: [(Tree.Key, Tree.Value)]) -> Tree.Value {
        let object = ObjectValue(pairs)
        return object.isEmpty ? .null : .object(object)
    }
}
