import Testing

@testable import Seal

@Suite struct LinkAttackTests {
    /// How the other side took a flight: nothing but an error or an endless wait may follow from a changed one.
    private func isRefused(_ receive: () throws(LinkError) -> LinkStep) -> Bool {
        do throws(LinkError) {
            return try receive().isWaiting()
        } catch {
            return true
        }
    }

    @Test func everyChangedByteOfMessage1IsRefused() throws {
        var whole = LinkPair()
        let flight = try whole.connect().flights[0]
        for index in flight.indices {
            var changed = flight
            changed[index] ^= 1 << (index % 8)
            var pair = LinkPair()
            #expect(throws: LinkError.self, "byte \(index)") { try pair.responder.receive(changed).isWaiting() }
        }
    }

    @Test func everyChangedByteOfMessage2IsRefused() throws {
        var whole = LinkPair()
        let flight = try whole.connect().flights[1]
        for index in flight.indices {
            var changed = flight
            changed[index] ^= 1 << (index % 8)
            var pair = LinkPair()
            _ = try pair.initiator.start()
            #expect(isRefused { () throws(LinkError) in try pair.initiator.receive(changed) }, "byte \(index)")
        }
    }

    @Test func everyChangedByteOfMessage3IsRefused() throws {
        var whole = LinkPair()
        let flights = try whole.connect().flights
        for index in flights[2].indices {
            var changed = flights[2]
            changed[index] ^= 1 << (index % 8)
            var pair = LinkPair()
            _ = try pair.responder.receive(flights[0]).written()
            #expect(isRefused { () throws(LinkError) in try pair.responder.receive(changed) }, "byte \(index)")
        }
    }

    struct Stranger: Sendable {
        let bytes: [UInt8]
        /// The first byte that no Starling node would have sent.
        let wrongAt: Int

        init(_ bytes: [UInt8], wrongAt: Int) {
            self.bytes = bytes
            self.wrongAt = wrongAt
        }
    }

    static let strangers: [Stranger] = [
        Stranger(Array("GET / HTTP/1.1\r\nHost: starling\r\n\r\n".utf8), wrongAt: 0),
        Stranger([0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00], wrongAt: 0),
        Stranger(Array("SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n".utf8), wrongAt: 1),
        Stranger(Array("STR2".utf8), wrongAt: 3),
        Stranger([0], wrongAt: 0),
    ]

