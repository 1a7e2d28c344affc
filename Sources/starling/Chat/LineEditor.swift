internal import ControlAPI

/// The input line: text, cursor, history. A pure value; the terminal is somebody else's.
struct LineEditor: Sendable {
    /// The longest text in bytes.
    static let textMax = 64 << 10
    static let historyMax = 500

    /// What the chat has to do after a key.
    enum Outcome: Sendable, Equatable {
        case nothing
        /// Text or cursor changed.
        case changed
        /// What was typed or pasted does not fit into a message any more: nothing of it was taken.
        case tooLong
        /// Enter on a text that is not blank; the line is empty now.
        case submit(String)
        /// ^C or ^D on an empty line.
        case quit
        case suspend
        case redraw
        /// Tab: call ``complete(_:)`` with what may stand here.
        case complete
        /// What may stand here, where Tab cannot decide.
        case choices([String])
    }

    private(set) var characters: [Character] = []
    /// Position of the cursor, 0 for before the first character.
    private(set) var cursor = 0
    private var history: [String] = []
    /// Position in the history; `history.count` for the line that is being written.
    private var place = 0
    private var draft = ""
    private var killed = ""

    var text: String { String(characters) }
    var isEmpty: Bool { characters.isEmpty }

    /// Puts another text into the line, the cursor at its end.
    mutating func replace(_ text: String) {
        characters = Array(text)
        cursor = characters.count
    }

    mutating func apply(_ key: Key) -> Outcome {
        switch key {
        case .text(let text), .paste(let text): return insert(text)
        case .pasteTooLong: return .tooLong
        case .newline: return insert("\n")
        case .enter: return submit()
        case .tab: return .complete
        case .escape: return .nothing
        case .backspace: return remove(max(0, cursor - 1)..<cursor)
        case .delete: return remove(cursor..<min(characters.count, cursor + 1))
        case .left: return move(to: cursor - 1)
        case .right: return move(to: cursor + 1)
        case .home: return move(to: 0)
        case .end: return move(to: characters.count)
        case .wordLeft: return move(to: wordStart)
        case .wordRight: return move(to: wordEnd)
        case .deleteWordLeft: return kill(wordStart..<cursor)
        case .deleteWordRight: return kill(cursor..<wordEnd)
        case .up: return recall(place - 1)
        case .down: return recall(place + 1)
        case .control(let letter): return control(letter)
        }
    }

    private mutating func control(_ letter: Character) -> Outcome {
        switch letter {
        case "a": return move(to: 0)
        case "e": return move(to: characters.count)
        case "b": return move(to: cursor - 1)
        case "f": return move(to: cursor + 1)
        case "u": return kill(0..<cursor)
        case "k": return kill(cursor..<characters.count)
        case "w": return kill(blankWordStart..<cursor)
        case "y": return insert(killed)
        case "p": return recall(place - 1)
        case "n": return recall(place + 1)
        case "l": return .redraw
        case "z": return .suspend
        case "d": return isEmpty ? .quit : remove(cursor..<min(characters.count, cursor + 1))
        case "c":
            guard !isEmpty else { return .quit }
            replace("")
            place = history.count
            return .changed
        default: return .nothing
        }
    }

    /// What was typed may join the character before it: an accent, the next part of an emoji.
    private mutating func insert(_ text: String) -> Outcome {
        let text = Self.normalised(text)
        let sizeNow = characters.reduce(0) { $0 + $1.utf8.count }
        guard !text.isEmpty else { return .nothing }
        guard sizeNow + text.utf8.count <= Self.textMax else { return .tooLong }
        let before = Array(String(characters[..<cursor]) + text)
        characters = Array(String(before) + String(characters[cursor...]))
        cursor = min(before.count, characters.count)
        return .changed
    }

    /// Newlines in one form; other control characters go.
    private static func normalised(_ text: String) -> String {
        var out = String.UnicodeScalarView()
        var last: Unicode.Scalar?
        for scalar in text.unicodeScalars {
            if scalar == "\r" || (scalar == "\n" && last != "\r") {
                out.append("\n")
            } else if scalar == "\t" || (scalar.value >= 0x20 && !(0x7F..<0xA0).contains(scalar.value)) {
                out.append(scalar)
            }
            last = scalar
        }
        return String(out)
    }

