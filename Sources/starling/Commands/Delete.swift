internal import CommandLineKit
internal import ControlAPI

/// `starling delete`
enum Delete {
    static let command = Command(
        "delete", "Delete a message of yours",
        arguments: [.messageKey], options: [.json], group: "Chat",
        examples: [Example("starling delete -OabcdefghijklmnopqrsT", "Delete a message, everywhere")])

    static func run(_ session: Session) throws {
        let answer = try session.call("message.delete", ["key": .string(session.invocation.required("KEY"))])
        session.print(answer) {}
    }
}
