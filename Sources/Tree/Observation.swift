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
    /// The events wanted.
    public let kinds: Set<TreeEvent.Kind>
    private let sizeMax: Int
    private let childLimit: ChildLimit
    private(set) var window = QueryWindow()
    /// Bytes of the window as JSON.
    private var size = 0

    /// Bytes of the window as JSON.
    public var windowBytes: Int { size }
    /// The value at the path itself where it is no object.
    private var scalar: Value = .null
    /// The priority of the path itself.
    private var priority: Value = .null
    /// Whether a child of the window has a priority.
    private var hasPriorities = false
    private var toldSums = ToldSums()
    /// What is added to a number that was told, while a change is looked at.
    private var added: (counter: Path, numbers: [Value])?
    /// What the path inherits, while several writes that have arrived together are looked at one by one.
    var base: TreeView.Base?
    /// Whether the window is in the order of its keys. By priority it is where nobody has one: nearly always.
    private var isByKey: Bool { query.order == .key || (query.order == .priority && !hasPriorities) }

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
        return opening
    }

    /// The window as it is now, reported as ``start(_:)`` does: what another observer of the same begins with.
    public var opening: [TreeEvent] {
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
        // Of a query's window neither counts: it is a choice of children.
        scalar = window.children.isEmpty && query.isWhole ? try readScalar(view) : .null
        priority = !window.children.isEmpty && query.isWhole ? try view.priority(at: path) : .null
        notePriorities()
    }

    /// The value at the path itself if it is no object: then there are no children, not only none between the bounds.
    private func readScalar(_ view: TreeView) throws -> Value {
        do {
            let value = try view.value(at: path, sizeMax: sizeMax)
            return value.leaf.object == nil ? value : .null
        } catch ReadError.tooLarge {
            return .null
        }
    }

    private mutating func notePriorities() {
        hasPriorities = query.order == .priority && window.children.contains { !$0.value.priority.isNull }
    }

    private static func size(_ child: QueryWindow.Child) -> Int {
        child.key.text.utf8.count + child.value.approximateSize
    }

    private var current: Value {
        guard !window.children.isEmpty else { return scalar }
        var value = window.value
        value.setPriority(priority)
        return value
    }

    private func report(
        _ kind: TreeEvent.Kind, _ key: Key?, _ value: Value, _ previous: Key?, _ events: inout [TreeEvent]
    ) {
        if kinds.contains(kind) { events.append(TreeEvent(kind: kind, key: key, value: value, previous: previous)) }
    }

    /// Whether a write at `changed` can be seen from here.
    public func isTouched(by changed: Path) -> Bool { changed.contains(path) || path.contains(changed) }

    /// The events of a change, given the paths that were written. When it throws ``ReadError/notOrderedYet`` the window
    /// is what it was, so that a change of the path itself makes up later for what was missed.
    public mutating func apply(_ changed: [Path], _ view: TreeView) throws -> [TreeEvent] {
        let touching = changed.filter(isTouched(by:))
        guard !touching.isEmpty else { return [] }
        let additions = Additions(touching)
        if let additions {
            added = try toldSums.numbers(of: additions, view).map { (additions.counter, $0) }
        }
        defer { added = nil }
        let events = try react(to: touching, view)
        try toldSums.update(touching, additions, view)
        return events
    }

    private mutating func react(to touching: [Path], _ view: TreeView) throws -> [TreeEvent] {
        if let added, added.counter == path, query.isWhole, let sum = scalar.adding(added.numbers, at: []) {
            let isChanged = sum != scalar
            scalar = sum
            return events([], isSelfChanged: isChanged)
        }
        if touching.count == 1, touching[0].depth > path.depth,
            let events = try follow(touching[0].keys[path.depth], view)
        {
            return events
        }
        let before = window
        let (scalarBefore, priorityBefore) = (scalar, priority)
        if touching.allSatisfy({ $0.depth > path.depth }) {
            try update(Set(touching.map { $0.keys[path.depth] }), view)
        } else {
            try refresh(view)
        }
        let isSelfChanged = scalarBefore != scalar || priorityBefore != priority
        return events(changes(from: before.children, to: window.children), isSelfChanged: isSelfChanged)
    }

    /// The events of a change of one child in a window by key, without a look at the others: what every message is to
    /// those who follow its channel. Nil, and nothing has changed, where the window has to be read anew.
    private mutating func follow(_ key: Key, _ view: TreeView) throws -> [TreeEvent]? {
        guard isByKey, !key.isEngine, !(window.children.isEmpty && query.isWhole) else { return nil }
        if isBehindEdge(key) { return [] }
        let value = try child(key, view)
        guard query.order == .key || value.priority.isNull else { return nil }
        let child = QueryWindow.Child(key: key, value: value)
        let index = place(of: key, value, in: window.children)
        let old = index < window.children.count && window.children[index].key == key ? window.children[index] : nil
        guard !value.isNull, query.admits(key, value) else {
            guard let old else { return [] }
            // Another child may come in from behind the edge, or the place itself hold a value.
            guard !query.isFull(window.children.count), !query.isWhole || window.children.count > 1 else { return nil }
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

    /// Whether a full window by key ends before a key: what happens there is not even read. A catch-up brings years of
    /// messages below the last fifty.
    private func isBehindEdge(_ key: Key) -> Bool {
        guard query.order == .key, query.isFull(window.children.count), let limit = query.limit,
            let first = window.children.first?.key, let last = window.children.last?.key
        else { return false }
        return switch limit {
        case .first: key > last
        case .last: key < first
        }
    }

    private mutating func resize(by bytes: Int) throws {
        guard size + bytes <= sizeMax else { throw ReadError.tooLarge }
        size += bytes
    }

    /// Refreshes single children of the window.
    private mutating func update(_ keys: Set<Key>, _ view: TreeView) throws {
        let wasFull = query.isFull(window.children.count)
        let countBefore = window.children.count
        // Nothing is known of a scalar's priority that the children's parent would keep.
        if window.children.isEmpty && query.isWhole || keys.contains(where: \.isEngine) { return try refresh(view) }
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
            let value = try child(key, view)
            guard !value.isNull, query.admits(key, value) else { continue }
            let child = QueryWindow.Child(key: key, value: value)
            size += Observation.size(child)
            children.insert(child, at: place(of: key, value, in: children))
        }
        // A child that left or moved in a full window may let another one in from behind the edge.
        if wasFull, left > 0, mayRefill(children, keys) { return try refresh(view) }
        for child in query.trim(&children) { size -= Observation.size(child) }
        guard size <= sizeMax else { throw ReadError.tooLarge }
        if children.isEmpty, query.isWhole { return try refresh(view) }
        window.children = children
        self.size = size
        notePriorities()
        scalar = .null
    }

    private func child(_ key: Key, _ view: TreeView) throws -> Value {
        if let added, added.counter.depth > path.depth, added.counter.keys[path.depth] == key,
            let old = told(key), let sum = old.adding(added.numbers, at: added.counter.keys[(path.depth + 1)...])
        {
            return sum
        }
        guard let base else { return try view.child(key, of: path, limit: childLimit) }
        return try view.child(key, of: path, base: base, limit: childLimit)
    }

    /// The value of a child that is in the window.
    private func told(_ key: Key) -> Value? {
        guard isByKey else { return window.children.first { $0.key == key }?.value }
        let index = place(of: key, .null, in: window.children)
        return index < window.children.count && window.children[index].key == key ? window.children[index].value : nil
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
        return !isByKey || !edge.value.priority.isNull || !window.children.contains { $0.key == edge.key }
    }

    private func events(
        _ changes: [(kind: TreeEvent.Kind, change: Change)], isSelfChanged: Bool = false
    ) -> [TreeEvent] {
        var events: [TreeEvent] = []
        for (kind, change) in changes { report(kind, change.child.key, change.child.value, change.previous, &events) }
        // The value of the whole window is made for whoever wants it alone.
        if isSelfChanged || !changes.isEmpty, kinds.contains(.value) { report(.value, nil, current, nil, &events) }
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
            if query.order.isMoved(child.key, from: value, to: child.value) { moved.append((child, previous)) }
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
