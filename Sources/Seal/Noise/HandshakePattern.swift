/// Who sends what, in which order: Noise's patterns as a table (Noise rev 34 §7 and §9), so that one interpreter runs
/// them all and can be checked against the public test vectors.
struct HandshakePattern: Sendable {
    enum Token: Sendable {
        /// An ephemeral public key.
        case e
        /// A static public key, sealed as soon as there is a key.
        case s
        /// Key agreements; the first letter is the initiator's key.
        case ee, es, se, ss
        /// The pre-shared key.
        case psk
    }

    /// As in the protocol's name.
    let name: String
    /// Whether the initiator knows the responder's static key beforehand.
    let knowsResponder: Bool
    /// The initiator's message first, then by turns.
    let messages: [[Token]]

    init(_ name: String, knowsResponder: Bool = false, _ messages: [[Token]]) {
        self.name = name
        self.knowsResponder = knowsResponder
        self.messages = messages
    }

    /// In patterns with a pre-shared key ephemeral keys are mixed into the key as well (Noise rev 34 §9.2).
    var usesPSK: Bool { messages.contains { $0.contains(.psk) } }

    var protocolName: String { "Noise_\(name)_25519_ChaChaPoly_SHA256" }

    static let nnPSK0 = HandshakePattern("NNpsk0", [[.psk, .e], [.e, .ee]])
    static let ik = HandshakePattern("IK", knowsResponder: true, [[.e, .es, .s, .ss], [.e, .ee, .se]])
    static let xx = HandshakePattern("XX", [[.e], [.e, .ee, .s, .es], [.s, .se]])
    static let xxPSK0 = HandshakePattern("XXpsk0", [[.psk, .e], [.e, .ee, .s, .es], [.s, .se]])
    static let xxPSK3 = HandshakePattern("XXpsk3", [[.e], [.e, .ee, .s, .es], [.s, .se, .psk]])

    static let all = [nnPSK0, ik, xx, xxPSK0, xxPSK3]
}
