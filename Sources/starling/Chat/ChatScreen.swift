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

    var columns: Int
    private var drawn: Edge?

    init(columns: Int) {
        self.columns = columns
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
        if !edge.status.isEmpty { out += edge.status + "\n" }
        out += edge.input + "\r" + (edge.cursor > 0 ? "\u{1b}[\(edge.cursor)C" : "")
        drawn = edge
        return out
    }

    /// Clears the terminal; draw the edge afterwards.
    mutating func cleared() -> String {
        drawn = nil
        return "\u{1b}[2J\u{1b}[H"
    }
}
