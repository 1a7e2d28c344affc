internal import CommandLineKit
internal import ControlAPI
internal import ControlClient
internal import Glibc

/// `starling identity`
enum Identity {
    static let command = Command(
        "identity", "Show who you are to the others, or become somebody new", options: [.json],
        subcommands: [
            Command(
                "show", "Show your name, uid and fingerprint", options: [.json],
                examples: [Example("starling identity show", "To compare with what the others see")]),
            Command(
                "new", "Become somebody new on this machine, with the same name",
                details: [
                    "For a copied disk, where two machines run with one identity: on one of them. What was written so "
                        + "far stays and belongs to the old identity, so it can no longer be changed from here.",
                    "The old key is kept beside the new one, for reading. The daemon starts anew.",
                ],
                options: [Option("yes", "Do not ask"), .json],
                examples: [
                    Example("starling identity new", "Ask first"),
                    Example("starling identity new --yes --json", "For a script"),
                ]),
        ], group: "You", examples: [Example("starling identity", "Your name, uid and fingerprint")])

    static func show(_ session: Session) throws {
        let answer = try session.call("identity.show")
        session.print(answer) { list(answer, ["name", "uid", "fingerprint"], session.output) }
    }

    static func renew(_ session: Session) throws {
        let old = try session.client().hello.uid
        guard try isConfirmed(session) else { throw InputError(words: "nothing was changed") }
        let answer = try session.call("identity.new", ["uid": .string(old)])
        _ = try ControlClient.connect(try session.places, toIdentity: answer["uid"]?.string ?? "")
        session.print(answer) {
            session.output.line("You are somebody new:")
            list(answer, ["name", "uid", "previous"], session.output)
            session.output.line("The old key is kept in \(Escaper.escape(answer["previousKey"]?.string ?? ""))")
        }
    }

    private static func isConfirmed(_ session: Session) throws -> Bool {
        if session.invocation.has("yes") { return true }
        guard StandardInput.isTerminal else {
            throw session.invocation.usageError("this cannot be undone: confirm it with --yes")
        }
        let name = Escaper.escape(try session.call("identity.show")["name"]?.string ?? "")
        // Standard output may be read by a program.
        Output.complain(
            "\(name) will have a new identity on this machine. What was written so far stays, but cannot be changed "
                + "any more.\nGo on? Type yes:")
        return readLine()?.lowercased() == "yes"
    }

    private static func list(_ answer: JSON, _ fields: [String], _ output: Output) {
        var table = Table()
        for field in fields {
            let value = Escaper.escape(answer[field]?.string ?? "")
            table.add(.init(field) { output.styled($0, .dim) }, .init(value))
        }
        for line in table.lines() { output.line(line) }
    }
}
