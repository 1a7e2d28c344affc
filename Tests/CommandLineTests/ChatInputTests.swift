import Testing

@testable import starling

struct ChatInputTests {
    static let inputs: [(line: String, input: ChatInput)] = [
        ("hello", .message("hello")), (" /who", .message(" /who")), ("//etc is a folder", .message("/etc is a folder")),
        ("/join #lunch", .join("#lunch")), ("/J lunch ", .join("lunch")), ("/who", .who), ("/names", .who),
        ("/topic", .topic(nil)), ("/topic  New one ", .topic("New one")), ("/topic -", .topic("")),
        ("/nick Ada Lovelace", .nick("Ada Lovelace")), ("/edit", .edit(nil)), ("/edit new\ntext", .edit("new\ntext")),
        ("/delete", .delete), ("/react 👍", .react("👍")), ("/help", .help), ("/?", .help), ("/quit", .quit),
        ("/q", .quit),
        ("/create #lunch", .create("#lunch")), ("/create", .mistake("which channel? /create #name")),
        ("/channels", .channels), ("/join", .mistake("where to? /join #name")),
        ("/nick ", .mistake("what name? /nick NAME")),
        ("/search  two words ", .search("two words")), ("/find x", .search("x")),
        ("/search", .mistake("for what? /search WORDS")),
        ("/mute bob", .mute("bob", isOver: false)), ("/UNMUTE bob ", .mute("bob", isOver: true)),
        ("/block bob~x7Qa", .block("bob~x7Qa", isOver: false)), ("/unblock bob", .block("bob", isOver: true)),
        ("/words bob", .words("bob")), ("/mute", .mistake("whom? /mute NAME")),
        ("/words", .mistake("whose? /words NAME")),
        ("/react", .mistake("which emoji? /react 👍")),
        ("/dance", .mistake("there is no /dance; /help lists what there is, // begins a message with a slash")),
    ]

    @Test(arguments: inputs.indices)
    func reads(_ index: Int) {
        let (line, input) = Self.inputs[index]
        #expect(ChatInput(line) == input)
    }

    @Test func aReactionIsShort() {
        let scotland = "\u{1F3F4}\u{E0067}\u{E0062}\u{E0073}\u{E0063}\u{E0074}\u{E007F}"
        for emoji in ["👍", "👩‍👧", scotland, "+1", "so it is, indeed"] {
            #expect(ChatInput("/react \(emoji)") == .react(emoji))
        }
        let accents = "e" + String(repeating: "\u{301}", count: 40)
        let long = ["this is a whole sentence", String(repeating: "👍", count: 9), accents]
        for words in long {
            guard case .mistake = ChatInput("/react \(words)") else {
                Issue.record("\(words)")
                continue
            }
        }
    }

    @Test func everyListedCommandExists() {
        for command in ChatInput.commands {
            guard case .mistake(let words) = ChatInput("\(command.name) x") else { continue }
            Issue.record("\(command.name): \(words)")
        }
        for name in ChatInput.completions {
            if case .mistake(let words) = ChatInput("\(name) x") { Issue.record("\(name): \(words)") }
        }
    }

    @Test func typingIsToldSparingly() {
        var signal = TypingSignal()
        let told = [
            signal.keyPressed(isComposing: false, nowMs: 0), signal.keyPressed(isComposing: true, nowMs: 1_000),
            signal.keyPressed(isComposing: true, nowMs: 3_999), signal.keyPressed(isComposing: true, nowMs: 4_000),
            signal.keyPressed(isComposing: false, nowMs: 4_100), signal.keyPressed(isComposing: false, nowMs: 9_000),
            signal.keyPressed(isComposing: true, nowMs: 9_001),
        ]
        let expected: [Bool?] = [nil, true, nil, true, false, nil, true]
        #expect(told == expected)
        signal.reset()
        #expect(signal.keyPressed(isComposing: true, nowMs: 9_002) == true)
    }
}
