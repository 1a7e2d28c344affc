import CBOR
import Testing

private func hex(_ text: String) -> [UInt8] {
    var digits = Array(text.utf8.filter { $0 != 0x20 })[...]
    var bytes: [UInt8] = []
    while let high = digits.popFirst(), let low = digits.popFirst() {
        func value(_ digit: UInt8) -> UInt8 { digit < 0x3A ? digit - 0x30 : digit - 0x61 + 10 }
        bytes.append(value(high) << 4 | value(low))
    }
    return bytes
}

@Suite struct CBORTests {
    /// Encodings from RFC 8949 appendix A that lie inside the profile.
    @Test(
        arguments: [
            (0, "00"), (10, "0a"), (23, "17"), (24, "1818"), (100, "1864"), (1000, "1903e8"), (1_000_000, "1a000f4240"),
            (1_000_000_000_000, "1b000000e8d4a51000"), (-1, "20"), (-10, "29"), (-100, "3863"), (-1000, "3903e7"),
            (Int64.min, "3b7fffffffffffffff"),
        ] as [(Int64, String)])
    func integers(value: Int64, encoded: String) throws {
        var writer = CBORWriter()
        writer.integer(value)
        #expect(writer.bytes == hex(encoded))
        var reader = CBORReader(writer.bytes)
        #expect(try reader.integer() == value)
        try reader.expectEnd()
    }

    @Test(arguments: [
        (1.1, "fb3ff199999999999a"), (1.5, "f93e00"), (65504.0, "f97bff"), (100000.0, "fa47c35000"),
        (3.4028234663852886e+38, "fa7f7fffff"), (1.0e+300, "fb7e37e43c8800759c"), (5.960464477539063e-8, "f90001"),
        (-4.1, "fbc010666666666666"),
    ])
    func floats(value: Double, encoded: String) throws {
        var writer = CBORWriter()
        writer.double(value)
        #expect(writer.bytes == hex(encoded))
        var reader = CBORReader(writer.bytes)
        #expect(try reader.double() == value)
    }

    /// One input for each way in which an encoding can differ from the canonical one, or be no CBOR at all.
    @Test(
        arguments: [
            ("1817", CBORError.notCanonical), ("1900ff", .notCanonical), ("1a0000ffff", .notCanonical),
            ("1b00000000ffffffff", .notCanonical), ("3817", .notCanonical), ("5800", .notCanonical),
            ("7801 61", .notCanonical), ("9801 00", .notCanonical), ("b801 6161 00", .notCanonical),
            ("fa3fc00000", .notCanonical), ("fb3ff8000000000000", .notCanonical), ("f97e01", .notCanonical),
            ("a2 6162 00 6161 00", .notCanonical), ("a2 6161 00 6161 00", .notCanonical),
            ("a2 626161 00 6162 00", .notCanonical), ("9fff", .unsupported), ("5f4100ff", .unsupported),
            ("bfff", .unsupported), ("c000", .unsupported), ("f7", .unsupported), ("f818", .unsupported),
            ("ff", .unsupported), ("1c", .unsupported), ("62c328", .invalidUTF8), ("63eda080", .invalidUTF8),
            ("18", .truncated), ("4401", .truncated), ("820", .truncated), ("5bffffffffffffffff", .truncated),
            ("9bffffffffffffffff", .truncated), ("bb7fffffffffffffff", .truncated), ("", .truncated),
        ] as [(String, CBORError)])
    func refused(encoded: String, error: CBORError) {
        #expect(throws: error) {
            var reader = CBORReader(hex(encoded))
            _ = try reader.skip()
            try reader.expectEnd()
        }
    }

    @Test func nestingIsBounded() {
        var bytes = [UInt8](repeating: 0x81, count: 100_000)
        bytes.append(0)
        #expect(throws: CBORError.tooDeep) {
            var reader = CBORReader(bytes)
            _ = try reader.skip()
        }
    }

    @Test func trailingBytesAreRefused() {
        #expect(throws: CBORError.trailingBytes) {
            var reader = CBORReader([0, 0])
            _ = try reader.skip()
            try reader.expectEnd()
        }
    }

    /// Whatever the reader accepts, it would also have written: random bytes either throw or are consumed whole.
    @Test func randomBytesNeverTrap() {
        let seed = UInt64.random(in: .min ... .max)
        var state = seed
        func next() -> UInt8 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return UInt8(truncatingIfNeeded: state >> 56)
        }
        for _ in 0..<20_000 {
            let bytes = (0..<Int(next() % 40)).map { _ in next() }
            var reader = CBORReader(bytes)
            if let item = try? reader.skip() {
                #expect(item.count <= bytes.count, "seed \(seed)")
            }
        }
    }
}
