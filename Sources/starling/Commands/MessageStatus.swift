internal import CommandLineKit
internal import ControlAPI

/// `starling message`
enum MessageStatus {
    static let command = Command(
        "message", "Show how far a message has come",
        subcommands: [
            Command(
                "status", "Show on how many nodes a message is, and who has read it",
                details: [
                    "queued: no other node is known to hold it; it goes out when one comes. held: others have it. "
                        + "read: somebody has read it and says so.",
                    "A node is known to hold a message when it has been equal with this one since; in a large network, "
                        + "where this node knows some of the others only, more may have it.",
                ],
                arguments: [Argument("KEY", "The message's key")], options: [.json],
                examples: [Example("starling message status -Ox3kTY1aQ0sVb7cWnPqRs", "Whether it has arrived")])
        ], group: "Chat", isCallable: false)

    static func run(_ session: Session) throws {
        let answer = try session.call("message.status", ["key": .string(try session.invocation.required("KEY"))])
        try session.print(answer) {
            for line in lines(try MessageStatusRow(json: answer), session.output) { session.output.line(line) }
        }
    }

    private static func lines(_ row: MessageStatusRow, _ output: Output) -> [String] {
        var names = Names()
        for person in row.deliveredTo + row.readBy { names.set(person.uid, person.name) }
        func list(_ people: [MessageStatusRow.Person]) -> String {
            people.map { output.name(names.shown($0.uid), uid: $0.uid) }.joined(separator: ", ")
        }
        guard row.state != .queued else { return ["queued: no other node is known to have it yet"] }
        var lines = ["held by \(Words.count(row.heldBy, "other node", "other nodes"))"]
        lines.append("delivered to: \(list(row.deliveredTo))")
        if !row.readBy.isEmpty { lines.append("read by: \(list(row.readBy))") }
        return lines
    }
}
