/// Scripts that complete the program's commands, options and fixed words in a shell.
public struct Completion: Sendable {
    private let program: Program

    public init(_ program: Program) {
        self.program = program
    }

    private var name: String { program.root.name }
    private var function: String { "_" + name.map { $0 == "-" ? "_" : String($0) }.joined() }

    /// A command with its place: `""` for the root, `/tree/get` below it.
    private struct Place {
        var at: String
        var command: Command
        var options: [Option]
        /// Further words that may stand there.
        var words: [(name: String, summary: String)] = []
    }

    private func places() -> [Place] {
        func below(_ command: Command, _ at: String, _ inherited: [Option]) -> [Place] {
            let options = command.options + inherited
            let own = Place(at: at, command: command, options: options + [Option("help", short: "h", "Show help")])
            return [own] + command.subcommands.flatMap { below($0, "\(at)/\($0.name)", options) }
        }
        var places = below(program.root, "", [])
        places[0].words = program.plainRequests
        return places
    }

    private func deeper() -> [String] {
        places().map(\.at).filter { !$0.isEmpty }
    }

    /// Source it from `~/.bashrc`, or put it into `/usr/share/bash-completion/completions/`.
    public func bash() -> String {
        var out = """
            # bash completion for \(name)
            \(function)() {
                local current="${COMP_WORDS[COMP_CWORD]}" at="" i words=""
                for ((i = 1; i < COMP_CWORD; i++)); do
                    case "$at/${COMP_WORDS[i]}" in
                        \(deeper().joined(separator: "|"))) at="$at/${COMP_WORDS[i]}" ;;
                    esac
                done
                case "$at" in

            """
        for place in places() {
            let options = place.options.map { "--\($0.long)" }
            let words =
                place.command.subcommands.map(\.name) + place.words.map(\.name)
                + place.command.arguments.flatMap(\.choices)
            out += """
                        "\(place.at)")
                            if [[ "$current" == -* ]]; then words="\(options.joined(separator: " "))"
                            else words="\(words.joined(separator: " "))"; fi ;;

                """
        }
        out += """
                esac
                COMPREPLY=($(compgen -W "$words" -- "$current"))
            }
            complete -o default -F \(function) \(name)

            """
        return out
    }

    /// Put it as `_NAME` into a directory of `$fpath`.
    public func zsh() -> String {
        var out = """
            #compdef \(name)
            \(function)() {
                local at="" i
                local -a commands options
                for ((i = 2; i < CURRENT; i++)); do
                    case "$at/${words[i]}" in
                        (\(deeper().joined(separator: "|"))) at="$at/${words[i]}" ;;
                    esac
                done
                case "$at" in

            """
        for place in places() {
            let commands =
                place.command.subcommands.map { described($0.name, $0.summary) }
                + place.words.map { described($0.name, $0.summary) }
                + place.command.arguments.flatMap(\.choices).map { described($0, "") }
            let options = place.options.map { described("--\($0.long)", $0.summary) }
            out += """
                        ("\(place.at)")
                            commands=(\(commands.joined(separator: " ")))
                            options=(\(options.joined(separator: " "))) ;;

                """
        }
        out += """
                esac
                if [[ "${words[CURRENT]}" == -* ]]; then
                    _describe -o option options
                elif (( $#commands )); then
                    _describe command commands
                else
                    _files
                fi
            }
            \(function) "$@"

            """
        return out
    }

    /// `word:description` for zsh's `_describe`, in single quotes.
    private func described(_ word: String, _ summary: String) -> String {
        let text = summary.split(separator: ":", omittingEmptySubsequences: false).joined(separator: "\\:")
        return quoted(text.isEmpty ? word : "\(word):\(text)")
    }

    /// A word in single quotes, for any POSIX shell and zsh.
    private func quoted(_ text: String) -> String {
        "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
    }

    /// Put it as `NAME.fish` into `~/.config/fish/completions/`.
    public func fish() -> String {
        var out = """
            # fish completion for \(name)
            function _\(function)_at
                set -l at ""
                for word in (commandline -opc)[2..]
                    switch "$at/$word"
                        case \(deeper().joined(separator: " "))
                            set at "$at/$word"
                    end
                end
                test "$at" = "$argv[1]"
            end
            complete -c \(name) -f

            """
        for place in places() {
            let line = "complete -c \(name) -n '_\(function)_at \"\(place.at)\"'"
            for command in place.command.subcommands {
                out += "\(line) -a \(command.name) -d \(fishQuoted(command.summary))\n"
            }
            for word in place.words { out += "\(line) -a \(word.name) -d \(fishQuoted(word.summary))\n" }
            for choice in place.command.arguments.flatMap(\.choices) { out += "\(line) -a \(choice)\n" }
            for option in place.options {
                let short = option.short.map { " -s \($0)" } ?? ""
                let value = option.value == nil ? "" : " -r"
                out += "\(line)\(short) -l \(option.long)\(value) -d \(fishQuoted(option.summary))\n"
            }
        }
        return out
    }

    /// A word in single quotes; in fish a backslash escapes there.
    private func fishQuoted(_ text: String) -> String {
        "'" + text.map { $0 == "'" || $0 == "\\" ? "\\\($0)" : String($0) }.joined() + "'"
    }
}
