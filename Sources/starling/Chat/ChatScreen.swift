internal import ControlAPI

/// Draws the lower edge of the terminal, a status line if there is one and the input line, and puts lines above it.
/// What it returns is to be written as it is.
struct ChatScreen: Sendable {
    /// What stands at the lower edge.
    struct Edge: Sendable, Equatable {
        /// Safe text, styled; its width counts without the styles. Empty for no line.
        var status = ""
        var statusWidth = 0
        /// Prompt and visible part of the input line.
        var input = ""
        /// Column of the cursor in it.
        var cursor = 0
    }

    /// A line that is to stand as another one.
    struct Change: Sendable, Equatable {
        var from: String
        var to: String
    }

    var columns: Int {
        didSet { if columns != oldValue { forget() } }
    }
    /// 0 where it is not known: then nothing that was shown is changed.
    var rows: Int {
        didSet { if rows != oldValue { forget() } }
    }
    private var drawn: Edge?
    /// The lines above the edge that are known to stand where they were put, each in a row of its own, the last ones
    /// of a screen.
    private var above: [String] = []

    init(columns: Int, rows: Int = 0) {
        self.columns = columns
        self.rows = rows
    }

    /// What was shown may stand elsewhere now.
    mutating func forget() { above = [] }

    private mutating func remember(_ lines: [String]) {
        for line in lines {
            // Terminals do not agree on how wide some characters are: a line that one of them might break would move
            // those above it.
            if Style.without(line).reduce(0, { $0 + Self.widest($1) }) < columns {
                above.append(line)
            } else {
                forget()
            }
        }
        if above.count > rows { above.removeFirst(above.count - rows) }
    }

    /// Columns that some terminal may give a character.
    private static func widest(_ character: Character) -> Int {
        character.isASCII || "│✓…“”─·".contains(character) ? 1 : 2 * character.unicodeScalars.count
    }

    /// Changes lines in their places, as far as they are still on the screen.
    mutating func changed(_ changes: [Change]) -> String {
        guard let edge = drawn else { return "" }
        var places: [(up: Int, text: String)] = []
        for change in changes {
            // Above the edge, which has at most two rows, that many are on the screen.
            guard let index = above.firstIndex(of: change.from), above.count - index <= rows - 2 else { continue }
            above[index] = change.to
            places.append((above.count - index, change.to))
        }
        guard !places.isEmpty else { return "" }
        var out = erased()
        for place in places { out += "\u{1b}[\(place.up)A\(place.text)\r\u{1b}[\(place.up)B" }
        return out + drawn(edge)
    }

    /// Removes the edge; the cursor stands where it began.
    mutating func erased() -> String {
        guard let edge = drawn else { return "" }
        drawn = nil
        // In a window that became narrower, lines were broken into several.
        let width = max(1, columns)
        let statusRows = edge.status.isEmpty ? 0 : max(1, (edge.statusWidth + width - 1) / width)
        let rows = statusRows + edge.cursor / width
        return (rows > 0 ? "\u{1b}[\(rows)A" : "") + "\r\u{1b}[J"
    }

    /// Lines above a new edge.
    mutating func drawn(_ edge: Edge, above lines: [String] = []) -> String {
        if edge == drawn, lines.isEmpty { return "" }
        var out = erased()
        for line in lines { out += line + "\n" }
        remember(lines)
        if !edge.status.isEmpty { out += edge.status + "\n" }
        out += edge.input + "\r" + (edge.cursor > 0 ? "\u{1b}[\(edge.cursor)C" : "")
        drawn = edge
        return out
    }

    /// Clears the terminal; draw the edge afterwards.
    mutating func cleared() -> String {
        drawn = nil
        forget()
        return "\u{1b}[2J\u{1b}[H"
    }
}
