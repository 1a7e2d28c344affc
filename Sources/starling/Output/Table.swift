internal import ControlAPI

/// Rows in aligned columns, two spaces apart.
struct Table {
    /// A cell: its text, already safe, and how it is styled once its width is known.
    struct Cell {
        var text: String
        var style: (String) -> String

        init(_ text: String, style: @escaping (String) -> String = { $0 }) {
            self.text = text
            self.style = style
        }
    }

    private var rows: [[Cell]] = []

    mutating func add(_ cells: Cell...) {
        rows.append(cells)
    }

    mutating func add(_ cells: [Cell]) {
        rows.append(cells)
    }

    /// The lines, without blanks at their ends. A column that is empty in all rows takes no place.
    func lines() -> [String] {
        let count = rows.map(\.count).max() ?? 0
        let widths = (0..<count).map { column in
            rows.map { $0.indices.contains(column) ? TextWidth.of($0[column].text) : 0 }.max() ?? 0
        }
        return rows.map { row in
            var line = ""
            var gap = 0
            for (cell, width) in zip(row, widths) where width > 0 {
                if !cell.text.isEmpty {
                    line += String(repeating: " ", count: gap) + cell.style(cell.text)
                    gap = 0
                }
                gap += width - TextWidth.of(cell.text) + 2
            }
            return line
        }
    }
}
