extension DatabaseStore {
    /// What a look at the whole file has found.
    public enum Soundness: Sendable, Equatable {
        case sound
        /// What SQLite says of the first fault.
        case damaged(String)
        /// It is larger than what is looked at.
        case tooLarge
    }

    /// Reads the structure of every page (`PRAGMA quick_check`), which takes about half a second for a hundred
    /// megabytes and cannot be ended; nothing else can be asked meanwhile.
    ///
    /// - `bytesMax`: a larger file is not looked at.
    /// - Throws: ``StoreError`` where the file cannot be read at all; damage is a result, not an error.
    public func soundness(bytesMax: Int) throws -> Soundness {
        guard try database.fileBytes() <= bytesMax else { return .tooLarge }
        let check = Statement(database, "PRAGMA quick_check(1)")
        defer { check.finalize() }
        do {
            let words = try check.first { $0.text(0) } ?? "ok"
            return words == "ok" ? .sound : .damaged(words)
        } catch let error as StoreError where error.isCorrupt {
            return .damaged("\(error)")
        }
    }
}
