internal import CommandLineKit
internal import ControlAPI

/// `starling react`
enum React {
    static let command = Command(
        "react", "Put an emoji to a message, or take it back",
        arguments: [.messageKey, Argument("EMOJI", "One emoji")],
        options: [Option("remove", "Take the reaction back"), .json], group: "Chat",
        examples: [Example("starling react -OabcdefghijklmnopqrsT 👍", "Agree")])

    static func run(_ session: Session) throws {
        var params: JSONObject = [
            "key": .string(try session.invocation.required("KEY")),
            "emoji": .string(try session.invocation.required("EMOJI")),
        ]
        if session.invocation.has("remove") { params.append("remove", true) }
        let answer = try session.call("message.react", .object(params))
        session.print(answer) {}
    }
}
