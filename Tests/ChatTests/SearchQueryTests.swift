import Chat
import Testing

/// Text cut into words, and what a query finds in them.
@Suite struct SearchQueryTests {
    @Test(
        arguments: [
            ("Hello, World! x_y 3.14", "hello world x y 3 14"), ("Café CAFE\u{301}", "cafe cafe"),
            ("Straße STRASSE", "strasse strasse"), ("ＡＢＣ ﬁn", "abc fin"), ("naïve—Ångström", "naive angstrom"),
            ("東京都へ", "東 京 都 へ"), ("が か\u{3099}", "が が"), ("한국 a", "한 국 a"), ("ok👍🏽!", "ok 👍"),
            ("हिन्दी", "हिन्दी"), ("ру́сский Ёж", "русскии еж"), ("\u{0}a\u{0}b\u{7F}", "a b"), ("\u{E000}1", "1"),
            ("ze\u{200B}ro so\u{AD}ft", "zero soft"), ("中・国", "中 国"), ("?!\"*", ""), ("", ""),
        ])
    func words(text: String, expected: String) {
        #expect(SearchWords.words(of: text).joined(separator: " ") == expected)
    }

    @Test func limits() {
        let long = String(repeating: "x", count: 100)
        #expect(SearchWords.words(of: long + " y") == [String(repeating: "x", count: 64), "y"])
        #expect(SearchWords.words(of: "é" + long).first?.count == 64)
        // The last character does not fit whole.
        let text = String(repeating: "a ", count: Message.textMax / 2 - 1) + "xé tail"
        let words = SearchWords.words(of: text)
        #expect(words.count == Message.textMax / 2 && words.last == "x")
    }

    @Test(
        arguments: [
            ("brown fox", true), ("fox brown", true), ("\"brown fox\"", true), ("\"fox brown\"", false),
            ("bro*", true), ("bro", false), ("\"quick bro\"*", true), ("\"quick bro\"", false), ("FÓX", true),
            ("don't", true), ("don t", true), ("well-known", true), ("known-well", false), ("fox cat", false),
            ("\"brown", true), ("fo*x", false), ("NEAR(fox)", false), ("fox OR cat", false), ("words:fox", false),
            ("-- ' fox \\ ^", true), ("東京", true), ("京東", false), ("東 京", true), ("\"京都\"", true), ("* fox", true),
        ])
    func finding(query: String, expected: Bool) throws {
        let words = SearchWords.words(of: "The quick brown fox; don't, well-known. 東京都")
        #expect(try SearchQuery(query).matches(words) == expected)
    }

    @Test func oneOrTwoLettersAreBroad() throws {
        let broad = try ["a*", "word ab*", "\"a word b\"*", "é*"].map { try SearchQuery($0).isBroad }
        let narrow = try ["a", "abc*", "\"a b\" word*"].map { try SearchQuery($0).isBroad }
        #expect(broad == [true, true, true, true] && narrow == [false, false, false])
    }

    @Test(arguments: ["", "  ", "\"\"", "***", "?! -- ;", "\u{0}", "\"", "\u{202E}"])
    func nothingToFind(text: String) {
        #expect(throws: SearchQueryError.noWords) { try SearchQuery(text) }
    }

    @Test func tooMuch() throws {
        #expect(throws: SearchQueryError.tooLong) { try SearchQuery(String(repeating: "x", count: 1025)) }
        #expect(throws: SearchQueryError.tooLong) { try SearchQuery(String(repeating: "x ", count: 65)) }
        #expect(try SearchQuery(String(repeating: "x ", count: 64)).phrases.count == 64)
    }
}
