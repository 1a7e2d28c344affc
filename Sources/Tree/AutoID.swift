public import Seal

/// A key that sorts by time and certifies its author: 8 characters of milliseconds, 1 of counter, 13 of proof.
///
/// The proof is the leading 78 bits of BLAKE2b-256(key "starling-autoid-1", author ‖ u64be milliseconds ‖ u8 counter
/// [‖ more]). Anybody can compute one; below it only its author's signature is accepted, so ownership needs no server.
public struct AutoID: Sendable, Hashable, CustomStringConvertible {
    public static let length = 22
    private static let proofBits = 78
    private static let proofKey = Array("starling-autoid-1".utf8)

    public let text: String
    public let hlc: HLC

    /// The AutoID that `author` makes at a tick of the clock. `content` is what else the proof covers: nothing, except
    /// for a room's epoch, which covers the hash of its value.
    public init(hlc: HLC, author: Bytes32, content: [UInt8] = []) {
        var head: [UInt8] = []
        for shift in stride(from: UInt64(40), through: 0, by: -8) {
            head.append(UInt8(truncatingIfNeeded: hlc.ms >> shift))
        }
        var characters = Alphabet.encode(head, bitCount: 48)
        characters.append(Alphabet.characters[Int(hlc.counter & 63)])
        characters.append(contentsOf: AutoID.proof(hlc: hlc, author: author, content: content))
        text = String(decoding: characters, as: UTF8.self)
        self.hlc = hlc
    }

    /// Any 22 characters of the alphabet; says nothing about who made them.
    public init?(_ text: String) {
        let utf8 = text.utf8
        guard utf8.count == AutoID.length, utf8.allSatisfy({ Alphabet.value($0) != nil }),
            let hlc = AutoID.time(utf8)
        else { return nil }
        self.text = text
        self.hlc = hlc
    }

    /// Whether `author` made it.
    public func isCertified(by author: Bytes32, content: [UInt8] = []) -> Bool {
        text.utf8.dropFirst(9).elementsEqual(AutoID.proof(hlc: hlc, author: author, content: content))
    }

    /// Whether a text is the AutoID that `author` makes at a tick of the clock.
    package static func spells(_ text: String, hlc: HLC, author: Bytes32) -> Bool {
        guard text.utf8.count == length, time(text.utf8) == hlc else { return false }
        return text.utf8.dropFirst(9).elementsEqual(proof(hlc: hlc, author: author, content: []))
    }

    private static func proof(hlc: HLC, author: Bytes32, content: [UInt8]) -> [UInt8] {
        var input = author.bytes
        for shift in stride(from: UInt64(56), through: 0, by: -8) {
            input.append(UInt8(truncatingIfNeeded: hlc.ms >> shift))
        }
        input.append(UInt8(truncatingIfNeeded: hlc.counter))
        input.append(contentsOf: content)
        return Alphabet.encode(BLAKE2b.hash(input, key: proofKey).bytes, bitCount: proofBits)
    }

    private static func time(_ utf8: some Collection<UInt8>) -> HLC? {
        guard let ms = milliseconds(utf8), let counter = utf8.dropFirst(8).first.flatMap(Alphabet.value) else {
            return nil
        }
        return HLC(ms: ms, counter: UInt64(counter))
    }

    private static func milliseconds(_ utf8: some Collection<UInt8>) -> UInt64? {
        var ms: UInt64 = 0
        for character in utf8.prefix(8) {
            guard let value = Alphabet.value(character) else { return nil }
            ms = ms << 6 | UInt64(value)
        }
        return ms
    }

    public var description: String { text }

    /// Characters of a push ID made by a Firebase client.
    public static let pushIDLength = 20

    /// Milliseconds of a Firebase push ID (20 characters of the alphabet), or nil for anything else.
    public static func pushIDMs(_ text: String) -> UInt64? {
        let utf8 = text.utf8
        guard utf8.count == pushIDLength, utf8.allSatisfy({ Alphabet.value($0) != nil }) else { return nil }
        return milliseconds(utf8)
    }

    private static let namePrefix = String(repeating: "-", count: 9)
    private static let nameKey = Array("starling-name-1".utf8)

    /// The key that certifies a public channel's name: nine `-` and 13 characters of proof.
    ///
    /// - `foldedName`: the name after NFC and case folding, without `#`, 1…80 bytes.
    public static func nameKey(foldedName: String, workspace: Bytes32) -> String {
        let hash = BLAKE2b.hash(workspace.bytes + Array(foldedName.utf8), key: nameKey)
        return namePrefix + String(decoding: Alphabet.encode(hash.bytes, bitCount: proofBits), as: UTF8.self)
    }

    /// Whether a key certifies a name; such keys never certify an author.
    public static func isNameKey(_ text: String) -> Bool {
        text.utf8.count == length && text.utf8.prefix(9).allSatisfy { $0 == 0x2D }
            && text.utf8.allSatisfy { Alphabet.value($0) != nil }
    }
}
