internal import CommandLineKit
internal import ControlAPI

/// `starling tree history`
enum TreeHistory {
    static let command = Command(
        "history", "Show what somebody else overwrote, and write it again",
        details: [
            "Where anybody may write, this node keeps for 7 days what one person wrote and another overwrote: at PATH, "
                + "below it, and above it what held something at PATH.",
            "First comes who wrote what is there now, then what was overwritten, the last first: its id, when and by "
                + "whom, and the value that was there.",
        ],
        arguments: [Tree.path],
        options: [
            Option("number", short: "n", value: "N", "The last N overwritten values; 50 if not given"),
            Option("restore", value: "ID", "Write that value again; the first digits of its id are enough"), .json,
        ],
        examples: [
            Example("starling tree history demo/lamp", "Who changed the lamp, and what it was before"),
            Example("starling tree history demo/lamp --restore 3f2a", "Put that value back"),
        ])

    static func run(_ session: Session) throws {
        let invocation = session.invocation
        if let id = invocation.value("restore") {
            guard invocation.value("number") == nil else {
                throw invocation.usageError("--restore and --number do not go together")
            }
            return try restore(id, session)
        }
        let rows = try rows(try invocation.integer("number", in: 1...1000) ?? 50, session)
        try session.print(rows: rows) {
            let rows = try rows.map(HistoryRow.init(json:))
            for line in lines(rows, at: try invocation.required("PATH"), session.output) { session.output.line(line) }
            if rows.allSatisfy(\.isLive) {
                session.output.line("nothing that somebody else overwrote here in the last 7 days")
            }
        }
    }

    /// The daemon gives as many as fit into an answer.
    private static func rows(_ number: Int, _ session: Session) throws -> [JSON] {
        var params: JSONObject = ["path": try Tree.path(session)]
        var rows: [JSON] = []
        var left = number
        while true {
            params["limit"] = .int(Int64(left))
            let answer = try session.call("tree.history", .object(params))
            let page = answer["history"]?.array ?? []
            rows += page
            left -= page.count { $0["live"]?.bool != true }
            guard left > 0, let before = answer["before"] else { return rows }
            params["before"] = before
        }
    }

    private static func restore(_ id: String, _ session: Session) throws {
        let answer = try session.call("tree.restore", ["path": try Tree.path(session), "id": .string(id)])
        try session.print(answer) {
            let row = try HistoryRow(json: answer)
            let place = session.output.styled(Escaper.escape(row.path), .bold)
            let time = LocalTime(milliseconds: row.writtenAt).stamp
            session.output.line(
                "restored \(place): \(value(row, columns: 200)), as \(Escaper.escape(row.authorName)) wrote it \(time)")
        }
    }

    // MARK: Output

    /// Digits of an id that are shown, unless two rows begin with the same.
    private static let digits = 8

    static func lines(_ rows: [HistoryRow], at path: String, _ output: Output) -> [String] {
        var names = Names()
        for row in rows {
            names.set(row.author, row.authorName)
            if let death = row.death { names.set(death.uid, death.name) }
        }
        let dead = rows.filter { !$0.isLive }
        let isShort = Set(dead.map { $0.id.prefix(digits) }).count == Set(dead.map(\.id)).count
        let columns = output.isTerminal ? max(20, output.columns - 60) : 200
        var table = Table()
        for row in rows {
            let id = row.isLive ? "now" : Escaper.escape(isShort ? String(row.id.prefix(digits)) : row.id)
            let author = names.shown(row.author)
            table.add(
                Table.Cell(id) { output.styled($0, .bold) },
                Table.Cell(LocalTime(milliseconds: row.death?.at ?? row.writtenAt).stamp) { output.styled($0, .dim) },
                Table.Cell(row.death.map { "\(names.shown($0.uid)) overwrote \(author)" } ?? author),
                Table.Cell(place(row, at: path)), Table.Cell(value(row, columns: columns)))
        }
        return table.lines()
    }

    /// Where it stood, if that is not the path that was asked for.
    private static func place(_ row: HistoryRow, at path: String) -> String {
        if let within = row.within { return "within \(Escaper.escape(within))" }
        let asked = path.split(separator: "/", omittingEmptySubsequences: true).joined(separator: "/")
        return row.path == asked ? "" : Escaper.escape(row.path)
    }

    private static func value(_ row: HistoryRow, columns: Int) -> String {
        if let size = row.tooLarge { return "\(Words.bytes(size)), too large to be shown" }
        guard let value = row.value, !value.isNull else { return "nothing" }
        return TextWidth.fitted(Escaper.escape(json: value.description), to: columns)
    }
}
