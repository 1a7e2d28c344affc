extension TreeView {
    /// Keys of the children that have an entry or an inherited value below this path; some may hold nothing any more.
    /// A seek for each child, whatever stands below it.
    public func childKeys(of path: Path, limit: Int = .max) throws -> [Key] {
        let inherited = (try base(at: path).value.object?.children ?? []).map(\.key)
        return try childKeys(below: path, inherited, limit: limit)
    }

    func childKeys(below path: Path, _ inherited: [Key] = [], limit: Int) throws -> [Key] {
        var keys = Set(inherited)
        var lower = PathKey(path).firstChild
        let end = PathKey(path).subtreeEnd
        while keys.count < limit, let key = try nextKey(in: lower, end, depth: path.depth),
            let child = path.appending(key)
        {
            keys.insert(key)
            lower = PathKey(child).subtreeEnd
        }
        return keys.sorted()
    }

    /// Visits children in key order or backwards, with their values, until the body returns false. Reads only what it
    /// visits: a seek for each child that is one entry, and a scan for each other.
    ///
    /// - `lower`: first key that may be visited.
    /// - `upper`: last key that may be visited.
    /// - `limit`: what happens to a child that is too large.
    public func children(
        of path: Path, from lower: Key? = nil, through upper: Key? = nil, descending: Bool = false,
        limit: ChildLimit = .none, _ body: (Key, Value) throws -> Bool
    ) throws {
        let base = try base(at: path)
        let range = ChildRange(lower: lower, upper: upper)
        try eachChild(of: path, base, range, descending: descending) { child in
            let value = try limited(child, of: path, base: base, limit)
            return try value.isNull || body(child.key, value)
        }
    }

    /// Whether there is something at each child, in key order, until the body returns false.
    ///
    /// - `after`: the key behind which it begins.
    public func presentKeys(of path: Path, after: Key?, _ body: (Key) throws -> Bool) throws {
        let base = try base(at: path)
        try eachChild(of: path, base, ChildRange(after: after)) { child in
            var isPresent = true
            do {
                isPresent = try !value(child, of: path, base: base, sizeMax: TreeView.glanceMax).isNull
            } catch ReadError.tooLarge {}
            return try !isPresent || body(child.key)
        }
    }

    // MARK: What orders look at

    /// Bytes of a child that are read to see what an order looks at; of a larger one that place alone is read.
    private static let sortedChildMax = 8 << 20

    /// Visits children by key with what an order looks at in them, until the body returns false: what an index of that
    /// order is made of.
    ///
    /// - `base`: of the path; holds as long as nothing is written at the path or above it.
    /// - `after`: the key behind which it begins.
    public func sortKeys(
        of path: Path, _ base: Base, by order: Query.Order, after: Key?, _ body: (Key, SortKey) throws -> Bool
    ) throws {
        try eachChild(of: path, base, ChildRange(after: after)) { child in
            guard let sort = try sortKey(child, of: path, base: base, order) else { return true }
            return try body(child.key, sort)
        }
    }

    /// What an order looks at in one child; nil where there is none.
    ///
    /// - `base`: of the path.
    public func sortKey(of key: Key, of path: Path, _ base: Base, by order: Query.Order) throws -> SortKey? {
        var found: SortKey?
        try eachChild(of: path, base, ChildRange(lower: key, upper: key)) { child in
            found = try sortKey(child, of: path, base: base, order)
            return false
        }
        return found
    }

    private func sortKey(_ child: Child, of path: Path, base: Base, _ order: Query.Order) throws -> SortKey? {
        do {
            let value = try value(child, of: path, base: base, sizeMax: TreeView.sortedChildMax)
            return value.isNull ? nil : SortKey(order.sortValue(child.key, value))
        } catch ReadError.tooLarge {}
        guard let place = path.appending(child.key) else { return nil }
        switch order {
        case .key: return SortKey(.string(child.key.text))
        case .priority: return SortKey(try priority(at: place))
        case .value: return .object
        case .child(let below):
            guard let place = place.appending(below) else { return SortKey(.null) }
            do {
                return SortKey(try value(at: place, sizeMax: TreeView.sortedChildMax).leaf)
            } catch ReadError.tooLarge {
                return .object
            }
        }
    }

    // MARK: One child

    private struct ChildRange {
        var lower: Key?
        var upper: Key?
        /// The key behind which it begins, instead of `lower`.
        var after: Key?

        /// Those of sorted children that are in it.
        func part(of children: [ObjectValue.Child]) -> ArraySlice<ObjectValue.Child> {
            func first(_ isInside: (Key) -> Bool) -> Int {
                var (low, high) = (0, children.count)
                while low < high {
                    let middle = (low + high) / 2
                    if isInside(children[middle].key) { high = middle } else { low = middle + 1 }
                }
                return low
            }
            var start = lower.map { lower in first { !($0 < lower) } } ?? 0
            if let after { start = max(start, first { after < $0 }) }
            let end = upper.map { upper in first { upper < $0 } } ?? children.count
            return children[start..<max(start, end)]
        }
    }

    /// A child that may hold something.
    private struct Child {
        let key: Key
        /// Its entry, where nothing else stands at or below it: nearly always.
        var only: Entry?
    }

    private func eachChild(
        of path: Path, _ base: Base, _ range: ChildRange, descending: Bool = false, _ body: (Child) throws -> Bool
    ) throws {
        let parent = PathKey(path)
        var first = parent.firstChild
        var end = parent.subtreeEnd
        if let lower = range.lower.flatMap(path.appending) { first = PathKey(lower) }
        if let after = range.after.flatMap(path.appending) { first = PathKey(after).subtreeEnd }
        if let upper = range.upper.flatMap(path.appending) { end = PathKey(upper).subtreeEnd }
        var inherited = range.part(of: base.value.object?.children ?? [])
        if inherited.isEmpty, !descending { return try eachStoredChild(of: path, from: first, to: end, body) }
        while true {
            let stored = try nextChild(in: first, end, depth: path.depth, descending: descending)
            let candidate: Child
            let next = (descending ? inherited.last : inherited.first)?.key
            switch (stored, next) {
            case (nil, nil): return
            case (let child?, nil): candidate = child
            case (nil, let key?): candidate = Child(key: key)
            case (let child?, let key?):
                let isStored = descending ? !(child.key < key) : !(key < child.key)
                candidate = isStored ? child : Child(key: key)
            }
            if next == candidate.key { if descending { inherited.removeLast() } else { inherited.removeFirst() } }
            guard let candidatePath = path.appending(candidate.key) else { return }
            if descending { end = PathKey(candidatePath) } else { first = PathKey(candidatePath).subtreeEnd }
            guard try body(candidate) else { return }
        }
    }

    /// Children with entries, in order: one scan as long as each child is one entry, so that none is read twice.
    private func eachStoredChild(
        of path: Path, from first: PathKey, to end: PathKey, _ body: (Child) throws -> Bool
    ) throws {
        var first = first
        while true {
            var waiting: Child?
            var isOver = false
            try reader.scan(from: first, to: end, descending: false) { entry in
                guard entry.path.depth > path.depth else { return true }
                let key = entry.path.keys[path.depth]
                if let child = waiting {
                    if child.key == key {
                        waiting?.only = nil
                        return false
                    }
                    isOver = try !body(child)
                    guard !isOver else { return false }
                }
                let isOwn = entry.path.depth == path.depth + 1
                waiting = Child(key: key, only: isOwn ? entry : nil)
                return isOwn
            }
            guard !isOver, let child = waiting, let childPath = path.appending(child.key), try body(child) else {
                return
            }
            first = PathKey(childPath).subtreeEnd
        }
    }

    private func value(_ child: Child, of path: Path, base: Base, sizeMax: Int) throws -> Value {
        guard let entry = child.only, entry.kind == Entry.set, base.stamp.map({ $0 < entry.stamp }) ?? true else {
            return try self.child(child.key, of: path, base: base, sizeMax: sizeMax)
        }
        guard sizeMax == .max || entry.value.approximateSize <= sizeMax else { throw ReadError.tooLarge }
        return entry.value
    }

    private func limited(_ child: Child, of path: Path, base: Base, _ limit: ChildLimit) throws -> Value {
        switch limit {
        case .none: return try value(child, of: path, base: base, sizeMax: .max)
        case .refuse(let sizeMax): return try value(child, of: path, base: base, sizeMax: sizeMax)
        case .abridge(let sizeMax):
            do {
                let value = try value(child, of: path, base: base, sizeMax: sizeMax)
                if value.approximateSize <= sizeMax { return value }
            } catch ReadError.tooLarge {}
            return try abridged(child.key, of: path, sizeMax: sizeMax)
        }
    }

    /// One child as ``children(of:from:through:descending:limit:_:)`` gives it.
    func child(_ key: Key, of path: Path, limit: ChildLimit) throws -> Value {
        try child(key, of: path, base: base(at: path), limit: limit)
    }

    /// The same, given the base of its parent.
    func child(_ key: Key, of path: Path, base: Base, limit: ChildLimit) throws -> Value {
        try limited(Child(key: key), of: path, base: base, limit)
    }

    private func nextKey(in lower: PathKey, _ upper: PathKey, depth: Int) throws -> Key? {
        var found: Key?
        try reader.scan(from: lower, to: upper, descending: false) { entry in
            guard entry.path.depth > depth else { return true }
            found = entry.path.keys[depth]
            return false
        }
        return found
    }

    /// The next child with an entry. A child's own entry stands before those below it, so backwards the first one found
    /// says whether it is all there is, and forwards the second.
    private func nextChild(in lower: PathKey, _ upper: PathKey, depth: Int, descending: Bool) throws -> Child? {
        var found: Child?
        try reader.scan(from: lower, to: upper, descending: descending) { entry in
            if let child = found {
                if entry.path.keys[depth] == child.key { found?.only = nil }
                return false
            }
            guard entry.path.depth > depth else { return true }
            let isOwn = entry.path.depth == depth + 1
            found = Child(key: entry.path.keys[depth], only: isOwn ? entry : nil)
            return isOwn && !descending
        }
        return found
    }
}

/// How much of a child is read. Others decide how large a child becomes, so a reader of many has to decide what one may
/// cost.
public enum ChildLimit: Sendable, Equatable {
    case none
    /// A larger one throws ``ReadError/tooLarge``.
    case refuse(sizeMax: Int)
    /// Of a larger one only those of its children are read that fit.
    case abridge(sizeMax: Int)
}
