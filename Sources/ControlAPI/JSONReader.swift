extension JSON {
    /// Arrays and objects may be nested this deep: a tree is 32 deep, and requests and events add a few around it.
    public static let depthMax = 64

    /// Reads one JSON text, strictly as RFC 8259 has it: UTF-8 without a byte order mark, no name used twice in an
    /// object, no half surrogate pairs, no number beyond the range of a double, nesting up to ``depthMax``.
    ///
    /// - Throws: ``JSONError`` with the offset of the first offending byte.
    public static func parse(_ bytes: [UInt8]) throws(JSONError) -> JSON {
        try parse(bytes.span)
    }

    /// Reads one JSON text; offsets in errors count from the start of the slice.
    public static func parse(_ bytes: ArraySlice<UInt8>) throws(JSONError) -> JSON {
        try parse(bytes.span)
    }

    /// Reads one JSON text from a string.
    public static func parse(_ text: String) throws(JSONError) -> JSON {
        try parse(text.utf8.span)
    }

    /// Reads one JSON text from any contiguous bytes.
    public static func parse(_ bytes: Span<UInt8>) throws(JSONError) -> JSON {
        var reader = JSONReader()
        return try reader.document(bytes)
    }
}

/// Recursive descent over bytes. The bytes are passed down rather than stored: a stored span would make the reader
/// non-escapable.
struct JSONReader {
    private var index = 0
    private var depth = 0

    mutating func document(_ bytes: Span<UInt8>) throws(JSONError) -> JSON {
        skipWhitespace(bytes)
        let value = try self.value(bytes)
        skipWhitespace(bytes)
        guard index == bytes.count else { throw failure(.trailingBytes) }
        return value
    }

    private func failure(_ reason: JSONError.Reason) -> JSONError {
        JSONError(offset: index, reason: reason)
    }

    @inline(__always)
    private mutating func skipWhitespace(_ bytes: Span<UInt8>) {
        while index < bytes.count {
            switch bytes[index] {
            case 0x20, 0x0A, 0x0D, 0x09: index += 1
            default: return
            }
        }
    }

    private mutating func value(_ bytes: Span<UInt8>) throws(JSONError) -> JSON {
        guard index < bytes.count else { throw failure(.endOfText) }
        switch bytes[index] {
        case UInt8(ascii: "\""):
            index += 1
            return .string(try string(bytes))
        case UInt8(ascii: "{"):
            return try object(bytes)
        case UInt8(ascii: "["):
            return try array(bytes)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            var number = JSONNumberReader(index: index)
            let value = try number.read(bytes)
            index = number.index
            return value
        case UInt8(ascii: "t"):
            try literal("true", bytes)
            return .bool(true)
        case UInt8(ascii: "f"):
            try literal("false", bytes)
            return .bool(false)
        case UInt8(ascii: "n"):
            try literal("null", bytes)
            return .null
        default:
            throw failure(.expectedValue)
        }
    }

    private mutating func literal(_ word: StaticString, _ bytes: Span<UInt8>) throws(JSONError) {
        let size = word.utf8CodeUnitCount
        for position in 0..<size {
            guard index + position < bytes.count else {
                index = bytes.count
                throw failure(.endOfText)
            }
            let expected = unsafe word.utf8Start[position]
            guard bytes[index + position] == expected else { throw failure(.expectedValue) }
        }
        index += size
    }

    private mutating func enter() throws(JSONError) {
        guard depth < JSON.depthMax else { throw failure(.tooDeep) }
        depth += 1
        index += 1
    }

    private mutating func array(_ bytes: Span<UInt8>) throws(JSONError) -> JSON {
        try enter()
        defer { depth -= 1 }
        var elements: [JSON] = []
        skipWhitespace(bytes)
        if try closes(UInt8(ascii: "]"), bytes) { return .array(elements) }
        while true {
            skipWhitespace(bytes)
            elements.append(try value(bytes))
            skipWhitespace(bytes)
            if try closes(UInt8(ascii: "]"), bytes) { return .array(elements) }
            guard bytes[index] == UInt8(ascii: ",") else { throw failure(.expectedCommaOrEnd) }
            index += 1
        }
    }

