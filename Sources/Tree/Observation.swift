/// What happened to a child, or to a whole path.
public struct TreeEvent: Sendable, Equatable {
    public enum Kind: String, Sendable, CaseIterable {
        case childAdded = "child_added"
        case childChanged = "child_changed"
        case childMoved = "child_moved"
        case childRemoved = "child_removed"
        case value = "value"
    }

    public let kind: Kind
    /// The child; nil for `value`.
    public let key: Key?
    /// The child's value, for `child_removed` the one it had; for `value` that of the whole window.
    public let value: Value
    /// The key of the sibling before it in the query's order; nil for the first, for `child_removed` and for `value`.
    public let previous: Key?

    public init(kind: Kind, key: Key?, value: Value, previous: Key?) {
        self.kind = kind
        self.key = key
        self.value = value
        self.previous = previous
    }
}

/// An observer of a path: keeps the window it has reported and turns changes of the tree into Firebase's events.
///
/// Order within one change: removed, added, moved, changed, then `value`. The cost of a change depends on the children
/// it touches and on the window, never on the size of the tree.
public struct Observation: Sendable {
    public let path: Path
    public let query: Query
    private let kinds: Set<TreeEvent.Kind>
    private let sizeMax: Int
    private let childLimit: ChildLimit
    private var window = QueryWindow()
    /// Bytes of the window as JSON.
    private var size = 0

    /// Bytes of the window as JSON.
    public var windowBytes: Int { size }
    /// The value at the path itself where it is no object.
    private var scalar: Value = .null

    /// - `kinds`: the events wanted.
    /// - `sizeMax`: bytes the window may have as JSON; beyond it reads throw ``ReadError/tooLarge``.
    /// - `childLimit`: what happens to a child that is too large; none may be larger than the window.
    public init(
        path: Path, query: Query, kinds: Set<TreeEvent.Kind>, sizeMax: Int, childLimit: ChildLimit? = nil
    ) {
        self.path = path
        self.query = query
        self.kinds = kinds
        self.sizeMax = sizeMax
        self.childLimit = childLimit ?? .refuse(sizeMax: sizeMax)
    }

    /// Reads the window and reports it: the existing children in order, then `value`.
    public mutating func start(_ view: TreeView) throws -> [TreeEvent] {
        try refresh(view)
        var events: [TreeEvent] = []
        var previous: Key?
        for child in window.children {
            report(.childAdded, child.key, child.value, previous, &events)
            previous = child.key
        }
        report(.value, nil, current, nil, &events)
        return events
    }

    private mutating func refresh(_ view: TreeView) throws {
        window = try view.window(of: path, query, sizeMax: sizeMax, childLimit: childLimit)
        size = window.children.reduce(0) { $0 + Observation.size($1) }
        scalar = window.children.isEmpty ? try readScalar(view) : .null
    }

    /// The value at the path itself if it is no object: then there are no children, not only none between the bounds.
    private func readScalar(_ view: TreeView) throws -> Value {
        do {
            let value = try view.value(at: path, sizeMax: sizeMax)
            return value.object == nil ? value : .null
        } catch ReadError.tooLarge {
            return .null
        }
    }

    private static func size(_ child: QueryWindow.Child) -> Int {
        child.key.text.utf8.count + child.value.approximateSize
    }

    private var current: Value { window.children.isEmpty ? scalar : window.value }

    private func report(
        _ kind: TreeEvent.Kind, _ key: Key?, _ value: Value, _ previous: Key?, _ events: inout [TreeEvent]
    ) {
        if kinds.contains(kind) { events.append(TreeEvent(kind: kind, key: key, value: value, previous: previous)) }
    }

    /// Whether a write at `changed` can be seen from here.
    public func isTouched(by changed: Path) -> Bool { changed.contains(path) || path.contains(changed) }

