internal import CommandLineKit
internal import ControlAPI
internal import ControlClient

/// `starling tree hold`
enum TreeHold {
    static let command = Command(
        "hold", "Keep a value for as long as this command runs",
        details: [
            "Sets the value and stays; when it ends, however it ends, the daemon removes what is there, or writes the "
                + "value of --then. If the daemon is killed, it does so when it starts again.",
            "Prints {} with --json once the value stands.",
        ],
        arguments: [Tree.path, Tree.json],
        options: [Option("then", value: "JSON", "Leave this value behind instead of nothing"), .json],
        examples: [
            Example("starling tree hold demo/watchers/anna true", "Be on a list until you press ^C"),
            Example(
                "starling tree hold demo/door '\"open\"' --then '{\"closed\":{\".sv\":\"timestamp\"}}'",
                "Say when it ended"),
        ])

    static func run(_ session: Session) throws {
        let path = try Tree.path(session)
        let value = try Tree.value(session)
        let client = try session.client()
        var end: JSONObject = ["path": path, "op": "remove"]
        if let then = try Tree.value(ofOption: "then", session) { end = ["path": path, "op": "set", "value": then] }
        // The end first: a command that is killed in between leaves nothing behind.
        try client.call("tree.onDisconnect", .object(end))
        let answer: JSON
        do throws(ClientError) {
            answer = try client.call("tree.set", ["path": path, "value": value])
        } catch {
            // What was not written is not to be ended either.
            _ = try? client.call("tree.cancelOnDisconnect", ["path": path])
            throw error
        }
        session.print(answer) {}
        session.output.flush()
        while try client.nextEvent(timeoutMs: nil) != nil {}
    }
}
