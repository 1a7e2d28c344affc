/// Children in the order of a query.
public struct QueryWindow: Sendable, Equatable {
    public typealias Child = ObjectValue.Child

    public var children: [Child]

    public init(_ children: [Child] = []) { self.children = children }

    /// The window as one value; null when empty.
    public var value: Value {
        let object = ObjectValue(children.map { ($0.key, $0.value) })
        return object.isEmpty ? .null : .object(object)
    }
}

extension TreeView {
    /// The children that a query returns.
    ///
    /// By key it reads only what it returns, and in the other orders too if the reader has an index of them; otherwise
    /// it reads all children of the path, by priority those that have one.
    ///
    /// - `sizeMax`: bytes as JSON after which it throws ``ReadError/tooLarge``.
    /// - `childLimit`: what happens to a child that is too large; none may be larger than the window.
    /// - Throws: ``ReadError/notOrderedYet`` while the reader makes the index.
    public func window(
        of path: Path, _ query: Query, sizeMax: Int, childLimit: ChildLimit? = nil
    ) throws -> QueryWindow {
        var gathering = Gathering(query: query, sizeMax: sizeMax)
        let childLimit = childLimit ?? .refuse(sizeMax: sizeMax)
        if let window = try orderedWindow(of: path, query, sizeMax: sizeMax, childLimit) { return window }
        switch query.order {
        case .key:
            let bounds = (query.start?.value.string.flatMap { Key($0) }, query.end?.value.string.flatMap { Key($0) })
            try children(
                of: path, from: bounds.0, through: bounds.1, descending: query.isFromEnd, limit: childLimit
            ) { key, value in try gathering.take(key, value) }
        case .priority:
            try priorityOrder(of: path, query, sizeMax: sizeMax, childLimit) { key, value in
                try gathering.take(key, value)
            }
        case .value, .child:
            return try scannedWindow(of: path, query, sizeMax: sizeMax, childLimit)
        }
        if query.isFromEnd { gathering.found.reverse() }
        return QueryWindow(gathering.found)
    }

    /// Children as they come in the query's order, from the end that its limit keeps.
    private struct Gathering {
        let query: Query
        let sizeMax: Int
        var found: [QueryWindow.Child] = []
        var size = 0

        /// False once there are enough.
        mutating func take(_ key: Key, _ value: Value) throws -> Bool {
            guard query.admits(key, value) else { return true }
            size += key.text.utf8.count + value.approximateSize
            guard size <= sizeMax else { throw ReadError.tooLarge }
            found.append(QueryWindow.Child(key: key, value: value))
            return found.count < query.limitCount ?? .max
        }
    }

    /// Children as they come, from which the window is chosen. Others decide how many and how large they are, so no
    /// more of them are kept than twice a window.
    private struct Choice {
        let query: Query
        let sizeMax: Int
        private(set) var found: [QueryWindow.Child] = []
        private(set) var size = 0

        init(_ query: Query, sizeMax: Int) {
            self.query = query
            self.sizeMax = min(sizeMax, .max / 4)
        }

        private static func size(_ child: QueryWindow.Child) -> Int {
            child.key.text.utf8.count + child.value.approximateSize
        }

        mutating func take(_ key: Key, _ value: Value) throws {
            guard query.admits(key, value) else { return }
            let child = QueryWindow.Child(key: key, value: value)
            found.append(child)
            size += Choice.size(child)
            guard let limit = query.limitCount else {
                guard size <= sizeMax else { throw ReadError.tooLarge }
                return
            }
            if found.count >= min(limit, .max / 4) * 2 + 64 || size > sizeMax * 2 { sort() }
        }

        /// Sorts them, and drops those that the limit keeps away, or that come after what makes a window too large.
        mutating func sort() {
            found.sort { query.precedes(($0.key, $0.value), ($1.key, $1.value)) }
            for child in query.trim(&found) { size -= Choice.size(child) }
            var excess = 0
            for child in query.isFromEnd ? found : found.reversed() {
                guard size - Choice.size(child) > sizeMax else { break }
                size -= Choice.size(child)
                excess += 1
            }
            if query.isFromEnd { found.removeFirst(excess) } else { found.removeLast(excess) }
        }
    }

