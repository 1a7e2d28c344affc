public import Seal

/// Eight words that two people read to each other to find out whether each has the other's true key.
///
/// Both sides get the same words, and only for the same two keys. Who stands between them has to find two keys whose
/// words agree by chance: eight words are 88 bits, so about 2^44 attempts, each as slow as it is here.
public enum SafetyWords {
    /// Words that are read aloud.
    public static let count = 8
    /// Hashes in a row: 4 ms here, and as much for each attempt of an attacker.
    static let rounds = 8192
    private static let bitsPerWord = 11

    /// The words of two people, whichever of them asks.
    public static func words(_ a: Bytes32, _ b: Bytes32) -> [String] {
        let pair = a < b ? a.bytes + b.bytes : b.bytes + a.bytes
        let key = Array("starling-words-1".utf8)
        var input = Bytes32.zero.bytes + pair
        var hash = BLAKE2b.hash(input, key: key)
        for _ in 1..<rounds {
            input.replaceSubrange(0..<32, with: hash.bytes)
            hash = BLAKE2b.hash(input, key: key)
        }
        return words(of: hash.bytes)
    }

    /// Eleven bits a word, most significant first.
    private static func words(of bytes: [UInt8]) -> [String] {
        var (words, bits, held): ([String], Int, Int) = ([], 0, 0)
        for byte in bytes where words.count < count {
            held = (held << 8 | Int(byte)) & 0x7FFFF
            bits += 8
            guard bits >= bitsPerWord else { continue }
            bits -= bitsPerWord
            words.append(String(list[(held >> bits) & (list.count - 1)]))
        }
        return words
    }

    /// 2048 short words that begin differently.
    static let list: [Substring] = text.split { $0 == " " || $0 == "\n" }
}
