public import Tree

/// When and how children are kept in orders other than by key.
public struct OrderOptions: Sendable {
    /// With fewer entries below a path reading all of them costs less than keeping an order: some milliseconds.
    public var entriesMin = 256
    /// The least recently used ones beyond it are thrown away.
    public var indexesMax = 8
    /// Bytes one may take: about two million children.
    public var bytesMax = 256 << 20
    /// Whether ``DatabaseStore/buildOrders(while:)`` makes them in pieces, and readers are told to come back. Otherwise
    /// the first reader waits until all of it is made.
    public var isDeferred = false

    public init() {}
}

/// The statements that say whether an order is worth its making.
struct CountStatements {
    let entries, priorities: Statement

    init(_ database: Database) {
        let isLiveBelow = "path >= ? AND path < ? AND held = 0"
        entries = database.statement("SELECT count(*) FROM (SELECT 1 FROM entry WHERE \(isLiveBelow) LIMIT ?)")
        priorities = database.statement(
            """
            SELECT count(*) FROM (SELECT 1 FROM entry INDEXED BY entry_priority
            WHERE \(isLiveBelow) AND \(Schema.isPriority) LIMIT ?)
            """)
    }
}

/// Orders of children are made when somebody first asks for one of a path with many children, and follow every commit
/// until they are thrown away. They are not part of what the store keeps: another start begins without.
extension DatabaseStore {
    public func ordered(
        _ path: Path, by order: Query.Order, _ range: OrderRange, descending: Bool,
        _ body: (Key, SortKey) throws -> Bool
    ) throws -> OrderAnswer {
        guard let index = try orderIndex(path, order), !index.hasFailed else { return .noIndex }
        guard index.isReady else { return .notYet }
        scans += 1
        defer { scans -= 1 }
        do {
            return try index.visit(range, descending: descending, body) ? .visited : .noIndex
        } catch is StaleOrder {
            staleOrders += 1
            index.fail()
            return .noIndex
        }
    }

    /// The index, begun if need be; nil where none is wanted.
    private func orderIndex(_ path: Path, _ order: Query.Order) throws -> OrderIndex? {
        if let place = orders.firstIndex(where: { $0.order == order && $0.path == path }) {
            let index = orders[place]
            if index.isRetried() {
                orders.remove(at: place)
            } else {
                orders.append(orders.remove(at: place))
                index.askedStep = orderStep
                return index
            }
        }
        guard orderOptions.indexesMax > 0, try isLarge(path, order) else { return nil }
        if orders.count >= orderOptions.indexesMax {
            // Whoever waits for one that is being made asks for it again and again; a new one's turn comes later.
            let isFree = { [orderStep] (index: OrderIndex) in
                !index.isBuilding || orderStep - index.askedStep > Self.abandonedSteps
            }
            guard let oldest = orders.firstIndex(where: isFree) else { throw ReadError.notOrderedYet }
            orders.remove(at: oldest)
        }
        let index = OrderIndex(path, order, bytesMax: orderOptions.bytesMax)
        index.askedStep = orderStep
        orders.append(index)
        if !orderOptions.isDeferred { while index.isBuilding, try buildOrders(while: { true }) {} }
        return index
    }

    /// By priority only those that have one cost time without an index.
    private func isLarge(_ path: Path, _ order: Query.Order) throws -> Bool {
        let key = PathKey(path)
        let isByPriority = order == .priority
        let count = isByPriority ? counts.priorities : counts.entries
        // The index is of all children, so many of them have to have one before it is worth its making.
        let least = isByPriority ? orderOptions.entriesMin * 4 : orderOptions.entriesMin
        let entries = try self.count(count, from: key.firstChild, to: key.subtreeEnd, limit: least)
        if entries >= least { return true }
        return try !isByPriority && TreeView(self).base(at: path).childCount >= least
    }

    /// An order that is being made and was not asked for during so many steps is made for nobody.
    private static let abandonedSteps = 10_000
    /// Children that one step takes, however slow it is.
    private static let stepMin = 16

    /// Goes on with the order that was asked for last among those being made; returns whether any still is.
    ///
    /// - `goesOn`: asked after each child but the first few; false ends the step.
    public func buildOrders(while goesOn: () -> Bool) throws -> Bool {
        orderStep += 1
        guard let index = orders.last(where: \.isBuilding), case .building(let after) = index.state else {
            return false
        }
        var through = after
        var isAll = true
        var count = 0
        do {
            let view = TreeView(self)
            let base = try index.base ?? view.base(at: index.path)
            index.base = base
            try view.sortKeys(of: index.path, base, by: index.order, after: after) { key, sort in
                guard index.set(key, sort) else { return false }
                (through, count) = (key, count + 1)
                isAll = count < Self.stepMin || goesOn()
                return isAll
            }
        } catch {
            // The tree cannot be read: whoever waits is told so when he reads it himself.
            index.fail()
            throw error
        }
        index.isBuilt(through: isAll ? nil : through)
        return orders.contains(where: \.isBuilding)
    }

    /// Brings the orders up to what a commit has made live. An index that is being made follows as well: what was read
    /// before is as it is now, and what was not will be read.
    func follow(_ result: CommitResult) -> CommitResult {
        guard !orders.isEmpty else { return result }
        let changed = result.applied.flatMap(\.changedPaths)
        for index in orders where !index.hasFailed {
            var keys: Set<Key> = []
            var isOver = false
            for path in changed where !isOver {
                switch index.concern(of: path) {
                case .none: continue
                case .child(let key): keys.insert(key)
                case .all: isOver = true
                }
            }
            if isOver {
                orders.removeAll { $0 === index }
            } else {
                follow(keys, index)
            }
        }
        return result
    }

    private func follow(_ keys: Set<Key>, _ index: OrderIndex) {
        guard !keys.isEmpty else { return }
        do {
            let view = TreeView(self)
            let base = try view.base(at: index.path)
            for key in keys {
                if let sort = try view.sortKey(of: key, of: index.path, base, by: index.order) {
                    guard index.set(key, sort) else { return }
                } else {
                    index.remove(key)
                }
            }
        } catch {
            // The commit has happened; whoever reads the tree next meets the error.
            index.fail()
        }
    }
}
