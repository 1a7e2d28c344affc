public import CBOR
public import Seal

/// What orders entries: time first, then author, then content.
public struct Stamp: Sendable, Hashable, Comparable {
    public let hlc: HLC
    public let author: Bytes32
    public let id: Bytes32

    public init(hlc: HLC, author: Bytes32, id: Bytes32) {
        self.hlc = hlc
        self.author = author
        self.id = id
    }

    public static func < (a: Stamp, b: Stamp) -> Bool {
        if a.hlc != b.hlc { return a.hlc < b.hlc }
        if a.author != b.author { return a.author < b.author }
        return a.id < b.id
    }
}

/// One write: `value` at `path`, made by `author` at `hlc`. The tree is a set of these.
public struct Entry: Sendable, Hashable {
    /// `set`; other kinds are judged, merged and forwarded like it, and shown nowhere.
    public static let set: UInt64 = 0
    /// Canonical bytes an entry may have. Larger things are blobs.
    public static let sizeMax = 1 << 20

    public let kind: UInt64
    public let path: Path
    public let hlc: HLC
    public let author: Bytes32
    /// Null is a tombstone.
    public let value: Value
    /// BLAKE2b-256 of the canonical bytes.
    public let id: Bytes32
    /// Deterministic CBOR of `[kind, path, hlc, author, value]`.
    public let encoded: [UInt8]
    /// Where the value begins in them.
    private let valueStart: Int

    /// Deterministic CBOR of the value.
    public var encodedValue: ArraySlice<UInt8> { encoded[valueStart...] }

    public var stamp: Stamp { Stamp(hlc: hlc, author: author, id: id) }
    public var reference: EntryReference { EntryReference(hlc: hlc, idPrefix: id.prefix64) }

    /// Makes an entry. Throws where path and value together pass the limits. An empty object means absent, as null
    /// does.
    public init(path: Path, hlc: HLC, author: Bytes32, value: Value, kind: UInt64 = Entry.set) throws(EntryError) {
        let value = value.object?.isEmpty == true ? .null : value
        try self.init(path: path, hlc: hlc, author: author, value: value, encodedValue: nil, kind: kind)
    }

    /// Makes an entry whose value is encoded already.
    ///
    /// - `encodedValue`: the deterministic CBOR of the value. Of an entry that was stored its id tells whether it is.
    package init(
        path: Path, hlc: HLC, author: Bytes32, value: Value, encodedValue: [UInt8]?, kind: UInt64
    ) throws(EntryError) {
        var writer = CBORWriter(reserving: 160 + (encodedValue?.count ?? 96))
        writer.array(5)
        writer.unsigned(kind)
        writer.array(path.depth)
        for key in path.keys { writer.text(key.text) }
        writer.unsigned(hlc.rawValue)
        writer.byteString(author.bytes)
        valueStart = writer.bytes.count
        if let encodedValue { writer.raw(encodedValue) } else { value.encode(to: &writer) }
        self.kind = kind
        self.path = path
        self.hlc = hlc
        self.author = author
        self.value = value
        encoded = writer.bytes
        id = BLAKE2b.hash(encoded)
        try checkLimits()
    }

    /// Reads an entry and refuses everything that is not the canonical encoding of one.
    public init(decoding bytes: ArraySlice<UInt8>) throws(EntryError) {
        guard bytes.count <= Entry.sizeMax else { throw .tooLarge }
        var reader = CBORReader(bytes)
        do throws(CBORError) {
            try reader.array(of: 5)
            kind = try reader.unsigned()
            let depth = try reader.array()
            guard depth <= Path.depthMax else { throw CBORError.tooDeep }
            var keys: [Key] = []
            for _ in 0..<depth {
                guard let key = Key(stored: try reader.text()) else { throw CBORError.notCanonical }
                keys.append(key)
            }
            guard let path = Path(keys) else { throw CBORError.outOfRange }
            self.path = path
            guard let hlc = HLC(rawValue: try reader.unsigned()) else { throw CBORError.outOfRange }
            self.hlc = hlc
            guard let author = Bytes32(try reader.byteString()) else { throw CBORError.outOfRange }
            self.author = author
            valueStart = reader.offset - bytes.startIndex
            value = try Value(from: &reader)
            try reader.expectEnd()
        } catch {
            throw .malformed(error)
        }
        encoded = Array(bytes)
        id = BLAKE2b.hash(encoded)
        try checkLimits()
    }

    private func checkLimits() throws(EntryError) {
        guard !path.isRoot else { throw .noPath }
        guard encoded.count <= Entry.sizeMax else { throw .tooLarge }
        guard path.depth + value.depth <= Path.depthMax else { throw .tooDeep }
        guard Path.byteCount(path.keys) + value.longestPathBytes <= Key.bytesMax else { throw .pathTooLong }
        // The engine's own keys stand last in a path and hold a scalar.
        guard path.keys.dropLast().allSatisfy({ !$0.isEngine }) else { throw .malformed(.notCanonical) }
        if let last = path.last, last.isEngine, value.depth > 0 { throw .malformed(.notCanonical) }
    }

    public static func == (a: Entry, b: Entry) -> Bool { a.id == b.id }
    public func hash(into hasher: inout Hasher) { hasher.combine(id) }
}

/// Names an entry between nodes in 16 bytes: its time and the first 8 bytes of its id.
public struct EntryReference: Sendable, Hashable, Comparable {
    public let hlc: HLC
    public let idPrefix: UInt64

    public init(hlc: HLC, idPrefix: UInt64) {
        self.hlc = hlc
        self.idPrefix = idPrefix
    }

    public static func < (a: EntryReference, b: EntryReference) -> Bool {
        a.hlc != b.hlc ? a.hlc < b.hlc : a.idPrefix < b.idPrefix
    }
}

/// Why something is no entry.
public enum EntryError: Error, Equatable, Sendable, CustomStringConvertible {
    case malformed(CBORError)
    case tooLarge
    case tooDeep
    case pathTooLong
    case noPath

    public var description: String {
        switch self {
        case .malformed(let error): "malformed entry: \(error)"
        case .tooLarge: "an entry has more than 1 MiB"
        case .tooDeep: "path and value together are deeper than 32 levels"
        case .pathTooLong: "path and value together are longer than 768 bytes"
        case .noPath: "the root cannot be written"
        }
    }
}
