import Testing

@testable import Seal

@Suite struct LinkTests {
    @Test func bothEndsKnowEachOther() throws {
        var pair = LinkPair(expectedPeer: LinkPair.responderIdentity.publicKey)
        var ends = try pair.connect()
        #expect(ends.initiator.peerIdentity == LinkPair.responderIdentity.publicKey)
        #expect(ends.responder.peerIdentity == LinkPair.initiatorIdentity.publicKey)
        #expect(ends.initiator.peerPayload == LinkPair.responderPayload)
        #expect(ends.responder.peerPayload == LinkPair.initiatorPayload)
        #expect(ends.initiator.handshakeHash == ends.responder.handshakeHash)
        #expect(ends.initiator.pskIndex == 0 && ends.responder.pskIndex == 0)
        let up = try ends.initiator.sealer.seal([1])
        let down = try ends.responder.sealer.seal([2])
        #expect(try ends.responder.opener.receive(up) == [[1]])
        #expect(try ends.initiator.opener.receive(down) == [[2]])
    }

    @Test func handshakesWithFreshKeysDiffer() throws {
        func connect() throws -> Bytes32 {
            var initiator = LinkInitiator(psk: .zero, workspace: .zero, identity: SigningKey(), payload: [])
            var responder = LinkResponder(psks: [.zero], workspace: .zero, identity: SigningKey(), payload: [])
            let message2 = try responder.receive(try initiator.start()).written()
            return try initiator.receive(message2).established().session.handshakeHash
        }
        #expect(try connect() != connect())
    }

    @Test(arguments: [0, 1, LinkLimits.payloadSizeMax])
    func payloadsOfEverySize(_ count: Int) throws {
        let payload = SecureRandom.bytes(count)
        var pair = LinkPair(initiatorPayload: payload, responderPayload: payload)
        let ends = try pair.connect()
        #expect(ends.initiator.peerPayload == payload)
        #expect(ends.responder.peerPayload == payload)
    }

    @Test func bytesOneAtATime() throws {
        var whole = LinkPair()
        let flights = try whole.connect().flights
        var pair = LinkPair()
        #expect(try pair.initiator.start() == flights[0])
        for byte in flights[0].dropLast() { #expect(try pair.responder.receive([byte]).isWaiting()) }
        #expect(try pair.responder.receive([]).isWaiting())
        #expect(try pair.responder.receive(Array(flights[0].suffix(1))).written() == flights[1])
        for byte in flights[1].dropLast() { #expect(try pair.initiator.receive([byte]).isWaiting()) }
        #expect(try pair.initiator.receive(Array(flights[1].suffix(1))).established().write == flights[2])
        for byte in flights[2].dropLast() { #expect(try pair.responder.receive([byte]).isWaiting()) }
        let end = try pair.responder.receive(Array(flights[2].suffix(1))).established()
        #expect(end.session.peerIdentity == LinkPair.initiatorIdentity.publicKey)
    }

    @Test func framesBehindTheHandshakeAreLeftOver() throws {
        var pair = LinkPair()
        let first = try pair.initiator.start()
        let second = try pair.responder.receive(first).written()
        var initiator = try pair.initiator.receive(second).established()
        let frames = try initiator.session.sealer.seal([1]) + initiator.session.sealer.seal([2])
        var responder = try pair.responder.receive(initiator.write + frames).established()
        #expect(responder.session.leftover == frames)
        #expect(try responder.session.opener.receive(responder.session.leftover) == [[1], [2]])
    }

    @Test func theSecondKeyIsTriedToo() throws {
        let old = LinkKey.psk(networkKey: Bytes32(repeating: 1))
        var pair = LinkPair(initiatorPSK: old, responderPSKs: [LinkPair.psk, old])
        let ends = try pair.connect()
        #expect(ends.responder.pskIndex == 1)
        #expect(ends.initiator.pskIndex == 0)
        #expect(ends.initiator.handshakeHash == ends.responder.handshakeHash)
    }

    @Test(arguments: [[], [Bytes32.zero], [Bytes32.zero, Bytes32(repeating: 1)]])
    func aStrangersKeyIsRefused(_ keys: [Bytes32]) throws {
        var pair = LinkPair(responderPSKs: keys)
        let first = try pair.initiator.start()
        #expect(throws: LinkError(.noCommonKey)) { try pair.responder.receive(first).isWaiting() }
        #expect(throws: LinkError(.closed)) { try pair.responder.receive(first).isWaiting() }
    }

    @Test func anUnexpectedPeerLearnsNothing() throws {
        var pair = LinkPair(expectedPeer: SigningKey().publicKey)
        let second = try pair.responder.receive(try pair.initiator.start()).written()
        #expect(throws: LinkError(.unexpectedPeer)) { try pair.initiator.receive(second).isWaiting() }
        #expect(throws: LinkError(.closed)) { try pair.initiator.receive(second).isWaiting() }
    }

    @Test func anotherWorkspaceIsRefused() throws {
        var pair = LinkPair(initiatorWorkspace: Bytes32(repeating: 70))
        let second = try pair.responder.receive(try pair.initiator.start()).written()
        #expect(throws: LinkError(.badIdentity)) { try pair.initiator.receive(second).isWaiting() }
    }

    @Test func callsOutOfTurnAreRefused() throws {
        var pair = LinkPair()
        #expect(throws: LinkError(.closed)) { try pair.initiator.receive([]).isWaiting() }
        let first = try pair.initiator.start()
        #expect(throws: LinkError(.closed)) { try pair.initiator.start() }
        let second = try pair.responder.receive(first).written()
        let third = try pair.initiator.receive(second).established().write
        #expect(throws: LinkError(.closed)) { try pair.initiator.receive(second).isWaiting() }
        _ = try pair.responder.receive(third).established()
        #expect(throws: LinkError(.closed)) { try pair.responder.receive([]).isWaiting() }
    }

    @Test func errorsSayNothingSecret() {
        let error = LinkError(.noCommonKey)
        #expect("\(error)" == "the other side has another network key")
        #expect(error == LinkError(.noCommonKey) && error != LinkError(.closed))
    }
}