    @Test(arguments: strangers)
    func otherProtocolsAreKnownByTheirFirstWrongByte(_ stranger: Stranger) throws {
        var whole = LinkPair()
        #expect(throws: LinkError(.notStarling)) { try whole.responder.receive(stranger.bytes).isWaiting() }
        var pieces = LinkPair()
        for byte in stranger.bytes[..<stranger.wrongAt] { #expect(try pieces.responder.receive([byte]).isWaiting()) }
        let wrong = [stranger.bytes[stranger.wrongAt]]
        #expect(throws: LinkError(.notStarling)) { try pieces.responder.receive(wrong).isWaiting() }
    }

    @Test(arguments: [0, 47, 49, 65_535])
    func message1HasOneLength(_ size: Int) throws {
        var pair = LinkPair()
        let header = Array("STR1".utf8) + [UInt8(size >> 8), UInt8(size & 0xff)]
        #expect(throws: LinkError(.malformed)) { try pair.responder.receive(header).isWaiting() }
    }

    @Test(arguments: [0, 191, 609, 65_535])
    func message2HasBounds(_ size: Int) throws {
        var pair = LinkPair()
        _ = try pair.initiator.start()
        let header = [UInt8(size >> 8), UInt8(size & 0xff)]
        #expect(throws: LinkError(.malformed)) { try pair.initiator.receive(header).isWaiting() }
    }

    @Test(arguments: [0, 159, 577, 65_535])
    func message3HasBounds(_ size: Int) throws {
        var pair = LinkPair()
        _ = try pair.responder.receive(try pair.initiator.start()).written()
        let header = [UInt8(size >> 8), UInt8(size & 0xff)]
        #expect(throws: LinkError(.malformed)) { try pair.responder.receive(header).isWaiting() }
    }

    @Test func nobodySpeaksBeforeItsTurn() throws {
        var pair = LinkPair()
        let first = try pair.initiator.start()
        #expect(throws: LinkError(.malformed)) { try pair.responder.receive(first + [0]).isWaiting() }
        var other = LinkPair()
        let second = try other.responder.receive(try other.initiator.start()).written()
        #expect(throws: LinkError(.malformed)) { try other.initiator.receive(second + [0]).isWaiting() }
    }

    /// Knows the network key, but makes up its own ephemeral key.
    @Test func aWorthlessKeyIsRefused() throws {
        var state = SymmetricState(protocolName: HandshakePattern.xxPSK0.protocolName)
        state.mixHash(LinkParty.prologue[...])
        state.mixKeyAndHash(Secret(LinkPair.psk))
        state.mixHash(Bytes32.zero.bytes[...])
        state.mixKey(Secret(.zero))
        let message = Bytes32.zero.bytes + (try state.encryptAndHash([]))
        var pair = LinkPair()
        let flight = HandshakeBuffer.frame(message, magic: LinkParty.magic)
        #expect(throws: LinkError(.weakKey)) { try pair.responder.receive(flight).isWaiting() }
    }

    /// One side of the bare handshake, for peers that know the network key and lie.
    private func liar(_ role: HandshakeState.Role) throws -> HandshakeState {
        try HandshakeState(
            .xxPSK0, role, prologue: LinkParty.prologue,
            keys: .init(own: X25519KeyPair(), ephemeral: X25519KeyPair(), remote: nil, psk: LinkPair.psk))
    }

    /// What an honest responder claims is taken along by a member that met it, and shown to somebody else.
    @Test func aClaimFromAnotherHandshakeIsRefused() throws {
        var honest = LinkPair()
        var thief = try liar(.initiator)
        let flight = HandshakeBuffer.frame(try thief.writeMessage { _ in [] }, magic: LinkParty.magic)
        let answer = try honest.responder.receive(flight).written()
        let stolen = try thief.readMessage(Array(answer.dropFirst(2))).payload

        var victim = LinkPair(expectedPeer: LinkPair.responderIdentity.publicKey)
        let first = try victim.initiator.start()
        var impostor = try liar(.responder)
        _ = try impostor.readMessage(Array(first.dropFirst(6)))
        let second = HandshakeBuffer.frame(try impostor.writeMessage { _ in stolen })
        #expect(throws: LinkError(.badIdentity)) { try victim.initiator.receive(second).isWaiting() }

        var host = LinkPair()
        var guest = try liar(.initiator)
        let hello = HandshakeBuffer.frame(try guest.writeMessage { _ in [] }, magic: LinkParty.magic)
        _ = try guest.readMessage(Array(try host.responder.receive(hello).written().dropFirst(2)))
        let third = HandshakeBuffer.frame(try guest.writeMessage { _ in stolen })
        #expect(throws: LinkError(.badIdentity)) { try host.responder.receive(third).isWaiting() }
    }

    /// Flights with random damage, in random pieces: never a trap, and never a link unless the damage undid itself.
    @Test func damagedFlightsNeverMakeALink() throws {
        let seed = UInt64.random(in: .min ... .max)
        var random = SeededGenerator(seed: seed)
        var whole = LinkPair()
        let flights = try whole.connect().flights
        for _ in 0..<200 {
            var pair = LinkPair()
            _ = try pair.responder.receive(flights[0]).written()
            var damaged = flights[2]
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let index = Int.random(in: 0..<damaged.count, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: damaged[index] = UInt8.random(in: 0...255, using: &random)
                case 1: damaged.insert(UInt8.random(in: 0...255, using: &random), at: index)
                default: damaged.remove(at: index)
                }
            }
            guard !damaged.starts(with: flights[2]) else { continue }
            for piece in random.cut(damaged, sizeMax: 60) {
                #expect(isRefused { () throws(LinkError) in try pair.responder.receive(piece) }, "seed \(seed)")
            }
        }
    }
}
