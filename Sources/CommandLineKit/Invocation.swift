/// A command line that was understood.
public struct Invocation: Sendable, Equatable {
    /// The names of the commands below the root: `["tree", "get"]`; empty for the program alone.
    public var path: [String]
    var options: [String: [String]]
    var arguments: [String: [String]]

    /// Whether an option without value was given.
    public func has(_ option: String) -> Bool {
        options[option] != nil
    }

    /// The value of an option; the last if it was given more than once.
    public func value(_ option: String) -> String? {
        options[option]?.last
    }

    /// All values of an option that may be repeated.
    public func values(_ option: String) -> [String] {
        options[option] ?? []
    }

    /// The word given for an argument; nil if it is optional and was left out.
    public func argument(_ name: String) -> String? {
        arguments[name]?.first
    }

    /// The words given for an argument that takes the rest.
    public func rest(_ name: String) -> [String] {
        arguments[name] ?? []
    }

    /// The word given for an argument that the parser has made sure of.
    ///
    /// - Throws: ``UsageError`` if it is missing all the same: the table does not require it.
    public func required(_ name: String) throws(UsageError) -> String {
        guard let word = argument(name) else { throw usageError("\(name) is missing") }
        return word
    }

    /// The integer an option was given, within a range; nil if it was not.
    public func integer(_ option: String, in range: ClosedRange<Int>) throws(UsageError) -> Int? {
        guard let text = value(option) else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw usageError("--\(option) must be a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// A mistake in how this command was called, found after parsing.
    public func usageError(_ message: String) -> UsageError {
        UsageError(path: path, message: message)
    }
}

/// What the words of a command line ask for.
public enum Request: Sendable, Equatable {
    case run(Invocation)
    /// The help of the command at that path.
    case help([String])
    case version
}

/// A command line that was not understood. The exit code is 2.
public struct UsageError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The command that was recognised before.
    public var path: [String]
    /// What is wrong; words of the command line may be in it, so escape it before showing.
    public var message: String

    public init(path: [String], message: String) {
        self.path = path
        self.message = message
    }

    public var description: String { message }
}
