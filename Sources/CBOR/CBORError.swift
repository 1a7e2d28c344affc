/// Why bytes were refused as deterministic CBOR.
///
/// Every case is an input error: the bytes came from a peer or a file and are not what RFC 8949 §4.2 allows, or are
/// larger than the reader was told to accept. Nothing here is a programming error.
public enum CBORError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The bytes end inside an item.
    case truncated
    /// Bytes follow the item that should have been the last one.
    case trailingBytes
    /// The same item has a shorter or differently ordered encoding; only that one is accepted.
    case notCanonical
    /// Nesting is deeper than ``CBORReader/depthMax``.
    case tooDeep
    /// A text string is not valid UTF-8.
    case invalidUTF8
    /// The item is of another type than the caller expects here.
    case unexpectedType
    /// Well-formed CBOR that this profile does not use: indefinite lengths, tags, other simple values.
    case unsupported
    /// An integer does not fit the type that the caller asked for.
    case outOfRange

    public var description: String {
        switch self {
        case .truncated: "the bytes end inside an item"
        case .trailingBytes: "bytes follow the last item"
        case .notCanonical: "not the canonical encoding"
        case .tooDeep: "nested too deeply"
        case .invalidUTF8: "text is not UTF-8"
        case .unexpectedType: "an item of another type was expected"
        case .unsupported: "an item type that is not used here"
        case .outOfRange: "an integer is out of range"
        }
    }
}

/// The major kinds of item in the profile of CBOR that Starling uses (RFC 8949 §3).
public enum CBORType: Sendable, Equatable {
    case unsigned
    case negative
    case bytes
    case text
    case array
    case map
    case bool
    case null
    case float
}
