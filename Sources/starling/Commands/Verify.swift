internal import CommandLineKit
internal import ControlAPI

/// `starling verify`
enum Verify {
    static let command = Command(
        "verify", "Compare entry by entry with every node that is connected",
        options: [.json], group: "Network",
        examples: [Example("starling verify", "Whether everybody has everything")])

    static func run(_ session: Session) throws {
        let peers = try session.call("node.verify")["peers"]?.array ?? []
        try session.print(rows: peers) {
            var names = Names()
            let rows = try peers.map(VerifyRow.init(json:))
            for row in rows { names.set(row.uid, row.name) }
            var table = Table()
            for row in rows {
                table.add(
                    .init(names.shown(row.uid)) { session.output.name($0, uid: row.uid) },
                    .init(words(row)) { session.output.styled($0, row.equal ? .green : .yellow) })
            }
            let lines = table.lines()
            session.output.line(lines.isEmpty ? "nobody is connected" : lines.joined(separator: "\n"))
        }
    }

    private static func words(_ row: VerifyRow) -> String {
        guard !row.equal else { return "equal" }
        guard let theyLack = row.theyLack, let weLack = row.weLack else { return "not compared" }
        return "they lack \(theyLack), we lack \(weLack)"
    }
}
