import Testing

@testable import Seal

@Suite struct Ed25519Tests {
    struct Case: Sendable {
        let seed: String
        let publicKey: String
        let message: String
        let signature: String
    }

    /// RFC 8032 §7.1, tests 1 to 3.
    static let cases: [Case] = [
        Case(
            seed: "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
            publicKey: "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
            message: "",
            signature: "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
                + "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"),
        Case(
            seed: "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
            publicKey: "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
            message: "72",
            signature: "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
                + "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"),
        Case(
            seed: "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
            publicKey: "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
            message: "af82",
            signature: "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
                + "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"),
    ]

    @Test(arguments: cases)
    func rfc8032(_ known: Case) throws {
        let key = SigningKey(seed: try bytes32(known.seed))
        let message = try bytes(known.message)
        let expected = try #require(Signature(try bytes(known.signature)))
        #expect(key.publicKey.hex == known.publicKey)
        #expect(key.seed.hex == known.seed)
        #expect(key.sign(message) == expected)
        #expect(expected.bytes == (try bytes(known.signature)))
        #expect("\(expected)" == known.signature)
        #expect(Ed25519.verify(expected, message, by: key.publicKey))
    }

    @Test func anyChangedBitIsRefused() throws {
        let key = SigningKey()
        let message = Array("the message".utf8)
        let signature = key.sign(message)
        for bit in 0..<512 {
            var changed = signature.bytes
            changed[bit / 8] ^= 1 << (bit % 8)
            #expect(!Ed25519.verify(try #require(Signature(changed)), message, by: key.publicKey), "bit \(bit)")
        }
        #expect(!Ed25519.verify(signature, message + [0], by: key.publicKey))
        #expect(!Ed25519.verify(signature, message, by: SigningKey().publicKey))
    }

    /// With a public key of small order one signature would hold for many messages.
    @Test func smallOrderKeysAreRefused() throws {
        let identityPoint = try bytes32("01" + String(repeating: "0", count: 62))
        let signature = try #require(Signature(identityPoint.bytes + Bytes32.zero.bytes))
        #expect(!Ed25519.verify(signature, Array("anything".utf8), by: identityPoint))
    }

    /// S and S plus the group order would otherwise be two signatures of one message.
    @Test func signaturesCannotBeRewritten() throws {
        let key = SigningKey()
        let signature = key.sign([1])
        let order = try bytes("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010")
        var changed = signature.bytes
        var carry = 0
        for index in 0..<32 {
            let sum = Int(changed[32 + index]) + Int(order[index]) + carry
            changed[32 + index] = UInt8(sum & 0xff)
            carry = sum >> 8
        }
        #expect(!Ed25519.verify(try #require(Signature(changed)), [1], by: key.publicKey))
    }

    @Test(arguments: [0, 63, 65])
    func signaturesHaveOneLength(_ count: Int) {
        #expect(Signature([UInt8](repeating: 1, count: count)) == nil)
    }
}
