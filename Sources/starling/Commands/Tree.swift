internal import CommandLineKit
internal import ControlAPI

/// `starling tree`: its commands as the table has them.
enum Tree {
    static let command = Command(
        "tree", "Read and write the workspace's tree itself",
        details: ["A path is as channels/KEY/topic. Values are JSON: put strings in double quotes inside the shell's."],
        subcommands: [
            Command(
                "get", "Print a value, objects in the tree's order", arguments: [path],
                options: queries + [
                    Option("shallow", "Keys alone: what stands below each is true"),
                    Option("export", "With priorities"), .json,
                ],
                examples: [
                    Example("starling tree get users --shallow", "The uids of everybody who was ever here"),
                    Example("starling tree get scores --order-by-value --limit-to-last 3", "The three best"),
                ]),
            Command(
                "set", "Write a value in place of what is there", arguments: [path, json], options: [.json],
                examples: [Example("starling tree set demo/lamp '{\"on\":true}'", "Switch a lamp on")]),
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
                details: ["Begins with what is there. With --json: {event, key, value, previous}."],
                arguments: [path],
                options: queries + [
                    Option(
                        "event", short: "e", value: "NAME",
                        "child_added, child_changed, child_moved, child_removed or value; all if not given",
                        isRepeated: true), .json,
                ],
                examples: [Example("starling tree watch demo --json", "Follow the demo as JSON lines")]),
        ], group: "Tree", isCallable: false)

    private static let path = Argument("PATH", "Segments joined by /")
    private static let json = Argument("JSON", "The value; standard input without", count: .optional)

    private static let queries = [
        Option("order-by-key", "Children in the order of their keys"),
        Option("order-by-child", value: "PATH", "Children in the order of what stands below them at PATH"),
        Option("order-by-value", "Children in the order of their values"),
        Option("order-by-priority", "Children in the order of their priorities"),
        Option("limit-to-first", value: "N", "The first N"), Option("limit-to-last", value: "N", "The last N"),
        Option("start-at", value: "JSON", "From that value on"),
        Option("start-after", value: "JSON", "Behind that value"),
        Option("end-at", value: "JSON", "Up to that value"),
        Option("end-before", value: "JSON", "Before that value"),
        Option("equal-to", value: "JSON", "That value alone"),
    ]

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

    /// The query of the options; nil if there is none.
    static func query(_ session: Session) throws -> JSON? {
        let invocation = session.invocation
        var query = JSONObject()
        let orders = [("order-by-key", "$key"), ("order-by-value", "$value"), ("order-by-priority", "$priority")]
        var chosen = orders.filter { invocation.has($0.0) }.map(\.1)
        if let child = invocation.value("order-by-child") { chosen.append(child) }
        guard chosen.count <= 1 else { throw invocation.usageError("choose one --order-by") }
        query.append("orderBy", ifPresent: chosen.first.map(JSON.string))
        for (option, field) in [("limit-to-first", "limitToFirst"), ("limit-to-last", "limitToLast")] {
            let limit = try invocation.integer(option, in: 1...1_000_000)
            query.append(field, ifPresent: limit.map { .int(Int64($0)) })
        }
        guard query["limitToFirst"] == nil || query["limitToLast"] == nil else {
            throw invocation.usageError("choose --limit-to-first or --limit-to-last")
        }
        let bounds = [
            ("start-at", "startAt"), ("start-after", "startAfter"), ("end-at", "endAt"), ("end-before", "endBefore"),
            ("equal-to", "equalTo"),
        ]
        for (option, field) in bounds {
            guard let text = invocation.value(option) else { continue }
            query.append(field, try value(text, "--\(option)", session))
        }
        return query.isEmpty ? nil : .object(query)
    }
}
