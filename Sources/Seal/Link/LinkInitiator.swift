/// The dialling side of a link's handshake, without a socket: write what `start` gives, then feed `receive` with what
/// comes.
///
/// Noise_XXpsk0_25519_ChaChaPoly_SHA256 in the frame of the peer protocol. Has no clock: the caller ends a handshake
/// that takes over 5 seconds. Not copyable, because two copies would use one ephemeral key twice.
///
///     var initiator = LinkInitiator(psk: psk, workspace: id, identity: key, payload: claims, expectedPeer: nil)
///     try write(initiator.start())
///     switch try initiator.receive(bytes) {
///     case .needMore: break
///     case .write(let bytes): try write(bytes)
///     case .established(let bytes, let session):
///         try write(bytes)
///         sealer = consume session.sealer
///         opener = consume session.opener
///     }
public struct LinkInitiator: ~Copyable, Sendable {
    private enum State {
        case ready(LinkInitiatorHello)
        case waiting(LinkInitiatorWaiting)
        case over
    }

    private var state: State
    private var buffer = HandshakeBuffer(sizes: LinkLimits.message2Sizes)

    /// - `psk`: see `LinkKey.psk(networkKey:)`.
    /// - `payload`: at most `LinkLimits.payloadSizeMax` bytes for the other side, sealed and authenticated; more traps.
    /// - `expectedPeer`: the identity that must answer. Where another one does, it does not learn ours.
    /// - `staticKey`: our Noise key, kept for the life of the process and not known to anybody afterwards.
    /// - `ephemeralKey`: fresh for every handshake; given only by tests.
    public init(
        psk: Bytes32, workspace: Bytes32, identity: SigningKey, payload: [UInt8], expectedPeer: Bytes32? = nil,
        staticKey: X25519KeyPair = .process, ephemeralKey: X25519KeyPair = X25519KeyPair()
    ) {
        let party = LinkParty(
            workspace: workspace, identity: identity, payload: payload,
            staticKey: staticKey, ephemeralKey: ephemeralKey)
        state = .ready(LinkInitiatorHello(party: party, psk: psk, expectedPeer: expectedPeer))
    }

    /// The first bytes of the connection: magic and message 1. Call it once, before `receive`; throws `closed` after
    /// that.
    public mutating func start() throws(LinkError) -> [UInt8] {
        guard case .ready(let hello) = state else { throw LinkError(.closed) }
        state = .over
        let (message, next) = try hello.writeMessage1()
        state = .waiting(next)
        return HandshakeBuffer.frame(message, magic: LinkParty.magic)
    }

    /// Takes bytes in any pieces. After an error every call throws `closed`.
    public mutating func receive(_ bytes: [UInt8]) throws(LinkError) -> LinkStep {
        guard case .waiting(let stage) = state else { throw LinkError(.closed) }
        state = .over
        var input = bytes[...]
        guard let message = try buffer.take(from: &input) else {
            state = .waiting(stage)
            return .needMore
        }
        // The responder has nothing to say before it has message 3.
        guard input.isEmpty else { throw LinkError(.malformed) }
        let (answer, outcome) = try stage.readMessage2(message)
        return .established(write: HandshakeBuffer.frame(answer), LinkSession(outcome, leftover: []))
    }
}
