/// Bytes as text in the alphabet of keys and uids: letters, digits, `-` and `_`, six bits each, so that a terminal, a
/// shell and a web address take it as it is.
public enum KeyText {
    /// The text of any bytes; the last character is filled up with zero bits.
    public static func encode(_ bytes: [UInt8]) -> String {
        String(decoding: Alphabet.encode(bytes, bitCount: bytes.count * 8), as: UTF8.self)
    }

    /// The bytes of a text; nil for a character outside the alphabet, and for a length or a last character that no
    /// bytes have.
    public static func decode(_ text: String) -> [UInt8]? {
        Alphabet.decode(text.utf8, byteCount: text.utf8.count * 6 / 8)
    }
}
