/// Swift source with its comments and the contents of its string literals blanked, so that rules about code do not
/// stumble over words. Lines and columns (in bytes) stay as they are.
struct SwiftCode {
    let text: String

    init(_ source: String) {
        var blanker = Blanker(Array(source.utf8))
        text = blanker.run()
    }
}

private struct Blanker {
    private let source: [UInt8]
    private var out: [UInt8]
    private var index = 0

    init(_ source: [UInt8]) {
        self.source = source
        out = source
    }

    mutating func run() -> String {
        code(until: nil)
        return String(decoding: out, as: UTF8.self)
    }

    private func at(_ offset: Int) -> UInt8 { index + offset < source.count ? source[index + offset] : 0 }

    private func starts(with word: StaticString) -> Bool {
        word.withUTF8Buffer { unsafe source[index...].starts(with: unsafe $0) }
    }

    private mutating func blank(_ count: Int = 1) {
        for _ in 0..<count where index < source.count {
            if source[index] != UInt8(ascii: "\n") { out[index] = UInt8(ascii: " ") }
            index += 1
        }
    }

    /// Code up to the parenthesis that closes an interpolation, or to the end.
    private mutating func code(until closing: UInt8?) {
        var depth = 0
        while index < source.count {
            switch at(0) {
            case UInt8(ascii: "/") where at(1) == UInt8(ascii: "/"):
                while index < source.count, at(0) != UInt8(ascii: "\n") { blank() }
            case UInt8(ascii: "/") where at(1) == UInt8(ascii: "*"):
                comment()
            case UInt8(ascii: "\""):
                string(pounds: 0)
            case UInt8(ascii: "#"):
                pounds()
            case UInt8(ascii: "("):
                depth += 1
                index += 1
            case UInt8(ascii: ")"):
                if closing != nil, depth == 0 { return }
                depth -= 1
                index += 1
            default:
                index += 1
            }
        }
    }

    private mutating func comment() {
        var depth = 0
        repeat {
            if starts(with: "/*") {
                depth += 1
                blank(2)
            } else if starts(with: "*/") {
                depth -= 1
                blank(2)
            } else {
                blank()
            }
        } while depth > 0 && index < source.count
    }

    /// `#` of a raw string, a macro or a directive.
    private mutating func pounds() {
        var count = 0
        while at(count) == UInt8(ascii: "#") { count += 1 }
        let opensString = at(count) == UInt8(ascii: "\"")
        index += count
        if opensString { string(pounds: count) }
    }

    private func closes(_ quotes: Int, _ pounds: Int) -> Bool {
        for offset in 0..<quotes where at(offset) != UInt8(ascii: "\"") { return false }
        for offset in quotes..<(quotes + pounds) where at(offset) != UInt8(ascii: "#") { return false }
        return true
    }

    private func escapes(_ pounds: Int) -> Bool {
        guard at(0) == UInt8(ascii: "\\") else { return false }
        for offset in 1..<(1 + pounds) where at(offset) != UInt8(ascii: "#") { return false }
        return true
    }

    private mutating func string(pounds: Int) {
        let quotes = starts(with: "\"\"\"") ? 3 : 1
        index += quotes
        while index < source.count {
            if closes(quotes, pounds) {
                index += quotes + pounds
                return
            }
            if escapes(pounds) {
                let interpolates = at(1 + pounds) == UInt8(ascii: "(")
                blank(pounds + 2)
                if interpolates {
                    code(until: UInt8(ascii: ")"))
                    blank()
                }
            } else if quotes == 1, at(0) == UInt8(ascii: "\n") {
                return
            } else {
                blank()
            }
        }
    }
}
