internal import Seal

/// The two ends. Their keys are fixed, so that an input does the same every time and the examples fit.
enum Ends {
    static let psk = LinkKey.psk(networkKey: Bytes32(repeating: 6))
    static let workspace = Bytes32(repeating: 7)
    static let initiatorIdentity = SigningKey(seed: Bytes32(repeating: 8))
    static let responderIdentity = SigningKey(seed: Bytes32(repeating: 9))

    static func initiator() -> LinkInitiator {
        LinkInitiator(
            psk: psk, workspace: workspace, identity: initiatorIdentity, payload: [1, 2, 3],
            staticKey: X25519KeyPair(secret: Bytes32(repeating: 1)),
            ephemeralKey: X25519KeyPair(secret: Bytes32(repeating: 3)))
    }

    static func responder() -> LinkResponder {
        LinkResponder(
            psks: [Bytes32(repeating: 5), psk], workspace: workspace, identity: responderIdentity, payload: [4, 5],
            staticKey: X25519KeyPair(secret: Bytes32(repeating: 2)),
            ephemeralKey: X25519KeyPair(secret: Bytes32(repeating: 4)))
    }

    /// An open link: what the initiator seals is what the responder opens.
    struct Link: ~Copyable {
        var sealer: FrameSealer
        var opener: FrameOpener
    }

    static func link() -> Link? {
        var initiator = initiator()
        var responder = responder()
        guard let first = try? initiator.start(), let answer = try? responder.receive(first),
            case .write(let second) = consume answer, let own = try? initiator.receive(second),
            case .established(let third, let dialled) = consume own, let other = try? responder.receive(third),
            case .established(_, let accepted) = consume other
        else { return nil }
        return Link(sealer: (consume dialled).sealer, opener: (consume accepted).opener)
    }
}
