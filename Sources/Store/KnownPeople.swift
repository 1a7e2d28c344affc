public import Seal

/// What this user has decided about a person. It stays on this machine: no other node ever gets it.
public struct PersonMarks: Sendable, Hashable {
    /// The safety words were compared with them.
    public var isVerified = false
    /// Neither shown nor counted.
    public var isMuted = false
    /// The same, and not connected to.
    public var isBlocked = false

    public init() {}

    public var isHidden: Bool { isMuted || isBlocked }
}

/// Who was seen first with a name.
public struct NameBearer: Sendable, Equatable {
    public let key: Bytes32
    /// What this machine's clock showed then.
    public let sinceMs: UInt64
}

/// The bounds of what is remembered of people: others decide how many there are and how often they change their names.
public enum KnownPeople {
    /// Names of all people. Beyond it no new one is remembered: an old acquaintance must not be driven out.
    public static let namesMax = 65_536
    /// Names of one person; the oldest gives way.
    public static let namesOfOneMax = 16
    /// People with a mark.
    public static let marksMax = 10_000
    /// Namesakes that are told of at once.
    public static let namesakesMax = 1024
}

extension Schema {
    /// - `person`: what this user has decided about people.
    /// - `known_name`: names, folded, and the keys they were seen with. `seen` rises; what came in one look has one
    ///   number, for none of it was known before the rest. `accepted`: that this key has the name is known.
    static let people = """
        CREATE TABLE IF NOT EXISTS person(
            key BLOB PRIMARY KEY, verified INTEGER NOT NULL, muted INTEGER NOT NULL, blocked INTEGER NOT NULL)
            WITHOUT ROWID;
        CREATE TABLE IF NOT EXISTS known_name(
            folded TEXT NOT NULL, key BLOB NOT NULL, seen INTEGER NOT NULL, since INTEGER NOT NULL,
            accepted INTEGER NOT NULL DEFAULT 0, PRIMARY KEY(folded, key)) WITHOUT ROWID;
        CREATE INDEX IF NOT EXISTS known_name_key ON known_name(key, seen);
        CREATE INDEX IF NOT EXISTS known_name_seen ON known_name(seen);
        """
}

/// The statements about people.
struct PeopleStatements {
    let marks, setMarks, forgetMarks, markCount: Statement
    let lastSeen, nameCount, isKnown, addName, trimNames, accept, earlier, first, namesakes: Statement

    init(_ database: Database) {
        func statement(_ sql: String) -> Statement { database.statement(sql) }

        marks = statement("SELECT key, verified, muted, blocked FROM person ORDER BY key")
        setMarks = statement("INSERT OR REPLACE INTO person(key, verified, muted, blocked) VALUES(?, ?, ?, ?)")
        forgetMarks = statement("DELETE FROM person WHERE key = ?")
        markCount = statement("SELECT count(*) FROM person WHERE key <> ?")

        lastSeen = statement("SELECT max(seen) FROM known_name")
        nameCount = statement("SELECT count(*) FROM known_name")
        isKnown = statement("SELECT 1 FROM known_name WHERE folded = ? AND key = ?")
        addName = statement("INSERT OR IGNORE INTO known_name(folded, key, seen, since) VALUES(?, ?, ?, ?)")
        trimNames = statement(
            """
            DELETE FROM known_name WHERE key = ?1 AND seen < (
                SELECT seen FROM known_name WHERE key = ?1 ORDER BY seen DESC LIMIT 1 OFFSET ?2)
            """)
        accept = statement("UPDATE known_name SET accepted = 1 WHERE folded = ? AND key = ?")
        earlier = statement(
            """
            SELECT other.key, other.since FROM known_name AS own JOIN known_name AS other
                ON other.folded = own.folded AND other.key <> own.key AND other.seen < own.seen
            WHERE own.folded = ? AND own.key = ? AND own.accepted = 0 ORDER BY other.seen, other.key LIMIT 1
            """)
        first = statement(
            "SELECT key, since FROM known_name WHERE folded = ? AND key <> ? ORDER BY seen, key LIMIT 1")
        namesakes = statement(
            """
            SELECT own.key FROM known_name AS own WHERE own.accepted = 0 AND EXISTS (
                SELECT 1 FROM known_name AS other
                WHERE other.folded = own.folded AND other.key <> own.key AND other.seen < own.seen)
            GROUP BY own.key ORDER BY min(own.seen), own.key LIMIT ?
            """)
    }
}

