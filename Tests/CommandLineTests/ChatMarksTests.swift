import ControlAPI
import Testing

@testable import starling

/// The marks beside one's own messages: how far they have come.
struct ChatMarksTests {
    private static let general = "---------generalgenera"
    private static let me = "uidOfMyself"

    private func model(isPlain: Bool = false, isColoured: Bool = false) -> ChatModel {
        var model = ChatModel(
            uid: Self.me, style: Style(isColoured: isColoured), columns: 80, isPlain: isPlain,
            time: { _ in
                var time = LocalTime(milliseconds: 0)
                (time.hour, time.minute) = (14, 3)
                return time
            })
        model.fill([PersonRow(uid: Self.me, name: "ada", state: .online, since: 0, isSelf: true)])
        _ = model.take(ChannelRow(key: Self.general, name: "general"))
        _ = model.join(Self.general)
        return model
    }

    private func message(_ key: String, _ text: String, from uid: String = me) -> MessageRow {
        MessageRow(
            key: key, channel: Self.general, senderId: uid, senderName: uid == Self.me ? "ada" : "bob", text: text,
            createdAt: 0, verified: true)
    }

    @Test func marksFollowWhatHasArrived() {
        var model = model()
        let lines = model.take(message("-A", "one\ntwo")).dropFirst()
        #expect(lines == ["14:03           ada │ one", "                    │ two"])
        _ = model.take(message("-B", "bob's", from: "uidOfBob"))
        _ = model.take(message("-C", "three"))
        #expect(
            model.advance(held: "-A", read: nil) == [
                .init(from: "14:03           ada │ one", to: "14:03 ✓         ada │ one")
            ])
        #expect(model.advance(held: "-A", read: nil).isEmpty, "nothing is new")
        #expect(
            model.advance(held: "-C", read: "-B") == [
                .init(from: "14:03 ✓         ada │ one", to: "14:03✓✓         ada │ one"),
                .init(from: "14:03           ada │ three", to: "14:03 ✓         ada │ three"),
            ])
        // What is shown later has its mark from the beginning, an edit none: the one that it changes has it.
        #expect(model.take(message("-C0", "late")).last == "14:03           ada │ late")
        #expect(model.take(message("-BB", "between")).last == "14:03 ✓         ada │ between")
        #expect(model.take(message("-BB", "edited")).last == "14:03           ada │ ✎ edited")
        // In another channel nothing is known.
        _ = model.join("other")
        #expect(model.mark(of: "-A") == .waiting)
    }

    /// Told apart by shape: without colour, and on terminals that have no ticks.
    @Test func plainTerminals() {
        var model = model(isPlain: true)
        _ = model.take(message("-A", "one"))
        #expect(model.advance(held: "-A", read: nil).map(\.to) == ["14:03 +         ada │ one"])
        #expect(model.advance(held: "-A", read: "-A").map(\.to) == ["14:03++         ada │ one"])
        var coloured = self.model(isColoured: true)
        _ = coloured.take(message("-A", "one"))
        #expect(coloured.advance(held: "-A", read: nil).map { Style.without($0.to) } == ["14:03 ✓         ada │ one"])

        func isPlain(_ variables: [String: String]) -> Bool { StatusMark.isPlainTerminal { variables[$0] } }
        #expect(!isPlain([:]) && !isPlain(["LANG": "en_GB.UTF-8"]) && !isPlain(["LC_ALL": "C.utf8", "LANG": "C"]))
        #expect(isPlain(["LANG": "C"]) && isPlain(["LANG": "de_DE.ISO-8859-1@euro"]))
        #expect(isPlain(["LANG": "en_GB.UTF-8", "LC_ALL": "POSIX"]) && isPlain(["TERM": "linux", "LANG": "C.UTF-8"]))
        #expect(!isPlain(["LANG": "de_DE.UTF-8@euro", "LC_ALL": ""]))
    }

    private let edge = ChatScreen.Edge(status: "", statusWidth: 0, input: "> ", cursor: 2)

    @Test func linesAreChangedInTheirPlaces() {
        var screen = ChatScreen(columns: 20, rows: 6)
        _ = screen.drawn(edge, above: ["one", "two", "three"])
        let up = screen.changed([.init(from: "two", to: "TWO"), .init(from: "three", to: "THREE")])
        #expect(
            up == "\r\u{1b}[J\u{1b}[2ATWO\r\u{1b}[2B\u{1b}[1ATHREE\r\u{1b}[1B> \r\u{1b}[2C")
        #expect(screen.changed([.init(from: "two", to: "x")]) == "", "it is not there any more")
        #expect(screen.changed([]) == "")
        #expect(screen.drawn(edge) == "", "the edge stands as before")
        // What has left the screen is left alone.
        _ = screen.drawn(edge, above: ["four", "five"])
        #expect(screen.changed([.init(from: "one", to: "ONE")]) == "")
        #expect(screen.changed([.init(from: "TWO", to: "two")]) != "")
    }

    /// Whatever may have moved lines makes them unknown: a mark at the wrong message is worse than none.
    @Test func whatMayHaveMovedIsLeftAlone() {
        let change = ChatScreen.Change(from: "one", to: "ONE")
        func screen(_ body: (inout ChatScreen) -> Void) -> String {
            var screen = ChatScreen(columns: 20, rows: 10)
            _ = screen.drawn(edge, above: ["one"])
            body(&screen)
            _ = screen.drawn(edge)
            return screen.changed([change])
        }
        #expect(screen { _ in } != "")
        #expect(screen { $0.columns = 19 } == "" && screen { $0.rows = 9 } == "" && screen { _ = $0.cleared() } == "")
        #expect(screen { $0.forget() } == "")
        // Ten of these take twenty columns, or ten, or thirty: terminals differ.
        #expect(screen { _ = $0.drawn(edge, above: [String(repeating: "☺", count: 10)]) } == "")
        #expect(screen { _ = $0.drawn(edge, above: [String(repeating: "│", count: 19)]) } != "")
        #expect(screen { _ = $0.drawn(edge, above: ["\u{1b}[2mshort\u{1b}[0m"]) } != "")
        var small = ChatScreen(columns: 20)
        _ = small.drawn(edge, above: ["one"])
        #expect(small.changed([change]) == "", "how high the terminal is, is not known")
    }
}
