/// How many columns of a terminal a text takes.
///
/// By grapheme, as current terminals do: East Asian wide and emoji take two (UAX #11, UTS #51), combining marks none.
/// Meant for text that went through ``Escaper``: control characters count nothing.
public enum TextWidth {
    /// Columns of a text on one line.
    public static func of(_ text: String) -> Int {
        if text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) { return text.utf8.count }
        return text.reduce(0) { $0 + of($1) }
    }

    /// Columns of one grapheme.
    public static func of(_ character: Character) -> Int {
        let scalars = character.unicodeScalars
        guard let base = scalars.first else { return 0 }
        if scalars.count == 1 { return of(base) }
        if (0x1F1E6...0x1F1FF).contains(base.value) { return 2 }
        if base.value > 0xFF, base.properties.isEmoji, scalars.contains(where: makesEmoji) { return 2 }
        return scalars.reduce(0) { $0 + of($1) }
    }

    private static func makesEmoji(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value == 0xFE0F || scalar.value == 0x200D || scalar.properties.isEmojiModifier
    }

    private static func of(_ scalar: Unicode.Scalar) -> Int {
        let value = scalar.value
        if value < 0x7F { return value < 0x20 ? 0 : 1 }
        if value < 0xA0 { return 0 }
        if value < 0x300 { return 1 }
        // Vowels and finals of Hangul that follow an initial, which is wide already.
        if (0x1160...0x11FF).contains(value) { return 0 }
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark: return 0
        case .format: return (0x0600...0x0605).contains(value) ? 1 : 0
        default: break
        }
        return scalar.properties.isEmojiPresentation || isWide(value) ? 2 : 1
    }

    /// East Asian Width W and F in whole blocks; wide symbols outside of them are emoji.
    private static func isWide(_ value: UInt32) -> Bool {
        guard value >= 0x1100 else { return false }
        switch value {
        case 0x1100...0x115F, 0x2329...0x232A, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF, 0x4E00...0xA4CF,
            0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE10...0xFE19, 0xFE30...0xFE6F, 0xFF00...0xFF60,
            0xFFE0...0xFFE6, 0x16FE0...0x18DFF, 0x1AFF0...0x1B2FF, 0x1F200...0x1F265, 0x20000...0x3FFFD:
            return true
        default:
            return false
        }
    }

    /// The text, or as much of its beginning as fits with an ellipsis in that many columns.
    public static func fitted(_ text: String, to columns: Int) -> String {
        guard of(text) > columns else { return text }
        guard columns > 0 else { return "" }
        var kept = ""
        var width = 0
        for character in text {
            width += of(character)
            guard width < columns else { break }
            kept.append(character)
        }
        return kept + "…"
    }

    /// The text filled up with spaces to that many columns; unchanged if it is as wide already.
    public static func padded(_ text: String, to columns: Int) -> String {
        text + String(repeating: " ", count: max(0, columns - of(text)))
    }
}