    /// The events of a change, given the paths that were written.
    public mutating func apply(_ changed: [Path], _ view: TreeView) throws -> [TreeEvent] {
        let touching = changed.filter(isTouched(by:))
        guard !touching.isEmpty else { return [] }
        if touching.count == 1, touching[0].depth > path.depth,
            let events = try follow(touching[0].keys[path.depth], view)
        {
            return events
        }
        let before = window
        let scalarBefore = scalar
        if touching.allSatisfy({ $0.depth > path.depth }) {
            try update(Set(touching.map { $0.keys[path.depth] }), view)
        } else {
            try refresh(view)
        }
        return events(from: before, scalarBefore)
    }

    /// The events of a change of one child in a window by key, without a look at the others: what every message is to
    /// those who follow its channel. Nil, and nothing has changed, where the window has to be read anew.
    private mutating func follow(_ key: Key, _ view: TreeView) throws -> [TreeEvent]? {
        guard query.order == .key, !key.isEngine, !window.children.isEmpty else { return nil }
        let value = try view.child(key, of: path, limit: childLimit)
        let child = QueryWindow.Child(key: key, value: value)
        let index = place(of: key, value, in: window.children)
        let old = index < window.children.count && window.children[index].key == key ? window.children[index] : nil
        guard !value.isNull, query.admits(key, value) else {
            guard let old else { return [] }
            // Another child may come in from behind the edge, or the place itself hold a value.
            guard !query.isFull(window.children.count), window.children.count > 1 else { return nil }
            window.children.remove(at: index)
            size -= Observation.size(old)
            return events([(.childRemoved, (old, nil))])
        }
        if let old {
            guard old.value != value else { return [] }
            try resize(by: Observation.size(child) - Observation.size(old))
            window.children[index] = child
            return events([(.childChanged, (child, index > 0 ? window.children[index - 1].key : nil))])
        }
        window.children.insert(child, at: index)
        let cut = query.trim(&window.children)
        guard cut.first?.key != key else { return [] }
        try resize(by: Observation.size(child) - cut.reduce(0) { $0 + Observation.size($1) })
        let place = place(of: key, value, in: window.children)
        let added = (child, place > 0 ? window.children[place - 1].key : nil)
        return events(cut.map { (.childRemoved, ($0, nil)) } + [(.childAdded, added)])
    }

    private mutating func resize(by bytes: Int) throws {
        guard size + bytes <= sizeMax else { throw ReadError.tooLarge }
        size += bytes
    }

    /// Refreshes single children of the window.
    private mutating func update(_ keys: Set<Key>, _ view: TreeView) throws {
        let wasFull = query.isFull(window.children.count)
        let countBefore = window.children.count
        if keys.contains(where: \.isEngine) { return try refresh(view) }
        // Most changes touch one child, and comparing is cheaper than hashing.
        let single = keys.count == 1 ? keys.first : nil
        var children: [QueryWindow.Child] = []
        children.reserveCapacity(countBefore + keys.count)
        var size = size
        for child in window.children {
            let isTouched = single.map { $0 == child.key } ?? keys.contains(child.key)
            if isTouched { size -= Observation.size(child) } else { children.append(child) }
        }
        let left = countBefore - children.count
        for key in keys.sorted() {
            let value = try view.child(key, of: path, limit: childLimit)
            guard !value.isNull, query.admits(key, value) else { continue }
            let child = QueryWindow.Child(key: key, value: value)
            size += Observation.size(child)
            children.insert(child, at: place(of: key, value, in: children))
        }
        // A child that left or moved in a full window may let another one in from behind the edge.
        if wasFull, left > 0, mayRefill(children, keys) { return try refresh(view) }
        for child in query.trim(&children) { size -= Observation.size(child) }
        guard size <= sizeMax else { throw ReadError.tooLarge }
        window.children = children
        self.size = size
        if children.isEmpty { try refresh(view) } else { scalar = .null }
    }

