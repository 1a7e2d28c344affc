internal import CommandLineKit
internal import ControlAPI
internal import ControlClient

/// `starling typing`
enum Typing {
    static let command = Command(
        "typing", "Show the others that you are typing, or no longer",
        details: [
            "Without --hold it fades after 6 seconds by itself. With it, a daemon that restarts is told again; if none "
                + "comes within a minute, it ends with exit code 3."
        ],
        arguments: [.channel, Argument("STATE", "Whether you are", choices: ["on", "off"])],
        options: [Option("hold", "Keep it up for as long as this command runs"), .json], group: "Chat",
        examples: [Example("starling typing '#general' on --hold", "You type in #general until you press ^C")])

    static func run(_ session: Session) throws {
        let isOn = try session.invocation.required("STATE") == "on"
        let hold = session.invocation.has("hold")
        guard isOn || !hold else { throw session.invocation.usageError("--hold goes with on alone") }
        var params: JSONObject = ["in": try session.channel("CHANNEL"), "typing": .bool(isOn)]
        if hold { params.append("hold", true) }
        guard hold else {
            let answer = try session.call("typing.set", .object(params))
            return session.print(answer) {}
        }
        var isFirst = true
        try session.keepConnected { client in
            let answer = try client.call("typing.set", .object(params))
            if isFirst { session.print(answer) {} }
            isFirst = false
            session.output.flush()
            while try client.nextEvent(timeoutMs: nil) != nil {}
        }
    }
}
