/// What a node keeps, and whose it is.
public struct StorageRow: Sendable, Equatable {
    /// One author's part.
    public struct Author: Sendable, Equatable {
        public var uid: String
        public var name: String
        public var entries: Int64
        /// Of paths and values.
        public var bytes: Int64

        public init(uid: String, name: String, entries: Int64, bytes: Int64) {
            (self.uid, self.name, self.entries, self.bytes) = (uid, name, entries, bytes)
        }
    }

    /// Entries that say nothing but that something was removed.
    public var tombstones: Int64
    /// Entries that are still to be looked at because something above them may have ended them, up to 10,000.
    public var waiting: Int64
    /// Entries of others that this node keeps for a week after they were overwritten.
    public var graves: Int64
    public var graveBytes: Int64
    /// Bytes of the paths and values of all entries.
    public var bytes: Int64
    /// Who has most, at most eight.
    public var authors: [Author]

    public init(
        tombstones: Int64, waiting: Int64, graves: Int64, graveBytes: Int64, bytes: Int64, authors: [Author]
    ) {
        self.tombstones = tombstones
        self.waiting = waiting
        self.graves = graves
        self.graveBytes = graveBytes
        self.bytes = bytes
        self.authors = authors
    }

    /// - Throws: ``RPCError/invalidParams(_:)`` with the field that is missing or of the wrong kind.
    public init(json: JSON) throws(RPCError) {
        let fields = try Fields(json)
        func author(_ json: JSON) throws(RPCError) -> Author {
            let fields = try Fields(json)
            return Author(
                uid: try fields.string("uid"), name: try fields.string("name"), entries: try fields.int("entries"),
                bytes: try fields.int("bytes"))
        }
        self.init(
            tombstones: try fields.int("tombstones"), waiting: try fields.int("waiting"),
            graves: try fields.int("graves"), graveBytes: try fields.int("graveBytes"), bytes: try fields.int("bytes"),
            authors: try fields.rows("authors", author))
    }

    public var json: JSON {
        let authors = authors.map { author -> JSON in
            [
                "uid": .string(author.uid), "name": .string(author.name), "entries": .int(author.entries),
                "bytes": .int(author.bytes),
            ]
        }
        return [
            "tombstones": .int(tombstones), "waiting": .int(waiting), "graves": .int(graves),
            "graveBytes": .int(graveBytes), "bytes": .int(bytes), "authors": .array(authors),
        ]
    }
}
