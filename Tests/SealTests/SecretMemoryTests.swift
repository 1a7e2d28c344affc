import Testing

@testable import Seal

@Suite struct SecretMemoryTests {
    @Test func keysAreInLockedMemoryAndGiveTheirPlacesBack() async {
        await #expect(processExitsWith: .success) {
            let memory = SecretMemory.shared
            let before = memory.usedCount
            var keys = (0..<8).map { SigningKey(seed: Bytes32(repeating: UInt8($0))) }
            #expect(memory.usedCount == before + 8)
            let signature = keys[3].sign([1, 2, 3])
            #expect(Ed25519.verify(signature, [1, 2, 3], by: keys[3].publicKey))
            keys = []
            #expect(memory.usedCount == before)
        }
    }

    /// With more secrets than there are places everything works as well.
    @Test func whatFindsNoPlaceIsElsewhere() async {
        await #expect(processExitsWith: .success) {
            let secrets = (0..<(SecretMemory.placesMax + 50)).map { Secret(Bytes32(repeating: UInt8($0 % 251))) }
            #expect(SecretMemory.shared.usedCount == SecretMemory.placesMax)
            for (number, secret) in secrets.enumerated() {
                let isKept = unsafe secret.withBytes { unsafe $0[0] == UInt8(number % 251) && $0[31] == $0[0] }
                #expect(isKept)
            }
        }
    }

    /// A place that is used again shows nothing of what was there.
    @Test func placesAreWiped() async {
        await #expect(processExitsWith: .success) {
            let memory = SecretMemory.shared
            guard let place = unsafe memory.take(64) else {
                Issue.record("no place")
                return
            }
            unsafe place.update(repeating: 0xAB, count: 64)
            #expect(unsafe memory.giveBack(place))
            #expect(unsafe memory.take(32) == place)
            let isWiped = (0..<64).allSatisfy { unsafe place[$0] == 0 }
            #expect(isWiped)
            #expect(unsafe memory.take(65) == nil)
        }
    }
}
