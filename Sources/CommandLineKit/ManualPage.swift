/// The manual page of the program, for man(1) (groff's man macros, groff_man(7)).
public struct ManualPage: Sendable {
    private let program: Program
    private let section: Int

    public init(_ program: Program, section: Int = 1) {
        self.program = program
        self.section = section
    }

    public func text() -> String {
        let root = program.root
        var out =
            ".TH \(escaped(root.name.uppercased())) \(section) \"\" \"\(escaped(root.name)) \(program.version)\"\n"
        out += ".SH NAME\n\(escaped(root.name)) \\- \(escaped(lowercasedFirst(root.summary)))\n"
        out += ".SH SYNOPSIS\n"
        let help = Help(program)
        for entry in program.callable {
            for line in help.usage(entry.path).prefix(1) { out += ".B \(escaped(line))\n.br\n" }
        }
        if !root.details.isEmpty { out += ".SH DESCRIPTION\n" + paragraphs(root.details) }
        let commands = program.callable.filter { !$0.path.isEmpty }
        if !commands.isEmpty {
            out += ".SH COMMANDS\n"
            for entry in commands { out += describe(entry.command, entry.path) }
        }
        out += ".SH OPTIONS\n" + options(root.options + [Option("help", short: "h", "Show the help of a command.")])
        out += list("EXIT STATUS", program.exitCodes.map { (String($0.code), $0.meaning) })
        out += list("ENVIRONMENT", program.environment.map { ($0.name, $0.meaning) })
        out += list("FILES", program.files.map { ($0.path, $0.meaning) })
        out += examples(root.examples, title: ".SH EXAMPLES\n")
        return out
    }

    private func describe(_ command: Command, _ path: [String]) -> String {
        let words = ([path.joined(separator: " ")] + command.arguments.map(Help.shown)).joined(separator: " ")
        var out = ".SS \(escaped(words))\n\(escaped(command.summary)).\n"
        if !command.details.isEmpty { out += ".PP\n" + paragraphs(command.details) }
        out += options(command.options)
        out += examples(command.examples, title: "")
        return out
    }

    private func paragraphs(_ texts: [String]) -> String {
        texts.map { escaped($0) + "\n" }.joined(separator: ".PP\n")
    }

    private func options(_ options: [Option]) -> String {
        options.map { ".TP\n.B \(escaped(Help.label($0)))\n\(escaped($0.summary))\n" }.joined()
    }

    private func list(_ title: String, _ rows: [(label: String, text: String)]) -> String {
        guard !rows.isEmpty else { return "" }
        return ".SH \(title)\n" + rows.map { ".TP\n.B \(escaped($0.label))\n\(escaped($0.text))\n" }.joined()
    }

    private func examples(_ examples: [Example], title: String) -> String {
        guard !examples.isEmpty else { return "" }
        return title
            + examples.map { ".PP\n\(escaped($0.purpose)):\n.PP\n.RS 4\n.nf\n\(escaped($0.line))\n.fi\n.RE\n" }.joined()
    }

    private func lowercasedFirst(_ text: String) -> String {
        text.prefix(1).lowercased() + text.dropFirst()
    }

    /// Text that groff prints as it is: no escapes, no macro at the start of a line, real hyphens in options.
    private func escaped(_ text: String) -> String {
        var out = ""
        for character in text {
            switch character {
            case "\\": out += "\\e"
            case "-": out += "\\-"
            case "'": out += "\\(aq"
            case "\"": out += "\\(dq"
            default: out.append(character)
            }
        }
        return out.hasPrefix(".") ? "\\&" + out : out
    }
}
