/// The statements about entries, prepared when first used and kept for the store's life.
struct Statements {
    static let entryColumns = "row, path, hlc, author, id, kind, value"
    private static let recordColumns = "row, path, hlc, author, id, bundle, leaf"

    let entryAtPath, scanUp, scanDown: Statement
    let recordAtPath, recordsBelow, containsEntry, insertEntry, deleteEntry, heldEntries, makeLive: Statement
    let digest, setDigest, deleteDigest, digests, idsInRange: Statement
    let references, referencesAfter, containsReference, storedEntry: Statement
    let authorID, authorKey, addAuthor: Statement
    let bundleID, addBundle, bundleHead, deleteBundle, bundleLeaves, hasLeaves: Statement
    let proofs, setProof, deleteProof, deleteProofs: Statement
    let setSweep, firstSweep, deleteSweep: Statement

    init(_ database: Database) {
        let entry = Statements.entryColumns
        let record = Statements.recordColumns
        func statement(_ sql: String) -> Statement { database.statement(sql) }

        entryAtPath = statement("SELECT \(entry) FROM entry WHERE path = ? AND held = 0")
        let range = "SELECT \(entry) FROM entry WHERE path >= ? AND path < ? AND held = 0 ORDER BY path"
        scanUp = statement(range)
        scanDown = statement(range + " DESC")

        recordAtPath = statement("SELECT \(record) FROM entry WHERE path = ? AND held = 0")
        recordsBelow = statement(
            "SELECT \(record) FROM entry WHERE path >= ? AND path < ? AND held = 0 ORDER BY path LIMIT ?")
        containsEntry = statement("SELECT 1 FROM entry WHERE hlc = ? AND id = ?")
        insertEntry = statement(
            """
            INSERT INTO entry(path, hlc, author, id, kind, held, bundle, leaf, signature, value)
            VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """)
        deleteEntry = statement("DELETE FROM entry WHERE row = ?")
        heldEntries = statement(
            "SELECT \(entry), bundle, leaf FROM entry WHERE held = 1 AND hlc <= ? ORDER BY hlc, id LIMIT ?")
        makeLive = statement("UPDATE entry SET held = 0 WHERE row = ?")

        digest = statement("SELECT count, sum FROM digest WHERE level = ? AND bucket = ?")
        setDigest = statement("INSERT OR REPLACE INTO digest(level, bucket, count, sum) VALUES(?, ?, ?, ?)")
        deleteDigest = statement("DELETE FROM digest WHERE level = ? AND bucket = ?")
        digests = statement(
            "SELECT bucket, count, sum FROM digest WHERE level = ? AND bucket BETWEEN ? AND ? ORDER BY bucket")
        idsInRange = statement("SELECT hlc, id FROM entry WHERE hlc BETWEEN ? AND ? ORDER BY hlc, id")
        references = statement("SELECT hlc, id FROM entry WHERE hlc BETWEEN ? AND ? ORDER BY hlc, id LIMIT ?")
        referencesAfter = statement(
            "SELECT hlc, id FROM entry WHERE (hlc, id) > (?, ?) AND hlc <= ? ORDER BY hlc, id LIMIT ?")
        containsReference = statement("SELECT 1 FROM entry WHERE hlc = ? AND id BETWEEN ? AND ?")
        storedEntry = statement(
            "SELECT \(entry), bundle, leaf, signature FROM entry WHERE hlc = ? AND id BETWEEN ? AND ? ORDER BY id")

        authorID = statement("SELECT id FROM author WHERE key = ?")
        authorKey = statement("SELECT key FROM author WHERE id = ?")
        addAuthor = statement("INSERT INTO author(key) VALUES(?) RETURNING id")

        bundleID = statement("SELECT id FROM bundle WHERE root = ? AND author = ? AND count = ?")
        addBundle = statement("INSERT INTO bundle(root, author, count, signature) VALUES(?, ?, ?, ?) RETURNING id")
        bundleHead = statement("SELECT root, author, count, signature FROM bundle WHERE id = ?")
        deleteBundle = statement("DELETE FROM bundle WHERE id = ?")
        bundleLeaves = statement("SELECT leaf, id FROM entry WHERE bundle = ? ORDER BY leaf")
        hasLeaves = statement("SELECT 1 FROM entry WHERE bundle = ? LIMIT 1")
        proofs = statement("SELECT start, count, hash FROM proof WHERE bundle = ?")
        setProof = statement("INSERT INTO proof(bundle, start, count, hash) VALUES(?, ?, ?, ?)")
        deleteProof = statement("DELETE FROM proof WHERE bundle = ? AND start = ? AND count = ?")
        deleteProofs = statement("DELETE FROM proof WHERE bundle = ?")

        setSweep = statement("INSERT OR REPLACE INTO sweep(path, next) VALUES(?, ?)")
        firstSweep = statement("SELECT path, next FROM sweep ORDER BY path LIMIT 1")
        deleteSweep = statement("DELETE FROM sweep WHERE path = ?")
    }
}

/// The statements about what a node keeps for itself, and about the whole.
struct LocalStatements {
    let containerID, containerPath, addContainer, containerRead, setContainerRead: Statement
    let messageArrival, addMessage, deleteMessage, messageContainers, lastArrival, unread: Statement
    let setting, setSetting, deleteSetting: Statement
    let greatestTime, heldCount, unknownCount, firstHeld, heldAuthors: Statement

    init(_ database: Database) {
        func statement(_ sql: String) -> Statement { database.statement(sql) }

        containerID = statement("SELECT id FROM container WHERE path = ?")
        containerPath = statement("SELECT path FROM container WHERE id = ?")
        addContainer = statement("INSERT INTO container(path) VALUES(?) RETURNING id")
        containerRead = statement("SELECT read FROM container WHERE id = ?")
        setContainerRead = statement("UPDATE container SET read = max(read, ?) WHERE id = ?")
        messageArrival = statement("SELECT arrival FROM message WHERE key = ? AND container = ?")
        addMessage = statement("INSERT INTO message(container, arrival, key, author) VALUES(?, ?, ?, ?)")
        deleteMessage = statement("DELETE FROM message WHERE container = ? AND arrival = ?")
        messageContainers = statement("SELECT container FROM message WHERE key = ? ORDER BY container")
        lastArrival = statement("SELECT max(arrival) FROM message WHERE container = ?")
        unread = statement(
            """
            SELECT count(*) FROM
            (SELECT 1 FROM message WHERE container = ? AND arrival > ? AND author <> ? LIMIT ?)
            """)

        setting = statement("SELECT value FROM setting WHERE name = ?")
        setSetting = statement("INSERT OR REPLACE INTO setting(name, value) VALUES(?, ?)")
        deleteSetting = statement("DELETE FROM setting WHERE name = ?")

        greatestTime = statement("SELECT hlc FROM entry WHERE held = 0 AND hlc <= ? ORDER BY hlc DESC, id DESC LIMIT 1")
        heldCount = statement("SELECT count(*) FROM entry WHERE held = 1")
        unknownCount = statement("SELECT count(*) FROM entry WHERE kind <> 0")
        firstHeld = statement("SELECT hlc FROM entry WHERE held = 1 ORDER BY hlc LIMIT 1")
        heldAuthors = statement(
            """
            SELECT author, count(*), max(hlc) FROM entry WHERE held = 1
            GROUP BY author ORDER BY count(*) DESC, author LIMIT ?
            """)
    }
}
