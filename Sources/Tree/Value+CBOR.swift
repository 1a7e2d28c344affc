public import CBOR

extension Value {
    /// Appends the value as deterministic CBOR: text-keyed maps for objects, integers to ±2^53, else the shortest
    /// float.
    public func encode(to writer: inout CBORWriter) {
        switch self {
        case .null: writer.null()
        case .bool(let value): writer.bool(value)
        case .integer(let value): writer.integer(value)
        case .double(let value): writer.double(value)
        case .string(let value): writer.text(value)
        case .object(let object):
            writer.map(object.count)
            let sorted = object.children.sorted { CBORWriter.keyPrecedes($0.key.text, $1.key.text) }
            for child in sorted {
                writer.text(child.key.text)
                child.value.encode(to: &writer)
            }
        }
    }

    /// Reads a value and refuses whatever is not normalised: null or an empty object inside an object, a whole number
    /// as float, an integer beyond 2^53, NaN, an invalid key, more than `depth` levels.
    public init(from reader: inout CBORReader, depth: Int = Path.depthMax, isTop: Bool = true) throws(CBORError) {
        switch try reader.peekType() {
        case .null:
            guard isTop else { throw .notCanonical }
            try reader.null()
            self = .null
        case .bool: self = .bool(try reader.bool())
        case .text: self = .string(try reader.text())
        case .unsigned, .negative:
            let value = try reader.integer()
            guard value.magnitude <= Value.integerMax.magnitude else { throw .notCanonical }
            self = .integer(value)
        case .float:
            let value = try reader.double()
            guard case .double? = Value.number(value) else { throw .notCanonical }
            self = .double(value)
        case .map: self = .object(try ObjectValue(from: &reader, depth: depth))
        case .array, .bytes: throw .unexpectedType
        }
    }

    /// Levels of children below this value: 0 for a scalar.
    public var depth: Int {
        guard case .object(let object) = self else { return 0 }
        return 1 + (object.children.map(\.value.depth).max() ?? 0)
    }

    /// The longest relative path inside the value in UTF-8 bytes, each key with the slash before it.
    var longestPathBytes: Int {
        guard case .object(let object) = self else { return 0 }
        return object.children.map { $0.key.text.utf8.count + 1 + $0.value.longestPathBytes }.max() ?? 0
    }
}

extension ObjectValue {
    fileprivate init(from reader: inout CBORReader, depth: Int) throws(CBORError) {
        guard depth > 0 else { throw .tooDeep }
        let count = try reader.map()
        guard count > 0 else { throw .notCanonical }
        var pairs: [(Key, Value)] = []
        var previous: String?
        for _ in 0..<count {
            let text = try reader.text()
            if let previous, !CBORWriter.keyPrecedes(previous, text) { throw .notCanonical }
            previous = text
            guard let key = Key(text) else { throw .notCanonical }
            pairs.append((key, try Value(from: &reader, depth: depth - 1, isTop: false)))
        }
        self.init(pairs)
    }
}
