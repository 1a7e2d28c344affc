/// The tables of the database, and how older ones become them.
enum Schema {
    /// "Star" as `application_id`: tells the file from other programs' databases.
    private static let applicationID: Int64 = 0x5374_6172
    /// `migrations[n]` leads from version n to n + 1.
    private static let migrations = [version1]

    static func prepare(_ database: Database) throws {
        try database.lock()
        // Looked at before anything is written: another program's file stays as it is.
        let application = try database.integer("PRAGMA application_id")
        let isEmpty = try database.integer("SELECT count(*) FROM sqlite_schema") == 0
        let isNew = application == 0 && isEmpty
        guard application == applicationID || isNew else { throw StoreError(.foreign) }
        let version = try database.integer("PRAGMA user_version")
        guard version <= migrations.count else { throw StoreError(.newer, detail: "version \(version)") }
        guard version >= 0 else { throw StoreError(.corrupt, detail: "version \(version)") }
        try database.configure(isNew: isNew)
        for step in Int(version)..<migrations.count {
            try database.transaction {
                try database.execute(migrations[step])
                try database.execute("PRAGMA application_id=\(applicationID)")
                try database.execute("PRAGMA user_version=\(step + 1)")
            }
        }
        if isNew { try database.finishCreation() }
    }

    /// - `author`: public keys, so that rows carry a small number.
    /// - `entry`: path as `PathKey` bytes; hlc with its sign bit flipped, so that order holds; value as canonical CBOR;
    ///   a signature for a bundle of one, else bundle and leaf.
    /// - `proof`: hashes of subtrees of a bundle without a stored leaf.
    /// - `digest`: buckets of the levels 0…3.
    /// - `sweep`: paths below which entries from `next` on are still to be judged against the entry there.
    /// - `container`, `message`: which messages there are, by arrival; `read` is the node's own mark.
    /// - `setting`: what the node remembers beside the tree.
    private static let version1 = """
        CREATE TABLE author(id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE);
        CREATE TABLE entry(
            row INTEGER PRIMARY KEY, path BLOB NOT NULL, hlc INTEGER NOT NULL, author INTEGER NOT NULL,
            id BLOB NOT NULL, kind INTEGER NOT NULL, held INTEGER NOT NULL, bundle INTEGER, leaf INTEGER,
            signature BLOB, value BLOB NOT NULL);
        CREATE UNIQUE INDEX entry_path ON entry(path) WHERE held = 0;
        CREATE INDEX entry_time ON entry(hlc, id);
        CREATE INDEX entry_held ON entry(hlc, author, id) WHERE held = 1;
        CREATE INDEX entry_unknown ON entry(kind) WHERE kind <> 0;
        CREATE INDEX entry_bundle ON entry(bundle, leaf) WHERE bundle IS NOT NULL;
        CREATE TABLE bundle(
            id INTEGER PRIMARY KEY, root BLOB NOT NULL, author INTEGER NOT NULL, count INTEGER NOT NULL,
            signature BLOB NOT NULL, UNIQUE(root, author, count));
        CREATE TABLE proof(
            bundle INTEGER NOT NULL, start INTEGER NOT NULL, count INTEGER NOT NULL, hash BLOB NOT NULL,
            PRIMARY KEY(bundle, start, count)) WITHOUT ROWID;
        CREATE TABLE digest(
            level INTEGER NOT NULL, bucket INTEGER NOT NULL, count INTEGER NOT NULL, sum BLOB NOT NULL,
            PRIMARY KEY(level, bucket)) WITHOUT ROWID;
        CREATE TABLE sweep(path BLOB PRIMARY KEY, next BLOB NOT NULL) WITHOUT ROWID;
        CREATE TABLE container(id INTEGER PRIMARY KEY, path BLOB NOT NULL UNIQUE, read INTEGER NOT NULL DEFAULT 0);
        CREATE TABLE message(
            container INTEGER NOT NULL, arrival INTEGER NOT NULL, key TEXT NOT NULL, author INTEGER NOT NULL,
            PRIMARY KEY(container, arrival)) WITHOUT ROWID;
        CREATE UNIQUE INDEX message_key ON message(key, container);
        CREATE TABLE setting(name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
        """
}
