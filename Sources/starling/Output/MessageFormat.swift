internal import ControlAPI

/// Lays out messages: time, name in a column of its own, text wrapped beside it.
struct MessageFormat {
    /// Columns for names; longer ones are cut.
    var nameColumns: Int
    /// Where lines end; 0 for no wrapping.
    var columns: Int
    let style: Style
    /// Whether the terminal may lack a tick.
    var isPlain = false
    /// Words of the text that stand out.
    var emphasis: Emphasis?

    static let nameMax = 16

    /// The lines of a message.
    func lines(
        _ row: MessageRow, time: LocalTime, name: String, isOwn: Bool = false, status: StatusMark = .waiting
    ) -> [String] {
        let name = TextWidth.fitted(row.verified ? name : name + "?", to: nameColumns)
        let blank = String(repeating: " ", count: max(0, nameColumns - TextWidth.of(name)))
        let nameStyle: [Style.Attribute] = isOwn ? [.bold] : [Style.colour(of: row.senderId)]
        let bar = style.apply("│", [.dim])
        let gap = style.apply(status.text(isPlain: isPlain), status == .waiting ? [] : [.dim])
        let first = "\(style.apply(time.clock, [.dim]))\(gap)\(blank)\(style.apply(name, nameStyle)) \(bar) "
        let next = String(repeating: " ", count: 7 + nameColumns) + " \(bar) "
        let width = columns == 0 ? 0 : max(20, columns - nameColumns - 10)
        return zip(0..., body(row, width)).map { ($0 == 0 ? first : next) + $1 }
    }

    private func body(_ row: MessageRow, _ width: Int) -> [String] {
        var lines = Self.wrapped(Escaper.escape(row.text ?? "", lines: .kept), width)
        if let emphasis { lines = lines.map { emphasis.applied(to: $0, style) } }
        if let attachment = row.attachment {
            let name = attachment["name"]?.string ?? "attachment"
            lines.append(style.apply("📎 \(Escaper.escape(FileName.safe(name)))", [.cyan]))
            if row.text == nil { lines.removeFirst() }
        }
        if row.editedAt != nil, let last = lines.popLast() { lines.append(last + style.apply(" (edited)", [.dim])) }
        if !row.reactions.isEmpty { lines.append(Self.reactions(row)) }
        return lines
    }

    /// As `👍 2  🎉 1`.
    static func reactions(_ row: MessageRow) -> String {
        row.reactions.map { "\(Escaper.escape($0.emoji)) \($0.uids.count)" }.joined(separator: "  ")
    }

    /// Breaks text at its newlines and, with a width, between words; words longer than a line are cut. Spaces stay
    /// within a line, so that what was indented stays so.
    static func wrapped(_ text: String, _ width: Int) -> [String] {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        guard width > 0 else { return lines }
        return lines.flatMap { wrappedLine($0, width) }
    }

    private static func wrappedLine(_ text: String, _ width: Int) -> [String] {
        guard TextWidth.of(text) > width else { return [text] }
        var lines: [String] = []
        var line: [Character] = []
        var used = 0
        for character in text {
            let columns = TextWidth.of(character)
            if used + columns > width {
                // Break behind the last space of the line, unless that leaves less than a third of it.
                let space = character == " " ? line.count : line.lastIndex(of: " ").map { $0 + 1 } ?? 0
                let cut = space > line.count / 3 ? space : line.count
                var kept = line[..<cut]
                while kept.last == " " { kept.removeLast() }
                lines.append(String(kept))
                line.removeFirst(cut)
                used = line.reduce(0) { $0 + TextWidth.of($1) }
                if character == " ", line.isEmpty { continue }
            }
            line.append(character)
            used += columns
        }
        if !line.isEmpty || lines.isEmpty { lines.append(String(line)) }
        return lines
    }

    /// A line that says a day begins.
    func dayLine(_ time: LocalTime) -> String {
        style.apply("── \(time.date) ──", [.dim])
    }

    /// A line that says where and on what day the next messages were written.
    func dayLine(_ time: LocalTime, channel: String) -> String {
        style.apply("── #\(Escaper.escape(channel)) · \(time.date) ──", [.dim])
    }
}
