internal import Glibc

/// A path as bytes whose order is the tree's own: a parent before its children, children in Firebase's order, and every
/// subtree one contiguous range. Stores index entries by it.
///
/// A key is written as a tag and its content: tag 0 for the engine's own keys (they come before children), tag 1 and
/// the big-endian integer with its sign bit flipped for integer keys, tag 2 and UTF-8 for the rest, with lead bytes EE
/// and EF raised above F4 so that byte order is UTF-16 order. Text ends with a zero byte, which no key contains.
public struct PathKey: Sendable, Hashable, Comparable {
    public let bytes: [UInt8]

    public init(bytes: [UInt8]) { self.bytes = bytes }

    /// Whole, where an array hashes and compares byte by byte: each write asks several tables for its path.
    public func hash(into hasher: inout Hasher) {
        unsafe bytes.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
    }

    public static func == (a: PathKey, b: PathKey) -> Bool {
        unsafe a.bytes.count == b.bytes.count && memcmp(a.bytes, b.bytes, a.bytes.count) == 0
    }

    public init(_ path: Path) {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(path.keys.reduce(0) { $0 + $1.text.utf8.count + 2 })
        for key in path.keys { PathKey.append(key, to: &bytes) }
        self.bytes = bytes
    }

    /// The keys of a path and of its parent.
    ///
    /// - `known`: that of a parent that is probably the same.
    public static func withParent(_ path: Path, known: PathKey? = nil) -> (key: PathKey, parent: PathKey) {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(path.keys.reduce(0) { $0 + $1.text.utf8.count + 2 })
        for key in path.keys.dropLast() { append(key, to: &bytes) }
        let parent: PathKey
        if let known, known.bytes.count == bytes.count, known.isPrefix(of: bytes) {
            parent = known
        } else {
            parent = PathKey(bytes: Array(bytes))
        }
        if let last = path.last { append(last, to: &bytes) }
        return (PathKey(bytes: bytes), parent)
    }

    private static func append(_ key: Key, to bytes: inout [UInt8]) {
        if let integer = key.integer {
            bytes.append(1)
            let flipped = UInt32(bitPattern: integer) ^ 0x8000_0000
            for shift in [24, 16, 8, 0] as [UInt32] { bytes.append(UInt8(truncatingIfNeeded: flipped >> shift)) }
        } else {
            bytes.append(key.isEngine ? 0 : 2)
            for byte in key.text.utf8 { bytes.append(Key.rank(byte)) }
            bytes.append(0)
        }
    }

    /// The path that this is the key of, or nil for bytes that are no path key.
    public var path: Path? {
        var keys: [Key] = []
        var rest = bytes[...]
        while let tag = rest.popFirst() {
            if tag == 1 {
                guard rest.count >= 4 else { return nil }
                let flipped = rest.prefix(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
                rest = rest.dropFirst(4)
                guard let key = Key(String(Int32(bitPattern: flipped ^ 0x8000_0000))) else { return nil }
                keys.append(key)
            } else {
                guard tag == 0 || tag == 2, let end = rest.firstIndex(of: 0) else { return nil }
                let utf8 = rest[rest.startIndex..<end].map { $0 == 0xF6 || $0 == 0xF7 ? $0 &- 8 : $0 }
                guard let text = String(validating: utf8, as: UTF8.self), let key = Key(stored: text) else {
                    return nil
                }
                guard key.isEngine == (tag == 0), key.integer == nil else { return nil }
                keys.append(key)
                rest = rest[(end + 1)...]
            }
        }
        return Path(keys)
    }

    /// The keys of the ancestors below the root, nearest to the root first, and this key itself last. Bytes that are no
    /// path key give the prefixes of what can be read.
    public var prefixes: [PathKey] {
        var prefixes: [PathKey] = []
        var end = 0
        while end < bytes.count {
            if bytes[end] == 1 {
                end += 5
            } else {
                guard let zero = bytes[(end + 1)...].firstIndex(of: 0) else { break }
                end = zero + 1
            }
            guard end <= bytes.count else { break }
            prefixes.append(PathKey(bytes: Array(bytes[..<end])))
        }
        return prefixes
    }

    /// The key of the parent; of a key at the top, and of bytes that are no path key, that of the root.
    public var parent: PathKey { prefixes.dropLast().last ?? PathKey(bytes: []) }

    /// A bound above this key and at or below everything in its subtree.
    public var firstBelow: PathKey { PathKey(bytes: bytes + [0]) }

    /// A bound above every key of the subtree and below every key after it (tags end at 2).
    public var subtreeEnd: PathKey { PathKey(bytes: bytes + [0xFF]) }

    /// A bound above the engine's own keys directly below this path and below its first child.
    public var firstChild: PathKey { PathKey(bytes: bytes + [1]) }

    private static let prioritySuffix: [UInt8] = [0] + Array(Key.priority.text.utf8) + [0]

    /// Whether it is the place of a priority: its bytes end with the engine's key, and no client's key contains a dot.
    public var isPriority: Bool { bytes.suffix(PathKey.prioritySuffix.count).elementsEqual(PathKey.prioritySuffix) }

    public func isPrefix(of other: PathKey) -> Bool { isPrefix(of: other.bytes) }

    /// Of the bytes of a path.
    public func isPrefix(of other: [UInt8]) -> Bool { PathKey.begins(other, with: bytes) }

    /// In one comparison, where `starts(with:)` takes one for each byte.
    public static func begins(_ bytes: [UInt8], with prefix: [UInt8]) -> Bool {
        unsafe bytes.count >= prefix.count && memcmp(bytes, prefix, prefix.count) == 0
    }

    public static func < (a: PathKey, b: PathKey) -> Bool {
        let common = min(a.bytes.count, b.bytes.count)
        let order = unsafe memcmp(a.bytes, b.bytes, common)
        return order != 0 ? order < 0 : a.bytes.count < b.bytes.count
    }
}
