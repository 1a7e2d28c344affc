/// The help of a command, as plain lines of text.
public struct Help: Sendable {
    private let program: Program
    private let columns: Int

    /// - `columns`: where lines are wrapped; at least 40.
    public init(_ program: Program, columns: Int = 80) {
        self.program = program
        self.columns = max(40, columns)
    }

    /// The help of the command at that path, ending with a newline.
    public func text(_ path: [String]) -> String {
        let chain = program.chain(path)
        let command = chain[chain.count - 1]
        var out = command.summary + ".\n"
        for paragraph in command.details { out += "\n" + wrapped(paragraph, indent: 0) + "\n" }
        out += "\nUsage:\n"
        for line in usage(path) { out += "  \(line)\n" }
        out += section("Arguments", command.arguments.map { ($0.name, described($0)) })
        for group in groups(command) {
            let members = command.subcommands.filter { $0.group == group }
            out += section(group, members.map { (label($0), $0.summary) })
        }
        out += section("Options", command.options.map { (Self.label($0), $0.summary) })
        let inherited = chain.dropLast().flatMap(\.options)
        let help = Option("help", short: "h", "Show this")
        out += section("Everywhere", (inherited + [help]).map { (Self.label($0), $0.summary) })
        if !command.examples.isEmpty {
            out += "\nExamples:\n"
            for example in command.examples { out += "  \(example.line)\n      \(example.purpose)\n" }
        }
        if path.isEmpty {
            out += section("Exit codes", program.exitCodes.map { (String($0.code), $0.meaning) })
            out += section("Environment", program.environment.map { ($0.name, $0.meaning) })
        }
        return out
    }

    /// The usage lines of the command at that path.
    public func usage(_ path: [String]) -> [String] {
        let chain = program.chain(path)
        let command = chain[chain.count - 1]
        let start = chain.map(\.name).joined(separator: " ")
        var lines: [String] = []
        if command.isCallable {
            var words = [start]
            if !command.options.isEmpty { words.append("[OPTIONS]") }
            words += command.arguments.map(Self.shown)
            lines.append(words.joined(separator: " "))
        }
        if !command.subcommands.isEmpty { lines.append("\(start) COMMAND …") }
        return lines
    }

    private func groups(_ command: Command) -> [String] {
        var groups: [String] = []
        for subcommand in command.subcommands where !groups.contains(subcommand.group) {
            groups.append(subcommand.group)
        }
        return groups
    }

    private func label(_ command: Command) -> String {
        ([command.name] + command.arguments.map(Self.shown)).joined(separator: " ")
    }

    static func shown(_ argument: Argument) -> String {
        switch argument.count {
        case .one: argument.name
        case .optional: "[\(argument.name)]"
        case .rest: "[\(argument.name)…]"
        }
    }

    static func label(_ option: Option) -> String {
        let short = option.short.map { "-\($0), " } ?? ""
        let value = option.value.map { " \($0)" } ?? ""
        return "\(short)--\(option.long)\(value)"
    }

    private func described(_ argument: Argument) -> String {
        guard !argument.choices.isEmpty else { return argument.summary }
        return argument.summary + ": " + argument.choices.joined(separator: ", ")
    }

    private func section(_ title: String, _ rows: [(label: String, text: String)]) -> String {
        guard !rows.isEmpty else { return "" }
        let widest = rows.map(\.label.count).filter { $0 <= 28 }.max() ?? 28
        var out = "\n\(title):\n"
        for row in rows {
            let text = wrapped(row.text, indent: widest + 4)
            if row.label.count > widest {
                out += "  \(row.label)\n\(String(repeating: " ", count: widest + 4))\(text)\n"
            } else {
                out += "  \(row.label)\(String(repeating: " ", count: widest - row.label.count + 2))\(text)\n"
            }
        }
        return out
    }

    /// The text broken between words; lines after the first are indented.
    private func wrapped(_ text: String, indent: Int) -> String {
        var lines: [String] = []
        var line = ""
        for word in text.split(separator: " ") {
            if !line.isEmpty, indent + line.count + 1 + word.count > columns {
                lines.append(line)
                line = ""
            }
            line += line.isEmpty ? String(word) : " \(word)"
        }
        lines.append(line)
        return lines.joined(separator: "\n" + String(repeating: " ", count: indent))
    }
}
