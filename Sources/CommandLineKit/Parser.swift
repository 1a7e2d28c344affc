/// Reads command lines by a table.
///
/// Options and words may be mixed; `--` ends the options; `--opt=value`, `--opt value`, `-o value`, `-ovalue` and
/// `-abc` for several letters are understood. A word that is exactly an AutoID (22 characters of `-0-9A-Z_a-z`), a push
/// ID (20) or a uid (43) is never an option, because keys begin with `-`; nor is a negative number, unless a digit is
/// an option's letter.
///
/// Unless the table has commands of these names, `help` as the first word asks for the help of the command behind it,
/// and `version` for the version.
public struct Parser: Sendable {
    private let program: Program

    public init(_ program: Program) {
        self.program = program
    }

    /// - Parameter words: the command line without the program's own name.
    public func parse(_ words: [String]) throws(UsageError) -> Request {
        var line = Line(program: program)
        if let word = words.first, program.plainRequests.contains(where: { $0.name == word }) {
            let rest = Array(words.dropFirst())
            if word == "version", let extra = rest.first {
                throw UsageError(path: [], message: "one word too many: \(extra)")
            }
            if word == "version" { return .version }
            try line.read(rest)
            return .help(line.path)
        }
        do throws(UsageError) {
            try line.read(words)
            if line.wantsHelp { return .help(line.path) }
            if line.wantsVersion { return .version }
            return .run(try line.finished())
        } catch {
            // Whoever asks for help gets it, whatever else is wrong with the line.
            if asksForHelp(words) { return .help(line.path) }
            throw error
        }
    }

    private func asksForHelp(_ words: [String]) -> Bool {
        words.prefix { $0 != "--" }.contains { $0 == "--help" || $0 == "-h" }
    }

    /// Whether a word is a key or a uid by its form.
    static func isIdentifier(_ word: String) -> Bool {
        let bytes = word.utf8
        guard bytes.count == 20 || bytes.count == 22 || bytes.count == 43 else { return false }
        return bytes.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
    }
}

/// One command line while it is read.
private struct Line {
    let program: Program
    var path: [String] = []
    var wantsHelp = false
    var wantsVersion = false
    private var chain: [Command]
    private var options: [String: [String]] = [:]
    private var words: [String] = []

    init(program: Program) {
        self.program = program
        chain = [program.root]
    }

    private var command: Command { chain[chain.count - 1] }

    private func error(_ message: String) -> UsageError {
        UsageError(path: path, message: message)
    }

    mutating func read(_ all: [String]) throws(UsageError) {
        var rest = ArraySlice(all)
        var optionsEnded = false
        while let word = rest.popFirst() {
            if optionsEnded || !isOption(word) {
                try take(word)
            } else if word == "--" {
                optionsEnded = true
            } else if word.hasPrefix("--") {
                try long(word, &rest)
            } else {
                try short(word, &rest)
            }
        }
    }

