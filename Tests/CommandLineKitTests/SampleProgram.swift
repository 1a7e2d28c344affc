import CommandLineKit

/// A small program with one of everything.
let sample = Program(
    root: Command(
        "bird", "Sings over the network", details: ["Birds of one garden hear one another."],
        options: [Option("home", value: "DIR", "Everything under DIR")],
        subcommands: [
            Command(
                "send", "Send a message",
                arguments: [Argument("TO", "Whom"), Argument("TEXT", "What; standard input without", count: .rest)],
                options: [
                    Option("reply-to", short: "r", value: "KEY", "The message that is answered"),
                    Option("json", "One object a line"),
                ], group: "Chat", examples: [Example("bird send '#all' hello", "Say hello to all")]),
            Command(
                "read", "Read messages", arguments: [Argument("IN", "Where")],
                options: [
                    Option("number", short: "n", value: "N", "How many"), Option("follow", short: "f", "Go on"),
                    Option("quiet", short: "q", "Don't: say much"),
                    Option("tag", value: "TAG", "A tag", isRepeated: true),
                ], group: "Chat"),
            Command(
                "tree", "The tree",
                subcommands: [
                    Command(
                        "get", "Read a value", arguments: [Argument("PATH", "Where", count: .optional)],
                        options: [Option("shallow", "Keys alone")]),
                    Command("delete", "Remove", arguments: [Argument("KEY", "Which")]),
                    Command("set", "Write", arguments: [Argument("PATH", "Where"), Argument("JSON", "What")]),
                ], group: "Tree", isCallable: false),
            Command(
                "typing", "Say that you type", arguments: [Argument("STATE", "Which", choices: ["on", "off"])]),
            Command(
                "channels", "List the channels",
                subcommands: [Command("create", "Make one", arguments: [Argument("NAME", "Its name")])]),
        ], examples: [Example("bird", "Open the garden")]),
    version: "1.2", exitCodes: [ExitCode(0, "done"), ExitCode(2, "usage")],
    environment: [(name: "NO_COLOR", meaning: "no colour")], files: [(path: "~/.bird", meaning: "'the' nest")])
