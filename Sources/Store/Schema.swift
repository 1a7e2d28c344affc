/// The tables of the database, and how older ones become them.
enum Schema {
    /// "Star" as `application_id`: tells the file from other programs' databases.
    private static let applicationID: Int64 = 0x5374_6172
    /// `migrations[n]` leads from version n to n + 1.
    static let migrations = [version1, priorities, disconnectWrites, graveyard, search, singles, tally, renewal]
    /// After those the rows are made anew, by ``compact(_:)``; then come these.
    static let laterMigrations = [people]
    private static let latest = migrations.count + 1 + laterMigrations.count

    static func prepare(_ database: Database) throws {
        try database.lock()
        // Looked at before anything is written: another program's file stays as it is.
        let application = try database.integer("PRAGMA application_id")
        let isEmpty = try database.integer("SELECT count(*) FROM sqlite_schema") == 0
        let isNew = application == 0 && isEmpty
        guard application == applicationID || isNew else { throw StoreError(.foreign) }
        let version = try database.integer("PRAGMA user_version")
        guard version <= latest else { throw StoreError(.newer, detail: "version \(version)") }
        guard version >= 0 else { throw StoreError(.corrupt, detail: "version \(version)") }
        try database.configure(isNew: isNew)
        for step in Int(version)..<latest {
            try database.transaction {
                switch step {
                case ..<migrations.count: try database.execute(migrations[step])
                case migrations.count: try compact(database)
                default: try database.execute(laterMigrations[step - migrations.count - 1])
                }
                try database.execute("PRAGMA application_id=\(applicationID)")
                try database.execute("PRAGMA user_version=\(step + 1)")
            }
        }
        if isNew { try database.finishCreation() }
    }

    /// Times that a node has given to what it wrote while its clock was wrong, by the old ones.
    private static let renewal = "CREATE TABLE IF NOT EXISTS renewal(old INTEGER PRIMARY KEY, new INTEGER NOT NULL);"

    /// Entries of ``version1`` are numbered as ever; the index catches up with all of them from 0 on.
    ///
    /// - `search`: words of messages by ``SearchNumber``; holds no text, so whoever removes a message from it has to
    ///   say which words it was put there with. Merging is asked for in small pieces, never done by itself.
    /// - `search_message`: the messages in it: where, the author's number of the sender or 0, and the row of the entry
    ///   that the text stands in.
    /// - `search_gone`: words of messages whose entry has been removed since.
    /// - `search_due`: messages to be looked at again.
    /// - `search_mark`: the row of `entry` up to which the index has followed.
    static let search = """
        CREATE VIRTUAL TABLE search USING fts5(words, content='', columnsize=0, tokenize='ascii');
        INSERT INTO search(search, rank) VALUES('automerge', 0);
        CREATE TABLE search_message(
            id INTEGER PRIMARY KEY, container INTEGER NOT NULL, key TEXT NOT NULL, sender INTEGER NOT NULL,
            source INTEGER);
        CREATE UNIQUE INDEX search_message_overflow ON search_message(key, container) WHERE id < 0;
        CREATE TABLE search_gone(id INTEGER PRIMARY KEY, words TEXT NOT NULL);
        CREATE TABLE search_due(
            container INTEGER NOT NULL, key TEXT NOT NULL, PRIMARY KEY(container, key)) WITHOUT ROWID;
        CREATE TABLE search_mark(row INTEGER NOT NULL);
        INSERT INTO search_mark VALUES(0);
        """
    /// An index of the entries that are signed singly, for signing them together.
    private static let singles = """
        CREATE INDEX IF NOT EXISTS entry_single ON entry(author, hlc, id) WHERE bundle IS NULL AND held = 0;
        """

    /// Undoes ``search``.
    static let dropSearch = """
        DROP TABLE search;
        DROP TABLE search_message;
        DROP TABLE search_gone;
        DROP TABLE search_due;
        DROP TABLE search_mark;
        """

    /// As it was first; see ``compact(_:)`` for what entries are now.
    ///
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

    /// Whether a path is the place of a priority: it ends with the key `.priority` as `PathKey` writes it.
    static let isPriority = "substr(path, -11) = x'002E7072696F7269747900'"

    /// An index of priorities alone, so that an order by priority costs what has one.
    private static let priorities = """
        CREATE INDEX entry_priority ON entry(path) WHERE held = 0 AND \(isPriority);
        """
}
