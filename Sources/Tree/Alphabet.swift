/// Base 64 in the alphabet of Firebase's push IDs: byte order of the text is the order of the values.
///
/// Six bits a character, most significant first, from the set
/// `-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz`.
enum Alphabet {
    static let characters: [UInt8] = Array("-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz".utf8)

    private static let values: [UInt8] = {
        var table = [UInt8](repeating: 0xFF, count: 256)
        for (value, character) in characters.enumerated() { table[Int(character)] = UInt8(value) }
        return table
    }()

    /// The six bits a character stands for, or nil for a byte outside the alphabet.
    static func value(_ character: UInt8) -> UInt8? {
        let value = values[Int(character)]
        return value == 0xFF ? nil : value
    }

    /// The leading `bitCount` bits of `bytes`, padded with zero bits to whole characters.
    static func encode(_ bytes: [UInt8], bitCount: Int) -> [UInt8] {
        let bits = min(bitCount, bytes.count * 8)
        let count = (bits + 5) / 6
        return unsafe [UInt8](unsafeUninitializedCapacity: count) { text, written in
            for index in 0..<count {
                let (first, offset) = (index * 6).quotientAndRemainder(dividingBy: 8)
                let next = first + 1 < bytes.count ? bytes[first + 1] : 0
                var value = (UInt16(bytes[first]) << 8 | UInt16(next)) >> UInt16(10 - offset) & 63
                let spare = (index + 1) * 6 - bits
                if spare > 0 { value &= 63 << UInt16(spare) }
                unsafe text[index] = characters[Int(value)]
            }
            written = count
        }
    }

    /// The bytes that text of whole characters stands for; nil for a foreign character or non-zero padding bits.
    static func decode(_ text: some Sequence<UInt8>, byteCount: Int) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(byteCount)
        var accumulator: UInt32 = 0
        var held = 0
        for character in text {
            guard let value = value(character) else { return nil }
            accumulator = (accumulator << 6 | UInt32(value)) & 0xFFFF
            held += 6
            if held >= 8, bytes.count < byteCount {
                held -= 8
                bytes.append(UInt8(truncatingIfNeeded: accumulator >> UInt32(held)))
            }
        }
        guard bytes.count == byteCount, held < 6, accumulator & ((1 << UInt32(held)) - 1) == 0 else { return nil }
        return bytes
    }
}
