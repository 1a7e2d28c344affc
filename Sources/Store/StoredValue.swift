internal import CBOR
internal import Seal
internal import Tree

/// Values as rows hold them: canonical CBOR, or of a message of the chat what does not follow from its entry.
///
/// Sender and time stand in the row already, and the keys are always the same: that is half of a short message. Such a
/// value begins with a byte that no CBOR item begins with ("break", RFC 8949, 3.2.1); the sender's name follows, then
/// the text, or a map of everything that is neither sender, nor name, nor time.
struct StoredValue {
    private static let message: UInt8 = 0xFF

    let value: Value
    /// Its canonical CBOR, where it was at hand.
    let encoded: [UInt8]?

    static func bytes(of entry: Entry) -> ArraySlice<UInt8> {
        if let plain = PlainMessage(entry) { return [message] + plain.name + plain.text }
        guard let fields = MessageFields(entry) else { return entry.encodedValue }
        var writer = CBORWriter(reserving: entry.encodedValue.count)
        writer.text(fields.name)
        Value.object(ObjectValue(fields.rest.map { ($0.key, $0.value) })).encode(to: &writer)
        return [message] + writer.bytes
    }

    /// Throws where bytes are no such value.
    init(_ bytes: [UInt8], _ hlc: HLC, _ author: Bytes32) throws {
        do throws(CBORError) {
            guard bytes.first == StoredValue.message else {
                var reader = CBORReader(bytes[...])
                value = try Value(from: &reader)
                try reader.expectEnd()
                encoded = bytes
                return
            }
            var reader = CBORReader(bytes.dropFirst())
            let name = try reader.text()
            let nameEnd = reader.offset
            var rest: [(Key, Value)] = []
            let isPlain = try reader.peekType() == .text
            if isPlain, let key = MessageFields.text {
                rest = [(key, .string(try reader.text()))]
            } else if case .object(let object) = try Value(from: &reader) {
                rest = object.children.map { ($0.key, $0.value) }
            }
            try reader.expectEnd()
            if let value = MessageFields.value(rest, name: name, hlc, author) {
                self.value = value
                encoded =
                    isPlain ? PlainMessage.value(name: bytes[1..<nameEnd], text: bytes[nameEnd...], hlc, author) : nil
                return
            }
        } catch {
            throw StoreError(.corrupt, detail: "no value: \(error)")
        }
        throw StoreError(.corrupt, detail: "no message")
    }
}
