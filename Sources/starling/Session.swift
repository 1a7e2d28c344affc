internal import CommandLineKit
internal import ControlAPI
internal import ControlClient

/// One run of a command: what was asked, where the daemon is, where the output goes.
final class Session {
    let invocation: Invocation
    let output: Output
    private var connected: ControlClient?

    init(_ invocation: Invocation, _ output: Output) {
        self.invocation = invocation
        self.output = output
    }

    /// Where the daemon is.
    var places: SocketPlaces {
        get throws { try SocketPlaces(home: invocation.value("home"), .ofProcess()) }
    }

    /// Whether the output is one JSON object a line.
    var json: Bool { invocation.has("json") }

    /// The connection to the daemon, made when it is first needed.
    func client() throws -> ControlClient {
        if let connected { return connected }
        let client = try ControlClient.connect(try places)
        connected = client
        return client
    }

    /// Calls the daemon.
    @discardableResult
    func call(_ method: String, _ params: JSON = [:]) throws -> JSON {
        try client().call(method, params)
    }

    /// A channel as the daemon takes it, `#name` or a key: `#` may be left out, because shells make a comment of it.
    func channel(_ argument: String) throws -> JSON {
        let word = try invocation.required(argument)
        guard !word.hasPrefix("@") else {
            throw invocation.usageError("there are no direct messages yet: \(argument) must be a channel, as #general")
        }
        return .string(ChannelWord.normalised(word))
    }

    /// The words of an argument as one text, or else all of standard input as one text without its last newline.
    func text(_ argument: String) throws -> String {
        let words = invocation.rest(argument)
        if !words.isEmpty { return words.joined(separator: " ") }
        guard !StandardInput.isTerminal else {
            throw invocation.usageError("\(argument) is missing: give it, or pipe it in")
        }
        return try StandardInput.text(sizeMax: LineSplitter.lineMax)
    }

    /// Prints the daemon's answer as JSON, or else something for a person, with the daemon's word about it if there is
    /// one.
    func print(_ answer: JSON, human: () throws -> Void) rethrows {
        guard !json else { return output.json(answer) }
        try human()
        if let note = answer["note"]?.string { Output.complain("note: \(note)") }
    }

    /// Prints rows as JSON, or else something for a person.
    func print(rows: [JSON], human: () throws -> Void) rethrows {
        if json { for row in rows { output.json(row) } } else { try human() }
    }
}

/// Channels as people write them.
enum ChannelWord {
    /// `#name` for a name with or without `#`; keys stay as they are.
    static func normalised(_ word: String) -> String {
        word.hasPrefix("#") || isKey(word) ? word : "#" + word
    }

    /// The name without its `#`.
    static func bare(_ word: String) -> String {
        word.hasPrefix("#") ? String(word.dropFirst()) : word
    }

    /// Whether the word has the form of a channel's or a message's key: 20 or 22 characters of the alphabet of AutoIDs.
    static func isKey(_ word: String) -> Bool {
        guard word.utf8.count == 22 || word.utf8.count == 20 else { return false }
        return word.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
    }
}
