internal import CommandLineKit
internal import ControlAPI

/// `starling who`
enum Who {
    static let command = Command(
        "who", "List the people, who is here first",
        details: [
            "away: no activity for 10 minutes. A check mark: you compared the safety words with them; see starling "
                + "verify-identity. Who has a name that is known from another key is named below the list."
        ],
        options: [.json], group: "Chat",
        examples: [
            Example("starling who", "Who is here, and who types where"),
            Example("starling who --json | jq -r 'select(.state == \"online\").name'", "The names of those here"),
        ])

    static func run(_ session: Session) throws {
        let people = try session.call("people.list")["people"]?.array ?? []
        try session.print(rows: people) {
            let rows = try people.map(PersonRow.init(json:))
            let channels =
                rows.allSatisfy(\.typing.isEmpty)
                ? [] : try (session.call("channel.list")["channels"]?.array ?? []).map(ChannelRow.init(json:))
            for line in lines(rows, channels, nowMs: LocalTime.nowMs(), session.output) { session.output.line(line) }
        }
    }

    /// One line a person.
    static func lines(_ rows: [PersonRow], _ channels: [ChannelRow], nowMs: Int64, _ output: Output) -> [String] {
        let order: [PersonRow.State] = [.online, .away]
        let sorted = rows.enumerated().sorted { left, right in
            let leftRank = order.firstIndex(of: left.element.state) ?? order.count
            let rightRank = order.firstIndex(of: right.element.state) ?? order.count
            return (leftRank, left.offset) < (rightRank, right.offset)
        }.map(\.element)
        var names = Names()
        for row in rows { names.set(row.uid, row.name) }
        var table = Table()
        for row in sorted {
            let typing = row.typing.map { key in
                channels.first { $0.key == key }.map { "#" + Escaper.escape($0.name) } ?? Escaper.escape(key)
            }
            table.add(
                .init(symbol(row.state)) { output.styled($0, colour(row.state)) },
                .init(names.shown(row.uid) + (row.verified ? " ✓" : "")) { output.name($0, uid: row.uid) },
                .init(state(row, nowMs)), .init(typing.isEmpty ? "" : "types in " + typing.joined(separator: ", ")),
                .init(Escaper.escape(row.uid)) { output.styled($0, .dim) })
        }
        return table.lines() + sorted.compactMap { warning($0, names, output) }
    }

    private static func warning(_ row: PersonRow, _ names: Names, _ output: Output) -> String? {
        guard let other = row.namesakeOf else { return nil }
        let words =
            "⚠ \(names.tagged(row.uid)) has another key than \(names.tagged(other)), whom you know: a new machine, "
            + "or somebody else; compare words: starling verify-identity \(Escaper.escape(row.uid))"
        return output.styled(words, .red)
    }

    private static func state(_ row: PersonRow, _ nowMs: Int64) -> String {
        var words = Escaper.escape(row.state.rawValue)
        if row.state != .online, let since = row.since {
            let (span, overflow) = nowMs.subtractingReportingOverflow(since)
            if !overflow { words += " " + Words.span(span) }
        }
        if row.blocked { words += ", blocked" } else if row.muted { words += ", muted" }
        return row.isSelf ? words + " (you)" : words
    }

    private static func symbol(_ state: PersonRow.State) -> String {
        switch state {
        case .online: "●"
        case .away: "◐"
        default: "○"
        }
    }

    private static func colour(_ state: PersonRow.State) -> Style.Attribute {
        switch state {
        case .online: .green
        case .away: .yellow
        default: .dim
        }
    }
}