    private mutating func object(_ bytes: Span<UInt8>) throws(JSONError) -> JSON {
        try enter()
        defer { depth -= 1 }
        var object = JSONObject()
        var names = NameSet()
        skipWhitespace(bytes)
        if try closes(UInt8(ascii: "}"), bytes) { return .object(object) }
        while true {
            skipWhitespace(bytes)
            guard index < bytes.count else { throw failure(.endOfText) }
            guard bytes[index] == UInt8(ascii: "\"") else { throw failure(.expectedName) }
            let start = index
            index += 1
            let name = try string(bytes)
            guard names.insert(name, into: object) else {
                throw JSONError(offset: start, reason: .duplicateName)
            }
            skipWhitespace(bytes)
            guard index < bytes.count else { throw failure(.endOfText) }
            guard bytes[index] == UInt8(ascii: ":") else { throw failure(.expectedColon) }
            index += 1
            skipWhitespace(bytes)
            object.append(name, try value(bytes))
            skipWhitespace(bytes)
            if try closes(UInt8(ascii: "}"), bytes) { return .object(object) }
            guard bytes[index] == UInt8(ascii: ",") else { throw failure(.expectedCommaOrEnd) }
            index += 1
        }
    }

    /// Whether the bracket stands here (then it is passed). Afterwards, if not, there is a byte at `index`.
    @inline(__always)
    private mutating func closes(_ bracket: UInt8, _ bytes: Span<UInt8>) throws(JSONError) -> Bool {
        guard index < bytes.count else { throw failure(.endOfText) }
        guard bytes[index] == bracket else { return false }
        index += 1
        return true
    }

    /// The string whose opening quote has been passed.
    private mutating func string(_ bytes: Span<UInt8>) throws(JSONError) -> String {
        let start = index
        guard try run(bytes) else {
            var reader = JSONEscapeReader(index: index)
            let value = try reader.read(bytes, from: start)
            index = reader.index
            return value
        }
        let text = try validated(bytes, start..<index)
        index += 1
        return text
    }

    /// Goes to the closing quote (true) or to the first backslash (false).
    private mutating func run(_ bytes: Span<UInt8>) throws(JSONError) -> Bool {
        while index < bytes.count {
            let byte = bytes[index]
            if byte == UInt8(ascii: "\"") { return true }
            if byte == UInt8(ascii: "\\") { return false }
            guard byte >= 0x20 else { throw failure(.controlCharacter) }
            index += 1
        }
        throw failure(.endOfText)
    }

    private func validated(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(JSONError) -> String {
        do throws(UTF8.ValidationError) {
            return String(copying: try UTF8Span(validating: bytes.extracting(range)))
        } catch {
            throw JSONError(offset: range.lowerBound + error.byteOffsets.lowerBound, reason: .invalidUTF8)
        }
    }
}

/// The names of an object being read: compared one by one while they are few, then through a hash table, so that an
/// object of a hundred thousand members costs no quadratic work.
private struct NameSet {
    private static let scanned = 12
    private var hashed: Set<ByteString> = []

    /// False if the name is there already.
    @inline(__always)
    mutating func insert(_ name: String, into object: JSONObject) -> Bool {
        if object.count < Self.scanned {
            for member in object.members where sameBytes(member.key, name) { return false }
            return true
        }
        return insertHashed(name, object)
    }

    private mutating func insertHashed(_ name: String, _ object: JSONObject) -> Bool {
        if object.count == Self.scanned { for member in object.members { hashed.insert(ByteString(text: member.key)) } }
        return hashed.insert(ByteString(text: name)).inserted
    }
}
