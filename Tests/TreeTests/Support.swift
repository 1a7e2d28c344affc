import Foundation
import Seal
import Testing
import Tree

/// SplitMix64: the same numbers for the same seed, on every machine.
struct SeededRandom: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    mutating func below(_ bound: Int) -> Int { Int(next() >> 33) % bound }

    mutating func element<T>(_ items: [T]) -> T { items[below(items.count)] }
}

/// Bytes written as hexadecimal in a vector file.
struct HexBytes: Decodable {
    let bytes: [UInt8]

    init(from decoder: any Decoder) throws {
        let digits = Array(try decoder.singleValueContainer().decode(String.self).utf8)
        bytes = try stride(from: 0, to: digits.count, by: 2).map { index in
            try #require(UInt8(String(decoding: digits[index..<(index + 2)], as: UTF8.self), radix: 16))
        }
    }

    func bytes32() throws -> Bytes32 { try #require(Bytes32(bytes)) }
}

/// A value written as JSON in a vector file.
struct JSONValue: Decodable {
    let value: Value

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            value = .null
        } else if let bool = try? container.decode(Bool.self) {
            value = .bool(bool)
        } else if let integer = try? container.decode(Int64.self) {
            value = .number(integer)
        } else if let double = try? container.decode(Double.self) {
            value = try #require(Value.number(double))
        } else if let string = try? container.decode(String.self) {
            value = .string(string)
        } else {
            let object = try container.decode([String: JSONValue].self)
            value = .object(ObjectValue(try object.map { (try #require(Key($0)), $1.value) }))
        }
    }
}

/// The cases of a file of golden vectors.
func vectors<Case: Decodable>(_ name: String, of type: Case.Type = Case.self) throws -> [Case] {
    let url = try #require(
        Foundation.Bundle.module.url(forResource: name, withExtension: "json", subdirectory: "Vectors"))
    return try JSONDecoder().decode([Case].self, from: Data(contentsOf: url))
}

func storedPath(_ keys: [String]) throws -> Path {
    let keys = try keys.map { try #require(Key(stored: $0)) }
    return try #require(Path(keys))
}

func testEntry(
    _ path: String, _ value: Value = .integer(1), ms: UInt64 = 1 << 40, counter: UInt64 = 0,
    author: Bytes32 = Bytes32(repeating: 1)
) throws -> Entry {
    try Entry(path: Path(parsing: path), hlc: HLC(ms: ms, counter: counter), author: author, value: value)
}

/// A key with letters of every length of UTF-8, digits and the places where orders differ.
func randomKey(_ random: inout SeededRandom) -> Key {
    let pieces = ["a", "b", "-", "0", "1", "9", "é", "\u{7FF}", "\u{E000}", "\u{FFFF}", "\u{10000}", "\u{10FFFF}", "~"]
    while true {
        let text =
            random.below(4) == 0
            ? String(Int32(truncatingIfNeeded: random.next() >> UInt64(32 + random.below(32))))
            : (0...random.below(4)).map { _ in random.element(pieces) }.joined()
        if let key = Key(text) { return key }
    }
}

func randomPath(_ random: inout SeededRandom, depthMax: Int = 4) -> Path {
    var path = Path.root
    for _ in 0..<random.below(depthMax + 1) { path = path.appending(randomKey(&random)) ?? path }
    return path
}

func randomValue(_ random: inout SeededRandom, depth: Int = 3, isTop: Bool = true) -> Value {
    switch random.below(isTop ? 8 : 7) {
    case 0: return .bool(random.below(2) == 0)
    case 1: return .number(Int64(bitPattern: random.next()) >> Int64(random.below(64)))
    case 2: return Value.number(Double(bitPattern: random.next())) ?? .integer(0)
    case 3: return Value.number(Double(Float(bitPattern: UInt32(truncatingIfNeeded: random.next())))) ?? .integer(1)
    case 4: return .string(randomKey(&random).text)
    case 5, 6:
        guard depth > 0 else { return .string("") }
        var children: [(Key, Value)] = []
        for _ in 0...random.below(4) {
            children.append((randomKey(&random), randomValue(&random, depth: depth - 1, isTop: false)))
        }
        return .object(ObjectValue(children))
    default: return .null
    }
}
