/// Why a link was refused or has ended. A link is over after any error; the only thing left to do is to close it.
public struct LinkError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What happened. More codes may come: handle the ones you know and treat the others as the end of the link.
    public struct Code: Hashable, Sendable {
        let name: String

        /// The other side does not speak this protocol: its first bytes are not `STR1`.
        public static let notStarling = Code(name: "the other side is no Starling node")
        /// The other side has none of our network keys: another workspace, or one that has moved on to a new key.
        public static let noCommonKey = Code(name: "the other side has another network key")
        /// A sealed byte was changed on the way, or the two sides did not see the same handshake.
        public static let authenticationFailed = Code(name: "the data is not what the other side sealed")
        /// The other side sent a public key that makes the shared secret known to everybody.
        public static let weakKey = Code(name: "the other side sent a worthless key")
        /// The other side did not prove the identity that it claims, in this workspace and in this handshake.
        public static let badIdentity = Code(name: "the other side did not prove its identity")
        /// Somebody else answered than was dialled.
        public static let unexpectedPeer = Code(name: "another node answered than was dialled")
        /// Lengths or bytes that the protocol does not have.
        public static let malformed = Code(name: "the other side broke the protocol")
        /// A message over `LinkLimits.messageSizeMax`, ours or the other side's.
        public static let messageTooLong = Code(name: "the message is too long")
        /// The link had already ended with an error.
        public static let closed = Code(name: "the link has ended")
    }

    /// What happened.
    public let code: Code

    /// An error with this code.
    public init(_ code: Code) {
        self.code = code
    }

    /// One sentence, without keys and without data.
    public var description: String { code.name }
}

extension LinkError {
    /// The link's word for what the Noise core reports.
    init(noise error: NoiseError) {
        let code: Code =
            switch error {
            case .authentication: .authenticationFailed
            case .weakKey: .weakKey
            case .truncated, .outOfTurn, .missingKey: .malformed
            case .nonceExhausted: .closed
            }
        self.init(code)
    }

    /// Runs a piece of the Noise core and speaks of its errors in the link's words.
    static func wrap<Result>(_ body: () throws(NoiseError) -> Result) throws(LinkError) -> Result {
        do throws(NoiseError) {
            return try body()
        } catch {
            throw LinkError(noise: error)
        }
    }
}
