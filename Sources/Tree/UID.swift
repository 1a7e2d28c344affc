public import Seal

/// The text form of an author's public key: 43 characters whose byte order is the order of the keys.
public enum UID {
    /// Characters of a uid.
    public static let length = 43

    public static func text(_ author: Bytes32) -> String { String(decoding: bytes(author), as: UTF8.self) }

    static func bytes(_ author: Bytes32) -> [UInt8] { Alphabet.encode(author.bytes, bitCount: 256) }

    /// The key that `text` stands for, or nil if it is no uid (wrong length, foreign character, padding bits not zero).
    public static func parse(_ text: String) -> Bytes32? {
        let utf8 = text.utf8
        guard utf8.count == length, let bytes = Alphabet.decode(utf8, byteCount: 32) else { return nil }
        return Bytes32(bytes)
    }
}
