/// A reader of what comes from outside, and what has to hold for any bytes at all.
package enum FuzzTarget: String, CaseIterable, Sendable {
    /// Deterministic CBOR.
    case cbor
    /// The encrypted link, from its first byte on.
    case frames
    /// An exchange of handshake messages that somebody in between changes.
    case handshake
    /// The messages of peers.
    case messages
    /// TXT records of DNS-SD.
    case txt
    /// Lines of clients.
    case jsonrpc
    /// What goes to a terminal.
    case escaper
    /// Names of files.
    case names
    /// What three nodes do and what happens to them.
    case sequence

    /// Feeds one input.
    ///
    /// - Throws: ``Finding`` if something does not hold. A trap is one, too.
    package func run(_ input: [UInt8]) throws {
        switch self {
        case .cbor: try fuzzCBOR(input)
        case .frames: try fuzzFrames(input)
        case .handshake: try fuzzHandshake(input)
        case .messages: try fuzzMessages(input)
        case .txt: try fuzzTXT(input)
        case .jsonrpc: try fuzzJSONRPC(input)
        case .escaper: try fuzzEscaper(input)
        case .names: try fuzzNames(input)
        case .sequence: try SequenceRun(input).run()
        }
    }
}

/// Something that does not hold.
package struct Finding: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}

func require(_ condition: Bool, _ words: @autoclosure () -> String) throws(Finding) {
    guard condition else { throw Finding(words()) }
}
