/// The accepting side of a link's handshake, without a socket: feed `receive` with what comes and do what it says.
///
/// Noise_XXpsk0_25519_ChaChaPoly_SHA256 in the frame of the peer protocol. Has no clock: the caller ends a handshake
/// that takes over 5 seconds, and limits how many are open. Until the other side is known to have a network key, a
/// handshake costs its buffer and a few hashes. Not copyable, because two copies would use one ephemeral key twice.
public struct LinkResponder: ~Copyable, Sendable {
    private enum State {
        case waitingForMessage1(LinkResponderHello)
        case waitingForMessage3(LinkResponderWaiting)
        case over
    }

    private var state: State
    private var buffer = HandshakeBuffer(
        magic: LinkParty.magic, sizes: LinkLimits.message1Size...LinkLimits.message1Size)

    /// - `psks`: tried in this order, so the current epoch's first; see `LinkKey.psk(networkKey:)`.
    /// - `payload`: at most `LinkLimits.payloadSizeMax` bytes for the other side, sealed and authenticated; more traps.
    /// - `staticKey`: our Noise key, kept for the life of the process and not known to anybody afterwards.
    /// - `ephemeralKey`: fresh for every handshake; given only by tests.
    public init(
        psks: [Bytes32], workspace: Bytes32, identity: SigningKey, payload: [UInt8],
        staticKey: X25519KeyPair = .process, ephemeralKey: X25519KeyPair = X25519KeyPair()
    ) {
        let party = LinkParty(
            workspace: workspace, identity: identity, payload: payload,
            staticKey: staticKey, ephemeralKey: ephemeralKey)
        state = .waitingForMessage1(LinkResponderHello(party: party, psks: psks))
    }

    /// Takes bytes in any pieces. After an error every call throws `closed`.
    public mutating func receive(_ bytes: [UInt8]) throws(LinkError) -> LinkStep {
        let current = state
        state = .over
        var input = bytes[...]
        switch current {
        case .waitingForMessage1(let stage):
            guard let message = try buffer.take(from: &input) else {
                state = current
                return .needMore
            }
            // The initiator has nothing to say before it has message 2.
            guard input.isEmpty else { throw LinkError(.malformed) }
            let (answer, next) = try stage.readMessage1(message)
            state = .waitingForMessage3(next)
            buffer = HandshakeBuffer(sizes: LinkLimits.message3Sizes)
            return .write(HandshakeBuffer.frame(answer))
        case .waitingForMessage3(let stage):
            guard let message = try buffer.take(from: &input) else {
                state = current
                return .needMore
            }
            let outcome = try stage.readMessage3(message)
            return .established(write: [], LinkSession(outcome, leftover: Array(input)))
        case .over:
            throw LinkError(.closed)
        }
    }
}
