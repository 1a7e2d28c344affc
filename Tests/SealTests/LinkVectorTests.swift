import Testing

@testable import Seal

/// A whole link against bytes that another implementation has computed from the protocol page.
@Suite struct LinkVectorTests {
    struct Vector: Decodable {
        struct Frames: Decodable {
            let hello: String
            let empty: String
            let threeMessagesHash: String
        }

        let networkKey: String
        let psk: String
        let initIdentity: String
        let respIdentity: String
        let initPayload: String
        let respPayload: String
        let wire: [String]
        let handshakeHash: String
        let initFrames: Frames
        let respFrame: String
        let frame65536: String
    }

    @Test func preSharedKey() throws {
        let vector = try vectors("link", as: Vector.self)
        #expect(LinkKey.psk(networkKey: try bytes32(vector.networkKey)).hex == vector.psk)
    }

    @Test func handshakeAndFrames() throws {
        let vector = try vectors("link", as: Vector.self)
        var pair = LinkPair()
        var ends = try pair.connect()
        #expect(ends.flights.map(Hex.encode) == vector.wire)
        #expect(ends.initiator.handshakeHash.hex == vector.handshakeHash)
        #expect(ends.responder.handshakeHash.hex == vector.handshakeHash)
        #expect(ends.initiator.peerIdentity.hex == vector.respIdentity)
        #expect(ends.responder.peerIdentity.hex == vector.initIdentity)
        #expect(ends.initiator.peerPayload == (try bytes(vector.respPayload)))
        #expect(ends.responder.peerPayload == (try bytes(vector.initPayload)))

        let hello = try ends.initiator.sealer.seal(Array("hello".utf8))
        let empty = try ends.initiator.sealer.seal([])
        let long = try ends.initiator.sealer.seal((0..<65_528).map { UInt8(truncatingIfNeeded: $0 * 7) })
        #expect(Hex.encode(hello) == vector.initFrames.hello)
        #expect(Hex.encode(empty) == vector.initFrames.empty)
        #expect(BLAKE2b.hash([hello, empty, long]).hex == vector.initFrames.threeMessagesHash)
        #expect(Hex.encode(try ends.responder.sealer.seal(Array("welcome".utf8))) == vector.respFrame)
    }

    /// 65,536 frames under the first key, then one under the next with the nonce going on.
    @Test func rekeysAfter65536Frames() throws {
        let vector = try vectors("link", as: Vector.self)
        var pair = LinkPair()
        var ends = try pair.connect()
        var frames: [UInt8] = []
        for _ in 0..<65_535 { frames += try ends.initiator.sealer.seal([]) }
        #expect(try ends.responder.opener.receive(frames).count == 65_535)
        let long = [UInt8](repeating: 5, count: LinkLimits.frameDataSizeMax)
        let lastOfOldKey = try ends.initiator.sealer.seal(long)
        #expect(try ends.responder.opener.receive(lastOfOldKey) == [long])
        let firstOfNewKey = try ends.initiator.sealer.seal(Array("after the rekey".utf8))
        #expect(Hex.encode(firstOfNewKey) == vector.frame65536)
        #expect(try ends.responder.opener.receive(firstOfNewKey) == [Array("after the rekey".utf8)])
    }
}
