internal import CommandLineKit
internal import ControlAPI

/// `starling edit`
enum Edit {
    static let command = Command(
        "edit", "Change the text of a message of yours",
        details: ["Without TEXT, standard input is the new text."],
        arguments: [.messageKey, Argument("TEXT", "The new text", count: .rest)], options: [.json], group: "Chat",
        examples: [Example("starling edit -OabcdefghijklmnopqrsT 'Lunch at two?'", "Correct a message")])

    static func run(_ session: Session) throws {
        let key = try session.invocation.required("KEY")
        let text = try session.text("TEXT")
        guard !text.allSatisfy(\.isWhitespace) else {
            throw session.invocation.usageError("to remove a message, use starling delete")
        }
        let answer = try session.call("message.edit", ["key": .string(key), "text": .string(text)])
        session.print(answer) {}
    }
}
