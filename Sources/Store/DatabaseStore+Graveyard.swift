internal import CBOR
public import Seal
public import Tree

extension Schema {
    /// - `graveyard`: entries that died in open places at the hand of another author; `killer` and `killed` are the
    ///   author and the time of what killed them, `died` what the machine's clock showed, `aged` the `GraveClock`.
    /// - `sweep`: also who killed what is still to be swept, because he may be overwritten before.
    static let graveyard = """
        CREATE TABLE graveyard(
            row INTEGER PRIMARY KEY, path BLOB NOT NULL, hlc INTEGER NOT NULL, author INTEGER NOT NULL,
            id BLOB NOT NULL UNIQUE, killer INTEGER NOT NULL, killed INTEGER NOT NULL, died INTEGER NOT NULL,
            aged INTEGER NOT NULL, size INTEGER NOT NULL, value BLOB NOT NULL);
        CREATE INDEX graveyard_path ON graveyard(path);
        CREATE INDEX graveyard_author ON graveyard(author, row, size);
        ALTER TABLE sweep ADD COLUMN killer INTEGER;
        ALTER TABLE sweep ADD COLUMN killed INTEGER;
        """
}

/// The statements about the graveyard.
struct GraveStatements {
    let bury, delete, totals, oldest, newest, ofAuthor: Statement
    let numbersAt, numbersWithin, withID, grave: Statement

    init(_ database: Database) {
        func statement(_ sql: String) -> Statement { database.statement(sql) }
        let insert =
            "INSERT OR IGNORE INTO graveyard(path, hlc, author, id, killer, killed, died, aged, size, value)"

        bury = statement("\(insert) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING size")
        delete = statement("DELETE FROM graveyard WHERE row = ?")
        totals = statement("SELECT author, sum(size), count(*) FROM graveyard GROUP BY author")
        oldest = statement("SELECT row, author, size, aged FROM graveyard ORDER BY row")
        newest = statement("SELECT died, aged FROM graveyard ORDER BY row DESC LIMIT 1")
        ofAuthor = statement("SELECT row, size FROM graveyard WHERE author = ? ORDER BY row")

        let numbers = "SELECT row FROM graveyard INDEXED BY graveyard_path WHERE"
        numbersAt = statement("\(numbers) path = ? AND row < ? ORDER BY row DESC LIMIT ?")
        numbersWithin = statement("\(numbers) path >= ? AND path < ? AND row < ? ORDER BY row DESC LIMIT ?")
        withID = statement("SELECT row, path FROM graveyard WHERE id BETWEEN ? AND ? ORDER BY id")
        grave = statement(
            "SELECT row, path, hlc, author, id, killer, killed, died, value FROM graveyard WHERE row = ?")
    }
}

extension DatabaseStore {
    private static let clockSetting = "graveyard"

    // MARK: Burying

    func bury(_ record: Record, killer: Killer) throws -> Int {
        guard let entry = try entry(atRow: record.row) else { return 0 }
        return try bury(entry, path: record.path, killer: killer)
    }

    func bury(_ entry: Entry, path: PathKey, killer: Killer) throws -> Int {
        guard entry.kind == Entry.set else { return 0 }
        let size = try graves.bury.first(
            .blob(path.bytes), column(entry.hlc), .integer(try number(ofAuthor: entry.author)), .bytes(entry.id),
            .integer(try number(ofAuthor: killer.author)), column(killer.hlc), ms(graveClock.wallMs),
            ms(graveClock.agedMs), .integer(Graveyard.size(path: path, valueBytes: entry.encodedValue.count)),
            .slice(entry.encodedValue)
        ) { try $0.count(0) }
        return buried(size, of: entry.author)
    }

    /// Nil where the entry lies in the graveyard already.
    private func buried(_ size: Int?, of author: Bytes32) -> Int {
        if let size { knownGraveTotals?.add(size, of: author) }
        return size ?? 0
    }

    private func ms(_ ms: UInt64) -> SQLValue { .integer(Int64(clamping: ms)) }

    var graveTotals: GraveTotals {
        get throws {
            if let known = knownGraveTotals { return known }
            var totals = GraveTotals()
            try graves.totals.each([]) { row in
                totals.add(try row.count(1), of: try author(row.integer(0)), count: try row.count(2))
                return true
            }
            knownGraveTotals = totals
            return totals
        }
    }

    func removeGraves(of author: Bytes32, downTo bytes: Int) throws {
        guard let number = try knownAuthor(author) else { return }
        var left = try graveTotals.byAuthor[author] ?? 0
        var rows: [(row: Int64, size: Int)] = []
        try graves.ofAuthor.each([.integer(number)]) { row in
            guard left > bytes else { return false }
            rows.append((row.integer(0), try row.count(1)))
            left -= try row.count(1)
            return true
        }
        for (row, size) in rows {
            try graves.delete.run(.integer(row))
            knownGraveTotals?.remove(size, of: author)
        }
    }

