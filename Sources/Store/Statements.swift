/// The statements about entries, prepared when first used and kept for the store's life.
struct Statements {
    static let entryColumns = "row, path, hlc, author, prefix, id, kind, value"
    static let recordColumns = "row, path, hlc, author, prefix, id, bundle, leaf, arrival, \(Schema.talliedColumns)"

    let entryAtPath, scanUp, scanDown, scanPriorities: Statement
    let recordAtPath, recordsBelow, containsEntry, insertEntry, deleteEntry, heldEntries, makeLive: Statement
    let recordOfStamp, singles, moveToBundle: Statement
    let digest, setDigest, deleteDigest, digests, idsInRange: Statement
    let references, oldestReferences, ids, containsReference, storedEntry: Statement
    let authorID, authorKey, addAuthor: Statement
    let bundleID, addBundle, bundleHead, deleteBundle, bundleLeaves, bundleLeavesInRange, hasLeaves: Statement
    let proofs, setProof, deleteProof, deleteProofs: Statement

    init(_ database: Database) {
        let entry = Statements.entryColumns
        let record = Statements.recordColumns
        func statement(_ sql: String) -> Statement { database.statement(sql) }
        let isLiveBelow = "path >= ? AND path < ? AND held = 0"
        let range = "SELECT \(entry) FROM entry WHERE \(isLiveBelow) ORDER BY path"
        entryAtPath = statement("SELECT \(entry) FROM entry WHERE path = ? AND held = 0")
        scanUp = statement(range)
        scanDown = statement(range + " DESC")
        scanPriorities = statement(
            """
            SELECT \(entry) FROM entry INDEXED BY entry_priority
            WHERE \(isLiveBelow) AND \(Schema.isPriority) ORDER BY path
            """)

        recordAtPath = statement("SELECT \(record) FROM entry WHERE path = ? AND held = 0")
        recordsBelow = statement("SELECT \(record) FROM entry WHERE \(isLiveBelow) ORDER BY path LIMIT ?")
        containsEntry = statement("SELECT 1 FROM entry WHERE hlc = ? AND prefix = ? AND id = ?")
        insertEntry = statement(
            """
            INSERT INTO entry(
                row, path, hlc, author, prefix, id, kind, held, bundle, leaf, container, arrival, signature, value)
            VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """)
        deleteEntry = statement("DELETE FROM entry WHERE row = ?")
        let heldColumns = "\(entry), bundle, leaf, \(Schema.talliedColumns)"
        heldEntries = statement(
            "SELECT \(heldColumns) FROM entry WHERE held = 1 AND hlc <= ? ORDER BY hlc, prefix, id LIMIT ?")
        makeLive = statement("UPDATE entry SET held = 0, row = ?, container = ?, arrival = ? WHERE row = ?")

        recordOfStamp = statement("SELECT \(record) FROM entry WHERE hlc = ? AND prefix = ? AND id = ?")
        singles = statement(
            """
            SELECT hlc, prefix, id FROM entry INDEXED BY entry_single
            WHERE author = ? AND bundle IS NULL AND held = 0 AND hlc BETWEEN ? AND ? ORDER BY hlc, prefix, id LIMIT ?
            """)
        moveToBundle = statement("UPDATE entry SET bundle = ?, leaf = ?, signature = NULL WHERE row = ?")

        digest = statement("SELECT count, sum FROM digest WHERE level = ? AND bucket = ?")
        setDigest = statement("INSERT OR REPLACE INTO digest(level, bucket, count, sum) VALUES(?, ?, ?, ?)")
        deleteDigest = statement("DELETE FROM digest WHERE level = ? AND bucket = ?")
        digests = statement(
            "SELECT bucket, count, sum FROM digest WHERE level = ? AND bucket BETWEEN ? AND ? ORDER BY bucket")
        idsInRange = statement("SELECT hlc, prefix, id FROM entry WHERE hlc BETWEEN ? AND ? ORDER BY hlc")
        let isWithin = "(hlc, prefix) > (?, ?) AND (hlc, prefix) <= (?, ?)"
        let isInRange = "\(isWithin) ORDER BY hlc DESC, prefix DESC"
        references = statement("SELECT hlc, prefix FROM entry WHERE \(isInRange) LIMIT ?")
        oldestReferences = statement("SELECT hlc, prefix FROM entry WHERE \(isWithin) ORDER BY hlc, prefix LIMIT ?")
        ids = statement("SELECT hlc, prefix, id FROM entry WHERE \(isInRange), id DESC LIMIT ?")
        containsReference = statement("SELECT 1 FROM entry WHERE hlc = ? AND prefix = ?")
        storedEntry = statement(
            "SELECT \(entry), bundle, leaf, signature FROM entry WHERE hlc = ? AND prefix = ? ORDER BY id")

        authorID = statement("SELECT id FROM author WHERE key = ?")
        authorKey = statement("SELECT key FROM author WHERE id = ?")
        addAuthor = statement("INSERT INTO author(key) VALUES(?) RETURNING id")

        bundleID = statement("SELECT id FROM bundle WHERE root = ? AND author = ? AND count = ?")
        addBundle = statement("INSERT INTO bundle(root, author, count, signature) VALUES(?, ?, ?, ?) RETURNING id")
        bundleHead = statement("SELECT root, author, count, signature FROM bundle WHERE id = ?")
        deleteBundle = statement("DELETE FROM bundle WHERE id = ?")
        bundleLeaves = statement("SELECT leaf, prefix, id FROM entry WHERE bundle = ? ORDER BY leaf")
        bundleLeavesInRange = statement(
            "SELECT leaf, prefix, id FROM entry WHERE bundle = ? AND leaf >= ? AND leaf < ? ORDER BY leaf")
        hasLeaves = statement("SELECT 1 FROM entry WHERE bundle = ? LIMIT 1")
        proofs = statement("SELECT start, count, hash FROM proof WHERE bundle = ?")
        setProof = statement("INSERT INTO proof(bundle, start, count, hash) VALUES(?, ?, ?, ?)")
        deleteProof = statement("DELETE FROM proof WHERE bundle = ? AND start = ? AND count = ?")
        deleteProofs = statement("DELETE FROM proof WHERE bundle = ?")
    }
}

