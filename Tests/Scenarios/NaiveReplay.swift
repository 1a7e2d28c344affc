internal import Tree

/// What Firebase's `set`, carried out naively in the order of the stamps, makes of entries: the merge rule's oracle.
/// The one difference is that null below a scalar removes the scalar.
final class NaiveReplay {
    private var children: [String: NaiveReplay] = [:]
    private var scalar: Value?

    private var isNothing: Bool { children.isEmpty && scalar == nil }

    func set(_ path: ArraySlice<Key>, _ value: Value) {
        guard let key = path.first else {
            children = [:]
            scalar = nil
            if let object = value.object {
                for child in object.children {
                    let node = NaiveReplay()
                    node.set([], child.value)
                    if !node.isNothing { children[child.key.text] = node }
                }
            } else if !value.isNull {
                scalar = value
            }
            return
        }
        scalar = nil
        let child = children[key.text] ?? NaiveReplay()
        child.set(path.dropFirst(), value)
        children[key.text] = child.isNothing ? nil : child
    }

    /// What differs from a value, nil if nothing does.
    func difference(from value: Value, at path: String = "") -> String? {
        if let scalar { return scalar == value ? nil : "\(path) is not what was set last" }
        let object = value.object
        if object == nil, !(value.isNull && children.isEmpty) { return "\(path) is \(value), but not by what was set" }
        let theirs = Set(object?.children.map(\.key.text) ?? [])
        for key in theirs.symmetricDifference(children.keys).sorted() {
            return "\(path)/\(key) is \(theirs.contains(key) ? "" : "not ")there"
        }
        for key in children.keys.sorted() {
            guard let child = children[key], let name = Key(key) else { continue }
            if let words = child.difference(from: value[name], at: "\(path)/\(key)") { return words }
        }
        return nil
    }
}