    // MARK: Time

    /// Takes the clock up as it was written down last, alone or with a grave.
    func readGraveClock() throws {
        if let bytes = try setting(Self.clockSetting), bytes.count == 16 {
            func word(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
            writtenGraveClock = GraveClock(wallMs: word(bytes[..<8]), agedMs: word(bytes[8...]))
        }
        let newest = try graves.newest.first { row in
            GraveClock(wallMs: UInt64(clamping: row.integer(0)), agedMs: UInt64(clamping: row.integer(1)))
        }
        graveClock = writtenGraveClock
        if let newest, newest.agedMs > graveClock.agedMs { graveClock = newest }
    }

    public func tellTime(_ nowMs: UInt64) { graveClock.advance(to: nowMs) }

    public func expireGraves(nowMs: UInt64, limit: Int) throws -> Bool {
        tellTime(nowMs)
        var due: [(row: Int64, author: Int64, size: Int)] = []
        var bytes = 0
        var (isEmpty, isMoreLeft) = (true, false)
        try graves.oldest.each([]) { row in
            isEmpty = false
            guard graveClock.isOver(UInt64(clamping: row.integer(3))) else { return false }
            isMoreLeft = due.count >= limit || bytes >= Graveyard.sliceBytes
            guard !isMoreLeft else { return false }
            due.append((row.integer(0), row.integer(1), try row.count(2)))
            bytes += try row.count(2)
            return true
        }
        let written = writtenGraveClock.wallMs
        let isClockOld = nowMs < written || nowMs - written >= Graveyard.clockMs
        guard !due.isEmpty || (isClockOld && !isEmpty) else { return false }
        try transaction {
            for (row, author, size) in due {
                try graves.delete.run(.integer(row))
                knownGraveTotals?.remove(size, of: try self.author(author))
            }
            let words = [graveClock.wallMs, graveClock.agedMs]
            let bytes = words.flatMap { word in
                stride(from: UInt64(56), through: 0, by: -8).map { UInt8(truncatingIfNeeded: word >> $0) }
            }
            try local.setSetting.run(.text(Self.clockSetting), .blob(bytes))
        }
        writtenGraveClock = graveClock
        return isMoreLeft
    }

    // MARK: Looking

    public func graves(
        around path: Path, before number: Int64?, limit: Int, _ body: (Grave) throws -> Bool
    ) throws {
        let key = PathKey(path)
        let (before, limit) = (number ?? .max, max(0, limit))
        func read(_ row: borrowing Row) -> Int64 { row.integer(0) }
        var numbers = try graves.numbersWithin.all(
            .blob(key.bytes), .blob(key.subtreeEnd.bytes), .integer(before), .integer(limit), read: read)
        for above in key.prefixes.dropLast() {
            numbers += try graves.numbersAt.all(.blob(above.bytes), .integer(before), .integer(limit), read: read)
        }
        for number in numbers.sorted(by: >).prefix(limit) {
            guard let grave = try grave(number) else { continue }
            guard try body(grave) else { return }
        }
    }

    public func graves(around path: Path, ids: ClosedRange<Bytes32>, _ body: (Grave) throws -> Bool) throws {
        let key = PathKey(path)
        try graves.withID.each([.bytes(ids.lowerBound), .bytes(ids.upperBound)]) { row in
            let found = PathKey(bytes: row.blob(1))
            guard found.isPrefix(of: key) || key.isPrefix(of: found) else { return true }
            guard let grave = try grave(row.integer(0)) else { return true }
            return try body(grave)
        }
    }

    private func grave(_ number: Int64) throws -> Grave? {
        try graves.grave.first(.integer(number)) { row in
            guard let path = PathKey(bytes: row.blob(1)).path else { throw StoreError(.corrupt, detail: "no path") }
            var reader = CBORReader(row.blob(8))
            let value: Value
            do throws(CBORError) {
                value = try Value(from: &reader)
                try reader.expectEnd()
            } catch {
                throw StoreError(.corrupt, detail: "no value: \(error)")
            }
            return Grave(
                number: row.integer(0), id: try row.bytes32(4), path: path, value: value,
                author: try author(row.integer(3)), hlc: try hlc(row.integer(2)),
                killer: Killer(author: try author(row.integer(5)), hlc: try hlc(row.integer(6))),
                diedMs: UInt64(clamping: row.integer(7)))
        }
    }
}
