internal import Glibc

/// One segment of a path: the key of a child.
///
/// Keys are compared byte by byte, never by Unicode equivalence as `String` does, and ordered as Firebase orders
/// children: canonical 32-bit integers first, by number, then everything else by UTF-16 code unit.
public struct Key: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// UTF-8 bytes a key and a whole path may have (Firebase's limit).
    public static let bytesMax = 768

    public let text: String

    /// A key that a client may write, or nil: empty, longer than 768 bytes, or with one of `. # $ [ ] /`, a control
    /// character or DEL in it.
    public init?(_ text: String) {
        var text = text
        text.makeContiguousUTF8()
        guard Key.isValid(text) else { return nil }
        self.text = text
    }

    private init(unchecked text: String) { self.text = text }

    /// Where a node's priority is kept; made by the engine alone.
    public static let priority = Key(unchecked: ".priority")

    /// Where a view puts the scalar of a node that has a priority; never stored.
    public static let value = Key(unchecked: ".value")

    private static let additionPrefix = ".add:"

    /// The place of one concurrent addition below a number; made by the engine alone.
    public static func addition(_ id: AutoID) -> Key { Key(unchecked: additionPrefix + id.text) }

    /// A key as entries carry it: a client's, or one of the engine's own.
    public init?(stored text: String) {
        if let key = Key(text) {
            self = key
        } else if text.utf8.elementsEqual(Key.priority.text.utf8) {
            self = .priority
        } else if text.hasPrefix(Key.additionPrefix), AutoID(String(text.dropFirst(Key.additionPrefix.count))) != nil {
            self = Key(unchecked: text)
        } else {
            return nil
        }
    }

    /// Whether the engine made it; such a key is no child.
    public var isEngine: Bool { text.utf8.first == 0x2E }

    /// The AutoID of an addition, nil for any other key.
    public var additionID: AutoID? {
        guard isEngine, text.hasPrefix(Key.additionPrefix) else { return nil }
        return AutoID(String(text.dropFirst(Key.additionPrefix.count)))
    }

    private static func isValid(_ text: String) -> Bool {
        var count = 0
        for byte in text.utf8 {
            count += 1
            switch byte {
            case 0..<0x20, 0x7F, 0x2E, 0x23, 0x24, 0x5B, 0x5D, 0x2F: return false
            default: continue
            }
        }
        return count >= 1 && count <= bytesMax
    }

    /// The number of a canonical decimal 32-bit integer (`-2147483648` … `2147483647`, no leading zeros, no `-0`).
    public var integer: Int32? {
        let utf8 = text.utf8
        guard let first = utf8.first, first == 0x2D || (first >= 0x30 && first <= 0x39), utf8.count <= 11 else {
            return nil
        }
        let digits = first == 0x2D ? utf8.dropFirst() : utf8[...]
        guard let lead = digits.first, digits.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else { return nil }
        if lead == 0x30 && (digits.count > 1 || first == 0x2D) { return nil }
        return Int32(text)
    }

    public var description: String { text }

    public static func == (a: Key, b: Key) -> Bool { a.text.hasSameBytes(as: b.text) }

    public func hash(into hasher: inout Hasher) { text.hashBytes(into: &hasher) }

    public static func < (a: Key, b: Key) -> Bool {
        switch (a.integer, b.integer) {
        case (let x?, let y?): x < y
        case (.some, nil): true
        case (nil, .some): false
        case (nil, nil): utf16Precedes(a.text, b.text)
        }
    }

    /// UTF-16 code-unit order without building UTF-16: UTF-8 order, but U+E000–U+FFFF after the supplementary planes.
    private static func utf16Precedes(_ a: String, _ b: String) -> Bool {
        let (a, b) = (a.utf8.span, b.utf8.span)
        let common = min(a.count, b.count)
        for index in 0..<common where a[index] != b[index] { return rank(a[index]) < rank(b[index]) }
        return a.count < b.count
    }

    /// UTF-8 lead bytes EE and EF (U+E000–U+FFFF) rank after F0–F4, as surrogates do in UTF-16.
    @inline(__always)
    static func rank(_ byte: UInt8) -> UInt8 { byte == 0xEE || byte == 0xEF ? byte &+ 8 : byte }
}

extension String {
    /// Equality byte by byte, where `==` goes by Unicode equivalence. Keys are compared at every step through a tree,
    /// so the bytes are looked at all at once.
    func hasSameBytes(as other: String) -> Bool {
        let (count, otherCount) = (utf8.count, other.utf8.count)
        guard count == otherCount, count > 0 else { return count == otherCount }
        let isSame = unsafe utf8.withContiguousStorageIfAvailable { a in
            unsafe other.utf8.withContiguousStorageIfAvailable { b in
                guard let a = a.baseAddress, let b = b.baseAddress else { return false }
                return unsafe memcmp(a, b, count) == 0
            }
        }
        // Only strings that were not made by Swift lie in pieces.
        return (isSame ?? nil) ?? utf8.elementsEqual(other.utf8)
    }

    /// The hash that goes with ``hasSameBytes(as:)``.
    func hashBytes(into hasher: inout Hasher) {
        var text = self
        text.withUTF8 { utf8 in unsafe hasher.combine(bytes: UnsafeRawBufferPointer(utf8)) }
        // No string contains it, so where one ends cannot be mistaken when several are hashed in a row.
        hasher.combine(UInt8(0xFF))
    }
}
