/// Reads deterministic CBOR (RFC 8949 §4.2.1) and refuses every other encoding of the same items.
///
/// The reader never traps on any input and never allocates more than the input is long: lengths are checked against
/// the bytes that are there before anything is reserved.
public struct CBORReader: Sendable {
    /// Arrays and maps may be nested this deep; the tree allows values of depth 32, messages wrap them a few times.
    public static let depthMax = 48

    @usableFromInline let bytes: ArraySlice<UInt8>
    /// Index of the next byte in the slice that was given.
    public private(set) var offset: Int

    public init(_ bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
        offset = bytes.startIndex
    }

    public init(_ bytes: [UInt8]) { self.init(bytes[...]) }

    public var isAtEnd: Bool { offset == bytes.endIndex }

    /// Bytes not read yet.
    public var remainingCount: Int { bytes.endIndex - offset }

    /// Throws ``CBORError/trailingBytes`` unless everything has been read.
    public func expectEnd() throws(CBORError) {
        if !isAtEnd { throw .trailingBytes }
    }

    /// The type of the next item, without reading it.
    public func peekType() throws(CBORError) -> CBORType {
        guard offset < bytes.endIndex else { throw .truncated }
        let first = bytes[offset]
        switch first >> 5 {
        case 0: return .unsigned
        case 1: return .negative
        case 2: return .bytes
        case 3: return .text
        case 4: return .array
        case 5: return .map
        case 7:
            switch first & 31 {
            case 20, 21: return .bool
            case 22: return .null
            case 25, 26, 27: return .float
            default: throw .unsupported
            }
        default: throw .unsupported
        }
    }

    private mutating func bigEndian(_ count: Int) throws(CBORError) -> UInt64 {
        guard count <= remainingCount else { throw .truncated }
        var value: UInt64 = 0
        for index in offset..<(offset + count) { value = value << 8 | UInt64(bytes[index]) }
        offset += count
        return value
    }

    /// Reads a head of the given major type and returns its argument; a longer head than needed is refused.
    private mutating func head(_ major: UInt8) throws(CBORError) -> UInt64 {
        guard offset < bytes.endIndex else { throw .truncated }
        let first = bytes[offset]
        guard first >> 5 == major else { throw .unexpectedType }
        offset += 1
        switch first & 31 {
        case let small where small < 24: return UInt64(small)
        case 24:
            let value = try bigEndian(1)
            if value < 24 { throw .notCanonical }
            return value
        case 25:
            let value = try bigEndian(2)
            if value < 0x100 { throw .notCanonical }
            return value
        case 26:
            let value = try bigEndian(4)
            if value < 0x1_0000 { throw .notCanonical }
            return value
        case 27:
            let value = try bigEndian(8)
            if value < 0x1_0000_0000 { throw .notCanonical }
            return value
        default: throw .unsupported
        }
    }

    public mutating func unsigned() throws(CBORError) -> UInt64 { try head(0) }

    /// An unsigned integer that fits `Int` and is at most `max`.
    public mutating func count(max: Int) throws(CBORError) -> Int {
        let value = try head(0)
        guard value <= UInt64(clamping: max) else { throw .outOfRange }
        return Int(value)
    }

    public mutating func integer() throws(CBORError) -> Int64 {
        if try peekType() == .negative {
            let value = try head(1)
            guard value <= UInt64(Int64.max) else { throw .outOfRange }
            return ~Int64(value)
        }
        let value = try head(0)
        guard value <= UInt64(Int64.max) else { throw .outOfRange }
        return Int64(value)
    }

    private mutating func length(_ major: UInt8) throws(CBORError) -> Int {
        let value = try head(major)
        guard value <= UInt64(remainingCount) else { throw .truncated }
        return Int(value)
    }

    /// A byte string, as a slice of the input.
    public mutating func byteString() throws(CBORError) -> ArraySlice<UInt8> {
        let count = try length(2)
        defer { offset += count }
        return bytes[offset..<(offset + count)]
    }

    public mutating func text() throws(CBORError) -> String {
        let count = try length(3)
        guard let value = String(validating: bytes[offset..<(offset + count)], as: UTF8.self) else {
            throw .invalidUTF8
        }
        offset += count
        return value
    }

    /// Begins an array and returns how many items follow, at most one for each byte that is left.
    public mutating func array() throws(CBORError) -> Int { try length(4) }

    /// Begins a map and returns how many pairs follow.
    public mutating func map() throws(CBORError) -> Int {
        let count = try length(5)
        guard count <= remainingCount / 2 else { throw .truncated }
        return count
    }

    /// Begins an array of exactly `count` items.
    public mutating func array(of count: Int) throws(CBORError) {
        guard try array() == count else { throw .unexpectedType }
    }

    public mutating func bool() throws(CBORError) -> Bool {
        guard try peekType() == .bool else { throw .unexpectedType }
        defer { offset += 1 }
        return bytes[offset] == 0xF5
    }

    public mutating func null() throws(CBORError) {
        guard try peekType() == .null else { throw .unexpectedType }
        offset += 1
    }

    /// A float in its shortest form; any other form is refused, and so is a NaN other than the canonical one.
    public mutating func double() throws(CBORError) -> Double {
        guard try peekType() == .float else { throw .unexpectedType }
        let start = offset
        offset += 1
        let value: Double
        switch bytes[start] & 31 {
        case 25: value = Double(Float16(bitPattern: UInt16(truncatingIfNeeded: try bigEndian(2))))
        case 26: value = Double(Float(bitPattern: UInt32(truncatingIfNeeded: try bigEndian(4))))
        default: value = Double(bitPattern: try bigEndian(8))
        }
        var writer = CBORWriter(reserving: 9)
        writer.double(value)
        guard writer.bytes[...] == bytes[start..<offset] else { throw .notCanonical }
        return value
    }

    /// Reads and checks one item of any type, and returns its bytes.
    public mutating func skip(depth: Int = 0) throws(CBORError) -> ArraySlice<UInt8> {
        guard depth < Self.depthMax else { throw .tooDeep }
        let start = offset
        switch try peekType() {
        case .unsigned: _ = try unsigned()
        case .negative: _ = try head(1)
        case .bytes: _ = try byteString()
        case .text: _ = try text()
        case .bool: _ = try bool()
        case .null: try null()
        case .float: _ = try double()
        case .array:
            for _ in 0..<(try array()) { _ = try skip(depth: depth + 1) }
        case .map:
            var previous: ArraySlice<UInt8>?
            for _ in 0..<(try map()) {
                let key = try skip(depth: depth + 1)
                if let previous, !previous.lexicographicallyPrecedes(key) { throw .notCanonical }
                previous = key
                _ = try skip(depth: depth + 1)
            }
        }
        return bytes[start..<offset]
    }
}
