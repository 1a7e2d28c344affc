internal import CommandLineKit
internal import ControlAPI

/// `starling mute`
enum Mute {
    static let command = Command(
        "mute", "Show nothing of somebody any more",
        details: [
            "Their messages are neither shown nor counted as unread, here alone; nobody is told. Without NAME it lists "
                + "who is muted."
        ],
        arguments: [Argument("NAME", "Whom: a name, name~abcd where two have it, or a uid", count: .optional)],
        options: [Option("undo", "Show them again"), .json], group: "Chat",
        examples: [
            Example("starling mute bob", "Hear nothing more of bob"),
            Example("starling mute bob --undo", "Hear of bob again"), Example("starling mute", "Who is muted"),
        ])

    static func run(_ session: Session) throws {
        try PersonMark(method: "people.mute", field: "muted", isOn: "is muted", isOff: "is not muted any more")
            .run(session) { $0.muted }
    }
}

/// `starling block`
enum Block {
    static let command = Command(
        "block", "Mute somebody, and do not connect to their machine",
        details: [
            "What they write may still reach this machine through others; it is not shown. Nobody is told. Without "
                + "NAME it lists who is blocked."
        ],
        arguments: [Argument("NAME", "Whom: a name, name~abcd where two have it, or a uid", count: .optional)],
        options: [Option("undo", "Connect to them again"), .json], group: "Chat",
        examples: [
            Example("starling block bob", "Have nothing to do with bob"),
            Example("starling block bob --undo", "Connect to bob again"), Example("starling block", "Who is blocked"),
        ])

    static func run(_ session: Session) throws {
        try PersonMark(method: "people.block", field: "blocked", isOn: "is blocked", isOff: "is not blocked any more")
            .run(session) { $0.blocked }
    }
}

/// What can be decided about a person, and undone, and listed.
private struct PersonMark {
    let method: String
    let field: String
    let isOn: String
    let isOff: String

    func run(_ session: Session, has: (PersonRow) -> Bool) throws {
        let isUndone = session.invocation.has("undo")
        guard let person = session.invocation.argument("NAME") else {
            guard !isUndone else { throw session.invocation.usageError("whom?") }
            return try list(session, has)
        }
        let answer = try session.call(method, ["person": .string(person), field: .bool(!isUndone)])
        try session.print(answer) {
            let row = try PersonRow(json: answer)
            session.output.line("\(Escaper.escape(row.name)) \(has(row) ? isOn : isOff)")
        }
    }

    private func list(_ session: Session, _ has: (PersonRow) -> Bool) throws {
        let people = try session.call("people.list")["people"]?.array ?? []
        let marked = try people.filter { has(try PersonRow(json: $0)) }
        session.print(rows: marked) {
            if marked.isEmpty { session.output.line("nobody \(isOn)") }
            var names = Names()
            for json in people { names.set(json["uid"]?.string ?? "", json["name"]?.string ?? "") }
            for json in marked {
                let uid = json["uid"]?.string ?? ""
                session.output.line("\(session.output.name(names.shown(uid), uid: uid))  \(Escaper.escape(uid))")
            }
        }
    }
}
