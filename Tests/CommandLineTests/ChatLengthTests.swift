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
}
