public import Seal
internal import Tree

/// What entries take, counted as they come and go: nobody has to look at a million of them to know.
public struct Tally: Sendable, Hashable {
    /// Live and held ones, and the dead that wait for `sweep`.
    public internal(set) var entries = 0
    /// Those of them that say nothing but that something was removed.
    public internal(set) var tombstones = 0
    /// Those of them that wait until they are due.
    public internal(set) var held = 0
    /// Bytes of their paths and of their values as they are stored. With signatures, digests and indexes an entry takes
    /// two to three times as much.
    public internal(set) var bytes = 0

    public init() {}

    var isZero: Bool { self == Tally() }

    mutating func add(_ count: Int, isTombstone: Bool, isHeld: Bool, bytes: Int) {
        entries += count
        if isTombstone { tombstones += count }
        if isHeld { held += count }
        self.bytes += count * bytes
    }

    static func += (a: inout Tally, b: Tally) {
        a.entries += b.entries
        a.tombstones += b.tombstones
        a.held += b.held
        a.bytes += b.bytes
    }
}

/// What one author's entries take.
public struct AuthorTally: Sendable, Hashable {
    public let author: Bytes32
    public let tally: Tally
}

/// The dead that are still here.
public struct Remains: Sendable, Hashable {
    /// Entries that are counted at most.
    public static let waitingMax = 10_000

    /// Entries that are still to be judged because one above them, or a retention, may have ended them; most of them
    /// are dead. Counted up to ``waitingMax``.
    public let waiting: Int
    /// Entries in the graveyard.
    public let graves: Int
    /// Bytes as the graveyard counts them.
    public let graveBytes: Int
}

extension Schema {
    private static let isTombstone = "CASE WHEN length(value) = 1 THEN value = x'F6' ELSE 0 END"
    /// What a tally has to know of a row; the value itself is not read.
    static let talliedColumns = "held, length(value), \(isTombstone)"

    /// - `tally`: what the entries of an author take, and in row 0 all of them.
    static let tally = """
        CREATE TABLE IF NOT EXISTS tally(
            author INTEGER PRIMARY KEY, entries INTEGER NOT NULL, tombstones INTEGER NOT NULL, held INTEGER NOT NULL,
            bytes INTEGER NOT NULL);
        CREATE INDEX IF NOT EXISTS tally_bytes ON tally(bytes);
        DELETE FROM tally;
        INSERT INTO tally
        SELECT author, count(*), sum(\(isTombstone)), sum(held), sum(length(path) + length(value)) FROM entry
        GROUP BY author;
        INSERT INTO tally
        SELECT 0, ifnull(sum(entries), 0), ifnull(sum(tombstones), 0), ifnull(sum(held), 0), ifnull(sum(bytes), 0)
        FROM tally;
        """
}

/// The statements about tallies and what remains.
struct TallyStatements {
    let change, ofAuthor, largest, waiting: Statement

    init(_ database: Database) {
        let columns = "entries, tombstones, held, bytes"
        change = database.statement(
            """
            INSERT INTO tally(author, \(columns)) VALUES(?, ?, ?, ?, ?) ON CONFLICT(author) DO UPDATE SET
            entries = entries + excluded.entries, tombstones = tombstones + excluded.tombstones,
            held = held + excluded.held, bytes = bytes + excluded.bytes
            """)
        ofAuthor = database.statement("SELECT \(columns) FROM tally WHERE author = ?")
        largest = database.statement(
            "SELECT \(columns), author FROM tally WHERE author > 0 AND bytes > 0 ORDER BY bytes DESC, author LIMIT ?")
        waiting = database.statement(
            "SELECT count(*) FROM (SELECT 1 FROM entry WHERE path >= ? AND path < ? AND held = 0 LIMIT ?)")
    }
}

extension DatabaseStore {
    func change(_ author: Bytes32, by tally: Tally) throws {
        for number in [try number(ofAuthor: author), 0] {
            try tallies.change.run(
                .integer(number), .integer(tally.entries), .integer(tally.tombstones), .integer(tally.held),
                .integer(tally.bytes))
        }
    }

    public var tally: Tally { get throws { try tallies.ofAuthor.first(.integer(0)) { try tally($0) } ?? Tally() } }

    public func largestAuthors(limit: Int) throws -> [AuthorTally] {
        try tallies.largest.all(.integer(max(0, limit))) { row in
            AuthorTally(author: try author(row.integer(4)), tally: try tally(row))
        }
    }

    public var remains: Remains {
        get throws {
            var waiting = 0
            for (lower, upper) in try waitingDead.unswept where waiting < Remains.waitingMax {
                waiting += try count(
                    tallies.waiting, from: lower, to: upper, limit: Remains.waitingMax - waiting)
            }
            let graves = try graveTotals
            return Remains(waiting: waiting, graves: graves.count, graveBytes: graves.bytes)
        }
    }

    private func tally(_ row: borrowing Row) throws -> Tally {
        var tally = Tally()
        tally.entries = try row.count(0)
        tally.tombstones = try row.count(1)
        tally.held = try row.count(2)
        tally.bytes = try row.count(3)
        return tally
    }
}

extension MemoryStore {
    func change(_ author: Bytes32, by tally: Tally) {
        tallies[author, default: Tally()] += tally
        if tallies[author]?.isZero == true { tallies[author] = nil }
    }

    public var tally: Tally { tallies.values.reduce(into: Tally()) { $0 += $1 } }

    public func largestAuthors(limit: Int) -> [AuthorTally] {
        let sorted = tallies.filter { $0.value.bytes > 0 }.map { AuthorTally(author: $0.key, tally: $0.value) }
            .sorted { ($1.tally.bytes, $0.author) < ($0.tally.bytes, $1.author) }
        return Array(sorted.prefix(max(0, limit)))
    }

    public var remains: Remains {
        let waiting = WaitingDead(sweeps).unswept.reduce(0) { $0 + liveRange($1.lower, $1.upper).count }
        return Remains(
            waiting: min(waiting, Remains.waitingMax), graves: kept.count, graveBytes: graveTotals.bytes)
    }
}
