internal import ControlAPI

/// What a line typed into the chat means.
enum ChatInput: Sendable, Equatable {
    case message(String)
    case join(String)
    case create(String)
    case who, channels, help, quit
    /// Nil asks for the topic, empty takes it away.
    case topic(String?)
    case nick(String)
    /// Nil puts the last message of one's own into the line.
    case edit(String?)
    case delete
    case react(String)
    case search(String)
    /// Whom, and whether it ends.
    case mute(String, isOver: Bool)
    case block(String, isOver: Bool)
    /// Whose safety words to show.
    case words(String)
    /// No such command, or not like this; words for the user.
    case mistake(String)

    /// The commands with what follows them and what they do, for `/help` and Tab.
    static let commands: [(name: String, arguments: String, meaning: String)] = [
        ("/join", "#name", "go to a channel"),
        ("/create", "#name", "open a channel, for everybody, and go there"),
        ("/channels", "", "list the channels"),
        ("/who", "", "list the people"),
        ("/topic", "[TEXT]", "show or set what this channel is about; - takes it away"),
        ("/nick", "NAME", "change what you are called"),
        ("/edit", "[TEXT]", "change your last message; without TEXT it comes into the line"),
        ("/delete", "", "delete your last message"),
        ("/react", "EMOJI", "put an emoji to the last message"),
        ("/search", "WORDS", "find messages in all channels; \"in quotes\" words in a row, begin* how a word begins"),
        ("/mute", "NAME", "show nothing of somebody any more; /unmute ends it"),
        ("/block", "NAME", "nor connect to them; /unblock ends it"),
        ("/words", "NAME", "words to read to each other, to know that it is them"),
        ("/help", "", "this list"),
        ("/quit", "", "leave; the daemon goes on receiving"),
    ]

    /// What Tab completes: the listed ones and those that end what they do.
    static let completions = (commands.map(\.name) + ["/unmute", "/unblock"]).sorted()

    init(_ line: String) {
        guard line.hasPrefix("/") else {
            self = .message(line)
            return
        }
        guard !line.hasPrefix("//") else {
            self = .message(String(line.dropFirst()))
            return
        }
        let parts = line.split(maxSplits: 1, whereSeparator: \.isWhitespace)
        let name = parts.first.map(String.init) ?? ""
        let rest = parts.count > 1 ? Self.trimmed(String(parts[1])) : ""
        self = Self.command(name.lowercased(), rest)
    }

    private static func command(_ name: String, _ rest: String) -> ChatInput {
        switch name {
        case "/join", "/j": rest.isEmpty ? .mistake("where to? /join #name") : .join(rest)
        case "/create": rest.isEmpty ? .mistake("which channel? /create #name") : .create(rest)
        case "/who", "/names": .who
        case "/channels", "/list": .channels
        case "/topic": .topic(rest.isEmpty ? nil : rest == "-" ? "" : rest)
        case "/nick": rest.isEmpty ? .mistake("what name? /nick NAME") : .nick(rest)
        case "/edit", "/e": .edit(rest.isEmpty ? nil : rest)
        case "/delete": .delete
        case "/react": reaction(rest)
        case "/search", "/find": rest.isEmpty ? .mistake("for what? /search WORDS") : .search(rest)
        case "/mute", "/unmute":
            rest.isEmpty ? .mistake("whom? \(name) NAME") : .mute(rest, isOver: name == "/unmute")
        case "/block", "/unblock":
            rest.isEmpty ? .mistake("whom? \(name) NAME") : .block(rest, isOver: name == "/unblock")
        case "/words", "/verify": rest.isEmpty ? .mistake("whose? /words NAME") : .words(rest)
        case "/help", "/?": .help
        case "/quit", "/exit", "/q": .quit
        default: .mistake("there is no \(name); /help lists what there is, // begins a message with a slash")
        }
    }

    /// Columns of a reaction: it stands in a row with others, below a message.
    static let reactionColumns = 16
    /// No emoji has more bytes.
    private static let reactionBytes = 64

    private static func reaction(_ rest: String) -> ChatInput {
        guard !rest.isEmpty else { return .mistake("which emoji? /react 👍") }
        let isShort = TextWidth.of(Escaper.escape(rest)) <= reactionColumns && rest.utf8.count <= reactionBytes
        return isShort ? .react(rest) : .mistake("a reaction is an emoji or a short word; to say more, write a message")
    }

    private static func trimmed(_ text: String) -> String {
        var text = Substring(text)
        while text.first?.isWhitespace == true { text.removeFirst() }
        while text.last?.isWhitespace == true { text.removeLast() }
        return String(text)
    }
}
