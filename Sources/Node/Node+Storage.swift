internal import ControlAPI
internal import Seal
internal import Store
internal import Tree

extension Node {
    /// Authors whose part is told.
    private static let storageAuthorsMax = 8

    /// What this node keeps, from counters: it costs the same however much there is.
    func storageRow() throws -> StorageRow {
        let (tally, remains) = (try store.tally, try store.remains)
        let authors = try store.largestAuthors(limit: Node.storageAuthorsMax).map { author in
            StorageRow.Author(
                uid: UID.text(author.author), name: try displayName(of: author.author),
                entries: Int64(author.tally.entries), bytes: Int64(author.tally.bytes))
        }
        return StorageRow(
            tombstones: Int64(tally.tombstones), waiting: Int64(remains.waiting), graves: Int64(remains.graves),
            graveBytes: Int64(remains.graveBytes), bytes: Int64(tally.bytes), authors: authors)
    }
}
