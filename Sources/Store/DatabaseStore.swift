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
    let disconnects: DisconnectStatements
    let graves: GraveStatements
    let tallies: TallyStatements
    let sweeps: SweepStatements
    let counts: CountStatements
    let search: SearchStatements
    let renewals: RenewalStatements
    let people: PeopleStatements
    var authors = NameCache<Bytes32>(countMax: DatabaseStore.cachedNamesMax)
    var containers = NameCache<PathKey>(countMax: DatabaseStore.cachedNamesMax)
    var digests: [TimeBucket: BucketDigest] = [:]
    var recent = RecentEntries()
    var trees = BundleTrees()
    /// Paths at which nothing is live. Whoever reads or writes a message asks for all paths above it, and there hardly
    /// ever is an entry.
    private var vacant: Set<PathKey> = []
    /// Nil until they are first asked for.
    var dead: WaitingDead?
    /// By `retention/{cid}`.
    var retentions: [PathKey: Retention?] = [:]
    /// Where the messages of a container stand, by its number, and that of the path asked for last.
    var places: [Int64: StoredPaths.Place] = [:]
    var lastPlace: StoredPaths.Place?
    /// The arrival number of a message that is about to be replaced: the new one keeps it.
    var carried: (path: PathKey, arrival: Int64)?
    var graveClock = GraveClock()
    /// As it stands in the file.
    var writtenGraveClock = GraveClock()
    /// Nil until they are first asked for.
    var knownGraveTotals: GraveTotals?
    /// The row of `entry` given out last, which is also the arrival number of a message. Never given twice, also not
    /// after the greatest was removed: the search index and the marks of what was read know by it what they have seen.
    public internal(set) var lastChange: Int64 = 0
    /// The row up to which the index has followed.
    public internal(set) var indexedChange: Int64 = 0
    /// Messages of each word that one step of a walk knows: a third of a millisecond for each word.
    var walkBreadth = 256
    public var orderOptions = OrderOptions()
    /// The least recently used first.
    var orders: [OrderIndex] = []
    /// Steps of making them so far.
    var orderStep = 0
    /// How often an index of an order has contradicted the tree: a defect of this program.
    package internal(set) var staleOrders = 0
    var scans = 0

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
        disconnects = DisconnectStatements(database)
        graves = GraveStatements(database)
        tallies = TallyStatements(database)
        sweeps = SweepStatements(database)
        counts = CountStatements(database)
        search = SearchStatements(database)
        renewals = RenewalStatements(database)
        people = PeopleStatements(database)
        try readGraveClock()
        try recallIndex()
    }

    /// Writes the log back into the file and closes it. Every later call throws.
    public func close() {
        digests = [:]
        vacant = []
        orders = []
        database.close()
    }

    /// Takes more memory for a while, so that many entries are stored faster; false gives it back, and forgets what was
    /// remembered for those who ask for many.
    public func expectMuch(_ isBulk: Bool) throws {
        if !isBulk { trees.removeAll() }
        recent.isBulk = isBulk
        try database.expectMuch(isBulk)
    }

    func transaction<Result>(_ body: () throws -> Result) throws -> Result {
        precondition(scans == 0, "a store was written to while it was scanned")
        let before = (lastChange, indexedChange)
        do {
            return try database.transaction(body)
        } catch {
            // What was remembered inside the transaction is gone with it.
            authors.removeAll()
            containers.removeAll()
            digests = [:]
            vacant = []
            trees.removeAll()
            (dead, retentions) = (nil, [:])
            knownGraveTotals = nil
            (lastChange, indexedChange) = before
            (places, lastPlace, carried) = ([:], nil, nil)
            throw error
        }
    }

    // MARK: EntryStore

    public func commit(_ bundles: [Bundle], heldAfter: HLC) throws -> CommitResult {
        follow(try transaction { try merge(bundles, heldAfter: heldAfter) })
    }

    /// Applies the merge rule within a transaction.
    func merge(_ bundles: [Bundle], heldAfter: HLC) throws -> CommitResult {
        var merger = Merger(self, killsMax: Self.transactionEntriesMax)
        for bundle in bundles { try merger.commit(bundle, heldAfter: heldAfter) }
        try merger.finish()
        return merger.result
    }

    public func release(heldAfter: HLC) throws -> CommitResult {
        let result = try transaction {
            var merger = Merger(self, killsMax: Self.transactionEntriesMax)
            try merger.release(heldAfter: heldAfter, limit: Self.transactionEntriesMax)
            try merger.finish()
            return merger.result
        }
        return follow(result)
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
        guard try !waitingDead.hasEnded(path) else { return nil }
        return try storedEntry(at: path)
    }

    func storedEntry(at path: PathKey) throws -> Entry? {
        try unlessVacant(path) {
            guard let stored = try stored(path) else { return nil }
            return try statements.entryAtPath.first(.blob(stored)) { try entry($0) }
        }
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
    func occupy(_ path: PathKey) {
        vacant.remove(path)
        dead?.insert(path)
        if let rule = Retention(path) { retentions[rule.channelRules] = nil }
    }

    /// An entry is removed from a path.
    func forget(_ path: PathKey) {
        dead?.removeSurvivor(path)
        if let rule = Retention(path) { retentions[rule.channelRules] = nil }
    }

    public func scan(
        from lower: PathKey, to upper: PathKey, descending: Bool, _ body: (Entry) throws -> Bool
    ) throws {
        scans += 1
        defer { scans -= 1 }
        let segments = try scanned(from: lower, to: upper)
        for segment in descending ? segments.reversed() : segments {
            guard try scan(segment, descending: descending, body) else { return }
        }
    }

    public func scanPriorities(from lower: PathKey, to upper: PathKey, _ body: (Entry) throws -> Bool) throws {
        scans += 1
        defer { scans -= 1 }
        var goesOn = true
        for case .range(let lower, let upper) in try scanned(from: lower, to: upper, isEndedAlone: true) where goesOn {
            try eachRange(from: lower, to: upper) { range in
                try statements.scanPriorities.each(range.values) { row in
                    goesOn = try body(entry(row))
                    return goesOn
                }
                return goesOn
            }
        }
    }

    /// The entry of a row that begins with ``Statements/entryColumns``.
    func entry(_ row: borrowing Row) throws -> Entry {
        let id = try row.id(4)
        if let entry = recent[id] { return entry }
        let (hlc, author) = (try hlc(row.integer(2)), try author(row.integer(3)))
        let stored = try StoredValue(row.blob(7), hlc, author)
        let kind = UInt64(bitPattern: row.integer(6))
        let entry: Entry
        do {
            entry = try Entry(
                path: readPath(row.blob(1)), hlc: hlc, author: author, value: stored.value,
                encodedValue: stored.encoded, kind: kind)
        } catch let error as EntryError {
            throw StoreError(.corrupt, detail: "no entry: \(error)")
        }
        guard entry.id == id else { throw StoreError(.corrupt, detail: "not what its id says") }
        recent.read(entry)
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