    private func isOption(_ word: String) -> Bool {
        guard word.hasPrefix("-"), word != "-", !Parser.isIdentifier(word) else { return false }
        guard let second = word.utf8.dropFirst().first else { return false }
        if second == UInt8(ascii: "-") { return true }
        let isNumber = (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(second) || second == UInt8(ascii: ".")
        return !isNumber || option(short: Character(Unicode.Scalar(second))) != nil
    }

    /// The first words name commands; the others are arguments.
    private mutating func take(_ word: String) throws(UsageError) {
        if words.isEmpty, let next = command.subcommand(word) {
            chain.append(next)
            path.append(word)
            return
        }
        if words.isEmpty, !command.isCallable || (command.arguments.isEmpty && !command.subcommands.isEmpty) {
            throw error(unknownCommand(word))
        }
        words.append(word)
    }

    private func unknownCommand(_ word: String) -> String {
        let whole = ([program.root.name] + path).joined(separator: " ")
        let near = command.subcommands.map(\.name).filter { EditDistance.between($0, word) <= min(2, word.count - 2) }
        let hint = near.first.map { "; did you mean \($0)?" } ?? ""
        return "\(whole) has no command \(word)\(hint)"
    }

    private func option(long: String) -> Option? {
        for command in chain.reversed() {
            if let option = command.options.first(where: { $0.long == long }) { return option }
        }
        return nil
    }

    private func option(short: Character) -> Option? {
        for command in chain.reversed() {
            if let option = command.options.first(where: { $0.short == short }) { return option }
        }
        return nil
    }

    private mutating func long(_ word: String, _ rest: inout ArraySlice<String>) throws(UsageError) {
        // By scalars: an accent at the beginning of the value would be one character with the sign.
        let (scalars, sign) = (word.unicodeScalars.dropFirst(2), Unicode.Scalar("="))
        let parts = scalars.split(separator: sign, maxSplits: 1, omittingEmptySubsequences: false)
        let name = String(parts[0])
        let value = parts.count == 2 ? String(parts[1]) : nil
        if name == "help" || name == "version", value == nil, option(long: name) == nil {
            if name == "help" { wantsHelp = true } else { wantsVersion = true }
            return
        }
        guard let option = option(long: name) else { throw error(unknownOption("--\(name)")) }
        guard option.value != nil else {
            guard value == nil else { throw error("--\(name) takes no value") }
            return try store(option, "")
        }
        if let value { try store(option, value) } else { try store(option, following("--\(name)", option, &rest)) }
    }

    private mutating func short(_ word: String, _ rest: inout ArraySlice<String>) throws(UsageError) {
        var letters = word.dropFirst()
        while let letter = letters.popFirst() {
            guard let option = option(short: letter) else {
                guard letter == "h" else { throw error(unknownOption("-\(letter)")) }
                wantsHelp = true
                continue
            }
            guard option.value != nil else {
                try store(option, "")
                continue
            }
            if letters.first == "=" { letters.removeFirst() }
            let value = letters.isEmpty ? try following("-\(letter)", option, &rest) : String(letters)
            return try store(option, value)
        }
    }

    /// The next word as an option's value. Another known option is not taken for one: more likely it was forgotten.
    private func following(
        _ shown: String, _ option: Option, _ rest: inout ArraySlice<String>
    ) throws(UsageError) -> String {
        guard let next = rest.first, !isKnownOption(next) else {
            throw error("\(shown) needs a value: \(option.value ?? "VALUE")")
        }
        rest.removeFirst()
        return next
    }

    private func isKnownOption(_ word: String) -> Bool {
        guard isOption(word) else { return false }
        if word.hasPrefix("--") {
            return option(long: String(word.dropFirst(2).prefix { $0 != "=" })) != nil || word == "--"
        }
        return word.dropFirst().first.map { option(short: $0) != nil } ?? false
    }

    private mutating func store(_ option: Option, _ value: String) throws(UsageError) {
        if options[option.long] != nil, option.value != nil, !option.isRepeated {
            throw error("--\(option.long) was given twice")
        }
        options[option.long, default: []].append(value)
    }

    private func unknownOption(_ word: String) -> String {
        let known = chain.flatMap(\.options).map { "--\($0.long)" }
        let near = known.filter { EditDistance.between($0, word) <= 2 }
        let hint = near.first.map { "; did you mean \($0)?" } ?? " (put -- before words that begin with a dash)"
        return "unknown option \(word)\(hint)"
    }

    /// Matches the words with the command's arguments.
    func finished() throws(UsageError) -> Invocation {
        guard command.isCallable else {
            let names = command.subcommands.map(\.name).joined(separator: ", ")
            throw error("a command is missing: one of \(names)")
        }
        var arguments: [String: [String]] = [:]
        var rest = ArraySlice(words)
        for argument in command.arguments {
            if argument.count == .rest {
                arguments[argument.name] = Array(rest)
                rest = []
            } else if let word = rest.popFirst() {
                guard argument.choices.isEmpty || argument.choices.contains(word) else {
                    throw error("\(argument.name) must be one of \(argument.choices.joined(separator: ", "))")
                }
                arguments[argument.name] = [word]
            } else if argument.count == .one {
                throw error("\(argument.name) is missing: \(argument.summary)")
            }
        }
        if let extra = rest.first { throw error("one word too many: \(extra)") }
        return Invocation(path: path, options: options, arguments: arguments)
    }
}
