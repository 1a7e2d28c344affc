/// The interpreter of `HandshakePattern` (Noise rev 34 §5.3). No clock, no socket, no random source: ephemeral keys are
/// given.
struct HandshakeState: Sendable {
    enum Role: Sendable {
        case initiator, responder
    }

    /// The keys of one side. What the pattern does not use may be nil.
    struct Keys: Sendable {
        var own: X25519KeyPair?
        var ephemeral: X25519KeyPair
        var remote: Bytes32?
        var psk: Bytes32?
    }

    private let pattern: HandshakePattern
    private let role: Role
    private let own: X25519KeyPair?
    private let ephemeral: X25519KeyPair
    private let psk: Secret?
    private let usesPSK: Bool
    private var remote: Bytes32?
    private var remoteEphemeral: Bytes32?
    private var symmetric: SymmetricState
    private var messageIndex = 0

    /// Throws `missingKey` where the pattern takes a key as known beforehand that is not given.
    init(_ pattern: HandshakePattern, _ role: Role, prologue: [UInt8], keys: Keys) throws(NoiseError) {
        self.pattern = pattern
        self.role = role
        own = keys.own
        ephemeral = keys.ephemeral
        remote = keys.remote
        psk = keys.psk.map(Secret.init)
        usesPSK = pattern.usesPSK
        symmetric = SymmetricState(protocolName: pattern.protocolName)
        symmetric.mixHash(prologue[...])
        if pattern.knowsResponder {
            guard let known = role == .initiator ? keys.remote : keys.own?.publicKey else { throw .missingKey }
            symmetric.mixHash(known.bytes[...])
        }
    }

    /// The hash over everything so far: the same on both sides if and only if they saw the same.
    var hash: Bytes32 { symmetric.hash }

    /// Whether all messages of the pattern have passed.
    var isFinished: Bool { messageIndex == pattern.messages.count }

    private var isOwnTurn: Bool { messageIndex.isMultiple(of: 2) == (role == .initiator) }

    /// The next message. `payload` gets the hash before the payload, so that what it signs is bound to this handshake.
    mutating func writeMessage(payload: (Bytes32) -> [UInt8]) throws(NoiseError) -> [UInt8] {
        guard !isFinished, isOwnTurn else { throw .outOfTurn }
        var message: [UInt8] = []
        for token in pattern.messages[messageIndex] {
            switch token {
            case .e:
                ephemeral.publicKey.append(to: &message)
                mix(ephemeral: ephemeral.publicKey)
            case .s:
                guard let own else { throw .missingKey }
                message += try symmetric.encryptAndHash(own.publicKey.bytes)
            default:
                try agree(token)
            }
        }
        message += try symmetric.encryptAndHash(payload(symmetric.hash))
        messageIndex += 1
        return message
    }

    /// The payload of the other side's next message, and the hash before it.
    mutating func readMessage(_ message: [UInt8]) throws(NoiseError) -> (payload: [UInt8], hash: Bytes32) {
        guard !isFinished, !isOwnTurn else { throw .outOfTurn }
        var rest = message[...]
        for token in pattern.messages[messageIndex] {
            switch token {
            case .e:
                guard let key = Bytes32(rest.prefix(32)) else { throw .truncated }
                rest = rest.dropFirst(32)
                remoteEphemeral = key
                mix(ephemeral: key)
            case .s:
                let length = 32 + symmetric.overhead
                guard rest.count >= length else { throw .truncated }
                remote = Bytes32(try symmetric.decryptAndHash(rest.prefix(length)))
                rest = rest.dropFirst(length)
            default:
                try agree(token)
            }
        }
        let hash = symmetric.hash
        let payload = try symmetric.decryptAndHash(rest)
        messageIndex += 1
        return (payload, hash)
    }

    /// The ciphers of the finished handshake, seen from this side.
    func split() throws(NoiseError) -> (send: Secret, receive: Secret) {
        guard isFinished else { throw .outOfTurn }
        let (first, second) = symmetric.split()
        return role == .initiator ? (first, second) : (second, first)
    }

    private mutating func mix(ephemeral key: Bytes32) {
        symmetric.mixHash(key.bytes[...])
        if usesPSK { symmetric.mixKey(Secret(key)) }
    }

    private mutating func agree(_ token: HandshakePattern.Token) throws(NoiseError) {
        switch token {
        case .psk:
            guard let psk else { throw .missingKey }
            symmetric.mixKeyAndHash(psk)
        case .ee:
            symmetric.mixKey(try agree(ephemeral, remoteEphemeral))
        case .ss:
            symmetric.mixKey(try agree(own, remote))
        case .es:
            symmetric.mixKey(
                role == .initiator ? try agree(ephemeral, remote) : try agree(own, remoteEphemeral))
        case .se:
            symmetric.mixKey(
                role == .initiator ? try agree(own, remoteEphemeral) : try agree(ephemeral, remote))
        case .e, .s:
            throw .outOfTurn
        }
    }

    private func agree(_ mine: X25519KeyPair?, _ theirs: Bytes32?) throws(NoiseError) -> Secret {
        guard let mine, let theirs else { throw .missingKey }
        return try mine.agree(with: theirs)
    }
}
