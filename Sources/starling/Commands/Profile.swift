internal import CommandLineKit
internal import ControlAPI

/// `starling profile`
enum Profile {
    static let command = Command(
        "profile", "Change what the others see of you",
        details: ["Others see how far you have read a channel, unless you switch your receipts off."],
        options: [
            Option("name", value: "NAME", "What you are called"), Option("about", value: "TEXT", "A line about you"),
            Option("receipts", value: "on|off", "Whether others see how far you have read"), .json,
        ], group: "You",
        examples: [Example("starling profile --name 'Ada L.'", "Be called Ada L. from now on")])

    static func run(_ session: Session) throws {
        var params = JSONObject()
        for field in ["name", "about"] {
            params.append(field, ifPresent: session.invocation.value(field).map(JSON.string))
        }
        if let word = session.invocation.value("receipts") {
            guard ["on", "off"].contains(word) else { throw session.invocation.usageError("--receipts is on or off") }
            params.append("receipts", .bool(word == "on"))
        }
        guard !params.isEmpty else {
            throw session.invocation.usageError("nothing to change: give --name, --about or --receipts")
        }
        let answer = try session.call("profile.set", .object(params))
        session.print(answer) {
            session.output.line("you are \(Escaper.escape(answer["name"]?.string ?? ""))")
            if answer["receipts"]?.bool == false { session.output.line("nobody sees how far you have read") }
        }
    }
}
