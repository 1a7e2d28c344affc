import Testing

@testable import Seal

@Suite struct SecretTests {
    @Test func descriptionsNeverShowASecret() {
        let seed = Bytes32(repeating: 0xab)
        let secretHex = String(seed.hex.prefix(16))
        let secretDecimal = "171, 171"
        var dumps: [String] = []
        func show<Value>(_ value: Value) {
            var text = ""
            dump(value, to: &text)
            dumps += [text, String(describing: value), String(reflecting: value)]
        }
        show(SigningKey(seed: seed))
        show(X25519KeyPair(secret: seed))
        show(Secret(seed))
        show(CipherState(key: Secret(seed)))
        for text in dumps {
            #expect(!text.contains(secretHex) && !text.contains(secretDecimal), "\(text)")
        }
    }

    @Test func randomValuesDiffer() {
        #expect(SecureRandom.bytes(0).isEmpty)
        for count in [1, 32, 100_000] { #expect(SecureRandom.bytes(count).count == count) }
        #expect(Set((0..<100).map { _ in SecureRandom.bytes32() }).count == 100)
        #expect(Set((0..<100).map { _ in SecureRandom.uint64() }).count == 100)
        #expect(SecureRandom.bytes(32) != SecureRandom.bytes(32))
        #expect(SigningKey().publicKey != SigningKey().publicKey)
    }
}
