internal import CommandLineKit
internal import ControlAPI
internal import ControlClient
internal import Glibc

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
        get throws {
            guard invocation.value("home") != "" else {
                throw invocation.usageError("--home is empty: give a directory")
            }
            return try SocketPlaces(home: invocation.value("home"), .ofProcess())
        }
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

    /// Does something that goes on until it is interrupted, anew whenever the daemon has gone and come back, as it does
    /// at an upgrade.
    ///
    /// - Parameter patienceMs: how long it waits for the daemon each time, in milliseconds.
    /// - Throws: ``ClientError/noDaemon(tried:start:)`` if it does not come back in time, and what the body throws.
    func keepConnected(patienceMs: Int64 = 60_000, _ body: (ControlClient) throws -> Void) throws {
        var client = try client()
        while true {
            do {
                return try body(client)
            } catch let error as ClientError where error.isLostConnection {
                output.flush()
                Output.complain("starling: \(error); waiting for it")
            }
            connected = nil
            client = try connectAgain(patienceMs: patienceMs)
            Output.complain("starling: connected again")
        }
    }

    private static let retryMs: Int32 = 200

    /// A connection to the next daemon; it is looked for until that many milliseconds have passed.
    func connectAgain(patienceMs: Int64) throws -> ControlClient {
        let places = try places
        let endMs = ChatTerminal.nowMs() + patienceMs
        while true {
            // While it starts, anything may be the matter with its socket.
            if let client = try? ControlClient.connect(places) {
                connected = client
                return client
            }
            guard ChatTerminal.nowMs() < endMs else {
                throw ClientError.noDaemon(tried: places.sockets, start: places.startCommand)
            }
            _ = poll(nil, 0, Self.retryMs)
        }
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

extension ClientError {
    /// Whether the daemon has gone, as it does when it is stopped or ends by itself.
    var isLostConnection: Bool {
        switch self {
        case .closed, .system(_, ECONNRESET), .system(_, EPIPE): true
        default: false
        }
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
