import Chat
import Testing

@Suite struct PersonNameTests {
    static let alike = [
        "bob", "BOB", " bob", "bob ", "b\u{A0}ob", "ｂｏｂ", "bo\u{200B}b", "bob\u{200D}", "\u{FEFF}bob", "ⓑob",
    ]

    @Test(arguments: alike)
    func whatLooksAlikeIsAlike(name: String) {
        #expect(PersonName.fold(name) == "bob")
    }

    @Test func whatIsDifferentStaysSo() {
        // A Cyrillic о: to be told by the key alone.
        let names = ["bob", "bobb", "böb", "b\u{43E}b", "bob~x7Qa", "boб"]
        #expect(Set(names.map(PersonName.fold)).count == names.count)
        #expect(PersonName.fold("o\u{308}") == PersonName.fold("\u{F6}"))
    }

    @Test func whatIsNoNameIsNone() {
        for text in ["", " ", "\u{200B}", "\u{3000}\u{A0}"] { #expect(PersonName.fold(text) == nil) }
        #expect(PersonName.fold(String(repeating: "x", count: 321)) == nil)
    }
}
