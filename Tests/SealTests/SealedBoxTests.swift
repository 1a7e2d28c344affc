import Seal
import Testing

@Suite struct SealedBoxTests {
    @Test func onlyTheOwnerOpensIt() throws {
        let (owner, other) = (SigningKey(), SigningKey())
        let secret = SecureRandom.bytes32()
        let box = try #require(SealedBox.seal(secret, for: owner.publicKey))
        #expect(box.count == SealedBox.size)
        #expect(SealedBox.open(box, by: owner) == secret)
        #expect(SealedBox.open(box, by: other) == nil)
        // Each is made with a key of its own.
        #expect(SealedBox.seal(secret, for: owner.publicKey) != box)
    }

    @Test func whatWasChangedDoesNotOpen() throws {
        let owner = SigningKey()
        let box = try #require(SealedBox.seal(Bytes32(repeating: 5), for: owner.publicKey))
        for index in box.indices {
            var changed = box
            changed[index] ^= 1
            #expect(SealedBox.open(changed, by: owner) == nil, "byte \(index)")
        }
        #expect(SealedBox.open(Array(box.dropLast()), by: owner) == nil)
        #expect(SealedBox.open([], by: owner) == nil)
    }

    /// PyNaCl's SealedBox has made it, for the key of RFC 8032's first test.
    @Test func aBoxOfAnotherImplementationOpens() throws {
        let seed = try bytes32("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
        let box = try bytes(
            "4369bb7b0ca399e0c0103af7c68af32aa2612b8a6eee8b42f8a6362da07516779a5f9c01951938df"
                + "6ba9874dbf8fd04a3c1c44c8468f2fce06b8590698c6e7f2462e0dd6c46d5e7ad2b52da40c64871d")
        #expect(SealedBox.open(box, by: SigningKey(seed: seed)) == Bytes32(repeating: 7))
    }
}
