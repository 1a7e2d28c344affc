internal import ControlAPI
internal import Tree

/// What one client has left to be written when its connection ends: values by path, no path below another.
///
/// As in Firebase's clients, a set replaces what was left at and below its path; below a path that has a value already
/// it changes that value; an update is a set of each of its paths.
struct DisconnectWrites {
    /// Paths a session may have here.
    static let countMax = 1024
    /// Bytes a session may have here, paths included: all of it has to go into one update.
    static let bytesMax = 512 << 10
    /// Bytes that all sessions may have together.
    static let bytesMaxOfAll = 8 << 20

    /// What a change does to what is stored.
    struct Changes {
        private(set) var removed: Set<PathKey> = []
        private(set) var added: [PathKey: [UInt8]] = [:]

        mutating func remove(_ key: PathKey) {
            added[key] = nil
            removed.insert(key)
        }

        mutating func add(_ key: PathKey, _ content: [UInt8]) { added[key] = content }
    }

    /// Values as JSON.
    private var contents: [PathKey: [UInt8]] = [:]
    private(set) var bytes = 0

    var count: Int { contents.count }
    var isEmpty: Bool { contents.isEmpty }
    /// Everything that is here, to be kept anew.
    var all: [PathKey: [UInt8]] { contents }

    /// The paths with their values, in the tree's order.
    var writes: [(key: PathKey, path: Path, value: JSON)] { writes(contents.keys) }

    /// Those of these paths.
    func writes(_ keys: some Sequence<PathKey>) -> [(key: PathKey, path: Path, value: JSON)] {
        keys.sorted().compactMap { key in
            guard let path = key.path, let value = value(key) else { return nil }
            return (key, path, value)
        }
    }

    init() {}

    init(_ contents: [PathKey: [UInt8]]) {
        for (key, content) in contents { put(key, content) }
    }

    private func value(_ key: PathKey) -> JSON? { contents[key].flatMap { try? JSON.parse($0) } }

    private mutating func put(_ key: PathKey, _ content: [UInt8]?) {
        if let old = contents[key] { bytes -= old.count + key.bytes.count }
        contents[key] = content
        if let content { bytes += content.count + key.bytes.count }
    }

    private mutating func remove(_ key: PathKey, _ changes: inout Changes) {
        put(key, nil)
        changes.remove(key)
    }

    private mutating func removeAll(from top: PathKey, _ changes: inout Changes) {
        for key in contents.keys.filter(top.isPrefix(of:)) { remove(key, &changes) }
    }

    private mutating func add(_ key: PathKey, _ value: JSON, _ changes: inout Changes) {
        let content = value.serialized
        put(key, content)
        changes.add(key, content)
    }

    /// The path nearest to the root above `path` that has a value: there is one at most.
    private func ancestor(of path: Path) -> (key: PathKey, depth: Int)? {
        for depth in 1..<max(1, path.depth) {
            let key = PathKey(path.prefix(depth))
            if contents[key] != nil { return (key, depth) }
        }
        return nil
    }

    /// Leaves a value for a path; null removes what stands there then.
    mutating func set(_ path: Path, _ value: JSON, _ changes: inout Changes) {
        if let above = ancestor(of: path), let old = self.value(above.key) {
            add(above.key, DisconnectWrites.replacing(old, path.keys[above.depth...], value), &changes)
        } else {
            let key = PathKey(path)
            removeAll(from: key, &changes)
            add(key, value, &changes)
        }
    }

    /// Cancels what was left at and below a path. A value left above it is taken apart, so that its other children are
    /// still written; one without children stays.
    mutating func cancel(_ path: Path, _ changes: inout Changes) {
        while let above = ancestor(of: path), let top = above.key.path, let old = value(above.key),
            let children = DisconnectWrites.children(old), !children.isEmpty
        {
            remove(above.key, &changes)
            for (key, child) in children {
                guard let place = top.appending(key) else { continue }
                add(PathKey(place), child, &changes)
            }
        }
        removeAll(from: PathKey(path), &changes)
    }

    /// The children of a value; nil for one that has none: a scalar, null, or what the time of the write decides.
    private static func children(_ value: JSON) -> [(Key, JSON)]? {
        switch value {
        case .array(let elements):
            return elements.enumerated().compactMap { index, element in Key(String(index)).map { ($0, element) } }
        case .object(let object):
            guard object[".sv"] == nil, object[".value"] == nil else { return nil }
            return object.members.compactMap { member in Key(member.key).map { ($0, member.value) } }
        default: return nil
        }
    }

    /// A value with what stands at a relative path replaced.
    private static func replacing(_ value: JSON, _ keys: ArraySlice<Key>, _ new: JSON) -> JSON {
        guard let first = keys.first else { return new }
        var object = JSONObject()
        for (key, child) in children(value) ?? [] where !child.isNull { object.append(key.text, child) }
        let old = object[first.text] ?? .null
        let replaced = replacing(old, keys.dropFirst(), new)
        if old.isNull, replaced.isNull { return value }
        object[first.text] = replaced.isNull ? nil : replaced
        guard !object.isEmpty else { return .null }
        object.append(".priority", ifPresent: value[".priority"])
        return .object(object)
    }
}
