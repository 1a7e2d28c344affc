import ControlAPI
import Testing

struct TextWidthTests {
    static let widths: [(text: String, columns: Int)] = [
        ("", 0), ("abc", 3), ("é", 1), ("e\u{301}", 1), ("ñandú", 5),
        ("日本語", 6), ("한국어", 6), ("\u{1112}\u{1161}\u{11ab}", 2),
        ("ｱｲｳ", 3), ("ＡＢ", 4), ("😀", 2), ("❤\u{fe0f}", 2), ("❤", 1), ("👩\u{200d}👩\u{200d}👧", 2), ("👍🏽", 2),
        ("🇩🇪", 2), ("🏴󠁧󠁢󠁳󠁣󠁴󠁿", 2), ("⌚", 2), ("→", 1), ("—…", 2), ("\u{1b}", 0),
        ("שלום", 4), ("𝒳", 1), ("𠀀", 2), ("◌\u{301}", 1),
        ("हिन्दी", 5), ("✅ ok", 5),
    ]

    @Test(arguments: widths.indices)
    func counts(_ index: Int) {
        let (text, columns) = Self.widths[index]
        #expect(TextWidth.of(text) == columns)
    }

    @Test func fitsAndPadsByColumns() {
        #expect(TextWidth.fitted("abcdef", to: 6) == "abcdef")
        #expect(TextWidth.fitted("abcdef", to: 5) == "abcd…")
        #expect(TextWidth.fitted("日本語", to: 5) == "日本…")
        #expect(TextWidth.fitted("日本語", to: 4) == "日…")
        #expect(TextWidth.fitted("abc", to: 1) == "…")
        #expect(TextWidth.fitted("abc", to: 0) == "")
        #expect(TextWidth.padded("日本", to: 6) == "日本  ")
        #expect(TextWidth.padded("abc", to: 2) == "abc")
    }
}
