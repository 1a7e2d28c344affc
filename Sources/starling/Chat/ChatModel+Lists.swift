internal import ControlAPI

/// Lists that the user asks for.
extension ChatModel {
    /// Columns below which a list has no room for uids.
    private static let uidColumns = 80

    /// The lines of a table, moved in and broken where the terminal ends.
    func list(_ lines: [String]) -> [String] {
        lines.flatMap { StyledLine.wrapped("  " + $0, columns: columns - 1) }
    }

    func help() -> [String] {
        var table = Table()
        for command in ChatInput.commands {
            let words = command.arguments.isEmpty ? command.name : "\(command.name) \(command.arguments)"
            table.add(.init(words) { style.apply($0, [.cyan]) }, .init(command.meaning))
        }
        let (held, read) = (StatusMark.held, StatusMark.read)
        let marks =
            "beside your messages: \(held.text(isPlain: isPlain).drop { $0 == " " }) another node has it, "
            + "\(read.text(isPlain: isPlain)) somebody has read it"
        let keys = "Alt+Enter begins a new line within the message; Tab completes names and commands; ^C twice leaves"
        return list(table.lines()) + notice(marks) + notice(keys)
    }

    /// The list of the people: of uids, which take half of a line, only the beginning, and nothing in a narrow
    /// terminal.
    ///
    /// - Parameters:
    ///   - lines: as ``Who`` makes them: one line a person that ends with the uid, then warnings.
    ///   - uids: of these people.
    func people(_ lines: [String], _ uids: [String]) -> [String] {
        let ends = uids.map { (uid: $0, text: style.apply(Escaper.escape($0), [.dim])) }
        let short = lines.prefix(uids.count).map { line -> String in
            guard let end = ends.first(where: { line.hasSuffix($0.text) }) else { return line }
            var line = String(line.dropLast(end.text.count))
            guard columns < Self.uidColumns else {
                return line + style.apply(Escaper.escape(String(end.uid.prefix(8))), [.dim])
            }
            while line.last == " " { line.removeLast() }
            return line
        }
        return list(short + lines.dropFirst(uids.count))
    }
}
