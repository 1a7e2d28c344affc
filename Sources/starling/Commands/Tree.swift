internal import CommandLineKit
internal import ControlAPI

/// `starling tree`: its commands as the table has them.
enum Tree {
    static let command = Command(
        "tree", "Read and write the workspace's tree itself",
        details: ["A path is as channels/KEY/topic. Values are JSON: put strings in double quotes inside the shell's."],
        subcommands: [
            Command(
                "get", "Print a value, objects in the tree's order",
                details: [
                    "A bound is JSON as well, and needs an order. Children that are equal in it are in the order of "
                        + "their keys: with --start-at VALUE --start-key KEY a page begins among them.",
                    "On a terminal the value is spread over several lines; elsewhere, and with --json, it is one line.",
                ],
                arguments: [path],
                options: TreeQuery.options + [
                    Option("watch", "Go on as tree watch does"), event, .json,
                ],
                examples: [
                    Example("starling tree get users --shallow", "The uids of everybody who was ever here"),
                    Example("starling tree get scores --order-by-value --limit-to-last 3", "The three best"),
                    Example(
                        "starling tree get scores --order-by-value --limit-to-last 3 --end-before 70 --end-key mia",
                        "The three before mia, who has 70"),
                ]),
            Command(
                "set", "Write a value in place of what is there",
                details: [
                    "PATH/.priority sets the priority of what stands at PATH.",
                    "With --expect it writes only where that value stands, null for nothing, and else fails with exit "
                        + "code 1 and says what is there. This machine alone decides: of two that do it on different "
                        + "machines at once both may succeed, and the later counts. With --json: {committed, value}.",
                ],
                arguments: [path, json],
                options: [Option("expect", value: "JSON", "Only if this is what stands there"), .json],
                examples: [
                    Example("starling tree set demo/lamp '{\"on\":true}'", "Switch a lamp on"),
                    Example("starling tree set demo/hits '{\".sv\":{\"increment\":1}}'", "Count, with everybody else"),
                    Example("starling tree set demo/desk '\"anna\"' --expect null", "Take the desk if nobody has it"),
                ]),
            Command(
                "update", "Write several values below a path at once", arguments: [path, json], options: [.json],
                examples: [
                    Example(
                        "starling tree update demo '{\"lamp/on\":false,\"fan/on\":true}'", "Change two, leave the rest")
                ]),
            Command(
                "push", "Write a value under a new key; prints the key", arguments: [path, json], options: [.json],
                examples: [Example("date +%s | starling tree push demo/times", "Append the time")]),
            Command(
                "remove", "Remove a value", arguments: [path], options: [.json],
                examples: [Example("starling tree remove demo/lamp", "Take the lamp away")]),
            Command(
                "watch", "Print what changes, until interrupted",
                details: [
                    "Begins with what is there: a child_added for each child, then value. Each change is told as "
                        + "child_removed, child_added, child_moved (and where to) and child_changed, and value last.",
                    "With --json: {event, key, value, previous}, previous being the key of the child before it.",
                ],
                arguments: [path], options: TreeQuery.options + [event, .json],
                examples: [
                    Example("starling tree watch demo --json", "Follow the demo as JSON lines"),
                    Example(
                        "starling tree watch scores --order-by-value --limit-to-last 1 -e child_added",
                        "Every new leader"),
                ]),
            TreeHold.command, TreeHistory.command,
        ], group: "Tree", isCallable: false)

    static let path = Argument("PATH", "Segments joined by /")
    static let json = Argument("JSON", "The value; standard input without", count: .optional)

    private static let event = Option(
        "event", short: "e", value: "NAME",
        "child_added, child_changed, child_moved, child_removed or value; all if not given", isRepeated: true)

    static func path(_ session: Session) throws -> JSON {
        .string(try session.invocation.required("PATH"))
    }

    /// The value given as JSON, or on standard input.
    static func value(_ session: Session) throws -> JSON {
        if let text = session.invocation.argument("JSON") { return try value(text, "JSON", session) }
        guard !StandardInput.isTerminal else {
            throw session.invocation.usageError("JSON is missing: give it, or pipe it in")
        }
        return try value(StandardInput.text(sizeMax: LineSplitter.lineMax), "standard input", session)
    }

    private static func value(_ text: String, _ origin: String, _ session: Session) throws -> JSON {
        do throws(JSONError) {
            return try JSON.parse(text)
        } catch {
            throw session.invocation.usageError(
                "\(origin) is no JSON: \(error) (a string needs double quotes: '\"text\"')")
        }
    }

    /// The value of an option as JSON; nil without the option.
    static func value(ofOption name: String, _ session: Session) throws -> JSON? {
        try session.invocation.value(name).map { try value($0, "--\(name)", session) }
    }
}
