internal import CommandLineKit
internal import ControlAPI

/// `starling verify-identity`
enum VerifyIdentity {
    static let command = Command(
        "verify-identity", "Compare eight words with somebody, to know that their key is theirs",
        details: [
            "Both of you run it with the other's name and read the words aloud, on the telephone or face to face, not "
                + "in the chat. The same words: the key is theirs, and nobody is between you.",
            "NAME is a name, name~abcd where two have it, or a uid. What you answer stays on this machine.",
        ],
        arguments: [Argument("NAME", "Whom")],
        options: [
            Option("yes", "The words are the same: mark them as verified"),
            Option("accept", "Know this key by this name from now on, without comparing"),
            Option("undo", "They are verified no more"), .json,
        ], group: "Chat",
        examples: [
            Example("starling verify-identity alice", "Show the words, and ask whether they are the same"),
            Example("starling verify-identity bob~x7Qa --accept", "There are two called bob, and you know both"),
        ])

    static func run(_ session: Session) throws {
        let person = try session.invocation.required("NAME")
        let chosen = ["yes", "accept", "undo"].filter(session.invocation.has)
        guard chosen.count <= 1 else { throw session.invocation.usageError("one of --yes, --accept and --undo") }
        var answer = try session.call("people.words", ["person": .string(person)])
        let uid = answer["uid"]?.string ?? ""
        if chosen.isEmpty {
            guard !session.json else { return session.output.json(answer) }
            show(answer, session.output)
            guard StandardInput.isTerminal else { return }
            session.output.flush()
            Output.complain("Are they the same? Type yes:")
            guard readLine()?.lowercased() == "yes" else { throw InputError(words: "nothing was changed") }
        }
        let method = chosen == ["accept"] ? "people.accept" : "people.verify"
        var params: JSONObject = ["person": .string(uid)]
        if chosen == ["undo"] { params.append("verified", false) }
        answer = try session.call(method, .object(params))
        try session.print(answer) {
            let row = try PersonRow(json: answer)
            let words =
                row.verified
                ? "is verified" : chosen == ["undo"] ? "is not verified any more" : "is known by this key from now on"
            session.output.line("\(Escaper.escape(row.name)) \(words)")
        }
    }

    private static func show(_ answer: JSON, _ output: Output) {
        func field(_ name: String) -> String { Escaper.escape(answer[name]?.string ?? "") }
        let words = (answer["words"]?.array ?? []).compactMap(\.string).map { Escaper.escape($0) }
        output.line("")
        output.line("    " + output.styled(words.prefix(4).joined(separator: "  "), .bold))
        output.line("    " + output.styled(words.dropFirst(4).joined(separator: "  "), .bold))
        output.line("")
        var table = Table()
        for name in ["name", "uid", "fingerprint"] {
            table.add(.init(name) { output.styled($0, .dim) }, .init(field(name)))
        }
        for line in table.lines() { output.line(line) }
        if answer["verified"]?.bool == true { output.line("You have compared them before.") }
        output.line("They see the same words when they run starling verify-identity with your name.")
    }
}
