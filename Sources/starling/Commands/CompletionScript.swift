internal import CommandLineKit

/// `starling completion`
enum CompletionScript {
    static let command = Command(
        "completion", "Print a script that completes commands in a shell, or the manual page",
        arguments: [Argument("KIND", "For which", choices: ["bash", "zsh", "fish", "man"])], group: "You",
        examples: [
            Example("source <(starling completion bash)", "Complete in this bash"),
            Example("starling completion man | man -l -", "Read the manual page"),
        ])

    static func run(_ session: Session) throws {
        let completion = Completion(StarlingProgram.table)
        switch try session.invocation.required("KIND") {
        case "bash": session.output.text(completion.bash())
        case "zsh": session.output.text(completion.zsh())
        case "fish": session.output.text(completion.fish())
        default: session.output.text(ManualPage(StarlingProgram.table).text())
        }
    }
}
