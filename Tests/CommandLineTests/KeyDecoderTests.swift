import Testing

@testable import starling

struct KeyDecoderTests {
    static let sequences: [(bytes: String, keys: [Key])] = [
        ("a", [.text("a")]), ("hé日😀", [.text("hé日😀")]), ("\r", [.enter]), ("\n", [.enter]), ("\t", [.tab]),
        ("\u{7f}\u{8}", [.backspace, .backspace]), ("\u{1}\u{5}\u{1a}", [.control("a"), .control("e"), .control("z")]),
        ("a\rb", [.text("a"), .enter, .text("b")]), ("\0", []),
        ("\u{1b}[A\u{1b}[B\u{1b}[C\u{1b}[D", [.up, .down, .right, .left]),
        ("\u{1b}OA\u{1b}OH\u{1b}OF", [.up, .home, .end]),
        ("\u{1b}[H\u{1b}[F\u{1b}[1~\u{1b}[4~\u{1b}[7~\u{1b}[8~", [.home, .end, .home, .end, .home, .end]),
        ("\u{1b}[3~\u{1b}[3;5~", [.delete, .deleteWordRight]), ("\u{1b}[1;5C\u{1b}[1;3D", [.wordRight, .wordLeft]),
        ("\u{1b}[1;2C", [.right]),
        ("\u{1b}b\u{1b}f\u{1b}d\u{1b}\u{7f}", [.wordLeft, .wordRight, .deleteWordRight, .deleteWordLeft]),
        ("\u{1b}\r", [.newline]), ("\u{1b}[5~\u{1b}[15;2~\u{1b}[?1;2c\u{1b}[<0;1;1Mx", [.text("x")]),
        ("\u{1b}[999999999999;9999999999999Cx", [.wordRight, .text("x")]),
        ("\u{1b}[200~two\nlines\u{1b}[A\u{1b}[201~x", [.paste("two\nlines\u{1b}[A"), .text("x")]),
        ("\u{1b}[200~\u{1b}[201~", [.paste("")]), ("\u{1b}\u{1b}[A", [.escape, .up]),
    ]

    @Test(arguments: sequences.indices)
    func decodes(_ index: Int) {
        let (text, keys) = Self.sequences[index]
        var whole = KeyDecoder()
        #expect(whole.feed(Array(text.utf8)) == keys)
        // Byte by byte it is the same, but that text is not joined.
        var piecewise = KeyDecoder()
        let pieces = text.utf8.flatMap { piecewise.feed([$0]) }
        #expect(joined(pieces) == keys)
        #expect(!piecewise.isWaiting)
    }

    private func joined(_ keys: [Key]) -> [Key] {
        keys.reduce(into: []) { all, key in
            if case .text(let more) = key, case .text(let text)? = all.last {
                all[all.count - 1] = .text(text + more)
            } else {
                all.append(key)
            }
        }
    }

    @Test func aLoneEscapeIsToldByTime() {
        var decoder = KeyDecoder()
        #expect(decoder.feed([0x1B]).isEmpty && decoder.isWaiting)
        let escape: [Key] = [.escape]
        #expect(decoder.timeOut() == escape)
        #expect(!decoder.isWaiting && decoder.timeOut().isEmpty)
        #expect(decoder.feed([0x1B, 0x5B]).isEmpty)
        #expect(decoder.timeOut().isEmpty, "a sequence that was cut is no key")
        let text: [Key] = [.text("A")]
        #expect(decoder.feed(Array("A".utf8)) == text)
    }

    @Test func invalidBytesAreDropped() {
        var decoder = KeyDecoder()
        let expected: [Key] = [.text("ab"), .text("c")]
        let keys = decoder.feed([0x61, 0xFF, 0x80, 0xC0, 0x62, 0xE2, 0x82, 0x63, 0xED, 0xA0, 0x80])
        #expect(joined(keys) == joined(expected))
        #expect(!decoder.isWaiting)
    }

    @Test func nothingGrowsWithoutEnd() {
        var decoder = KeyDecoder()
        _ = decoder.feed(Array("\u{1b}[".utf8) + [UInt8](repeating: 0x30, count: 100))
        #expect(!decoder.isWaiting)
        _ = decoder.feed(Array("\u{1b}[200~".utf8))
        for _ in 0..<20 { _ = decoder.feed([UInt8](repeating: 0x61, count: 10_000)) }
        let tooLong: [Key] = [.pasteTooLong, .text("x")]
        #expect(decoder.feed(Array("\u{1b}[201~x".utf8)) == tooLong)
    }

    /// Cut at the limit, it would be sent without its end.
    @Test(arguments: [0, 1]) func aPasteComesWholeOrNotAtAll(_ beyond: Int) {
        let text = String(repeating: "a", count: KeyDecoder.pasteMax + beyond)
        var decoder = KeyDecoder()
        let expected: [Key] = [beyond == 0 ? .paste(text) : .pasteTooLong]
        #expect(decoder.feed(Array("\u{1b}[200~\(text)\u{1b}[201~".utf8)) == expected)
        let next: [Key] = [.paste("b")]
        #expect(decoder.feed(Array("\u{1b}[200~b\u{1b}[201~".utf8)) == next, "the next one is another")
    }

    /// Without its end, a paste would take every key for text, for ever.
    @Test func aPasteWithoutEndIsEnded() throws {
        let pasted: [Key] = [.paste("one\u{1b}[20")]
        var silent = KeyDecoder()
        #expect(silent.feed(Array("\u{1b}[200~one\u{1b}[20".utf8)).isEmpty && silent.isWaiting)
        #expect(silent.timeOut() == pasted && !silent.isWaiting)
        var interrupted = KeyDecoder()
        _ = interrupted.feed(Array("\u{1b}[200~one\u{1b}[20".utf8))
        #expect(interrupted.feed([0x03]) == pasted)
        let text: [Key] = [.text("x")]
        #expect(interrupted.feed([0x78]) == text)
        // Within a piece it is part of the paste.
        var whole = KeyDecoder()
        let both: [Key] = [.paste("a\u{3}b")]
        #expect(whole.feed(Array("\u{1b}[200~a\u{3}b\u{1b}[201~".utf8)) == both)
        var escape = KeyDecoder()
        _ = escape.feed([0x1B])
        #expect(try #require(escape.patienceMs) < 1_000, "a key must not wait as long as a paste")
    }
}