    private func place(of key: Key, _ value: Value, in children: [QueryWindow.Child]) -> Int {
        var low = 0
        var high = children.count
        while low < high {
            let middle = (low + high) / 2
            let other = children[middle]
            if query.precedes((other.key, other.value), (key, value)) { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Whether a child behind the edge of a full window may have come before one of these: surely not as long as the
    /// one at the edge stands where it stood.
    private func mayRefill(_ children: [QueryWindow.Child], _ keys: Set<Key>) -> Bool {
        let excess = children.count - window.children.count
        guard excess >= 0 else { return true }
        var edge = children[window.children.count - 1]
        if case .last = query.limit { edge = children[excess] }
        guard keys.contains(edge.key) else { return false }
        return query.order != .key || !window.children.contains { $0.key == edge.key }
    }

    private func events(from before: QueryWindow, _ scalarBefore: Value) -> [TreeEvent] {
        events(changes(from: before.children, to: window.children), isScalarChanged: scalarBefore != scalar)
    }

    private func events(
        _ changes: [(kind: TreeEvent.Kind, change: Change)], isScalarChanged: Bool = false
    ) -> [TreeEvent] {
        var events: [TreeEvent] = []
        for (kind, change) in changes { report(kind, change.child.key, change.child.value, change.previous, &events) }
        // The value of the whole window is made for whoever wants it alone.
        if isScalarChanged || !changes.isEmpty, kinds.contains(.value) { report(.value, nil, current, nil, &events) }
        return events
    }

    private typealias Change = (child: QueryWindow.Child, previous: Key?)

    /// What became of each child, in the order of the events.
    private func changes(
        from old: [QueryWindow.Child], to new: [QueryWindow.Child]
    ) -> [(kind: TreeEvent.Kind, change: Change)] {
        var removed: [Change] = []
        var added: [Change] = []
        var moved: [Change] = []
        var changed: [Change] = []
        let partners = query.order == .key ? Partners(sorted: old, new) : Partners(old, new)
        for (index, partner) in partners.ofOld.enumerated() where partner == nil { removed.append((old[index], nil)) }
        for (index, partner) in partners.ofNew.enumerated() {
            let child = new[index]
            let previous = index > 0 ? new[index - 1].key : nil
            guard let partner else {
                added.append((child, previous))
                continue
            }
            let value = old[partner].value
            guard value != child.value else { continue }
            if query.order != .key,
                query.sortValue(child.key, value) != query.sortValue(child.key, child.value)
            {
                moved.append((child, previous))
            }
            changed.append((child, previous))
        }
        return removed.map { (.childRemoved, $0) } + added.map { (.childAdded, $0) } + moved.map { (.childMoved, $0) }
            + changed.map { (.childChanged, $0) }
    }
}

/// Which child of one window is which of another, by key.
private struct Partners {
    private(set) var ofOld: [Int?]
    private(set) var ofNew: [Int?]

    /// Of windows in any order.
    init(_ old: [QueryWindow.Child], _ new: [QueryWindow.Child]) {
        ofOld = Array(repeating: nil, count: old.count)
        ofNew = Array(repeating: nil, count: new.count)
        var places: [Key: Int] = [:]
        for (index, child) in old.enumerated() { places[child.key] = index }
        for (index, child) in new.enumerated() { if let place = places[child.key] { pair(place, index) } }
    }

    /// Of windows in key order: both are walked once. A channel's window slides on with every message, so this counts.
    init(sorted old: [QueryWindow.Child], _ new: [QueryWindow.Child]) {
        ofOld = Array(repeating: nil, count: old.count)
        ofNew = Array(repeating: nil, count: new.count)
        var (left, right) = (0, 0)
        while left < old.count, right < new.count {
            if old[left].key == new[right].key {
                pair(left, right)
                left += 1
                right += 1
            } else if old[left].key < new[right].key {
                left += 1
            } else {
                right += 1
            }
        }
    }

    private mutating func pair(_ old: Int, _ new: Int) {
        ofOld[old] = new
        ofNew[new] = old
    }
}