/// The statements about what a node keeps for itself, and about the whole.
struct LocalStatements {
    let containerID, containerPath, addContainer, containerRead, setContainerRead: Statement
    let lastChange: Statement
    let allContainers, nextContainer, lastContainer: Statement
    let isMessage, lastArrival, unread, unreadFrom, messageCount: Statement
    let setting, setSetting, deleteSetting: Statement
    let greatestTime, unknownCount, firstHeld, heldAuthors: Statement

    init(_ database: Database) {
        func statement(_ sql: String) -> Statement { database.statement(sql) }

        lastChange = statement("SELECT max(row) FROM entry WHERE path >= ? AND path < ? AND held = 0 AND author = ?")
        containerID = statement("SELECT id FROM container WHERE path = ?")
        containerPath = statement("SELECT path FROM container WHERE id = ?")
        addContainer = statement("INSERT INTO container(path) VALUES(?) RETURNING id")
        containerRead = statement("SELECT read FROM container WHERE id = ?")
        setContainerRead = statement("UPDATE container SET read = max(read, ?) WHERE id = ?")
        allContainers = statement("SELECT id FROM container ORDER BY id")
        nextContainer = statement("SELECT id FROM container WHERE path >= ? AND path < ? ORDER BY path LIMIT 1")
        lastContainer = statement("SELECT id FROM container WHERE path >= ? AND path < ? ORDER BY path DESC LIMIT 1")
        isMessage = statement("SELECT 1 FROM entry WHERE path = ? AND held = 0 AND arrival IS NOT NULL")
        lastArrival = statement("SELECT max(arrival) FROM entry WHERE container = ? AND arrival IS NOT NULL")
        // Of people nobody wants to hear of nothing is counted.
        let hidden = "SELECT key FROM person WHERE muted <> 0 OR blocked <> 0"
        let isUnread = """
            SELECT 1 FROM entry WHERE container = ? AND arrival > ? AND author <> ?
            AND author NOT IN (SELECT author.id FROM author WHERE author.key IN (\(hidden)))
            """
        unread = statement("SELECT count(*) FROM (\(isUnread) LIMIT ?)")
        unreadFrom = statement("SELECT count(*) FROM (\(isUnread) AND path >= ? LIMIT ?)")
        messageCount = statement(
            """
            SELECT count(*) FROM (SELECT 1 FROM entry
            WHERE path >= ? AND path < ? AND held = 0 AND arrival IS NOT NULL LIMIT ?)
            """)

        setting = statement("SELECT value FROM setting WHERE name = ?")
        setSetting = statement("INSERT OR REPLACE INTO setting(name, value) VALUES(?, ?)")
        deleteSetting = statement("DELETE FROM setting WHERE name = ?")

        greatestTime = statement("SELECT hlc FROM entry WHERE held = 0 AND hlc <= ? ORDER BY hlc DESC LIMIT 1")
        unknownCount = statement("SELECT count(*) FROM entry WHERE kind <> 0")
        firstHeld = statement("SELECT hlc FROM entry WHERE held = 1 ORDER BY hlc LIMIT 1")
        heldAuthors = statement(
            """
            SELECT author, count(*), max(hlc) FROM entry WHERE held = 1
            GROUP BY author ORDER BY count(*) DESC, author LIMIT ?
            """)
    }
}
