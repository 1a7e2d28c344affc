/// Makes text from anywhere safe to show: in a terminal, a log, a table.
///
/// Names, messages, topics, addresses and error texts all come from others. Control characters could move the cursor,
/// set the title or answer the terminal's questions; bidirectional controls could show a text in another order than it
/// is in; invisible characters could make two names look alike. Each becomes something visible: `\x1b`, `\u{202e}`.
public enum Escaper {
    /// What becomes of line breaks.
    public enum Lines: Sendable {
        /// Everything on one line: a newline becomes `\n`.
        case single
        /// Newlines stay, a carriage return before one goes, tabs become four spaces.
        case kept
    }

    /// The text with everything escaped that is not plainly visible.
    ///
    /// Joiners and selectors stay where they belong to what one sees: in emoji sequences, between letters of scripts
    /// that join, after a character that they vary. A combining mark with nothing to combine with gets a dotted circle.
    public static func escape(_ text: String, lines: Lines = .single) -> String {
        guard text.utf8.contains(where: { $0 < 0x20 || $0 > 0x7E }) else { return text }
        let scalars = Array(text.unicodeScalars)
        // Bytes, because appending several scalars to a string at once reserves exactly that much each time.
        var out: [UInt8] = []
        out.reserveCapacity(text.utf8.count + 64)
        for (index, scalar) in scalars.enumerated() {
            if scalar.value >= 0x20, scalar.value <= 0x7E {
                out.append(UInt8(ascii: scalar))
            } else if scalar.value < 0xA0 {
                control(scalar, next: index + 1 < scalars.count ? scalars[index + 1] : nil, lines, to: &out)
            } else if isHidden(scalar), !belongs(scalar, at: index, in: scalars) {
                out.append(contentsOf: "\\u{\(String(scalar.value, radix: 16))}".utf8)
            } else {
                if isCombining(scalar), index == 0 || scalars[index - 1] == "\n" {
                    out.append(contentsOf: "\u{25CC}".utf8)
                }
                out.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
            }
        }
        return String(decoding: out, as: UTF8.self)
    }

    /// JSON text with the same characters as `\u` escapes: still the same JSON, and safe to show in a terminal.
    public static func escape(json: String) -> String {
        guard json.utf8.contains(where: { $0 > 0x7E }) else { return json }
        let scalars = Array(json.unicodeScalars)
        var out: [UInt8] = []
        out.reserveCapacity(json.utf8.count + 64)
        for (index, scalar) in scalars.enumerated() {
            let isControl = (0x7F..<0xA0).contains(scalar.value)
            guard isControl || (isHidden(scalar) && !belongs(scalar, at: index, in: scalars)) else {
                out.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
                continue
            }
            for unit in UTF16.encode(scalar) ?? .init() {
                let digits = String(unit, radix: 16)
                out.append(contentsOf: "\\u\(String(repeating: "0", count: 4 - digits.count))\(digits)".utf8)
            }
        }
        return String(decoding: out, as: UTF8.self)
    }

    private static func control(
        _ scalar: Unicode.Scalar, next: Unicode.Scalar?, _ lines: Lines, to out: inout [UInt8]
    ) {
        switch (scalar, lines) {
        case ("\n", .kept): out.append(0x0A)
        case ("\r", .kept) where next == "\n": break
        case ("\t", .kept): out.append(contentsOf: "    ".utf8)
        case ("\n", _): out.append(contentsOf: "\\n".utf8)
        case ("\r", _): out.append(contentsOf: "\\r".utf8)
        case ("\t", _): out.append(contentsOf: "\\t".utf8)
        default:
            let digits = String(scalar.value, radix: 16)
            out.append(contentsOf: "\\x\(digits.count == 1 ? "0" : "")\(digits)".utf8)
        }
    }

    /// Whether one would not see it: Unicode's default ignorable code points (UAX #44; bidirectional controls,
    /// zero-widths, fillers, tags, variation selectors), line and paragraph separators, annotation marks.
    private static func isHidden(_ scalar: Unicode.Scalar) -> Bool {
        guard scalar.value >= 0xAD else { return false }
        switch scalar.value {
        case 0x2028, 0x2029, 0xFFF9...0xFFFB: return true
        default: return scalar.properties.isDefaultIgnorableCodePoint
        }
    }

    private static func isCombining(_ scalar: Unicode.Scalar) -> Bool {
        guard scalar.value >= 0x300 else { return false }
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .spacingMark: return true
        default: return false
        }
    }
}

/// Hidden characters that are part of something visible.
extension Escaper {
    private static func belongs(_ scalar: Unicode.Scalar, at index: Int, in scalars: [Unicode.Scalar]) -> Bool {
        guard index > 0 else { return false }
        let before = scalars[index - 1]
        switch scalar.value {
        case 0xFE00...0xFE0F, 0xE0100...0xE01EF:
            return before.value > 0x20 && !isHidden(before) && !before.properties.isWhitespace
        case 0x180B...0x180D, 0x180F:
            return (0x1820...0x18AA).contains(before.value)
        case 0x200C, 0x200D:
            guard index + 1 < scalars.count else { return false }
            let after = scalars[index + 1]
            if joins(before), joins(after) { return true }
            return scalar.value == 0x200D && endsEmoji(index - 1, scalars) && isEmoji(after)
        case 0xE0020...0xE007F:
            return isInFlag(index, scalars)
        default:
            return false
        }
    }

    /// Arabic, Syriac and their kin, and the scripts of India and its neighbours: there both joiners change letters.
    private static func joins(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x0620...0x08FF, 0x0900...0x0DFF, 0x1000...0x109F, 0x1780...0x17D3, 0x1820...0x18AA:
            !isHidden(scalar)
        default: false
        }
    }

    private static func isEmoji(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value > 0xFF && scalar.properties.isEmoji
    }

    /// Whether an emoji ends at that index, with its selector or skin tone if it has one.
    private static func endsEmoji(_ index: Int, _ scalars: [Unicode.Scalar]) -> Bool {
        if scalars[index].value == 0xFE0F { return index > 0 && isEmoji(scalars[index - 1]) }
        return isEmoji(scalars[index])
    }

    /// Whether the tag stands in a flag: a black flag, at most six tags, and their end (UTS #51, valid subdivisions).
    private static func isInFlag(_ index: Int, _ scalars: [Unicode.Scalar]) -> Bool {
        var position = index
        while position > 0, index - position < 7 {
            position -= 1
            if scalars[position].value == 0x1F3F4 { return true }
            guard (0xE0020...0xE007E).contains(scalars[position].value) else { return false }
        }
        return false
    }
}
