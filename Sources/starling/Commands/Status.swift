internal import CommandLineKit
internal import ControlAPI

/// `starling status`
enum Status {
    static let command = Command(
        "status", "Show this node, the others and how far each has what, on one screen",
        details: [
            "For each node: its address, how that is known, the time there and back, how far its clock is ahead of "
                + "this one, how long ago it was heard, the entries that it lacks, has ahead of us, and sent in vain.",
            "Two nodes with the same root hold the same entries.",
            "What is wrong, and how to mend it, says: starling doctor",
        ],
        options: [.json], group: "Network",
        examples: [
            Example("starling status", "Who is connected, and whether all is delivered"),
            Example("starling status --json | jq -r .root", "The root digest, to compare"),
        ])

    static func run(_ session: Session) throws {
        let answer = try session.call("node.status")
        try session.print(answer) {
            for line in lines(try StatusRow(json: answer), session.output) { session.output.line(line) }
        }
    }

    /// Authors that are named.
    private static let authorsMax = 3
    /// Nodes of another version that are named; the table has all.
    private static let otherVersionsMax = 2
    /// As wide as a uid; `--json` has all of it.
    private static let rootColumns = 43
    /// Lines of a terminal that has not been made larger, less the prompt.
    static let linesMax = 23

    private static func storageLines(_ row: StorageRow, _ output: Output) -> [String] {
        var parts: [String] = []
        if row.tombstones > 0 { parts.append(Words.count(row.tombstones, "tombstone", "tombstones")) }
        if row.waiting > 0 {
            parts.append("\(row.waiting)\(row.waiting >= 10_000 ? " or more" : "") to be looked through")
        }
        if row.graves > 0 {
            parts.append("\(Words.count(row.graves, "overwritten value", "overwritten values")) kept for a week")
        }
        var lines = parts.isEmpty ? [] : wrapped(parts.joined(separator: ", "), .dim, output)
        if row.authors.count > 1 {
            let most = row.authors.prefix(authorsMax).map { author in
                let name = TextWidth.fitted(Escaper.escape(author.name), to: 12)
                return "\(name) \(author.entries) (\(Words.bytes(author.bytes)))"
            }
            lines += wrapped("most entries by: \(most.joined(separator: ", "))", .dim, output)
        }
        return lines
    }

    private static func wrapped(_ text: String, _ style: Style.Attribute, _ output: Output) -> [String] {
        MessageFormat.wrapped(text, output.columns).map { output.styled($0, style) }
    }

    static func lines(_ row: StatusRow, _ output: Output) -> [String] {
        let name = output.styled(TextWidth.fitted(Escaper.escape(row.name), to: 22), .bold)
        var lines = [
            "\(name) in workspace \(TextWidth.fitted(Escaper.escape(row.workspace), to: 24))"
                + Workspace.readers(of: row.workspace),
            output.styled("uid   \(Escaper.escape(row.uid))", .dim),
            output.styled("root  \(PeerTable.cut(Escaper.escape(row.root), to: rootColumns))", .dim),
            "\(Words.count(row.entries, "entry", "entries")), \(Words.bytes(row.databaseBytes)) on disk"
                + " · starlingd \(Escaper.escape(row.version))",
            "discovery: \(Escaper.escape(row.discovery))",
        ]
        let oddities = [("held", row.held), ("skipped", row.skipped), ("denied", row.denied)].filter { $0.1 != 0 }
        if !oddities.isEmpty {
            let words = oddities.map { "\($0.1) \($0.0)" }.joined(separator: ", ")
            lines.append(output.styled("entries not shown: \(words)", .yellow))
        }
        if let storage = row.storage { lines += storageLines(storage, output) }
        for held in row.heldAuthors {
            let entries = Words.count(held.count, "entry", "entries")
            let words =
                "\(entries) of \(Escaper.escape(held.name)) wait: written \(Words.span(held.skewMs)) in the "
                + "future, by a clock that is wrong"
            lines += wrapped(words, .yellow, output)
        }
        if row.isDiskFull { lines += wrapped("the disk is full: reading goes on, writing does not", .red, output) }
        for notice in row.notices { lines += wrapped(Escaper.escape(notice.text), .red, output) }
        for peer in row.peers.filter({ $0.failure == .version }).prefix(otherVersionsMax) {
            let words = "\(peer.address): \(peer.reason ?? "it has no protocol version in common with this node")"
            lines += wrapped(Escaper.escape(words), .red, output)
        }
        lines.append("")
        guard !row.peers.isEmpty else { return lines + ["nobody else was found yet; starling doctor says why"] }
        return lines + PeerTable.lines(row.peers, output, linesMax: max(6, linesMax - lines.count))
    }
}