    private mutating func remove(_ range: Range<Int>) -> Outcome {
        guard !range.isEmpty else { return .nothing }
        characters.removeSubrange(range)
        cursor = range.lowerBound
        return .changed
    }

    private mutating func kill(_ range: Range<Int>) -> Outcome {
        guard !range.isEmpty else { return .nothing }
        killed = String(characters[range])
        return remove(range)
    }

    private mutating func move(to position: Int) -> Outcome {
        let position = max(0, min(position, characters.count))
        guard position != cursor else { return .nothing }
        cursor = position
        return .changed
    }

    private var wordStart: Int {
        var position = cursor
        while position > 0, !Self.isWord(characters[position - 1]) { position -= 1 }
        while position > 0, Self.isWord(characters[position - 1]) { position -= 1 }
        return position
    }

    private var wordEnd: Int {
        var position = cursor
        while position < characters.count, !Self.isWord(characters[position]) { position += 1 }
        while position < characters.count, Self.isWord(characters[position]) { position += 1 }
        return position
    }

    /// Where ^W deletes back to: words there are what stands between blanks.
    private var blankWordStart: Int {
        var position = cursor
        while position > 0, characters[position - 1].isWhitespace { position -= 1 }
        while position > 0, !characters[position - 1].isWhitespace { position -= 1 }
        return position
    }

    private static func isWord(_ character: Character) -> Bool {
        character.isLetter || character.isNumber
    }

    private mutating func submit() -> Outcome {
        let line = text
        guard !line.allSatisfy(\.isWhitespace) else { return .nothing }
        if history.last != line { history.append(line) }
        if history.count > Self.historyMax { history.removeFirst() }
        place = history.count
        draft = ""
        replace("")
        return .submit(line)
    }

    private mutating func recall(_ target: Int) -> Outcome {
        guard target != place, (0...history.count).contains(target) else { return .nothing }
        if place == history.count { draft = text }
        place = target
        replace(target == history.count ? draft : history[target])
        return .changed
    }

    /// The word before the cursor: what Tab completes.
    var wordToComplete: String { String(characters[blankWordStart..<cursor]) }

    /// Completes the word before the cursor as far as the candidates agree; with a space behind it if there is one.
    mutating func complete(_ candidates: [String]) -> Outcome {
        let word = wordToComplete
        let matching = candidates.filter { $0.lowercased().hasPrefix(word.lowercased()) }
        guard let first = matching.first, !word.isEmpty else { return .nothing }
        let common = matching.dropFirst().reduce(first) { $0.commonPrefix(with: $1) }
        guard matching.count == 1 || common.count > word.count else { return .choices(matching) }
        _ = remove(cursor - word.count..<cursor)
        return insert(matching.count == 1 ? first + " " : common)
    }
}

extension String {
    /// The beginning that both share but for case.
    fileprivate func commonPrefix(with other: String) -> String {
        String(zip(self, other).prefix { $0.lowercased() == $1.lowercased() }.map(\.0))
    }
}

extension LineEditor {
    /// The part of the line that fits into so many columns, harmless and with the cursor in it; `cursor` is its column.
    /// A longer line scrolls by half of the columns.
    func view(columns: Int) -> (text: String, cursor: Int) {
        let columns = max(4, columns)
        let cells = characters.map { $0 == "\n" ? "⏎" : Escaper.escape(String($0)) }
        let widths = cells.map(TextWidth.of)
        let before = widths[..<cursor].reduce(0, +)
        var start = 0
        var skipped = 0
        if before >= columns {
            let half = columns / 2
            let target = (before - columns) / half * half + half
            while start < cursor, skipped < target {
                skipped += widths[start]
                start += 1
            }
        }
        var text = ""
        var used = 0
        for (cell, width) in zip(cells[start...], widths[start...]) {
            guard used + width <= columns else { break }
            text += cell
            used += width
        }
        return (text, before - skipped)
    }
}
