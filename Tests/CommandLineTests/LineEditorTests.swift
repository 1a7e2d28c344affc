import Testing

@testable import starling

struct LineEditorTests {
    private func make(_ text: String, cursor: Int? = nil) -> LineEditor {
        var editor = LineEditor()
        editor.replace(text)
        if let cursor {
            _ = editor.apply(.home)
            for _ in 0..<cursor { _ = editor.apply(.right) }
        }
        return editor
    }

    static let edits: [(text: String, cursor: Int, keys: [Key], result: String, at: Int)] = [
        ("", 0, [.text("hi")], "hi", 2), ("hlo", 1, [.text("el")], "hello", 3), ("abc", 3, [.backspace], "ab", 2),
        ("abc", 0, [.backspace], "abc", 0), ("abc", 1, [.delete], "ac", 1), ("abc", 3, [.delete], "abc", 3),
        ("abc", 2, [.home, .text("x")], "xabc", 1), ("abc", 1, [.end, .text("x")], "abcx", 4),
        ("abc", 1, [.control("a"), .text("x"), .control("e"), .text("y")], "xabcy", 5),
        ("abc", 1, [.control("f"), .text("-"), .control("b"), .control("b")], "ab-c", 1),
        ("one two three", 13, [.control("w")], "one two ", 8), ("one two  ", 9, [.control("w")], "one ", 4),
        ("a/b-c d", 5, [.control("w")], " d", 0), ("a/b-c d", 5, [.deleteWordLeft], "a/b- d", 4),
        ("one two", 3, [.control("u")], " two", 0), ("one two", 3, [.control("k")], "one", 3),
        ("one two", 3, [.control("k"), .home, .control("y")], " twoone", 4),
        ("one two", 0, [.deleteWordRight], " two", 0),
        ("one, two", 8, [.wordLeft, .text("|")], "one, |two", 6),
        ("one, two", 0, [.wordRight, .wordRight], "one, two", 8),
        ("abc", 3, [.control("c")], "", 0), ("abc", 1, [.control("d")], "ac", 1),
        ("e", 1, [.text("\u{301}")], "e\u{301}", 1), ("👩", 1, [.text("\u{200d}"), .text("👧")], "👩‍👧", 1),
        ("日本", 1, [.backspace], "本", 0),
        ("a", 1, [.newline, .text("b")], "a\nb", 3), ("", 0, [.paste("x\r\ny\rz\u{1b}[A\u{7f}\0\t")], "x\ny\nz[A\t", 8),
    ]

    @Test(arguments: edits.indices)
    func keysEdit(_ index: Int) {
        let (text, cursor, keys, result, at) = Self.edits[index]
        var editor = make(text, cursor: cursor)
        for key in keys { _ = editor.apply(key) }
        #expect(Array(editor.text.unicodeScalars) == Array(result.unicodeScalars))
        #expect(editor.cursor == at)
    }

    @Test func enterSubmitsAndEmpties() {
        var editor = make("hello")
        #expect(editor.apply(.enter) == .submit("hello"))
        #expect(editor.isEmpty && editor.cursor == 0)
        #expect(editor.apply(.enter) == .nothing)
        editor.replace(" \n ")
        #expect(editor.apply(.enter) == .nothing)
    }

    @Test func historyKeepsTheDraft() {
        var editor = LineEditor()
        for line in ["one", "two", "two"] {
            editor.replace(line)
            _ = editor.apply(.enter)
        }
        editor.replace("draft")
        var seen: [String] = []
        for key: Key in [.up, .up, .up, .down, .down, .down] {
            _ = editor.apply(key)
            seen.append(editor.text)
        }
        #expect(seen == ["two", "one", "one", "two", "draft", "draft"])
        _ = editor.apply(.control("p"))
        #expect(editor.text == "two")
        _ = editor.apply(.control("n"))
        #expect(editor.text == "draft")
    }

    @Test func leaving() {
        var editor = make("x")
        #expect(editor.apply(.control("c")) == .changed)
        #expect(editor.apply(.control("c")) == .quit)
        #expect(editor.apply(.control("d")) == .quit)
        #expect(editor.apply(.control("z")) == .suspend)
        #expect(editor.apply(.control("l")) == .redraw)
    }

    @Test func textIsBoundedInBytes() {
        var editor = make(String(repeating: "é", count: LineEditor.textMax / 2 - 1))
        #expect(editor.apply(.text("€")) == .tooLong)
        #expect(editor.apply(.text("é")) == .changed)
        #expect(editor.text.utf8.count == LineEditor.textMax)
        #expect(editor.apply(.paste("x")) == .tooLong && editor.apply(.text("\u{7}")) == .nothing)
        // A paste that would fit alone is refused whole where something stands: a part would be sent as if it were all.
        var started = make("see: ")
        #expect(started.apply(.paste(String(repeating: "x", count: LineEditor.textMax))) == .tooLong)
        #expect(started.apply(.pasteTooLong) == .tooLong && started.text == "see: ")
    }

    @Test func completion() {
        let candidates = ["/join", "/quit", "#general", "#games", "alice"]
        var single = make("/jo")
        #expect(single.apply(.tab) == .complete && single.complete(candidates) == .changed)
        #expect(single.text == "/join ")
        var common = make("/join #")
        #expect(common.complete(candidates) == .changed)
        #expect(common.text == "/join #g")
        #expect(common.complete(candidates) == .choices(["#general", "#games"]) && common.text == "/join #g")
        var none = make("/join #x")
        #expect(none.complete(candidates) == .nothing)
        var empty = make("hi ")
        #expect(empty.complete(candidates) == .nothing)
    }

    @Test func viewKeepsTheCursorInSight() {
        let long = String(repeating: "0123456789", count: 5)
        for cursor in 0...50 {
            let view = make(long, cursor: cursor).view(columns: 20)
            #expect(view.text.count <= 20)
            #expect((0...20).contains(view.cursor))
            let shown = Array(view.text)
            if view.cursor < shown.count { #expect(String(shown[view.cursor]) == "\(cursor % 10)") }
        }
        let start = make("abc").view(columns: 20)
        #expect(start.text == "abc" && start.cursor == 3)
    }

    @Test func viewIsHarmlessAndCountsColumns() {
        let view = make("日\n\u{202e}x").view(columns: 40)
        #expect(view.text == "日⏎\\u{202e}x")
        #expect(view.cursor == 2 + 1 + 8 + 1)
        let wide = make(String(repeating: "日", count: 30)).view(columns: 21)
        #expect(wide.text.count <= 10 && wide.cursor <= 21)
    }
}
