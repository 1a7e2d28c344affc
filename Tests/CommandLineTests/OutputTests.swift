import ControlAPI
import Testing

@testable import starling

struct OutputTests {
    static let wrappings: [(text: String, width: Int, lines: [String])] = [
        ("", 10, [""]), ("short", 10, ["short"]), ("one two three", 8, ["one two", "three"]),
        ("one two three", 7, ["one two", "three"]), ("abcdefghij", 4, ["abcd", "efgh", "ij"]),
        ("a\n\nb", 10, ["a", "", "b"]),
        ("    indented code", 12, ["    indented", "code"]), ("日本語日本語", 5, ["日本", "語日", "本語"]), ("x y", 0, ["x y"]),
        ("a abcdefghij", 6, ["a abcd", "efghij"]), ("end  ", 4, ["end"]),
    ]

    @Test(arguments: wrappings.indices)
    func wraps(_ index: Int) {
        let (text, width, lines) = Self.wrappings[index]
        #expect(MessageFormat.wrapped(text, width) == lines)
    }

    @Test func longLinesWrapInLinearTime() {
        let lines = MessageFormat.wrapped(String(repeating: "word ", count: 20_000), 60)
        #expect(lines.count > 1_500 && lines.allSatisfy { $0.count <= 60 })
    }

    @Test func tablesAlignByColumnsOfTheTerminal() {
        var table = Table()
        table.add(.init("日本"), .init(""), .init("x"))
        table.add(.init("a"), .init(""), .init(""))
        table.add(.init("abcde") { "<\($0)>" }, .init(""), .init("y"))
        #expect(table.lines() == ["日本   x", "a", "<abcde>  y"])
        #expect(Table().lines() == [])
    }

    @Test func wordsForSizesAndSpans() {
        #expect(
            [0, 999, 1_000, 5_234_567, 12_345_678_901].map(Words.bytes) == [
                "0 bytes", "999 bytes", "1 kB", "5.2 MB", "12 GB",
            ])
        let spans: [Int64] = [-5, 59_999, 60_000, 3_600_000, 172_800_000]
        #expect(spans.map(Words.span) == ["0 s", "59 s", "1 min", "1 h", "2 d"])
        #expect([0.31, 1, 9.96, 12.5, -0.25, 1e300].map(Words.rounded) == ["0.3", "1", "10", "13", "-0.3", "1e+300"])
        #expect(Words.count(1, "entry", "entries") == "1 entry" && Words.count(0, "entry", "entries") == "0 entries")
    }

    @Test func colourOnlyWhereWanted() {
        #expect(Style(isColoured: false).apply("x", [.bold]) == "x")
        #expect(Style(isColoured: true).apply("x", [.bold, .red]) == "\u{1b}[1;31mx\u{1b}[0m")
        #expect(Style(isColoured: true).apply("", [.bold]) == "")
        #expect(Style.colour(of: "a") == Style.colour(of: "a"))
    }

    @Test func namesSharedByTwo() {
        var names = Names()
        names.set("uid-1111", "bob")
        #expect(names.shown("uid-1111") == "bob")
        names.set("uid-2222", "Bob")
        #expect(names.shown("uid-1111") == "bob~1111" && names.shown("uid-2222") == "Bob~2222")
        names.set("uid-2222", "rob")
        #expect(names.shown("uid-1111") == "bob")
        #expect(names.shown("unknown-uid") == "unknown-")
        names.set("uid-3333", "")
        #expect(names.shown("uid-3333") == "uid-3333")
    }

    /// Four characters of a key are made in minutes; where two share them more are shown.
    @Test func tagsThatWereMadeAlikeAreLonger() {
        var names = Names()
        names.set("0000-aaaa-bbbb-x7Qa", "bob")
        names.set("1111-cccc-dddd-x7Qa", "Bob")
        names.set("2222-eeee-ffff-y8Rb", "bob")
        #expect(names.shown("0000-aaaa-bbbb-x7Qa") == "bob~aa-bbbb-x7Qa")
        #expect(names.shown("1111-cccc-dddd-x7Qa") == "Bob~cc-dddd-x7Qa")
        #expect(names.shown("2222-eeee-ffff-y8Rb") == "bob~y8Rb")
        names.set("1111-cccc-dddd-x7Qa", "rob")
        #expect(names.shown("0000-aaaa-bbbb-x7Qa") == "bob~x7Qa" && names.shown("1111-cccc-dddd-x7Qa") == "rob")
        // A name that looks like another one with its tag has its own behind it.
        names.set("3333-gggg-hhhh-z9Sc", "bob~x7Qa")
        #expect(names.shown("3333-gggg-hhhh-z9Sc") == "bob~x7Qa~z9Sc")
    }

    @Test(arguments: ["bob", "BOB", "bob ", " bob", "b\u{A0}ob", "\u{3000}bob", "ｂｏｂ", "ＢＯB"])
    func namesThatLookAlikeAreToldApart(name: String) {
        var names = Names()
        names.set("0000-x7Qa", "bob")
        names.set("1111-y8Rb", name)
        #expect(names.shown("0000-x7Qa") == "bob~x7Qa")
        #expect(names.shown("1111-y8Rb").hasSuffix("~y8Rb"))
    }

    /// A message can say that its sender has any name; who is known is called by his own.
    @Test func aMessageGivesItsSenderNoOtherName() {
        func message(_ uid: String, _ name: String) -> MessageRow {
            MessageRow(
                key: "k", channel: "c", senderId: uid, senderName: name, text: "x", createdAt: 0, verified: true)
        }
        var eve = PersonRow(uid: "uid-of-eve-eeee", name: "eve", state: .offline, since: nil)
        let nobody = PersonRow(uid: "uid-of-nobody-nnnn", name: "uid-of-n", state: .offline, since: nil)
        let bob = PersonRow(uid: "uid-of-bob-bbbb", name: "bob", state: .offline, since: nil)
        var senders = Senders([eve, nobody, bob])
        let posing = [message(eve.uid, "bob"), message(nobody.uid, "bob"), message("uid-unknown-uuuu", "Bob")]
        for row in posing { senders.add(row) }
        #expect(posing.map(senders.shown) == ["eve", "bob~nnnn", "Bob~uuuu"])
        // Told apart from somebody who has written nothing.
        let other = PersonRow(uid: "x-cccc", name: "bob", state: .offline, since: nil)
        #expect(Senders([bob, other]).shown(message(bob.uid, "")) == "bob~bbbb")
        eve.namesakeOf = bob.uid
        #expect(Senders([eve]).shown(posing[0]) == "⚠eve")
    }

    @Test func unverifiedSendersAreMarked() {
        let format = MessageFormat(nameColumns: 6, columns: 0, style: Style(isColoured: false))
        let row = MessageRow(
            key: "k", channel: "c", senderId: "u", senderName: "eve", text: "x", createdAt: 0, verified: false)
        let time = LocalTime(milliseconds: 0)
        #expect(format.lines(row, time: time, name: "eve") == ["\(time.clock)    eve? │ x"])
    }

    @Test func timesBeyondTheCalendarAreHarmless() {
        for milliseconds in [Int64.min, -1, 0, .max] { #expect(!LocalTime(milliseconds: milliseconds).date.isEmpty) }
    }

    @Test func channelWords() {
        let key = "---------0123456789ABC"
        #expect(
            ["general", "#general", key, "-Nabcdefghijklmnopqr"].map(ChannelWord.normalised) == [
                "#general", "#general", key, "-Nabcdefghijklmnopqr",
            ])
        #expect(ChannelWord.bare("#x") == "x" && ChannelWord.bare("x") == "x")
    }
}
