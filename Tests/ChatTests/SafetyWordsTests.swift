import Seal
import Testing

@testable import Chat

struct SafetyWordsTests {
    /// Computed with another implementation of BLAKE2b.
    static let vectors: [(a: UInt8, b: UInt8, words: String)] = [
        (1, 2, "raise business enlist bridge salon zone tube soda"),
        (0, 255, "gesture machine prefer moment clean vivid make gas"),
    ]

    @Test(arguments: vectors.indices) func bothSidesReadTheSame(_ index: Int) {
        let (first, second, words) = Self.vectors[index]
        let (a, b) = (Bytes32(repeating: first), Bytes32(repeating: second))
        #expect(SafetyWords.words(a, b).joined(separator: " ") == words)
        #expect(SafetyWords.words(b, a).joined(separator: " ") == words)
    }

    @Test func otherKeysHaveOtherWords() {
        let (a, b) = (SigningKey().publicKey, SigningKey().publicKey)
        let words = SafetyWords.words(a, b)
        #expect(words.count == SafetyWords.count)
        #expect(words != SafetyWords.words(a, SigningKey().publicKey))
        #expect(words != SafetyWords.words(b, b))
    }

    /// Whoever mishears the end of a word still knows which it was.
    @Test func wordsBeginDifferently() {
        #expect(SafetyWords.list.count == 2048)
        #expect(Set(SafetyWords.list.map { $0.prefix(4) }).count == 2048)
        #expect(SafetyWords.list.allSatisfy { word in word.utf8.allSatisfy { (0x61...0x7A).contains($0) } })
    }
}
