internal import CBOR
internal import Glibc
package import Seal

/// A message of the chat with nothing but sender, name, time and text, as it stands in canonical CBOR.
///
/// Nearly every entry is one. What of it does not follow from the entry are two items, and taking them out of the bytes
/// and putting them back costs a tenth of reading the value.
package struct PlainMessage {
    /// The sender's name and the text, each a CBOR text item.
    package let name: ArraySlice<UInt8>
    package let text: ArraySlice<UInt8>

    /// A map of four, and its keys in their order (RFC 8949, 4.2.1: shorter ones first).
    private static let textKey: [UInt8] = [0xA4, 0x64] + Array("text".utf8)
    private static let senderIDKey: [UInt8] = [0x68] + Array("senderId".utf8) + [0x78, UInt8(UID.length)]
    private static let createdAtKey: [UInt8] = [0x69] + Array("createdAt".utf8)
    private static let senderNameKey: [UInt8] = [0x6A] + Array("senderName".utf8)

    /// Nil for any other entry.
    package init?(_ entry: Entry) {
        let value = entry.encodedValue
        var rest = value
        func skip(_ expected: [UInt8]) -> Bool {
            let isNext = unsafe rest.withUnsafeBytes { bytes in
                guard let start = bytes.baseAddress, bytes.count >= expected.count else { return false }
                return unsafe memcmp(start, expected, expected.count) == 0
            }
            guard isNext else { return false }
            rest = rest.dropFirst(expected.count)
            return true
        }
        guard skip(Self.textKey), let text = PlainMessage.textItem(rest) else { return nil }
        rest = rest[text.endIndex...]
        guard skip(Self.senderIDKey), skip(UID.bytes(entry.author)), skip(Self.createdAtKey),
            skip(PlainMessage.unsigned(entry.hlc.ms)), skip(Self.senderNameKey),
            let name = PlainMessage.textItem(rest), name.endIndex == value.endIndex
        else { return nil }
        self.name = name
        self.text = text
    }

    /// The canonical CBOR of the value again.
    package static func value(
        name: ArraySlice<UInt8>, text: ArraySlice<UInt8>, _ hlc: HLC, _ author: Bytes32
    ) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(100 + name.count + text.count)
        bytes += textKey
        bytes += text
        bytes += senderIDKey
        bytes += UID.bytes(author)
        bytes += createdAtKey
        bytes += unsigned(hlc.ms)
        bytes += senderNameKey
        bytes += name
        return bytes
    }

    /// The text item that bytes begin with.
    private static func textItem(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        guard let head = bytes.first, head >> 5 == 3 else { return nil }
        let argument = head & 31
        guard argument >= 24 else { return bytes.count > argument ? bytes.prefix(1 + Int(argument)) : nil }
        // Four bytes of length are more than any entry has.
        guard argument <= 26 else { return nil }
        let lengthBytes = 1 << Int(argument - 24)
        guard bytes.count > lengthBytes else { return nil }
        let length = bytes.dropFirst().prefix(lengthBytes).reduce(0) { $0 << 8 | Int($1) }
        return bytes.count > lengthBytes + length ? bytes.prefix(1 + lengthBytes + length) : nil
    }

    private static func unsigned(_ value: UInt64) -> [UInt8] {
        var writer = CBORWriter(reserving: 9)
        writer.unsigned(value)
        return writer.bytes
    }
}
