/// Appends deterministic CBOR (RFC 8949 §4.2.1) to a byte array.
///
/// The writer makes the shortest head for every length and integer and the shortest float that keeps the value. It
/// does not sort maps: whoever writes a map gives the keys in the order of ``CBORWriter/keyPrecedes(_:_:)``, and the
/// reader refuses anything else.
public struct CBORWriter: Sendable {
    /// What has been written so far.
    public private(set) var bytes: [UInt8]

    public init(reserving capacity: Int = 64) {
        bytes = []
        bytes.reserveCapacity(capacity)
    }

    mutating func head(_ major: UInt8, _ argument: UInt64) {
        let top = major << 5
        switch argument {
        case 0..<24:
            bytes.append(top | UInt8(truncatingIfNeeded: argument))
        case 24..<0x100:
            bytes.append(top | 24)
            bytes.append(UInt8(truncatingIfNeeded: argument))
        case 0x100..<0x1_0000:
            bytes.append(top | 25)
            bigEndian(argument, count: 2)
        case 0x1_0000..<0x1_0000_0000:
            bytes.append(top | 26)
            bigEndian(argument, count: 4)
        default:
            bytes.append(top | 27)
            bigEndian(argument, count: 8)
        }
    }

    private mutating func bigEndian(_ value: UInt64, count: Int) {
        for shift in stride(from: (count - 1) * 8, through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: value >> UInt64(shift)))
        }
    }

    public mutating func unsigned(_ value: UInt64) { head(0, value) }

    public mutating func integer(_ value: Int64) {
        if value >= 0 {
            head(0, UInt64(value))
        } else {
            head(1, UInt64(bitPattern: ~value))
        }
    }

    public mutating func byteString(_ value: [UInt8]) {
        head(2, UInt64(value.count))
        bytes.append(contentsOf: value)
    }

    public mutating func byteString(_ value: ArraySlice<UInt8>) {
        head(2, UInt64(value.count))
        bytes.append(contentsOf: value)
    }

    public mutating func text(_ value: String) {
        var value = value
        value.withUTF8 { utf8 in
            head(3, UInt64(utf8.count))
            unsafe bytes.append(contentsOf: utf8)
        }
    }

    /// Begins an array of exactly `count` items, which the caller writes next.
    public mutating func array(_ count: Int) { head(4, UInt64(count)) }

    /// Begins a map of exactly `count` pairs, which the caller writes next in canonical order of keys.
    public mutating func map(_ count: Int) { head(5, UInt64(count)) }

    public mutating func bool(_ value: Bool) { bytes.append(value ? 0xF5 : 0xF4) }

    public mutating func null() { bytes.append(0xF6) }

    /// Writes the shortest of half, single and double precision that gives the same value back.
    ///
    /// NaN is written as the canonical quiet half-precision NaN; values of the tree never contain one.
    public mutating func double(_ value: Double) {
        let half = Float16(value)
        if Double(half) == value || value.isNaN {
            bytes.append(0xF9)
            bigEndian(UInt64(value.isNaN ? 0x7E00 : half.bitPattern), count: 2)
            return
        }
        let single = Float(value)
        if Double(single) == value {
            bytes.append(0xFA)
            bigEndian(UInt64(single.bitPattern), count: 4)
        } else {
            bytes.append(0xFB)
            bigEndian(value.bitPattern, count: 8)
        }
    }

    /// Appends bytes that are already one or more canonical items.
    public mutating func raw(_ encoded: [UInt8]) { bytes.append(contentsOf: encoded) }

    /// Appends bytes that are already one or more canonical items.
    public mutating func raw(_ encoded: ArraySlice<UInt8>) { bytes.append(contentsOf: encoded) }

    /// Whether text key `a` stands before `b` in a canonical map: shorter UTF-8 first, then byte by byte
    /// (the order of the encoded keys, RFC 8949 §4.2.1).
    public static func keyPrecedes(_ a: String, _ b: String) -> Bool {
        let x = a.utf8
        let y = b.utf8
        let countA = x.count
        let countB = y.count
        if countA != countB { return countA < countB }
        return x.lexicographicallyPrecedes(y)
    }
}
