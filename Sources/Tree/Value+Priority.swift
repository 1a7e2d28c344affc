/// Priorities, as views carry them.
///
/// A priority is an entry of its own, at `.priority` below its node, so no stored value contains one. A view puts it
/// back: an object has it as the engine's key `.priority`, and a scalar with a priority is an object of `.priority` and
/// `.value`, which is also Firebase's export form. ``plain`` takes them out again.
extension Value {
    /// The node's priority: a number, a string, or null where there is none.
    public var priority: Value { object?[.priority] ?? .null }

    /// The scalar of a node that has both a value and a priority; every other value is itself.
    public var leaf: Value {
        guard let inner = object?[.value], !inner.isNull else { return self }
        return inner
    }

    /// The value without any priority, at any depth.
    public var plain: Value {
        guard let object else { return self }
        let inner = object[.value]
        if !inner.isNull { return inner }
        guard object.children.contains(where: { $0.key.isEngine || $0.value.object != nil }) else { return self }
        let result = ObjectValue(
            sorted: object.children.filter { !$0.key.isEngine }.map {
                ObjectValue.Child(key: $0.key, value: $0.value.plain)
            })
        return result.isEmpty ? .null : .object(result)
    }

    /// Gives a node a priority, or with null takes it away. What does not exist has none.
    public mutating func setPriority(_ priority: Value) {
        guard !isNull, !(priority.isNull && object == nil) else { return }
        var node = object ?? ObjectValue([(Key.value, self)])
        node[.priority] = priority
        if priority.isNull, !node[.value].isNull {
            self = node[.value]
        } else {
            self = .object(node)
        }
    }

    /// The priorities inside, each with the keys that lead to its node.
    var priorities: [(keys: [Key], priority: Value)] {
        guard let object else { return [] }
        var found: [(keys: [Key], priority: Value)] = priority.isNull ? [] : [([], priority)]
        for child in object.children where !child.key.isEngine {
            found += child.value.priorities.map { ([child.key] + $0.keys, $0.priority) }
        }
        return found
    }

    /// Adds to the number of a node, which may have a priority. Where children stand, the sum is not seen: they are
    /// read by themselves too, so they cannot be gone.
    mutating func add(_ other: Value) {
        guard case .object(var node) = self else { return self = adding(other) }
        guard !node[.value].isNull else { return }
        node[.value] = node[.value].adding(other)
        self = .object(node)
    }

    /// Whether it is a number, with or without a priority.
    public var isNumber: Bool {
        switch leaf {
        case .integer, .double: true
        default: false
        }
    }
}
