import Testing

@testable import Seal

@Suite struct FrameTests {
    private static let key = Secret(Bytes32(repeating: 3))

    private func pair() -> Pair { Pair(sealer: FrameSealer(key: Self.key), opener: FrameOpener(key: Self.key)) }

    private struct Pair: ~Copyable {
        var sealer: FrameSealer
        var opener: FrameOpener
    }

    /// A frame with any plaintext, as a peer could send it that keeps to the cipher and breaks the protocol.
    private func frame(_ plaintext: [UInt8], _ cipher: inout CipherState) throws -> [UInt8] {
        HandshakeBuffer.frame(try cipher.seal(plaintext))
    }

    @Test(arguments: [
        (0, 1), (1, 1), (LinkLimits.frameDataSizeMax, 1), (LinkLimits.frameDataSizeMax + 1, 2),
        (2 * LinkLimits.frameDataSizeMax, 2), (LinkLimits.messageSizeMax, 65),
    ])
    func messagesOfEverySize(_ size: Int, _ frameCount: Int) throws {
        var ends = pair()
        var message = [UInt8](repeating: 9, count: size)
        for index in stride(from: 0, to: size, by: 251) { message[index] = UInt8(truncatingIfNeeded: index) }
        let sealed = try ends.sealer.seal(message)
        #expect(sealed.count == size + frameCount * 19)
        let opened = try ends.opener.receive(sealed)
        #expect(opened == [message])
        #expect(try ends.opener.receive(ends.sealer.seal([7])) == [[7]])
    }

    @Test func tooLongAMessageIsNotSealedAndTheLinkGoesOn() throws {
        var ends = pair()
        let long = [UInt8](repeating: 0, count: LinkLimits.messageSizeMax + 1)
        #expect(throws: LinkError(.messageTooLong)) { try ends.sealer.seal(long) }
        #expect(try ends.opener.receive(ends.sealer.seal([7])) == [[7]])
    }

    @Test func tooLongAMessageIsNotAssembled() throws {
        var ends = pair()
        var cipher = CipherState(key: Self.key)
        let full = [1] + [UInt8](repeating: 0, count: LinkLimits.frameDataSizeMax)
        for _ in 0..<64 { #expect(try ends.opener.receive(frame(full, &cipher)).isEmpty) }
        let last = try frame(full, &cipher)
        #expect(throws: LinkError(.messageTooLong)) { try ends.opener.receive(last) }
        #expect(throws: LinkError(.closed)) { try ends.opener.receive([]) }
    }

    @Test func bytesOneAtATime() throws {
        var ends = pair()
        let messages: [[UInt8]] = [[], [1, 2, 3], [UInt8](repeating: 9, count: 70_000), []]
        var sealed: [UInt8] = []
        for message in messages { sealed += try ends.sealer.seal(message) }
        var opened: [[UInt8]] = []
        for byte in sealed { opened += try ends.opener.receive([byte]) }
        #expect(opened == messages)
    }

    @Test(arguments: [0, 1, 16])
    func tooShortAFrameIsRefused(_ size: UInt8) throws {
        var ends = pair()
        #expect(throws: LinkError(.malformed)) { try ends.opener.receive([0, size]) }
    }

    @Test(arguments: [[2], [2, 1], [255, 1], [1]])
    func unknownContinuationsAreRefused(_ plaintext: [UInt8]) throws {
        var ends = pair()
        var cipher = CipherState(key: Self.key)
        let bad = try frame(plaintext, &cipher)
        #expect(throws: LinkError(.malformed)) { try ends.opener.receive(bad) }
    }

    @Test func everyChangedByteIsRefused() throws {
        var ends = pair()
        let sealed = try ends.sealer.seal(Array("hello".utf8))
        for index in sealed.indices {
            var opener = FrameOpener(key: Self.key)
            var changed = sealed
            changed[index] ^= 1
            if index < 2 {
                // A longer frame waits for bytes that never fit.
                changed += [UInt8](repeating: 0, count: 400)
            }
            #expect(throws: LinkError.self, "byte \(index)") { try opener.receive(changed) }
            #expect(throws: LinkError(.closed)) { try opener.receive(sealed) }
        }
    }

    @Test func repeatedSwappedAndMissingFramesAreRefused() throws {
        var ends = pair()
        let first = try ends.sealer.seal([1])
        let second = try ends.sealer.seal([2])
        for wrong in [first + first, second + first, second] {
            var opener = FrameOpener(key: Self.key)
            #expect(throws: LinkError(.authenticationFailed)) { try opener.receive(wrong) }
        }
        #expect(try ends.opener.receive(first + second) == [[1], [2]])
    }

    /// A direction's own frames sent back to it open nothing.
    @Test func reflectedFramesAreRefused() throws {
        var link = LinkPair()
        var ends = try link.connect()
        let sealed = try ends.initiator.sealer.seal([1])
        #expect(throws: LinkError(.authenticationFailed)) { try ends.initiator.opener.receive(sealed) }
    }

    @Test func anyMessagesInAnyPieces() throws {
        let seed = UInt64.random(in: .min ... .max)
        var random = SeededGenerator(seed: seed)
        for _ in 0..<40 {
            var ends = pair()
            let messages = (0..<Int.random(in: 0...12, using: &random)).map { _ in
                let sizeMax = [0, 40, 3_000, 140_000].randomElement(using: &random) ?? 0
                let byte = UInt8.random(in: 0...255, using: &random)
                return [UInt8](repeating: byte, count: Int.random(in: 0...sizeMax, using: &random))
            }
            var sealed: [UInt8] = []
            for message in messages { sealed += try ends.sealer.seal(message) }
            var opened: [[UInt8]] = []
            for piece in random.cut(sealed, sizeMax: [40, 20_000, 200_000].randomElement(using: &random) ?? 40) {
                opened += try ends.opener.receive(piece)
            }
            #expect(opened == messages, "seed \(seed)")
        }
    }

    @Test func noiseIsRefused() throws {
        let seed = UInt64.random(in: .min ... .max)
        var random = SeededGenerator(seed: seed)
        for _ in 0..<200 {
            var opener = FrameOpener(key: Self.key)
            let noise = [0, UInt8.random(in: 17...60, using: &random)] + random.bytes(60)
            #expect(throws: LinkError(.authenticationFailed), "seed \(seed)") { try opener.receive(noise) }
        }
    }
}
