import Testing

@testable import Seal

@Suite struct VerifiedSignaturesTests {
    private let key = SigningKey(seed: Bytes32(repeating: 1))

    @Test func saysWhatVerifyingSays() {
        let known = VerifiedSignatures()
        let (message, other): ([UInt8], [UInt8]) = ([1, 2, 3], [1, 2, 4])
        let signature = key.sign(message)
        let stranger = SigningKey(seed: Bytes32(repeating: 2))
        for _ in 0..<2 {
            #expect(known.verify(signature, message, by: key.publicKey))
            #expect(!known.verify(signature, other, by: key.publicKey))
            #expect(!known.verify(signature, message, by: stranger.publicKey))
            #expect(!known.verify(stranger.sign(message), message, by: key.publicKey))
        }
        #expect(known.count == 1)
    }

    /// Threads meet in it, and it does not grow for ever.
    @Test func isBoundedAndForAllThreads() async {
        let known = VerifiedSignatures()
        let count = VerifiedSignatures.countMax / 2
        await withTaskGroup(of: Bool.self) { group in
            for thread in 0..<3 {
                group.addTask { [key] in
                    (0..<count).allSatisfy { number in
                        let message = [UInt8(thread), UInt8(number & 255), UInt8(number >> 8)]
                        return known.verify(key.sign(message), message, by: key.publicKey)
                    }
                }
            }
            for await isGenuine in group { #expect(isGenuine) }
        }
        #expect(known.count <= VerifiedSignatures.countMax && known.count > 0)
    }
}
