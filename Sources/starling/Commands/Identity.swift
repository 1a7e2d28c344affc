internal import CommandLineKit
internal import ControlAPI

/// `starling identity`
enum Identity {
    static let command = Command(
        "identity", "Who you are to the others",
        subcommands: [
            Command(
                "show", "Show your name, uid and fingerprint", options: [.json],
                examples: [Example("starling identity show", "To compare with what the others see")])
        ], group: "You", isCallable: false)

    static func show(_ session: Session) throws {
        let answer = try session.call("identity.show")
        session.print(answer) {
            var table = Table()
            for field in ["name", "uid", "fingerprint"] {
                let value = Escaper.escape(answer[field]?.string ?? "")
                table.add(.init(field) { session.output.styled($0, .dim) }, .init(value))
            }
            for line in table.lines() { session.output.line(line) }
        }
    }
}
