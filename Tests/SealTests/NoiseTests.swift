import Testing

@testable import Seal

/// The core against vectors of other implementations; see Vectors/NOTICE.md for where they come from.
@Suite struct NoiseTests {
    struct VectorFile: Decodable {
        let vectors: [Vector]
    }

    struct Vector: Decodable {
        struct Message: Decodable {
            let payload: String
            let ciphertext: String
        }

        let protocolName: String
        let initPrologue: String
        let initPsks: [String]?
        let initStatic: String?
        let initEphemeral: String
        let initRemoteStatic: String?
        let respPrologue: String
        let respPsks: [String]?
        let respStatic: String?
        let respEphemeral: String
        let handshakeHash: String?
        let messages: [Message]
    }

    @Test(arguments: ["cacophony", "snow"])
    func publicVectors(_ file: String) throws {
        for vector in try vectors(file, as: VectorFile.self).vectors { try check(vector) }
    }

    @Test func everyPatternHasAVector() throws {
        var names = try ["cacophony", "snow"].flatMap { name in
            try vectors(name, as: VectorFile.self).vectors.map(\.protocolName)
        }
        names.append("Noise_XXpsk0_25519_ChaChaPoly_SHA256")
        #expect(Set(names) == Set(HandshakePattern.all.map(\.protocolName)))
    }

    private func check(_ vector: Vector) throws {
        let pattern = try #require(HandshakePattern.all.first { $0.protocolName == vector.protocolName })
        let sides = [
            try HandshakeState(
                pattern, .initiator, prologue: try bytes(vector.initPrologue),
                keys: .init(
                    own: try vector.initStatic.map { X25519KeyPair(secret: try bytes32($0)) },
                    ephemeral: X25519KeyPair(secret: try bytes32(vector.initEphemeral)),
                    remote: try vector.initRemoteStatic.map(bytes32), psk: try vector.initPsks?.first.map(bytes32))),
            try HandshakeState(
                pattern, .responder, prologue: try bytes(vector.respPrologue),
                keys: .init(
                    own: try vector.respStatic.map { X25519KeyPair(secret: try bytes32($0)) },
                    ephemeral: X25519KeyPair(secret: try bytes32(vector.respEphemeral)),
                    remote: nil, psk: try vector.respPsks?.first.map(bytes32))),
        ]
        try run(vector, sides)
    }

