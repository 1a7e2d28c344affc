import ControlAPI
import Testing

struct EscaperTests {
    static let escaped: [(text: String, shown: String)] = [
        ("", ""), ("plain ASCII ~!\"", "plain ASCII ~!\""), ("Grüße, 日本語 😀", "Grüße, 日本語 😀"),
        // C0, DEL, C1; escape sequences that would colour, set the title, ask the terminal.
        ("\u{1b}[31mred", "\\x1b[31mred"), ("\u{1b}]0;title\u{7}", "\\x1b]0;title\\x07"),
        ("\u{9b}2J", "\\x9b2J"), ("\u{9d}0;t\u{9c}", "\\x9d0;t\\x9c"), ("\u{1b}P$q\u{1b}\\", "\\x1bP$q\\x1b\\"),
        ("a\0b\u{7f}\u{85}", "a\\x00b\\x7f\\x85"), ("a\rb", "a\\rb"), ("a\r\nb", "a\\r\\nb"),
        ("a\tb\u{8}", "a\\tb\\x08"),
        // Bidirectional controls.
        ("\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}", "\\u{202a}\\u{202b}\\u{202c}\\u{202d}\\u{202e}"),
        ("\u{2066}\u{2067}\u{2068}\u{2069}", "\\u{2066}\\u{2067}\\u{2068}\\u{2069}"),
        ("\u{200e}\u{200f}\u{61c}", "\\u{200e}\\u{200f}\\u{61c}"), ("photo\u{202e}gpj.exe", "photo\\u{202e}gpj.exe"),
        // Hebrew and Arabic themselves stay.
        ("שלום عليكم", "שלום عليكم"),
        // Zero-widths and fillers that stand alone.
        ("a\u{200b}b", "a\\u{200b}b"), ("a\u{200d}b", "a\\u{200d}b"), ("a\u{200c}b", "a\\u{200c}b"),
        ("\u{feff}a\u{2060}", "\\u{feff}a\\u{2060}"), ("so\u{ad}ft", "so\\u{ad}ft"),
        ("\u{3164}\u{115f}", "\\u{3164}\\u{115f}"),
        ("a\u{34f}b\u{180e}", "a\\u{34f}b\\u{180e}"), ("\u{2028}\u{2029}", "\\u{2028}\\u{2029}"),
        ("\u{fff9}x\u{fffb}", "\\u{fff9}x\\u{fffb}"), ("a\u{e0041}", "a\\u{e0041}"), ("😀\u{200d}", "😀\\u{200d}"),
        ("\u{200d}😀", "\\u{200d}😀"), ("1\u{200d}2", "1\\u{200d}2"), ("\u{fe0f}x", "\\u{fe0f}x"),
        (" \u{fe0f}", " \\u{fe0f}"), ("a\u{fe0f}\u{fe0f}", "a\u{fe0f}\\u{fe0f}"),
        // Where they belong they stay.
        ("👩\u{200d}👩\u{200d}👧", "👩\u{200d}👩\u{200d}👧"), ("👩🏽\u{200d}🚀", "👩🏽\u{200d}🚀"),
        ("❤\u{fe0f}\u{200d}🔥", "❤\u{fe0f}\u{200d}🔥"),
        ("🏴󠁧󠁢󠁳󠁣󠁴󠁿", "🏴󠁧󠁢󠁳󠁣󠁴󠁿"), ("🇩🇪1\u{fe0f}\u{20e3}", "🇩🇪1\u{fe0f}\u{20e3}"),
        ("می\u{200c}خواهم", "می\u{200c}خواهم"), ("क\u{94d}\u{200d}ष", "क\u{94d}\u{200d}ष"),
        // A mark with nothing to stand on.
        ("\u{301}x", "\u{25cc}\u{301}x"), ("e\u{301}", "e\u{301}"),
    ]

    @Test(arguments: escaped.indices)
    func escapes(_ index: Int) {
        let (text, shown) = Self.escaped[index]
        let result = Array(Escaper.escape(text).unicodeScalars)
        #expect(result == Array(shown.unicodeScalars))
        let again = Array(Escaper.escape(shown).unicodeScalars)
        #expect(again == result, "escaping what is escaped changes nothing")
    }

    static let kept: [(text: String, shown: String)] = [
        ("a\nb\n\nc", "a\nb\n\nc"), ("a\r\nb", "a\nb"), ("a\rb", "a\\rb"), ("a\tb", "a    b"), ("a\r\r\n", "a\\r\n"),
        ("a\n\u{301}", "a\n\u{25cc}\u{301}"), ("\u{b}\u{c}", "\\x0b\\x0c"), ("\u{2028}", "\\u{2028}"),
    ]

    @Test(arguments: kept.indices)
    func keepsLines(_ index: Int) {
        let (text, shown) = Self.kept[index]
        let result = Array(Escaper.escape(text, lines: .kept).unicodeScalars)
        #expect(result == Array(shown.unicodeScalars))
    }

    /// Whatever comes in, nothing goes out that a terminal acts on or a reader cannot see.
    @Test(arguments: [UInt64.random(in: 0 ... .max), 1])
    func nothingDangerousRemains(seed: UInt64) {
        var random = Seeded(seed: seed)
        let nasty: [UInt32] = [0x1B, 0x9B, 0x0D, 0x0A, 0x202E, 0x200D, 0x200B, 0xFE0F, 0xE0061, 0x1F3F4, 0x1F600, 0x61]
        for _ in 0..<2_000 {
            var text = String.UnicodeScalarView()
            for _ in 0..<12 {
                let value = Bool.random(using: &random) ? nasty.randomElement(using: &random) : nil
                if let scalar = Unicode.Scalar(value ?? UInt32.random(in: 0...0x11_0000, using: &random)) {
                    text.append(scalar)
                }
            }
            let shown = Escaper.escape(String(text)).unicodeScalars
            let forbidden = shown.contains { scalar in
                scalar.value < 0x20 || (0x7F..<0xA0).contains(scalar.value)
                    || (0x202A...0x202E).contains(scalar.value) || (0x2066...0x2069).contains(scalar.value)
                    || [0x200B, 0x200E, 0x200F, 0x61C].contains(scalar.value)
            }
            guard !forbidden else {
                Issue.record("seed \(seed): \(String(text).debugDescription)")
                return
            }
        }
    }

    @Test func escapedJSONIsTheSameJSONAndVisible() throws {
        let value: JSON = ["a\u{202e}b": "\u{9b}2J\u{7f}\u{e0001} 👩\u{200d}🚀 é", "plain": "x\n"]
        let shown = Escaper.escape(json: value.description)
        #expect(shown == #"{"a\u202eb":"\u009b2J\u007f\udb40\udc01 👩\#u{200d}🚀 é","plain":"x\n"}"#)
        #expect(try JSON.parse(shown) == value)
    }

    @Test func longRunsOfTagsAreNoQuadraticWork() {
        var text = String.UnicodeScalarView("🏴".unicodeScalars)
        let tag: Unicode.Scalar = "\u{e0061}"
        for _ in 0..<100_000 { text.append(tag) }
        let shown = Escaper.escape(String(text))
        #expect(shown.unicodeScalars.count { $0 == tag } == 7)
    }
}