    /// The window from an index of the order; nil where there is none, or no use for it.
    ///
    /// What the index says of a child is held against the child: an index that is wrong is not believed.
    private func orderedWindow(
        of path: Path, _ query: Query, sizeMax: Int, _ childLimit: ChildLimit
    ) throws -> QueryWindow? {
        guard query.order != .key, !query.isWhole else { return nil }
        // What is left out of a child may be what the order looks at.
        if case .abridge = childLimit { return nil }
        var gathering = Gathering(query: query, sizeMax: sizeMax)
        let base = try base(at: path)
        let answer = try reader.ordered(
            path, by: query.order, OrderRange(query), descending: query.isFromEnd
        ) { key, sort in
            let value = try child(key, of: path, base: base, limit: childLimit)
            guard !value.isNull, SortKey(query.sortValue(key, value)) == sort else { throw StaleOrder() }
            return try gathering.take(key, value)
        }
        switch answer {
        case .visited:
            if query.isFromEnd { gathering.found.reverse() }
            return QueryWindow(gathering.found)
        case .noIndex: return nil
        case .notYet: throw ReadError.notOrderedYet
        }
    }

    private func scannedWindow(
        of path: Path, _ query: Query, sizeMax: Int, _ childLimit: ChildLimit
    ) throws -> QueryWindow {
        var choice = Choice(query, sizeMax: sizeMax)
        try children(of: path, limit: childLimit) { key, value in
            try choice.take(key, value)
            return true
        }
        choice.sort()
        guard choice.size <= sizeMax else { throw ReadError.tooLarge }
        return QueryWindow(choice.found)
    }

    /// Keys of the children that have a priority, or had one that has not been removed yet.
    private func keysWithPriorities(of path: Path) throws -> [Key] {
        var keys: [Key] = []
        var lower: PathKey? = PathKey(path).firstChild
        let upper = PathKey(path).subtreeEnd
        while let from = lower {
            lower = nil
            try reader.scanPriorities(from: from, to: upper) { entry in
                if entry.path.depth == path.depth + 2 {
                    keys.append(entry.path.keys[path.depth])
                    return true
                }
                // Deeper ones come after the child's own, and there may be many of them: they are passed over at once.
                if entry.path.depth > path.depth + 2 { lower = PathKey(entry.path.prefix(path.depth + 1)).subtreeEnd }
                return lower == nil
            }
        }
        return keys
    }

    /// Visits children by priority and key: first those without one, by key, then the others, whose priorities are few
    /// or none and stand in an index of their own.
    private func priorityOrder(
        of path: Path, _ query: Query, sizeMax: Int, _ childLimit: ChildLimit, _ body: (Key, Value) throws -> Bool
    ) throws {
        var choice = Choice(query, sizeMax: sizeMax)
        var rankedKeys: Set<Key> = []
        for key in try keysWithPriorities(of: path) {
            let value = try child(key, of: path, limit: childLimit)
            guard !value.priority.isNull else { continue }
            rankedKeys.insert(key)
            try choice.take(key, value)
        }
        choice.sort()
        let ranked = choice.found
        // Where the range begins behind the absent, no child without a priority is in it.
        let hasUnranked = query.start.map { $0.value.isNull } ?? true
        let bounds = query.unrankedBounds
        func unranked() throws -> Bool {
            guard hasUnranked else { return true }
            var isOpen = true
            try children(
                of: path, from: bounds.lower, through: bounds.upper, descending: query.isFromEnd, limit: childLimit
            ) { key, value in
                if !rankedKeys.isEmpty, rankedKeys.contains(key) { return true }
                isOpen = try body(key, value)
                return isOpen
            }
            return isOpen
        }
        if !query.isFromEnd {
            guard try unranked() else { return }
            for child in ranked where try !body(child.key, child.value) { return }
        } else {
            for child in ranked.reversed() where try !body(child.key, child.value) { return }
            _ = try unranked()
        }
    }
}

extension Query {
    /// Whether it is read from its end: what a limit keeps away from need not be read.
    var isFromEnd: Bool {
        if case .last = limit { return true }
        return false
    }

    /// The keys between which children without a priority may lie.
    fileprivate var unrankedBounds: (lower: Key?, upper: Key?) {
        (start?.value.isNull == true ? start?.key : nil, end?.value.isNull == true ? end?.key : nil)
    }
}
