/// A place in the tree: the keys from the root down. The empty path is the root.
public struct Path: Sendable, Hashable, CustomStringConvertible {
    /// Segments a path may have (Firebase's limit).
    public static let depthMax = 32

    public let keys: [Key]

    public static let root = Path(unchecked: [])

    private init(unchecked keys: [Key]) { self.keys = keys }

    /// A path of valid keys, or nil if it has more than 32 of them or more than 768 bytes joined by `/`.
    public init?(_ keys: [Key]) {
        guard keys.count <= Path.depthMax, Path.byteCount(keys) <= Key.bytesMax else { return nil }
        self.keys = keys
    }

    /// A client's path as text, keys joined by `/`; one slash at either end is allowed, `""` and `"/"` are the root.
    public init(parsing text: String) throws(PathError) {
        var rest = text.utf8[...]
        if rest.first == 0x2F { rest = rest.dropFirst() }
        if rest.count > 1, rest.last == 0x2F { rest = rest.dropLast() }
        var keys: [Key] = []
        if !rest.isEmpty {
            let parts = rest.split(separator: 0x2F, maxSplits: Path.depthMax, omittingEmptySubsequences: false)
            guard parts.count <= Path.depthMax else { throw .tooDeep }
            for part in parts {
                guard let key = Key(String(Substring(part))) else { throw .invalidKey(String(Substring(part))) }
                keys.append(key)
            }
        }
        guard Path.byteCount(keys) <= Key.bytesMax else { throw .tooLong }
        self.keys = keys
    }

    static func byteCount(_ keys: [Key]) -> Int {
        keys.reduce(max(0, keys.count - 1)) { $0 + $1.text.utf8.count }
    }

    public var depth: Int { keys.count }
    public var isRoot: Bool { keys.isEmpty }
    public var last: Key? { keys.last }

    public var parent: Path { Path(unchecked: Array(keys.dropLast())) }

    /// The leading `depth` keys.
    public func prefix(_ depth: Int) -> Path { Path(unchecked: Array(keys.prefix(depth))) }

    /// The path of a child, or nil where it would pass the limits.
    public func appending(_ key: Key) -> Path? { Path(keys + [key]) }

    public func appending(_ other: Path) -> Path? { Path(keys + other.keys) }

    /// Whether this is `other` or an ancestor of it.
    public func contains(_ other: Path) -> Bool {
        guard keys.count <= other.keys.count else { return false }
        for index in keys.indices where keys[index] != other.keys[index] { return false }
        return true
    }

    public var description: String { keys.map(\.text).joined(separator: "/") }
}

/// What is wrong with a path given as text.
public enum PathError: Error, Equatable, Sendable, CustomStringConvertible {
    case invalidKey(String)
    case tooDeep
    case tooLong

    public var description: String {
        switch self {
        case .invalidKey(let key) where key.isEmpty: "a path segment is empty"
        case .invalidKey(let key) where key.utf8.count > Key.bytesMax: "a path segment is longer than 768 bytes"
        case .invalidKey(let key): "a path segment may not contain . # $ [ ] / or control characters: \"\(key)\""
        case .tooDeep: "a path has more than 32 segments"
        case .tooLong: "a path is longer than 768 bytes"
        }
    }
}
