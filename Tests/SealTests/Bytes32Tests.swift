import Testing

@testable import Seal

@Suite struct Bytes32Tests {
    static let counting = Array(UInt8(0)..<32)

    @Test func keepsItsBytes() throws {
        let value = try #require(Bytes32(Self.counting))
        #expect(value.bytes == Self.counting)
        #expect(value.hex == "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f")
        #expect("\(value)" == value.hex)
        #expect(value.prefix64 == 0x0001_0203_0405_0607)
        var array: [UInt8] = [0xff]
        value.append(to: &array)
        #expect(array == [0xff] + Self.counting)
        #expect(Bytes32(repeating: 0xa5).bytes == Array(repeating: 0xa5, count: 32))
        #expect(Bytes32.zero.bytes == Array(repeating: 0, count: 32))
    }

    @Test func takesSlicesAndOtherCollections() throws {
        let long = [9] + Self.counting + [9]
        #expect(Bytes32(long[1..<33])?.bytes == Self.counting)
        #expect(Bytes32(long.dropFirst().prefix(32).lazy.map { $0 })?.bytes == Self.counting)
    }

    @Test(arguments: [0, 1, 31, 33, 64])
    func refusesOtherLengths(_ count: Int) {
        #expect(Bytes32([UInt8](repeating: 1, count: count)) == nil)
    }

    @Test func readsHexOfEitherCaseAndNothingElse() {
        let text = String(repeating: "aB", count: 32)
        #expect(Bytes32(hex: text) == Bytes32(repeating: 0xab))
        #expect(Bytes32(hex: String(text.dropLast())) == nil)
        #expect(Bytes32(hex: String(text.dropLast(2))) == nil)
        #expect(Bytes32(hex: text + "00") == nil)
        for bad in ["g", " ", "/", ":", "@", "`", "é"] {
            #expect(Bytes32(hex: bad + String(text.dropFirst(bad.utf8.count))) == nil, "\(bad)")
        }
    }

    @Test func comparesInByteOrder() {
        let seed = UInt64.random(in: .min ... .max)
        var random = SeededGenerator(seed: seed)
        for _ in 0..<2_000 {
            // Few values per byte, so that long common prefixes happen.
            let left = (0..<32).map { _ in UInt8.random(in: 0...1, using: &random) &* 0xff }
            var right = left
            right[Int.random(in: 0..<32, using: &random)] ^= UInt8.random(in: 0...255, using: &random)
            guard let first = Bytes32(left), let second = Bytes32(right) else {
                Issue.record("32 bytes refused, seed \(seed)")
                return
            }
            #expect((first < second) == left.lexicographicallyPrecedes(right), "seed \(seed)")
            #expect((first == second) == (left == right), "seed \(seed)")
        }
    }

    @Test func addsLikeABigEndianNumber() {
        let seed = UInt64.random(in: .min ... .max)
        var random = SeededGenerator(seed: seed)
        for _ in 0..<2_000 {
            // Bytes at which carries begin and pass.
            let choices: [UInt8] = [0, 1, 0x7f, 0x80, 0xff]
            let left: [UInt8] = (0..<32).map { _ in choices.randomElement(using: &random) ?? 0 }
            let right: [UInt8] = (0..<32).map { _ in choices.randomElement(using: &random) ?? 0 }
            var expected = [UInt8](repeating: 0, count: 32)
            var carry = 0
            for index in (0..<32).reversed() {
                let sum = Int(left[index]) + Int(right[index]) + carry
                expected[index] = UInt8(sum & 0xff)
                carry = sum >> 8
            }
            guard let first = Bytes32(left), let second = Bytes32(right) else {
                Issue.record("32 bytes refused, seed \(seed)")
                return
            }
            let sum = first &+ second
            #expect(sum.bytes == expected, "seed \(seed)")
            #expect(sum &- second == first, "seed \(seed)")
            #expect(sum &- first == second, "seed \(seed)")
            var inPlace = first
            inPlace &+= second
            inPlace &-= first
            #expect(inPlace == second, "seed \(seed)")
        }
    }

    @Test func wrapsAround() throws {
        let one = try bytes32(String(repeating: "0", count: 63) + "1")
        #expect(Bytes32(repeating: 0xff) &+ one == .zero)
        #expect(Bytes32.zero &- one == Bytes32(repeating: 0xff))
    }
}
