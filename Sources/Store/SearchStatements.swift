/// The statements of the search index.
struct SearchStatements {
    let changes, entryAtRow, setMark: Statement
    let due, addDue, deleteDue: Statement
    let gone, goneWords, addGone, deleteGone: Statement
    let message, overflow, messageAtNumber, setMessage, setSource, deleteMessage: Statement
    let numbers, leastNumber, numberOfKey, overflowOfKey: Statement
    let insertWords, deleteWords, merge, find, walk: Statement

    init(_ database: Database) {
        func statement(_ sql: String) -> Statement { database.statement(sql) }

        changes = statement("SELECT row, path, held FROM entry WHERE row > ? ORDER BY row LIMIT ?")
        entryAtRow = statement("SELECT \(Statements.entryColumns) FROM entry WHERE row = ?")
        setMark = statement("UPDATE search_mark SET row = ?")

        due = statement("SELECT container, key FROM search_due LIMIT ?")
        addDue = statement("INSERT OR IGNORE INTO search_due(container, key) VALUES(?, ?)")
        deleteDue = statement("DELETE FROM search_due WHERE container = ? AND key = ?")
        gone = statement("SELECT id FROM search_gone LIMIT ?")
        goneWords = statement("SELECT words FROM search_gone WHERE id = ?")
        addGone = statement("INSERT OR IGNORE INTO search_gone(id, words) VALUES(?, ?)")
        deleteGone = statement("DELETE FROM search_gone WHERE id = ?")

        message = statement(
            "SELECT id, sender, source FROM search_message WHERE id BETWEEN ? AND ? AND key = ? AND container = ?")
        overflow = statement(
            "SELECT id, sender, source FROM search_message WHERE id < 0 AND key = ? AND container = ?")
        messageAtNumber = statement("SELECT container, key FROM search_message WHERE id = ?")
        setMessage = statement(
            "INSERT OR REPLACE INTO search_message(id, container, key, sender, source) VALUES(?, ?, ?, ?, ?)")
        setSource = statement("UPDATE search_message SET source = ? WHERE id = ?")
        deleteMessage = statement("DELETE FROM search_message WHERE id = ?")
        numbers = statement("SELECT id FROM search_message WHERE id BETWEEN ? AND ? ORDER BY id")
        leastNumber = statement("SELECT min(id) FROM search_message")
        numberOfKey = statement(
            "SELECT id FROM search_message WHERE id BETWEEN ? AND ? AND key = ? ORDER BY id LIMIT 1")
        overflowOfKey = statement("SELECT id FROM search_message WHERE id < 0 AND key = ? ORDER BY id LIMIT 1")

        insertWords = statement("INSERT INTO search(rowid, words) VALUES(?, ?)")
        deleteWords = statement("INSERT INTO search(search, rowid, words) VALUES('delete', ?, ?)")
        merge = statement("INSERT INTO search(search, rank) VALUES('merge', ?)")
        find = statement(
            "SELECT rowid FROM search WHERE search MATCH ? AND rowid >= ? AND rowid < ? ORDER BY rowid DESC LIMIT ?")
        walk = statement("SELECT id FROM search_message WHERE id >= ? AND id < ? ORDER BY id DESC LIMIT ?")
    }
}
