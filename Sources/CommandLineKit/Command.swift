/// One command of a program, or the program itself: the one description that the parser, the help, the completions and
/// the manual page are made from.
public struct Command: Sendable {
    /// The word that calls it.
    public var name: String
    /// What it does, in one line without a full stop.
    public var summary: String
    /// Paragraphs for the help and the manual page, each on a line.
    public var details: [String]
    public var arguments: [Argument]
    public var options: [Option]
    /// Commands below this one. A command that has any may still be called without one if ``isCallable``.
    public var subcommands: [Command]
    /// Heading under which the parent's help lists it.
    public var group: String
    public var examples: [Example]
    /// Whether it does something itself. False for a command that only holds others.
    public var isCallable: Bool

    public init(
        _ name: String, _ summary: String, details: [String] = [], arguments: [Argument] = [], options: [Option] = [],
        subcommands: [Command] = [], group: String = "Commands", examples: [Example] = [], isCallable: Bool = true
    ) {
        self.name = name
        self.summary = summary
        self.details = details
        self.arguments = arguments
        self.options = options
        self.subcommands = subcommands
        self.group = group
        self.examples = examples
        self.isCallable = isCallable
    }

    /// The command below this one that has the name.
    public func subcommand(_ name: String) -> Command? {
        subcommands.first { $0.name == name }
    }
}

/// A word of a command that is no option.
public struct Argument: Sendable {
    /// How often it may stand.
    public enum Count: Sendable {
        case one
        /// Once or not at all; only arguments of this kind may follow.
        case optional
        /// Any number of words, also none; the last argument.
        case rest
    }

    /// As the usage line shows it, in capitals; values are found under it.
    public var name: String
    public var summary: String
    public var count: Count
    /// The words that are allowed; empty for any.
    public var choices: [String]

    public init(_ name: String, _ summary: String, count: Count = .one, choices: [String] = []) {
        self.name = name
        self.summary = summary
        self.count = count
        self.choices = choices
    }
}

/// An option of a command. It holds for the command and everything below it.
public struct Option: Sendable {
    /// Without the two dashes; values are found under it.
    public var long: String
    /// The one letter behind one dash.
    public var short: Character?
    /// What the value is, in capitals; nil for an option without one.
    public var value: String?
    public var summary: String
    /// Whether it may be given more than once.
    public var isRepeated: Bool

    public init(
        _ long: String, short: Character? = nil, value: String? = nil, _ summary: String, isRepeated: Bool = false
    ) {
        self.long = long
        self.short = short
        self.value = value
        self.summary = summary
        self.isRepeated = isRepeated
    }
}

/// A command line that works, and what it is for.
public struct Example: Sendable {
    public var line: String
    public var purpose: String

    public init(_ line: String, _ purpose: String) {
        self.line = line
        self.purpose = purpose
    }
}

/// An exit code and what it means.
public struct ExitCode: Sendable {
    public var code: Int32
    public var meaning: String

    public init(_ code: Int32, _ meaning: String) {
        self.code = code
        self.meaning = meaning
    }
}

/// A program: its root command and what is said once for all of them.
public struct Program: Sendable {
    public var root: Command
    public var version: String
    public var exitCodes: [ExitCode]
    /// Environment variables and what they do.
    public var environment: [(name: String, meaning: String)]
    /// Files and what they are.
    public var files: [(path: String, meaning: String)]

    public init(
        root: Command, version: String, exitCodes: [ExitCode] = [], environment: [(name: String, meaning: String)] = [],
        files: [(path: String, meaning: String)] = []
    ) {
        self.root = root
        self.version = version
        self.exitCodes = exitCodes
        self.environment = environment
        self.files = files
    }

    /// First words that are understood without being in the table. None where the table has its own, or where a first
    /// word is an argument.
    var plainRequests: [(name: String, summary: String)] {
        guard root.arguments.isEmpty else { return [] }
        return [("help", "Show help, also of a command"), ("version", "Show the version")]
            .filter { root.subcommand($0.0) == nil }
    }

    /// Commands from the root down to the one at that path, or as far as the words name commands.
    public func chain(_ path: [String]) -> [Command] {
        var chain = [root]
        for name in path {
            guard let next = chain.last?.subcommand(name) else { break }
            chain.append(next)
        }
        return chain
    }

    /// Every command that can be called, with its path, in the table's order.
    public var callable: [(path: [String], command: Command)] {
        func below(_ command: Command, _ path: [String]) -> [(path: [String], command: Command)] {
            let own = command.isCallable ? [(path: path, command: command)] : []
            return own + command.subcommands.flatMap { below($0, path + [$0.name]) }
        }
        return below(root, [])
    }
}
