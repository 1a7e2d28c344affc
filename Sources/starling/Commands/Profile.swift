internal import CommandLineKit
internal import ControlAPI

/// `starling profile`
enum Profile {
    static let command = Command(
        "profile", "Change what the others see of you",
        options: [
            Option("name", value: "NAME", "What you are called"), Option("about", value: "TEXT", "A line about you"),
            .json,
        ], group: "You",
        examples: [Example("starling profile --name 'Ada L.'", "Be called Ada L. from now on")])

    static func run(_ session: Session) throws {
        var params = JSONObject()
        for field in ["name", "about"] {
            params.append(field, ifPresent: session.invocation.value(field).map(JSON.string))
        }
        guard !params.isEmpty else { throw session.invocation.usageError("nothing to change: give --name or --about") }
        let answer = try session.call("profile.set", .object(params))
        session.print(answer) { session.output.line("you are \(Escaper.escape(answer["name"]?.string ?? ""))") }
    }
}
