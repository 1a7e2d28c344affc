internal import CommandLineKit
internal import ControlAPI

/// `starling send`
enum Send {
    static let command = Command(
        "send", "Send a message",
        details: [
            "Prints the message's key once it is stored here; the others get it as soon as they are reached.",
            "Without TEXT, standard input is the message: all of it is one.",
            "Where the key cannot be printed, as on a full disk, it fails and says that the message was sent.",
            "Warns, after it has sent, while somebody is here under a name that you know from another key.",
        ],
        arguments: [.channel, Argument("TEXT", "The message; several words are joined by spaces", count: .rest)],
        options: [Option("reply-to", short: "r", value: "KEY", "Answer the message of that key"), .json],
        group: "Chat",
        examples: [
            Example("starling send '#general' 'Lunch at one?'", "Say something in #general"),
            Example("uptime | starling send ops", "Send a command's output to #ops"),
        ])

    static func run(_ session: Session) throws {
        let channel = try session.channel("CHANNEL")
        let text = try session.text("TEXT")
        guard !text.allSatisfy(\.isWhitespace) else { throw session.invocation.usageError("an empty message is none") }
        var params: JSONObject = ["to": channel, "text": .string(text)]
        params.append("replyTo", ifPresent: session.invocation.value("reply-to").map(JSON.string))
        let answer = try session.call("message.send", .object(params))
        session.output.done = "the message was sent"
        for warning in answer["warnings"]?.array ?? [] { Output.complain("warning: \(warning.string ?? "")") }
        session.print(answer) { session.output.line(Escaper.escape(answer["key"]?.string ?? "")) }
    }
}
