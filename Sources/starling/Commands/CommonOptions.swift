internal import CommandLineKit

extension Option {
    /// Of every command that prints something.
    static let json = Option("json", "Print one JSON object a line")
}

extension Argument {
    static let channel = Argument("CHANNEL", "A channel: '#name', name, or its key")
    static let messageKey = Argument("KEY", "The message's key, as send and read --json print it")
}
