/// An established link: who is there, and the two directions.
///
/// Not copyable, because two copies of a sealer would seal different texts with one nonce. Read the other properties
/// first and then take it apart: `sealer = consume session.sealer`, `opener = consume session.opener`.
@frozen
public struct LinkSession: ~Copyable, Sendable {
    /// The Ed25519 key that the other side has proved to own. It may be our own: a node that has dialled itself.
    public let peerIdentity: Bytes32
    /// The other side's handshake payload: authenticated, but not checked for sense.
    public let peerPayload: [UInt8]
    /// Which of the responder's keys the link uses; 0 for the initiator.
    public let pskIndex: Int
    /// The same on both sides and different for every handshake: for binding further statements to this link.
    public let handshakeHash: Bytes32
    /// Bytes that came after the handshake: give them to `opener` first.
    public let leftover: [UInt8]
    /// Seals what we send.
    public var sealer: FrameSealer
    /// Opens what the other side sends.
    public var opener: FrameOpener

    init(_ outcome: LinkOutcome, leftover: [UInt8]) {
        peerIdentity = outcome.peer.identity
        peerPayload = outcome.peer.payload
        pskIndex = outcome.pskIndex
        handshakeHash = outcome.handshakeHash
        self.leftover = leftover
        sealer = FrameSealer(key: outcome.sendKey)
        opener = FrameOpener(key: outcome.receiveKey)
    }
}

/// What a handshake wants after some bytes have come in. Not copyable, as the session in it: `switch consume step`,
/// with one pattern a case.
@frozen
public enum LinkStep: ~Copyable, Sendable {
    /// The message is not complete yet.
    case needMore
    /// Write these bytes, then go on receiving.
    case write([UInt8])
    /// Write these bytes, if any; after that the link is open.
    case established(write: [UInt8], LinkSession)
}
