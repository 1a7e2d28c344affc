internal import ControlAPI

/// The other nodes, one line each, within 80 columns.
enum PeerTable {
    /// Columns of names and addresses: the second where all other columns have something in them.
    private static let nameColumns = (wide: 12, narrow: 8)
    private static let addressColumns = (wide: 21, narrow: 16)
    private static let reasonColumns = 22

    /// Connected ones first; of those that find no room only the number.
    static func lines(_ rows: [PeerRow], _ output: Output, linesMax: Int) -> [String] {
        let rows = rows.filter { $0.state == .connected } + rows.filter { $0.state != .connected }
        let isTooLong = rows.count + 1 > linesMax
        let shown = isTooLong ? Array(rows.prefix(max(1, linesMax - 2))) : rows
        var names = Names()
        for row in rows where !row.uid.isEmpty { names.set(row.uid, row.name) }
        let connected = shown.filter { $0.state == .connected }
        var lines = connected.isEmpty ? [] : table(connected, names, output)
        lines += others(shown.filter { $0.state != .connected }, names, output)
        if isTooLong { lines.append("and \(rows.count - shown.count) more: starling peer list") }
        return lines
    }

    private static func table(_ rows: [PeerRow], _ names: Names, _ output: Output) -> [String] {
        var table = Table()
        let hasAhead = rows.contains { $0.ahead ?? 0 > 0 }
        let hasDenied = rows.contains { $0.refusals ?? 0 > 0 }
        let isNarrow = hasAhead || hasDenied
        let heading = [
            "CONNECTED", "ADDRESS", "PATH", "RTT ms", "CLOCK", "HEARD", "LACKS", hasAhead ? "AHEAD" : "",
            hasDenied ? "DENIED" : "",
        ]
        let columns = isNarrow ? nameColumns.narrow : nameColumns.wide
        table.add(
            heading.map { text in Table.Cell(TextWidth.fitted(text, to: columns)) { output.styled($0, .dim) } })
        for row in rows {
            table.add([
                Table.Cell(TextWidth.fitted(names.shown(row.uid), to: columns)) { output.name($0, uid: row.uid) },
                Table.Cell(address(row, isNarrow ? addressColumns.narrow : addressColumns.wide)),
                Table.Cell(path(row)), Table.Cell(row.rttMs.map { Words.rounded($0) } ?? ""),
                Table.Cell(clock(row)) { output.styled($0, isWrong(row) ? .yellow : .dim) },
                Table.Cell(row.heardMs.map { Words.span($0) } ?? ""), number(row.lacks, hasZero: true, output),
                number(row.ahead, hasZero: false, output), number(row.refusals, hasZero: false, output),
            ])
        }
        return table.lines()
    }

    private static func number(_ value: Int64?, hasZero: Bool, _ output: Output) -> Table.Cell {
        guard let value, value > 0 || hasZero else { return Table.Cell("") }
        return Table.Cell("\(value)") { output.styled($0, value > 0 ? .yellow : .dim) }
    }

    /// Addresses that lead to nobody, and why.
    private static func others(_ rows: [PeerRow], _ names: Names, _ output: Output) -> [String] {
        var table = Table()
        for row in rows {
            let colour: Style.Attribute =
                row.state == .connecting ? .yellow : row.state == .refused ? .red : .dim
            let name = TextWidth.fitted(row.uid.isEmpty ? "?" : names.shown(row.uid), to: nameColumns.wide)
            table.add([
                Table.Cell(name) { output.name($0, uid: row.uid) }, Table.Cell(address(row, addressColumns.wide)),
                Table.Cell(path(row)), Table.Cell(Escaper.escape(row.state.rawValue)) { output.styled($0, colour) },
                Table.Cell(TextWidth.fitted(Escaper.escape(row.reason ?? ""), to: reasonColumns)) {
                    output.styled($0, .dim)
                },
            ])
        }
        return table.lines()
    }

    private static func address(_ row: PeerRow, _ columns: Int) -> String {
        cut(Escaper.escape(row.address), to: columns)
    }

    /// Cut in the middle where it is too long: both ends tell it from others.
    static func cut(_ text: String, to columns: Int) -> String {
        guard TextWidth.of(text) > columns else { return text }
        let tail = columns / 2
        return "\(text.prefix(columns - tail - 1))…\(text.suffix(tail))"
    }

    /// How the address is known, in short.
    private static func path(_ row: PeerRow) -> String {
        switch row.path {
        case .gossiped?: "gossip"
        case .remembered?: "memory"
        case let path?: TextWidth.fitted(Escaper.escape(path.rawValue), to: 7)
        case nil: ""
        }
    }

    /// From this on a clock is worth a look.
    private static func isWrong(_ row: PeerRow) -> Bool { row.skewMs?.magnitude ?? 0 >= 2_000 }

    private static func clock(_ row: PeerRow) -> String {
        guard let skewMs = row.skewMs else { return "" }
        let sign = skewMs < 0 ? "-" : "+"
        let size = Int64(clamping: skewMs.magnitude)
        return size < 1_000 ? "\(sign)\(size) ms" : "\(sign)\(Words.span(size))"
    }
}
