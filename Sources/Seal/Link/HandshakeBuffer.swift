/// Collects one handshake message from however it was cut up. Bounded: it never holds more than the longest handshake
/// message, refuses a length that is not due as soon as it is known, and the magic at its first wrong byte.
struct HandshakeBuffer: Sendable {
    private static let sizeMax = LinkParty.magic.count + 2 + LinkLimits.message2Sizes.upperBound

    private var bytes: [UInt8] = []
    /// Bytes before the length: the magic that is still expected.
    private let magic: [UInt8]
    private let sizes: ClosedRange<Int>

    init(magic: [UInt8] = [], sizes: ClosedRange<Int>) {
        self.magic = magic
        self.sizes = sizes
        bytes.reserveCapacity(Self.sizeMax)
    }

    /// Takes from the front of `input` what the message still lacks. The message, once it is complete; nil until then.
    mutating func take(from input: inout ArraySlice<UInt8>) throws(LinkError) -> [UInt8]? {
        while bytes.count < magic.count, let byte = input.popFirst() {
            guard byte == magic[bytes.count] else { throw LinkError(.notStarling) }
            bytes.append(byte)
        }
        let header = magic.count + 2
        while bytes.count < header, let byte = input.popFirst() { bytes.append(byte) }
        guard bytes.count >= header else { return nil }
        let size = Int(bytes[magic.count]) << 8 | Int(bytes[magic.count + 1])
        guard sizes.contains(size) else { throw LinkError(.malformed) }
        let wanted = input.prefix(header + size - bytes.count)
        bytes += wanted
        input = input.dropFirst(wanted.count)
        return bytes.count == header + size ? Array(bytes[header...]) : nil
    }

    /// A message with its length before it.
    static func frame(_ message: [UInt8], magic: [UInt8] = []) -> [UInt8] {
        magic + [UInt8(truncatingIfNeeded: message.count >> 8), UInt8(truncatingIfNeeded: message.count)] + message
    }
}
