internal import CUTF8Proc

/// Cuts text into the words by which it is found.
///
/// A word is a run of letters and digits, compared without case, accents and compatibility forms: `Ｃafé` is `cafe`.
/// Chinese and Japanese characters, Korean syllables and pictographs are words of their own, because nothing separates
/// them: several in a row are found as a phrase. Punctuation is nowhere.
public enum SearchWords {
    /// Characters of a word; what is longer is known by its beginning.
    public static let wordMax = 64

    /// The words of a text in order; of a text longer than ``Message/textMax`` bytes those of its beginning.
    public static func words(of text: String) -> [String] {
        let beginning = beginning(of: text)
        if beginning.utf8.allSatisfy({ $0 < 0x80 }) { return asciiWords(beginning) }
        var splitter = Splitter()
        for scalar in folded(beginning) { splitter.take(scalar) }
        return splitter.finish()
    }

    private static func beginning(of text: String) -> String {
        let utf8 = text.utf8
        guard utf8.count > Message.textMax else { return text }
        var end = utf8.index(utf8.startIndex, offsetBy: Message.textMax)
        while end > utf8.startIndex, utf8[end] & 0xC0 == 0x80 { end = utf8.index(before: end) }
        return String(decoding: utf8[..<end], as: UTF8.self)
    }

    /// The same as below, for the text that most messages are.
    private static func asciiWords(_ text: String) -> [String] {
        var words: [String] = []
        var word: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): word.append(byte)
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): word.append(byte | 0x20)
            default:
                guard !word.isEmpty else { continue }
                words.append(String(decoding: word.prefix(wordMax), as: UTF8.self))
                word.removeAll(keepingCapacity: true)
            }
        }
        if !word.isEmpty { words.append(String(decoding: word.prefix(wordMax), as: UTF8.self)) }
        return words
    }

    /// Scalars of the text without case, compatibility forms and accents.
    private static func folded(_ text: String) -> [Int32] {
        let flags = [UTF8PROC_DECOMPOSE, UTF8PROC_COMPAT, UTF8PROC_CASEFOLD, UTF8PROC_IGNORE, UTF8PROC_STABLE]
        let options = utf8proc_option_t(rawValue: flags.reduce(0) { $0 | $1.rawValue })
        var input = text
        var scalars = [Int32](repeating: 0, count: text.utf8.count)
        let count = input.withUTF8 { utf8 in
            var count = unsafe utf8proc_decompose(utf8.baseAddress, utf8.count, &scalars, scalars.count, options)
            if count > scalars.count {
                scalars = [Int32](repeating: 0, count: count)
                count = unsafe utf8proc_decompose(utf8.baseAddress, utf8.count, &scalars, scalars.count, options)
            }
            return count
        }
        guard count > 0, count <= scalars.count else { return [] }
        scalars = scalars[..<count].filter { !isAccent($0) }
        // What is no accent belongs to its letter again: the voicing of kana, the parts of a Korean syllable.
        let composing = utf8proc_option_t(rawValue: UTF8PROC_COMPOSE.rawValue | UTF8PROC_STABLE.rawValue)
        let length = unsafe utf8proc_normalize_utf32(&scalars, scalars.count, composing)
        return Array(scalars.prefix(max(0, length)))
    }

    /// Marks that people leave out: accents, and the points of Hebrew and Arabic. Other marks, such as the vowels of
    /// Indian scripts, make another word.
    private static func isAccent(_ scalar: Int32) -> Bool {
        switch scalar {
        case 0x300...0x36F, 0x1AB0...0x1AFF, 0x1DC0...0x1DFF, 0x20D0...0x20FF, 0xFE20...0xFE2F: true
        case 0x591...0x5BD, 0x5BF, 0x5C1...0x5C2, 0x5C4...0x5C5, 0x5C7: true
        case 0x610...0x61A, 0x64B...0x65F, 0x670, 0x6D6...0x6DC, 0x6DF...0x6E4, 0x6E7...0x6E8, 0x6EA...0x6ED: true
        default: false
        }
    }
}

/// Gathers scalars into words.
private struct Splitter {
    private var words: [String] = []
    private var word = String.UnicodeScalarView()

    private enum Role { case letter, mark, own, separator }

    mutating func take(_ code: Int32) {
        guard let value = UInt32(exactly: code), let scalar = Unicode.Scalar(value) else { return close() }
        switch Splitter.role(code) {
        case .letter: word.append(scalar)
        case .mark: if !word.isEmpty { word.append(scalar) }
        case .own:
            close()
            words.append(String(Character(scalar)))
        case .separator: close()
        }
    }

    private mutating func close() {
        guard !word.isEmpty else { return }
        words.append(String(String.UnicodeScalarView(word.prefix(SearchWords.wordMax))))
        word = String.UnicodeScalarView()
    }

    consuming func finish() -> [String] {
        close()
        return words
    }

    private static func role(_ code: Int32) -> Role {
        switch code {
        case 0x2E80...0x2FDF, 0x3005...0x3007, 0x3040...0x30FF, 0x3100...0x312F, 0x31A0...0x31BF, 0x31F0...0x31FF,
            0x3400...0x4DBF, 0x4E00...0x9FFF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0x20000...0x3FFFD:
            return isWritten(code) ? .own : .separator
        default: break
        }
        switch utf8proc_category(code) {
        case UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_LL, UTF8PROC_CATEGORY_LT, UTF8PROC_CATEGORY_LM,
            UTF8PROC_CATEGORY_LO, UTF8PROC_CATEGORY_ND, UTF8PROC_CATEGORY_NL, UTF8PROC_CATEGORY_NO:
            return .letter
        case UTF8PROC_CATEGORY_MN, UTF8PROC_CATEGORY_MC, UTF8PROC_CATEGORY_ME: return .mark
        case UTF8PROC_CATEGORY_SO: return .own
        default: return .separator
        }
    }

    /// Whether a scalar of those blocks is a character and no punctuation, as the middle dot between two names.
    private static func isWritten(_ code: Int32) -> Bool {
        switch utf8proc_category(code) {
        case UTF8PROC_CATEGORY_PC, UTF8PROC_CATEGORY_PD, UTF8PROC_CATEGORY_PO, UTF8PROC_CATEGORY_SK: false
        default: true
        }
    }
}
