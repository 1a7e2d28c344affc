import ControlAPI
import Testing

@testable import starling

/// What is long, and what is narrow: others must not fill one's terminal.
struct ChatLengthTests {
    private static let general = "---------generalgenera"
    private static let bob = "uidOfBob-aaaa"

    private func model(columns: Int = 80, channel: String = "general") -> ChatModel {
        var model = ChatModel(
            uid: "uidOfMyself", style: Style(isColoured: false), columns: columns,
            time: { _ in LocalTime(milliseconds: 0) })
        model.fill([PersonRow(uid: Self.bob, name: "bob", state: .online, since: 0)])
        _ = model.take(ChannelRow(key: Self.general, name: channel))
        _ = model.join(Self.general)
        return model
    }

    private func message(_ text: String) -> MessageRow {
        MessageRow(
            key: "k1", channel: Self.general, senderId: Self.bob, senderName: "bob", text: text, createdAt: 0,
            verified: true)
    }

    @Test func aMessageOfManyLinesIsCut() {
        let newlines = String(repeating: "\n", count: 65_000)
        var model = model()
        let lines = model.take(message("first" + newlines))
        #expect(lines.count == 1 + ChatModel.linesMax + 1, "the day, the text, what is left out")
        #expect(lines[1].hasSuffix("│ first"))
        #expect(lines.last == "  … 64971 more lines; all of it: starling read general")
        // The same for edits and what is found, and for a line that has no end.
        #expect(model.take(message("x" + newlines)).count == ChatModel.linesMax + 1)
        #expect(model.found([message(newlines)], by: "x").count == 1 + ChatModel.linesMax + 1 + 1)
        let long = model.take(message(String(repeating: "x", count: 60_000)))
        #expect(long.count == ChatModel.linesMax + 1)
    }

    @Test func whatStandsBelowALongTextStays() throws {
        var row = message(String(repeating: "x\n", count: 100))
        row.reactions = [.init(emoji: "👍", uids: ["a", "b"])]
        row.attachment = ["name": "photo.jpg"]
        var model = model(channel: "a;b")
        let lines = model.take(row).suffix(3).map { $0 }
        #expect(lines[0] == "  … 71 more lines", "no command with a name that a shell reads otherwise")
        #expect(lines[1].hasSuffix("📎 photo.jpg") && lines[2].hasSuffix("👍 2"))
    }

    /// One line more is no reason to cut.
    @Test(arguments: [ChatModel.linesMax, ChatModel.linesMax + 1]) func whatFitsIsWhole(_ count: Int) {
        var model = model()
        let lines = model.take(message((1...count).map(String.init).joined(separator: "\n")))
        #expect(lines.count == 1 + count && lines.last?.hasSuffix("│ \(count)") == true)
    }

    @Test(arguments: [80, 40, 24]) func nothingIsBrokenWithinWords(_ columns: Int) {
        let model = model(columns: columns)
        let help = model.help()
        let header = model.header(workspace: "open", .bold)
        for line in help + header { #expect(TextWidth.of(line) < columns, "\(line)") }
        let words = (help + header).flatMap { $0.split(separator: " ") }
        for command in ChatInput.commands {
            for word in "\(command.name) \(command.arguments) \(command.meaning)".split(separator: " ") {
                #expect(words.contains(word), "\(word)")
            }
        }
    }

    @Test func whatDoesNotFitStandsBelowTheLastColumn() {
        #expect(StyledLine.wrapped("  a  one two", columns: 20) == ["  a  one two"])
        #expect(
            StyledLine.wrapped("  /join #name  go to a channel", columns: 25) == [
                "  /join #name  go to a", "    channel",
            ])
        #expect(
            StyledLine.wrapped("  /who  list the people here", columns: 20) == [
                "  /who  list the", "        people here",
            ])
        #expect(
            StyledLine.wrapped("  #a  " + String(repeating: "x", count: 20), columns: 20) == [
                "  #a  " + String(repeating: "x", count: 14), "      " + String(repeating: "x", count: 6),
            ])
        // Each line has its style, whatever is written between them.
        #expect(
            StyledLine.wrapped("  \u{1b}[36m#a\u{1b}[0m  \u{1b}[2mthis is its topic\u{1b}[0m", columns: 20) == [
                "  \u{1b}[36m#a\u{1b}[0m  \u{1b}[2mthis is its\u{1b}[0m", "      \u{1b}[2mtopic\u{1b}[0m",
            ])
        #expect(StyledLine.wrapped(String(repeating: "日", count: 11), columns: 20).map(TextWidth.of) == [20, 2])
    }

    @Test func peopleWithoutHalfALineOfUID() {
        let uid = "FceS6e8ohRYEHm6Kj7pWr4tsc5EavVANWMdGW7Har5c"
        let rows = [
            PersonRow(uid: uid, name: "alice", state: .online, since: 0, isSelf: true),
            PersonRow(uid: Self.bob, name: "bob", state: .offline, since: nil, namesakeOf: uid),
        ]
        let output = Output()
        let lines = Who.lines(rows, [], nowMs: 0, output)
        let wide = model(columns: 80).people(lines, rows.map(\.uid)).map(Style.without)
        #expect(wide[0] == "  ●  alice  online (you)  FceS6e8o" && wide[1].hasSuffix("uidOfBob"))
        #expect(wide.joined(separator: " ").hasSuffix("verify-identity \(Self.bob)"), "what is to be copied is whole")
        let narrow = model(columns: 40).people(lines, rows.map(\.uid))
        #expect(narrow[0] == "  ●  alice  online (you)" && narrow.allSatisfy { TextWidth.of($0) < 40 })
    }
}
