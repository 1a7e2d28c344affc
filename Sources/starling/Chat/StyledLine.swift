internal import ControlAPI

/// Lines of a list, broken so that they stay readable in a narrow terminal.
enum StyledLine {
    /// One character as it is seen, and the code of its style.
    private struct Cell {
        var character: Character
        var code: String
    }

    private static let reset = "\u{1b}[0m"
    /// How far what follows a first line is moved in, where the last column begins too far on the right.
    private static let step = 4

    /// Breaks a line between words; what does not fit stands below its last column, which begins behind the last two
    /// spaces. Words longer than that are cut.
    ///
    /// - Parameters:
    ///   - line: safe text, styled or not.
    ///   - columns: the widest that a line may be.
    static func wrapped(_ line: String, columns: Int) -> [String] {
        let columns = max(20, columns)
        guard TextWidth.of(Style.without(line)) > columns else { return [line] }
        let cells = cells(line)
        let indent = indent(cells, columns)
        let blank = Array(repeating: Cell(character: " ", code: ""), count: indent.columns)
        var lines: [String] = []
        var row: [Cell] = []
        // Where the text of this row begins: no row is broken before it.
        var start = indent.cells
        for cell in cells {
            row.append(cell)
            guard width(row[...]) > columns else { continue }
            let space = row.lastIndex { $0.character == " " } ?? 0
            // Without a space the last character alone goes on.
            let cut = space > start ? space : row.count - 1
            var rest = row[cut...]
            while rest.first?.character == " " { rest.removeFirst() }
            lines.append(text(row[..<cut]))
            row = blank + rest
            start = indent.columns
        }
        if row.count > blank.count || lines.isEmpty { lines.append(text(row[...])) }
        return lines
    }

    private static func width(_ cells: ArraySlice<Cell>) -> Int {
        cells.reduce(0) { $0 + TextWidth.of($1.character) }
    }

    /// Where the last column begins, in cells of the first line and in columns.
    private static func indent(_ cells: [Cell], _ columns: Int) -> (cells: Int, columns: Int) {
        let start = cells.indices.last { index in
            index > 1 && cells[index].character != " " && cells[(index - 2)..<index].allSatisfy { $0.character == " " }
        }
        let column = start.map { width(cells[..<$0]) } ?? 0
        return column > columns / 2 ? (step, step) : (start ?? 0, column)
    }

    private static func cells(_ line: String) -> [Cell] {
        var cells: [Cell] = []
        var (code, run) = ("", "")
        var pending: String?
        for scalar in line.unicodeScalars {
            if scalar == "\u{1b}" {
                cells += run.map { Cell(character: $0, code: code) }
                (run, pending) = ("", "")
            }
            if pending == nil { run.unicodeScalars.append(scalar) } else { pending?.unicodeScalars.append(scalar) }
            guard scalar == "m", let ended = pending else { continue }
            (code, pending) = (ended == reset ? "" : ended, nil)
        }
        return cells + run.map { Cell(character: $0, code: code) }
    }

    private static func text(_ cells: ArraySlice<Cell>) -> String {
        var (text, code) = ("", "")
        for cell in cells {
            if cell.code != code {
                if !code.isEmpty { text += reset }
                text += cell.code
                code = cell.code
            }
            text.append(cell.character)
        }
        return text + (code.isEmpty ? "" : reset)
    }
}
