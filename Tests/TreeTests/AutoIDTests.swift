import Seal
import Testing
import Tree

/// Keys that certify an author, keys that certify a name, and the text of an author.
@Suite struct AutoIDTests {
    private let alice = Bytes32(repeating: 1)
    private let bob = Bytes32(repeating: 2)

    @Test func certifiesItsAuthorAndNobodyElse() throws {
        let id = AutoID(hlc: HLC(ms: 1 << 40, counter: 5), author: alice)
        #expect(id.text.utf8.count == AutoID.length)
        #expect(id.isCertified(by: alice))
        #expect(!id.isCertified(by: bob))
        let later = id.text.prefix(8) + "6" + id.text.dropFirst(9)
        #expect(try !#require(AutoID(String(later))).isCertified(by: alice), "the counter is under the proof")
        #expect(!id.isCertified(by: alice, content: [1]))
    }

    /// Any other character anywhere breaks the proof or the key.
    @Test func everyCharacterCounts() {
        let id = AutoID(hlc: HLC(ms: 1_700_000_000_000, counter: 9), author: alice)
        for index in 0..<AutoID.length {
            var characters = Array(id.text.utf8)
            characters[index] = characters[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            let other = AutoID(String(decoding: characters, as: UTF8.self))
            #expect(other?.isCertified(by: alice) != true, "character \(index)")
        }
    }

    /// The short cut of a sender says of a key what making it anew says.
    @Test func spellsWhatItMakes() {
        var random = SeededRandom(seed: 3)
        for _ in 0..<200 {
            let hlc = HLC(ms: random.next() >> 16, counter: UInt64(random.below(64)))
            let id = AutoID(hlc: hlc, author: alice)
            #expect(AutoID.spells(id.text, hlc: hlc, author: alice))
            #expect(!AutoID.spells(id.text, hlc: hlc, author: bob))
            var characters = Array(id.text.utf8)
            let index = random.below(AutoID.length)
            characters[index] = characters[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            #expect(!AutoID.spells(String(decoding: characters, as: UTF8.self), hlc: hlc, author: alice))
        }
        #expect(!AutoID.spells("", hlc: HLC(ms: 0), author: alice))
    }

    /// Each bucket lies in the one above it, up to the root.
    @Test func bucketsHaveParents() {
        let hlc = HLC(ms: 1_700_000_123_456)
        for level in 1...TimeBucket.levelMax {
            let bucket = TimeBucket(level: level, containing: hlc)
            #expect(bucket.parent == TimeBucket(level: level - 1, containing: hlc))
            #expect(bucket.parent?.isParent(of: bucket) == true)
        }
        #expect(TimeBucket.root.parent == nil)
    }

    @Test func textOrderIsTimeOrder() {
        var random = SeededRandom(seed: 1)
        var times = (0..<500).map { _ in
            HLC(ms: random.next() >> UInt64(16 + random.below(30)), counter: UInt64(random.below(64)))
        }
        times.sort()
        let texts = times.map { AutoID(hlc: $0, author: alice).text }
        let heads = texts.map { Array($0.utf8.prefix(9)) }
        #expect(zip(heads, heads.dropFirst()).allSatisfy { !$1.lexicographicallyPrecedes($0) })
        #expect(zip(texts, times).allSatisfy { AutoID($0)?.hlc == $1 })
        let keys = texts.compactMap { Key($0) }
        #expect(zip(keys, keys.dropFirst()).allSatisfy { !($1 < $0) || $0.integer != nil })
    }

    @Test(arguments: [
        "", "-", "-0123456789ABCDEFGHIJ", "-0123456789ABCDEFGHIJKL", "-0123456789ABCDEFGHI.K", "é123456789ABCDEFGHIJK",
    ])
    func isNoAutoID(text: String) {
        #expect(AutoID(text) == nil)
    }

    @Test func pushIDs() {
        #expect(AutoID.pushIDMs("-JhLeOlGIEjaIOFHR0xd") == 1_423_088_131_153)
        #expect(AutoID.pushIDMs("-JhLeOlGIEjaIOFHR0x") == nil)
        #expect(AutoID.pushIDMs("-JhLeOlGIEjaIOFHR0x!") == nil)
        let auto = AutoID(hlc: HLC(ms: 1_423_088_131_153), author: alice).text
        #expect(AutoID.pushIDMs(auto) == nil)
        #expect(AutoID.pushIDMs(String(auto.prefix(20))) == 1_423_088_131_153, "both begin with the same 8 characters")
    }

    @Test func nameKeysCertifyNoAuthor() throws {
        let key = AutoID.nameKey(foldedName: "lunch", workspace: .zero)
        #expect(key.hasPrefix("---------"))
        #expect(AutoID.isNameKey(key))
        #expect(try !#require(AutoID(key)).isCertified(by: alice))
        #expect(key != AutoID.nameKey(foldedName: "lunch", workspace: alice))
        #expect(key != AutoID.nameKey(foldedName: "Lunch", workspace: .zero))
        #expect(!AutoID.isNameKey(AutoID(hlc: HLC(ms: 1), author: alice).text))
        #expect(!AutoID.isNameKey("---------0123456789AB"))
        #expect(!AutoID.isNameKey("---------0123456789AB!"))
    }

    @Test func uidOrderIsByteOrder() throws {
        var random = SeededRandom(seed: 2)
        var authors = (0..<200).map { _ in
            BLAKE2b.hash([UInt8(random.below(256)), UInt8(random.below(256))])
        }
        authors += [.zero, Bytes32(repeating: 0xFF)]
        authors.sort()
        let texts = authors.map(UID.text)
        #expect(texts.allSatisfy { $0.utf8.count == UID.length })
        #expect(zip(texts, texts.dropFirst()).allSatisfy { !$1.utf8.lexicographicallyPrecedes($0.utf8) })
        for (author, text) in zip(authors, texts) { #expect(UID.parse(text) == author) }
    }

    /// 43 characters hold 258 bits: of the 64 last characters only the 16 without padding bits are right.
    @Test func paddingBitsAreRefused() {
        let alphabet = "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"
        let body = String(UID.text(alice).dropLast())
        let accepted = alphabet.enumerated().filter { UID.parse(body + String($0.element)) != nil }.map(\.offset)
        #expect(accepted == Array(stride(from: 0, to: 64, by: 4)))
        for wrong in [body, body + "--", String(body.dropLast()) + "!-", String(body.dropLast(2)) + "é-"] {
            #expect(UID.parse(wrong) == nil)
        }
    }
}
