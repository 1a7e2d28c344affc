internal import CBOR
internal import Seal
public import Tree

/// The store in one SQLite file: what was committed survives the death of the process at any instant.
///
/// Belongs to one actor: one connection reads and writes, and nothing is loaded that is not asked for. The file is
/// locked for as long as the store is open.
public final class DatabaseStore: NodeStore {
    /// Authors and containers whose row numbers are remembered.
    static let cachedNamesMax = 4096
    /// Paths without a live entry that are remembered.
    static let cachedVacanciesMax = 256
    /// Buckets whose digest is remembered: new entries change the same four again and again.
    static let cachedDigestsMax = 64

    let database: Database
    let statements: Statements
    let local: LocalStatements
    var authors = NameCache<Bytes32>(countMax: DatabaseStore.cachedNamesMax)
    var containers = NameCache<PathKey>(countMax: DatabaseStore.cachedNamesMax)
    var digests: [TimeBucket: BucketDigest] = [:]
    /// Paths at which nothing is live. Whoever reads or writes a message asks for all paths above it, and there hardly
    /// ever is an entry.
    private var vacant: Set<PathKey> = []
    /// The arrival number given out last.
    var arrival: Int64 = 0
    private var scans = 0

    /// Opens a database file, and creates it (mode 0600) where there is none; its folder must exist.
    ///
    /// - `busyTimeoutMs`: how long to wait for a daemon that is just ending before it fails with `inUse`.
    /// - Throws: ``StoreError``; with `isCorrupt` the caller sets the file aside, together with its `-wal`, and opens a
    ///   new one.
    public init(path: String, busyTimeoutMs: Int32 = 2000) throws {
        database = try Database(path: path, busyTimeoutMs: busyTimeoutMs)
        try Schema.prepare(database)
        statements = Statements(database)
        local = LocalStatements(database)
        arrival = try greatestArrival()
    }

    /// Writes the log back into the file and closes it. Every later call throws.
    public func close() {
        digests = [:]
        vacant = []
        database.close()
    }

    func transaction<Result>(_ body: () throws -> Result) throws -> Result {
        precondition(scans == 0, "a store was written to while it was scanned")
        let before = arrival
        do {
            return try database.transaction(body)
        } catch {
            // What was remembered inside the transaction is gone with it.
            authors.removeAll()
            containers.removeAll()
            digests = [:]
            vacant = []
            arrival = before
            throw error
        }
    }

    // MARK: EntryStore

    public func commit(_ bundles: [Bundle], heldAfter: HLC) throws -> CommitResult {
        try transaction {
            var merger = Merger(self, killsMax: Self.transactionEntriesMax)
            for bundle in bundles { try merger.commit(bundle, heldAfter: heldAfter) }
            try merger.finish()
            return merger.result
        }
    }

    public func release(heldAfter: HLC) throws -> CommitResult {
        try transaction {
            var merger = Merger(self, killsMax: Self.transactionEntriesMax)
            try merger.release(heldAfter: heldAfter, limit: Self.transactionEntriesMax)
            try merger.finish()
            return merger.result
        }
    }

    public func sweep(limit: Int) throws -> Bool {
        guard try firstSweep() != nil else { return false }
        return try transaction {
            var merger = Merger(self, killsMax: 0)
            let isMoreLeft = try merger.sweep(limit: limit)
            try merger.finish()
            return isMoreLeft
        }
    }

    // MARK: EntryReader

    public func entry(at path: PathKey) throws -> Entry? {
        try unlessVacant(path) { try statements.entryAtPath.first(.blob(path.bytes)) { try entry($0) } }
    }

    /// Looks at a path, unless it is known that nothing is live there.
    func unlessVacant<Found>(_ path: PathKey, _ look: () throws -> Found?) rethrows -> Found? {
        guard !vacant.contains(path) else { return nil }
        if let found = try look() { return found }
        if vacant.count >= Self.cachedVacanciesMax { vacant = [] }
        vacant.insert(path)
        return nil
    }

    /// An entry becomes live at a path.
    func occupy(_ path: PathKey) { vacant.remove(path) }

    public func scan(
        from lower: PathKey, to upper: PathKey, descending: Bool, _ body: (Entry) throws -> Bool
    ) throws {
        scans += 1
        defer { scans -= 1 }
        let statement = descending ? statements.scanDown : statements.scanUp
        try statement.each([.blob(lower.bytes), .blob(upper.bytes)]) { try body(entry($0)) }
    }

    /// The entry of a row that begins with ``Statements/entryColumns``.
    func entry(_ row: borrowing Row) throws -> Entry {
        guard let path = PathKey(bytes: row.blob(1)).path else { throw StoreError(.corrupt, detail: "no path") }
        var reader = CBORReader(row.blob(6))
        let entry: Entry
        do {
            let value = try Value(from: &reader)
            try reader.expectEnd()
            let kind = UInt64(bitPattern: row.integer(5))
            entry = try Entry(
                path: path, hlc: hlc(row.integer(2)), author: author(row.integer(3)), value: value, kind: kind)
        } catch let error as CBORError {
            throw StoreError(.corrupt, detail: "no value: \(error)")
        } catch let error as EntryError {
            throw StoreError(.corrupt, detail: "no entry: \(error)")
        }
        guard try entry.id == row.bytes32(4) else { throw StoreError(.corrupt, detail: "not what its id says") }
        return entry
    }

    // MARK: Numbers

    /// SQLite's integers are signed; flipping the sign bit keeps the order.
    func column(_ hlc: HLC) -> SQLValue { .integer(Int64(bitPattern: hlc.rawValue ^ 1 << 63)) }

    func hlc(_ column: Int64) throws -> HLC {
        guard let hlc = HLC(rawValue: UInt64(bitPattern: column) ^ 1 << 63) else {
            throw StoreError(.corrupt, detail: "no time")
        }
        return hlc
    }

    func author(_ id: Int64) throws -> Bytes32 {
        if let key = authors.name(id) { return key }
        guard let key = try statements.authorKey.first(.integer(id), read: { try $0.bytes32(0) }) else {
            throw StoreError(.corrupt, detail: "an author is missing")
        }
        authors.insert(id, key)
        return key
    }

    /// The number of an author, nil where none of his entries was ever here.
    func knownAuthor(_ key: Bytes32) throws -> Int64? {
        if let id = authors.id(key) { return id }
        guard let id = try statements.authorID.first(.bytes(key), read: { $0.integer(0) }) else { return nil }
        authors.insert(id, key)
        return id
    }

    func number(ofAuthor key: Bytes32) throws -> Int64 {
        if let id = try knownAuthor(key) { return id }
        guard let id = try statements.addAuthor.first(.bytes(key), read: { $0.integer(0) }) else {
            throw StoreError(.other, detail: "an author got no number")
        }
        authors.insert(id, key)
        return id
    }
}

/// Row numbers of names, as many as fit; when full it begins anew.
struct NameCache<Name: Hashable> {
    private let countMax: Int
    private var ids: [Name: Int64] = [:]
    private var names: [Int64: Name] = [:]

    init(countMax: Int) { self.countMax = countMax }

    func id(_ name: Name) -> Int64? { ids[name] }
    func name(_ id: Int64) -> Name? { names[id] }

    mutating func insert(_ id: Int64, _ name: Name) {
        if ids.count >= countMax { removeAll() }
        ids[name] = id
        names[id] = name
    }

    mutating func removeAll() {
        ids = [:]
        names = [:]
    }
}
