import Testing

@testable import Seal

/// Known answers come from an independent implementation (CPython's hashlib.blake2b with digest_size=32).
@Suite struct BLAKE2bTests {
    struct Case: Sendable {
        let input: [UInt8]
        let key: [UInt8]
        let hash: String
    }

    static let cases: [Case] = [
        Case(
            input: [], key: [],
            hash: "0e5751c026e543b2e8ab2eb06099daa1"
                + "d1e5df47778f7787faab45cdf12fe3a8"),
        Case(
            input: Array("abc".utf8), key: [],
            hash: "bddd813c634239723171ef3fee98579b"
                + "94964e3bb1cb3e427262c8c068d52319"),
        Case(
            input: Array(UInt8.min ... .max), key: [],
            hash: "39a7eb9fedc19aabc83425c6755dd90e"
                + "6f9d0c804964a1f4aaeea3b9fb599835"),
        Case(
            input: [], key: Array(0..<64),
            hash: "2fa9fbd9be36437de204e139e97d402b"
                + "ce68c828f43391608c891b5faed8a98a"),
        Case(
            input: Array(UInt8.min ... .max), key: Array(0..<64),
            hash: "1ee3b6312b4e0f0b9663b812b8c129e6"
                + "d45c410b1c9c5a1667bfc6dd951db79f"),
        Case(
            input: Array("abc".utf8), key: [7],
            hash: "747e06c716ecaa6277225628856aa73d"
                + "db1b5b5b8e2f5a82033a2f5964fbe33a"),
    ]

    @Test(arguments: cases)
    func knownAnswers(_ known: Case) {
        #expect(BLAKE2b.hash(known.input, key: known.key).hex == known.hash)
        var hasher = BLAKE2b.Hasher(key: known.key)
        for byte in known.input { hasher.update([byte]) }
        #expect(hasher.finalize().hex == known.hash)
        #expect(BLAKE2b.hash(known.input.map { [$0] }, key: known.key).hex == known.hash)
    }

    @Test func partsAndSlicesAndWholeAgree() {
        let seed = UInt64.random(in: .min ... .max)
        var random = SeededGenerator(seed: seed)
        for _ in 0..<50 {
            let input = random.bytes(Int.random(in: 0...1_000, using: &random))
            let key = random.bytes(Int.random(in: 0...64, using: &random))
            let parts = random.cut(input, sizeMax: 200)
            let whole = BLAKE2b.hash(input, key: key)
            #expect(BLAKE2b.hash(parts, key: key) == whole, "seed \(seed)")
            var hasher = BLAKE2b.Hasher(key: key)
            var offset = 0
            for part in parts {
                hasher.update(input[offset..<offset + part.count])
                offset += part.count
            }
            #expect(hasher.finalize() == whole, "seed \(seed)")
        }
    }

    @Test func copiesOfAHasherGoTheirOwnWays() {
        var first = BLAKE2b.Hasher()
        first.update(Bytes32(repeating: 1))
        var second = first
        second.update([2])
        #expect(first.finalize() == BLAKE2b.hash(Bytes32(repeating: 1).bytes))
        #expect(second.finalize() == BLAKE2b.hash([Bytes32(repeating: 1).bytes, [2]]))
        first.update([3])
        #expect(first.finalize() == BLAKE2b.hash([Bytes32(repeating: 1).bytes, [3]]))
    }
}