extension DatabaseStore {
    /// Everybody with a mark.
    public func personMarks() throws -> [(key: Bytes32, marks: PersonMarks)] {
        try people.marks.all { row in
            var marks = PersonMarks()
            marks.isVerified = row.integer(1) != 0
            marks.isMuted = row.integer(2) != 0
            marks.isBlocked = row.integer(3) != 0
            return (try row.bytes32(0), marks)
        }
    }

    /// Remembers what was decided about somebody; durable when it returns. False, and nothing is written, if as many
    /// people as may have a mark.
    public func setMarks(_ marks: PersonMarks, of key: Bytes32) throws -> Bool {
        try transaction {
            guard marks != PersonMarks() else {
                try people.forgetMarks.run(.bytes(key))
                return true
            }
            let others = try people.markCount.first(.bytes(key)) { try $0.count(0) } ?? 0
            guard others < KnownPeople.marksMax else { return false }
            try people.setMarks.run(
                .bytes(key), .integer(marks.isVerified ? 1 : 0), .integer(marks.isMuted ? 1 : 0),
                .integer(marks.isBlocked ? 1 : 0))
            return true
        }
    }

    /// Remembers with what names people were seen, all in one look: none of them was known before the others.
    ///
    /// - `names`: folded.
    ///
    /// - `countMax`: of all names.
    public func rememberNames(
        _ names: [(key: Bytes32, folded: String)], atMs: UInt64, countMax: Int = KnownPeople.namesMax
    ) throws {
        let new = try names.filter { try people.isKnown.first(.text($0.folded), .bytes($0.key)) { _ in true } == nil }
        guard !new.isEmpty else { return }
        try transaction {
            var room = countMax - (try people.nameCount.first { try $0.count(0) } ?? 0)
            let seen = (try people.lastSeen.first { $0.integer(0) } ?? 0) &+ 1
            for (key, folded) in new where room > 0 {
                try people.addName.run(
                    .text(folded), .bytes(key), .integer(seen), .integer(Int64(clamping: atMs)))
                try people.trimNames.run(.bytes(key), .integer(KnownPeople.namesOfOneMax - 1))
                room -= 1
            }
        }
    }

    /// From here on it is known that this key has this name, too.
    public func acceptName(_ folded: String, of key: Bytes32) throws {
        try transaction {
            // A decision of this user's is remembered however many names there are.
            let seen = (try people.lastSeen.first { $0.integer(0) } ?? 0) &+ 1
            try people.addName.run(.text(folded), .bytes(key), .integer(seen), .integer(0))
            try people.accept.run(.text(folded), .bytes(key))
        }
    }

    /// Who was seen with a name before somebody else took it; nil if nobody was, or if that is accepted. Of whom it is
    /// not remembered, because no more names are, whoever is known by it was first.
    public func earlierBearer(of folded: String, than key: Bytes32) throws -> NameBearer? {
        let isKnown = try people.isKnown.first(.text(folded), .bytes(key)) { _ in true } ?? false
        return try (isKnown ? people.earlier : people.first).first(.text(folded), .bytes(key)) { row in
            NameBearer(key: try row.bytes32(0), sinceMs: UInt64(clamping: row.integer(1)))
        }
    }

    /// People who once took a name that was known from another key, those who did first first.
    public func namesakes() throws -> [Bytes32] {
        try people.namesakes.all(.integer(KnownPeople.namesakesMax)) { try $0.bytes32(0) }
    }
}