    private func run(_ vector: Vector, _ handshakes: [HandshakeState]) throws {
        var sides = handshakes
        var ciphers: [(send: CipherState, receive: CipherState)] = []
        for (index, message) in vector.messages.enumerated() {
            let payload = try bytes(message.payload)
            let ciphertext = try bytes(message.ciphertext)
            let (writer, reader) = index.isMultiple(of: 2) ? (0, 1) : (1, 0)
            if !ciphers.isEmpty {
                #expect(try ciphers[writer].send.seal(payload) == ciphertext, "\(vector.protocolName) \(index)")
                #expect(try ciphers[reader].receive.open(ciphertext[...]) == payload)
                continue
            }
            var hashBefore: Bytes32?
            let sent = try sides[writer].writeMessage { hash in
                hashBefore = hash
                return payload
            }
            #expect(sent == ciphertext, "\(vector.protocolName) \(index)")
            let got = try sides[reader].readMessage(sent)
            #expect(got.payload == payload)
            #expect(got.hash == hashBefore)
            guard sides[writer].isFinished else { continue }
            #expect(sides[0].hash == sides[1].hash)
            if let hash = vector.handshakeHash { #expect(sides[0].hash.hex == hash) }
            ciphers = try sides.map { side in
                let (send, receive) = try side.split()
                return (CipherState(key: send), CipherState(key: receive))
            }
        }
        #expect(!ciphers.isEmpty)
    }

    struct XXPSK0: Decodable {
        let prologue: String
        let psk: String
        let initStatic: String
        let initEphemeral: String
        let respStatic: String
        let respEphemeral: String
        let payloads: [String]
        let messages: [String]
        let handshakeHash: String
        let keys: [String]
        let rekeyed: [String]
    }

    @Test func protocolPageVector() throws {
        let vector = try vectors("xxpsk0", as: XXPSK0.self)
        let prologue = try bytes(vector.prologue)
        let psk = try bytes32(vector.psk)
        func side(_ role: HandshakeState.Role, _ own: String, _ ephemeral: String) throws -> HandshakeState {
            try HandshakeState(
                .xxPSK0, role, prologue: prologue,
                keys: .init(
                    own: X25519KeyPair(secret: try bytes32(own)),
                    ephemeral: X25519KeyPair(secret: try bytes32(ephemeral)), remote: nil, psk: psk))
        }
        var initiator = try side(.initiator, vector.initStatic, vector.initEphemeral)
        var responder = try side(.responder, vector.respStatic, vector.respEphemeral)
        let payloads = try vector.payloads.map(bytes)
        let message1 = try initiator.writeMessage { _ in payloads[0] }
        #expect(try responder.readMessage(message1).payload == payloads[0])
        let message2 = try responder.writeMessage { _ in payloads[1] }
        #expect(try initiator.readMessage(message2).payload == payloads[1])
        let message3 = try initiator.writeMessage { _ in payloads[2] }
        #expect(try responder.readMessage(message3).payload == payloads[2])
        #expect([message1, message2, message3].map(Hex.encode) == vector.messages)
        #expect(initiator.hash.hex == vector.handshakeHash)
        #expect(responder.hash.hex == vector.handshakeHash)
        let (send, receive) = try initiator.split()
        for (index, key) in [send, receive].enumerated() {
            #expect(hex(key) == vector.keys[index])
            var cipher = CipherState(key: key)
            cipher.rekey()
            var next = CipherState(key: Secret(try bytes32(vector.rekeyed[index])))
            #expect(try cipher.seal([1, 2, 3]) == next.seal([1, 2, 3]))
        }
    }

    private func hex(_ secret: Secret) -> String {
        unsafe secret.withBytes { Hex.encode(unsafe Array(UnsafeBufferPointer(start: $0, count: secret.count))) }
    }

    @Test func messagesOutOfTurnAreRefused() throws {
        let keys = HandshakeState.Keys(
            own: X25519KeyPair(), ephemeral: X25519KeyPair(), remote: nil, psk: .zero)
        var initiator = try HandshakeState(.xxPSK0, .initiator, prologue: [], keys: keys)
        #expect(throws: NoiseError.outOfTurn) { try initiator.readMessage([UInt8](repeating: 0, count: 48)) }
        #expect(throws: NoiseError.outOfTurn) { try initiator.split() }
        _ = try initiator.writeMessage { _ in [] }
        #expect(throws: NoiseError.outOfTurn) { try initiator.writeMessage { _ in [] } }
        #expect(throws: NoiseError.missingKey) { try HandshakeState(.ik, .initiator, prologue: [], keys: keys) }
    }

    /// RFC 7748 §6.1: these public keys give an all-zero secret with every private key.
    @Test(arguments: [
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0100000000000000000000000000000000000000000000000000000000000000",
        "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
        "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    ])
    func lowOrderKeysAreRefused(_ key: String) throws {
        let theirs = try bytes32(key)
        #expect(throws: NoiseError.weakKey) { try X25519KeyPair().agree(with: theirs) }
    }

    /// RFC 7748 §6.1's example.
    @Test func agreesAsRFC7748() throws {
        let alice = X25519KeyPair(
            secret: try bytes32("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a"))
        let bob = X25519KeyPair(
            secret: try bytes32("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb"))
        #expect(alice.publicKey.hex == "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a")
        #expect(bob.publicKey.hex == "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f")
        let shared = "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742"
        #expect(hex(try alice.agree(with: bob.publicKey)) == shared)
        #expect(hex(try bob.agree(with: alice.publicKey)) == shared)
    }

    /// The last nonce is Noise's own, for rekeying.
    @Test func noncesEndBeforeTheLast() throws {
        var cipher = CipherState(key: Secret(.zero), nonce: .max - 1)
        let sealed = try cipher.seal([1])
        #expect(throws: NoiseError.nonceExhausted) { try cipher.seal([2]) }
        var opener = CipherState(key: Secret(.zero), nonce: .max - 1)
        #expect(try opener.open(sealed[...]) == [1])
        #expect(throws: NoiseError.nonceExhausted) { try opener.open(sealed[...]) }
    }
}
