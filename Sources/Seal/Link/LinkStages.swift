// The stages of XXpsk0 between two Starling nodes, one type each: a message that is not due cannot be written or read,
// because the type that could do it does not exist at that moment.

/// What one side brings to a handshake.
struct LinkParty: Sendable {
    /// The first bytes on the wire, and the beginning of the prologue.
    static let magic = Array("STR1".utf8)
    /// Both sides mix this into the handshake: the magic and the version of the channel.
    static let prologue = magic + [1]

    let workspace: Bytes32
    let identity: SigningKey
    let payload: [UInt8]
    let staticKey: X25519KeyPair
    let ephemeralKey: X25519KeyPair

    init(
        workspace: Bytes32, identity: SigningKey, payload: [UInt8],
        staticKey: X25519KeyPair, ephemeralKey: X25519KeyPair
    ) {
        precondition(payload.count <= LinkLimits.payloadSizeMax, "handshake payload of \(payload.count) bytes")
        self.workspace = workspace
        self.identity = identity
        self.payload = payload
        self.staticKey = staticKey
        self.ephemeralKey = ephemeralKey
    }

    func handshake(_ role: HandshakeState.Role, psk: Bytes32) throws(NoiseError) -> HandshakeState {
        try HandshakeState(
            .xxPSK0, role, prologue: Self.prologue,
            keys: .init(own: staticKey, ephemeral: ephemeralKey, remote: nil, psk: psk))
    }

    func claim(_ hash: Bytes32) -> [UInt8] {
        LinkClaim.make(by: identity, workspace: workspace, hash: hash, payload: payload)
    }
}

/// A finished handshake, not yet a session.
struct LinkOutcome: Sendable {
    let peer: LinkClaim
    let pskIndex: Int
    let handshakeHash: Bytes32
    let sendKey: Secret
    let receiveKey: Secret

    init(_ handshake: HandshakeState, peer: LinkClaim, pskIndex: Int) throws(NoiseError) {
        (sendKey, receiveKey) = try handshake.split()
        handshakeHash = handshake.hash
        self.peer = peer
        self.pskIndex = pskIndex
    }
}

/// The initiator before message 1.
struct LinkInitiatorHello {
    let party: LinkParty
    let psk: Bytes32
    let expectedPeer: Bytes32?

    func writeMessage1() throws(LinkError) -> (message: [UInt8], next: LinkInitiatorWaiting) {
        do throws(NoiseError) {
            var handshake = try party.handshake(.initiator, psk: psk)
            let message = try handshake.writeMessage { _ in [] }
            return (message, LinkInitiatorWaiting(party: party, expectedPeer: expectedPeer, handshake: handshake))
        } catch {
            throw LinkError(noise: error)
        }
    }
}

/// The initiator between message 1 and message 2.
struct LinkInitiatorWaiting {
    let party: LinkParty
    let expectedPeer: Bytes32?
    fileprivate(set) var handshake: HandshakeState

    /// Reads message 2 and answers with message 3; nothing is written for a peer that is not the expected one.
    func readMessage2(_ message: [UInt8]) throws(LinkError) -> (message: [UInt8], outcome: LinkOutcome) {
        var handshake = handshake
        let (payload, hash) = try LinkError.wrap { () throws(NoiseError) in try handshake.readMessage(message) }
        let peer = try LinkClaim(payload, workspace: party.workspace, hash: hash)
        if let expectedPeer, peer.identity != expectedPeer { throw LinkError(.unexpectedPeer) }
        do throws(NoiseError) {
            let answer = try handshake.writeMessage(payload: party.claim)
            return (answer, try LinkOutcome(handshake, peer: peer, pskIndex: 0))
        } catch {
            throw LinkError(noise: error)
        }
    }
}

/// The responder before message 1.
struct LinkResponderHello {
    let party: LinkParty
    let psks: [Bytes32]

    /// Reads message 1 with the first key that fits and answers with message 2. Up to the fitting key there is no key
    /// agreement, so a stranger costs a few hashes.
    func readMessage1(_ message: [UInt8]) throws(LinkError) -> (message: [UInt8], next: LinkResponderWaiting) {
        for (index, psk) in psks.enumerated() {
            do throws(NoiseError) {
                var handshake = try party.handshake(.responder, psk: psk)
                guard (try? handshake.readMessage(message)) != nil else { continue }
                let answer = try handshake.writeMessage(payload: party.claim)
                return (answer, LinkResponderWaiting(party: party, pskIndex: index, handshake: handshake))
            } catch {
                throw LinkError(noise: error)
            }
        }
        throw LinkError(.noCommonKey)
    }
}

/// The responder between message 2 and message 3.
struct LinkResponderWaiting {
    let party: LinkParty
    let pskIndex: Int
    fileprivate(set) var handshake: HandshakeState

    func readMessage3(_ message: [UInt8]) throws(LinkError) -> LinkOutcome {
        var handshake = handshake
        let (payload, hash) = try LinkError.wrap { () throws(NoiseError) in try handshake.readMessage(message) }
        let peer = try LinkClaim(payload, workspace: party.workspace, hash: hash)
        return try LinkError.wrap { () throws(NoiseError) in
            try LinkOutcome(handshake, peer: peer, pskIndex: pskIndex)
        }
    }
}
