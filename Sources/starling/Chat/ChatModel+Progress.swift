internal import ControlAPI

/// How far messages of one's own have come.
extension ChatModel {
    /// One's own messages up to a key have come so far; the marks of lines that were shown change.
    ///
    /// - `held`, `read`: keys of messages; nil if it is not known of any.
    mutating func advance(held: String?, read: String?) -> [ChatScreen.Change] {
        guard held != self.held || read != self.read else { return [] }
        var changes: [ChatScreen.Change] = []
        let before = ownLines.map { (line: $0, mark: mark(of: $0.row.key)) }
        (self.held, self.read) = (held, read)
        for (line, old) in before where mark(of: line.row.key) != old {
            guard let from = firstLine(line.row, line.name, old),
                let to = firstLine(line.row, line.name, mark(of: line.row.key))
            else { continue }
            changes.append(ChatScreen.Change(from: from, to: to))
        }
        return changes
    }

    /// How far a message of one's own has come. Keys begin with their time, in letters that sort.
    func mark(of key: String) -> StatusMark {
        if let read, key <= read { return .read }
        if let held, key <= held { return .held }
        return .waiting
    }

    private func firstLine(_ row: MessageRow, _ name: String, _ mark: StatusMark) -> String? {
        format.lines(row, time: time(row.createdAt), name: name, isOwn: true, status: mark).first
    }
}
