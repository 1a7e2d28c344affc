internal import CommandLineKit
internal import ControlAPI

/// `starling status`
enum Status {
    static let command = Command(
        "status", "Show this node, the others and how far each has what",
        details: ["Two nodes with the same root hold the same entries."],
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

    static func lines(_ row: StatusRow, _ output: Output) -> [String] {
        let name = output.styled(Escaper.escape(row.name), .bold)
        var lines = [
            "\(name) in workspace \(Escaper.escape(row.workspace))",
            output.styled("uid   \(Escaper.escape(row.uid))", .dim),
            output.styled("root  \(Escaper.escape(row.root))", .dim),
            "\(Words.count(row.entries, "entry", "entries")), \(Words.bytes(row.databaseBytes)) on disk"
                + " · starlingd \(Escaper.escape(row.version)) · discovery: \(Escaper.escape(row.discovery))",
        ]
        let oddities = [("held", row.held), ("skipped", row.skipped), ("denied", row.denied)].filter { $0.1 != 0 }
        if !oddities.isEmpty {
            let words = oddities.map { "\($0.1) \($0.0)" }.joined(separator: ", ")
            lines.append(output.styled("entries not shown: \(words)", .yellow))
        }
        lines.append("")
        if row.peers.isEmpty {
            lines.append("nobody else was found yet")
        } else {
            lines += Peer.lines(row.peers, output)
        }
        return lines
    }
}
