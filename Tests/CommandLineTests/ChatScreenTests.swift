import Testing

@testable import starling

struct ChatScreenTests {
    private let plain = ChatScreen.Edge(status: "", statusWidth: 0, input: "#g › hi", cursor: 7)
    private let withStatus = ChatScreen.Edge(status: "bob is typing…", statusWidth: 14, input: "#g › ", cursor: 5)

    @Test func theEdgeIsRedrawnBelowNewLines() {
        var screen = ChatScreen(columns: 80)
        #expect(screen.drawn(plain) == "#g › hi\r\u{1b}[7C")
        #expect(screen.drawn(plain) == "", "nothing changed, nothing is sent")
        #expect(screen.drawn(plain, above: ["one", "two"]) == "\r\u{1b}[Jone\ntwo\n#g › hi\r\u{1b}[7C")
        #expect(screen.drawn(withStatus) == "\r\u{1b}[Jbob is typing…\n#g › \r\u{1b}[5C")
        #expect(screen.drawn(plain, above: ["x"]) == "\u{1b}[1A\r\u{1b}[Jx\n#g › hi\r\u{1b}[7C")
        #expect(screen.erased() == "\r\u{1b}[J")
        #expect(screen.erased() == "")
    }

    @Test func aNarrowerWindowHasBrokenTheLines() {
        var screen = ChatScreen(columns: 80)
        _ = screen.drawn(.init(status: "s", statusWidth: 79, input: "", cursor: 50))
        screen.columns = 40
        #expect(screen.erased() == "\u{1b}[3A\r\u{1b}[J")
    }

    @Test func clearing() {
        var screen = ChatScreen(columns: 80)
        _ = screen.drawn(withStatus)
        #expect(screen.cleared() == "\u{1b}[2J\u{1b}[H")
        #expect(screen.erased() == "")
    }
}
