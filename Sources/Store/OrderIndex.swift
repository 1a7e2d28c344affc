internal import Tree

/// The children of one path in one order, in a temporary database of its own.
///
/// A connection of its own and not a table of the tree's, because it has to be independent of it: it fills up, fails
/// and is thrown away without a transaction of the tree, and throwing it away costs closing a file, however many rows
/// there are. SQLite keeps it in its page cache until that is full, and then in a file without a name in the folder for
/// temporary files (its "Temporary Databases").
///
/// Nothing here throws: whatever goes wrong, the index has failed, and what it knew can be read from the tree.
final class OrderIndex {
    enum State {
        /// Children up to this key are in it.
        case building(through: Key?)
        case ready
        /// - `uses`: how often it was asked for since.
        case failed(uses: Int)
    }

    /// After so many uses of a failed index it is worth another try: the disk may have room again.
    private static let retryUses = 64

    let path: Path
    let order: Query.Order
    private(set) var state = State.building(through: nil)
    /// The step of making orders during which it was asked for last.
    var askedStep = 0
    /// What the path has from above, kept while the index is being made: read once, for it may have a megabyte.
    var base: TreeView.Base?
    private var database: Database?
    private var setRow, removeRow, scanUp, scanDown: Statement?

    /// - `bytesMax`: what it may take, beyond which it fails.
    init(_ path: Path, _ order: Query.Order, bytesMax: Int) {
        (self.path, self.order) = (path, order)
        do {
            let database = try Database(temporaryBytesMax: bytesMax)
            try database.execute(
                """
                CREATE TABLE child(key BLOB PRIMARY KEY, sort BLOB NOT NULL) WITHOUT ROWID;
                CREATE INDEX child_order ON child(sort, key);
                """)
            setRow = database.statement(
                """
                INSERT INTO child(key, sort) VALUES(?, ?)
                ON CONFLICT(key) DO UPDATE SET sort = excluded.sort WHERE sort <> excluded.sort
                """)
            removeRow = database.statement("DELETE FROM child WHERE key = ?")
            let range = "SELECT key, sort FROM child WHERE (sort, key) >= (?, ?) AND (sort, key) < (?, ?)"
            scanUp = database.statement("\(range) ORDER BY sort, key")
            scanDown = database.statement("\(range) ORDER BY sort DESC, key DESC")
            self.database = database
        } catch {
            fail()
        }
    }

    var isReady: Bool { if case .ready = state { true } else { false } }
    var isBuilding: Bool { if case .building = state { true } else { false } }
    var hasFailed: Bool { if case .failed = state { true } else { false } }

    func fail() {
        state = .failed(uses: 0)
        base = nil
        (setRow, removeRow, scanUp, scanDown) = (nil, nil, nil, nil)
        database?.close()
        database = nil
    }

    /// Notes that a failed index was asked for; whether it is time to make it anew.
    func isRetried() -> Bool {
        guard case .failed(let uses) = state else { return false }
        state = .failed(uses: uses + 1)
        return uses + 1 >= Self.retryUses
    }

    /// A child is there, with this in the eyes of the order; false if the index has failed.
    func set(_ key: Key, _ sort: SortKey) -> Bool {
        guard let path = Path([key]) else { return false }
        return attempt { try setRow?.run(.blob(PathKey(path).bytes), .blob(sort.bytes)) }
    }

    func remove(_ key: Key) {
        guard let path = Path([key]) else { return }
        _ = attempt { try removeRow?.run(.blob(PathKey(path).bytes)) }
    }

    /// What was read of the tree is in it up to a key; nil means all of it.
    func isBuilt(through key: Key?) {
        guard isBuilding else { return }
        state = if let key { .building(through: key) } else { .ready }
        if isReady { base = nil }
    }

    private func attempt(_ body: () throws -> Void) -> Bool {
        guard !hasFailed else { return false }
        do {
            try body()
            return true
        } catch {
            fail()
            return false
        }
    }

    /// Visits a range; false if the index has failed meanwhile.
    ///
    /// - Throws: what the body throws.
    func visit(_ range: OrderRange, descending: Bool, _ body: (Key, SortKey) throws -> Bool) throws -> Bool {
        var thrown: (any Error)?
        let values = [range.lower.sort, range.lower.key, range.upper.sort, range.upper.key].map { SQLValue.blob($0) }
        let isSound = attempt {
            try (descending ? scanDown : scanUp)?.each(values) { row in
                guard let key = PathKey(bytes: row.blob(0)).path?.last else {
                    throw StoreError(.corrupt, detail: "no key")
                }
                do {
                    return try body(key, SortKey(bytes: row.blob(1)))
                } catch {
                    thrown = error
                    return false
                }
            }
        }
        if let thrown { throw thrown }
        return isSound
    }

    /// How a written path concerns it.
    enum Concern: Equatable {
        case none
        /// The child may be another now.
        case child(Key)
        /// Every child may be.
        case all
    }

    func concern(of written: Path) -> Concern {
        if written.contains(path) { return .all }
        guard path.contains(written) else { return .none }
        let key = written.keys[path.depth]
        if key == .priority { return .none }
        return key.isEngine ? .all : .child(key)
    }
}
