internal import CBOR
internal import Seal
internal import Tree

/// The step from rows that hold everything written out to rows that leave out what is known already.
extension Schema {
    /// - `entry`: path as `StoredPaths` writes it; hlc and prefix, the first eight bytes of the id, with their sign
    ///   bits flipped, so that order holds; id without them; value as `StoredValue` writes it; a signature for a bundle
    ///   of one, else bundle and leaf. A live message has its container and its arrival number, which is the row of the
    ///   first entry at its path.
    private static let compactEntry = """
        CREATE TABLE entry(
            row INTEGER PRIMARY KEY, path BLOB NOT NULL, hlc INTEGER NOT NULL, author INTEGER NOT NULL,
            prefix INTEGER NOT NULL, id BLOB NOT NULL, kind INTEGER NOT NULL, held INTEGER NOT NULL, bundle INTEGER,
            leaf INTEGER, container INTEGER, arrival INTEGER, signature BLOB, value BLOB NOT NULL);
        """
    private static let compactIndexes = """
        CREATE UNIQUE INDEX entry_path ON entry(path) WHERE held = 0;
        CREATE INDEX entry_time ON entry(hlc, prefix);
        CREATE INDEX entry_held ON entry(hlc) WHERE held = 1;
        CREATE INDEX entry_unknown ON entry(kind) WHERE kind <> 0;
        CREATE INDEX entry_bundle ON entry(bundle, leaf) WHERE bundle IS NOT NULL;
        CREATE INDEX entry_priority ON entry(path) WHERE held = 0 AND \(isPriority);
        CREATE INDEX entry_single ON entry(author, hlc) WHERE bundle IS NULL AND held = 0;
        CREATE INDEX entry_arrival ON entry(container, arrival, author) WHERE arrival IS NOT NULL;
        """

    /// Makes the rows anew, about 40,000 a second. May be carried out again.
    static func compact(_ database: Database) throws {
        let columns = "SELECT count(*) FROM pragma_table_info('entry') WHERE name = 'prefix'"
        guard try database.integer(columns) == 0 else { return }
        try database.execute("ALTER TABLE entry RENAME TO entry_before")
        try database.execute(compactEntry)
        try Compaction(database).run()
        try database.execute("DROP TABLE entry_before; DROP TABLE message;")
        try database.execute(compactIndexes)
    }
}

private final class Compaction {
    private let rows, authorKey, containerID, addContainer, arrival, insert, count: Statement
    private var authors: [Int64: Bytes32] = [:]
    private var containers: [PathKey: Int64] = [:]
    /// By how much the values of an author have become shorter.
    private var saved: [Int64: Int] = [:]

    init(_ database: Database) {
        func statement(_ sql: String) -> Statement { Statement(database, sql) }
        rows = statement(
            """
            SELECT row, path, hlc, author, id, kind, held, bundle, leaf, signature, value
            FROM entry_before ORDER BY row
            """)
        authorKey = statement("SELECT key FROM author WHERE id = ?")
        containerID = statement("SELECT id FROM container WHERE path = ?")
        addContainer = statement("INSERT INTO container(path) VALUES(?) RETURNING id")
        arrival = statement("SELECT arrival FROM message WHERE key = ? AND container = ?")
        insert = statement("INSERT INTO entry VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
        count = statement("UPDATE tally SET bytes = bytes - ? WHERE author IN (0, ?)")
    }

    deinit {
        for statement in [rows, authorKey, containerID, addContainer, arrival, insert, count] { statement.finalize() }
    }

    func run() throws {
        try rows.each([]) { row in
            try take(row)
            return true
        }
        for (author, bytes) in saved.sorted(by: { $0.key < $1.key }) {
            try count.run(.integer(bytes), .integer(author))
        }
    }

    private func take(_ row: borrowing Row) throws {
        let path = PathKey(bytes: row.blob(1))
        let id = try row.bytes32(4)
        let before = row.blob(10)
        let value = try shorter(before, row, path, id)
        saved[row.integer(3), default: 0] += before.count - value.count
        var stored = path.bytes
        var number: SQLValue = .null
        var arrival: SQLValue = .null
        if let ends = StoredPaths.ends(path.bytes), let messages = ends.messages {
            let container = try container(PathKey(bytes: Array(path.bytes[..<ends.container])))
            stored = StoredPaths.prefix(container) + path.bytes[messages...]
            if row.integer(6) == 0, row.integer(5) == 0, value != [0xF6][...], let place = MessagePlace(path) {
                let known = try self.arrival.first(.text(place.mid), .integer(container)) { $0.integer(0) }
                (number, arrival) = (.integer(container), .integer(known ?? row.integer(0)))
            }
        }
        func same(_ column: Int32) -> SQLValue { row.isNull(column) ? .null : .integer(row.integer(column)) }
        try insert.run(
            same(0), .blob(stored), same(2), same(3), .prefix(id.prefix64), .hashRest(id), same(5), same(6), same(7),
            same(8), number, arrival, row.isNull(9) ? .null : .blob(row.blob(9)), .slice(value))
    }

    /// A value as rows hold it now. What nobody can read stays as it is, and is met by whoever reads it.
    private func shorter(
        _ value: [UInt8], _ row: borrowing Row, _ path: PathKey, _ id: Bytes32
    ) throws -> ArraySlice<UInt8> {
        guard let author = try author(row.integer(3)), let path = path.path,
            let hlc = HLC(rawValue: UInt64(bitPattern: row.integer(2)) ^ 1 << 63)
        else { return value[...] }
        var reader = CBORReader(value)
        guard let decoded = try? Value(from: &reader),
            let entry = try? Entry(
                path: path, hlc: hlc, author: author, value: decoded, kind: UInt64(bitPattern: row.integer(5))),
            entry.id == id
        else { return value[...] }
        return StoredValue.bytes(of: entry)
    }

    private func author(_ number: Int64) throws -> Bytes32? {
        if let known = authors[number] { return known }
        let key = try authorKey.first(.integer(number)) { try $0.bytes32(0) }
        authors[number] = key
        return key
    }

    private func container(_ path: PathKey) throws -> Int64 {
        if let known = containers[path] { return known }
        let stored = try containerID.first(.blob(path.bytes)) { $0.integer(0) }
        guard let number = try stored ?? addContainer.first(.blob(path.bytes), read: { $0.integer(0) }) else {
            throw StoreError(.other, detail: "a container got no number")
        }
        if containers.count >= DatabaseStore.cachedNamesMax { containers = [:] }
        containers[path] = number
        return number
    }
}
