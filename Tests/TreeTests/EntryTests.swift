import CBOR
import Seal
import Testing
import Tree

/// One write as bytes: only the canonical ones are an entry.
@Suite struct EntryTests {
    private static let author = Bytes32(repeating: 1)

    @Test func roundTrips() throws {
        var random = SeededRandom(seed: 11)
        for index in 0..<800 {
            let path = try #require(randomPath(&random).appending(Key("k") ?? .priority))
            let hlc = HLC(ms: random.next() >> 16, counter: UInt64(random.below(64)))
            let value = randomValue(&random)
            let entry = try Entry(
                path: path, hlc: hlc, author: EntryTests.author, value: value, kind: random.next() >> 60)
            let read = try Entry(decoding: entry.encoded[...])
            try #require(read.encoded == entry.encoded && read.id == entry.id, "\(index)")
            try #require(
                read.path == path && read.hlc == hlc && read.value == value && read.kind == entry.kind, "\(index)")
            try #require(entry.id == BLAKE2b.hash(entry.encoded))
        }
    }

    /// The parts of a sound entry, any of which a case below replaces by something else.
    struct Parts {
        var head: [UInt8] = [0x85]
        var kind: [UInt8] = [0x00]
        var path: [UInt8] = [0x82, 0x61, 0x61, 0x61, 0x62]
        var hlc: [UInt8] = [0x1A, 0x00, 0x01, 0x00, 0x05]
        var author: [UInt8] = [0x58, 0x20] + [UInt8](repeating: 1, count: 32)
        var value: [UInt8] = [0xF6]
        var tail: [UInt8] = []

        var bytes: [UInt8] { head + kind + path + hlc + author + value + tail }
    }

    @Test func thePartsAreSound() throws {
        let entry = try Entry(decoding: Parts().bytes[...])
        #expect(entry.path.description == "a/b" && entry.hlc == HLC(ms: 1, counter: 5) && entry.value == .null)
    }

    struct Malformed: CustomTestStringConvertible, Sendable {
        let name: String
        let error: EntryError
        let bytes: [UInt8]
        var testDescription: String { name }

        init(_ name: String, _ error: EntryError, _ change: (inout Parts) -> Void) {
            var parts = Parts()
            change(&parts)
            (self.name, self.error, bytes) = (name, error, parts.bytes)
        }

        init(_ name: String, value: [UInt8], _ error: CBORError = .notCanonical) {
            self.init(name, .malformed(error)) { $0.value = value }
        }
    }

    static let malformed: [Malformed] = [
        Malformed("four parts", .malformed(.unexpectedType)) { $0.head = [0x84] },
        Malformed("six parts", .malformed(.unexpectedType)) { parts in
            parts.head = [0x86]
            parts.tail = [0x00]
        },
        Malformed("long head", .malformed(.notCanonical)) { $0.head = [0x98, 0x05] },
        Malformed("indefinite array", .malformed(.unsupported)) { parts in
            parts.head = [0x9F]
            parts.tail = [0xFF]
        },
        Malformed("a map", .malformed(.unexpectedType)) { $0.head = [0xA5] },
        Malformed("tagged", .malformed(.unexpectedType)) { $0.head = [0xC0, 0x85] },
        Malformed("something behind", .malformed(.trailingBytes)) { $0.tail = [0x00] },
        Malformed("long kind", .malformed(.notCanonical)) { $0.kind = [0x18, 0x00] },
        Malformed("negative kind", .malformed(.unexpectedType)) { $0.kind = [0x20] },
        Malformed("the root", .noPath) { $0.path = [0x80] },
        Malformed("path as text", .malformed(.unexpectedType)) { $0.path = [0x61, 0x61] },
        Malformed("path of bytes", .malformed(.unexpectedType)) { $0.path = [0x81, 0x41, 0x61] },
        Malformed("empty segment", .malformed(.notCanonical)) { $0.path = [0x81, 0x60] },
        Malformed("slash in a segment", .malformed(.notCanonical)) { $0.path = [0x81, 0x61, 0x2F] },
        Malformed("unknown engine key", .malformed(.notCanonical)) { $0.path = [0x82, 0x61, 0x61, 0x62, 0x2E, 0x78] },
        Malformed("engine key inside", .malformed(.notCanonical)) {
            $0.path = [0x83, 0x61, 0x61, 0x69] + Array(".priority".utf8) + [0x61, 0x62]
        },
        Malformed("engine key of an object", .malformed(.notCanonical)) { parts in
            parts.path = [0x82, 0x61, 0x61, 0x69] + Array(".priority".utf8)
            parts.value = [0xA1, 0x61, 0x61, 0x01]
        },
        Malformed("long segment head", .malformed(.notCanonical)) { $0.path = [0x81, 0x78, 0x01, 0x61] },
        Malformed("invalid UTF-8", .malformed(.invalidUTF8)) { $0.path = [0x81, 0x61, 0xFF] },
        Malformed("surrogate", .malformed(.invalidUTF8)) { $0.path = [0x81, 0x63, 0xED, 0xA0, 0x80] },
        Malformed("overlong UTF-8", .malformed(.invalidUTF8)) { $0.path = [0x81, 0x62, 0xC1, 0xA1] },
        Malformed("33 segments", .malformed(.tooDeep)) { $0.path = [0x98, 33] + [UInt8]([0x61, 0x61].repeated(33)) },
        Malformed("769 bytes", .malformed(.notCanonical)) {
            $0.path = [0x81, 0x79, 0x03, 0x01] + [UInt8](repeating: 0x61, count: 769)
        },
        Malformed("769 bytes joined", .malformed(.outOfRange)) {
            $0.path = [0x82] + [UInt8]([0x79, 0x01, 0x80] + [UInt8](repeating: 0x61, count: 384)).repeated(2)
        },
        Malformed("counter 64", .malformed(.outOfRange)) { $0.hlc = [0x1A, 0x00, 0x01, 0x00, 0x40] },
        Malformed("long time", .malformed(.notCanonical)) { $0.hlc = [0x1B, 0, 0, 0, 0, 0, 1, 0, 5] },
        Malformed("negative time", .malformed(.unexpectedType)) { $0.hlc = [0x20] },
        Malformed("time as float", .malformed(.unexpectedType)) { $0.hlc = [0xF9, 0x3C, 0x00] },
        Malformed("author of 31 bytes", .malformed(.outOfRange)) {
            $0.author = [0x58, 0x1F] + [UInt8](repeating: 1, count: 31)
        },
        Malformed("author of 33 bytes", .malformed(.outOfRange)) {
            $0.author = [0x58, 0x21] + [UInt8](repeating: 1, count: 33)
        },
        Malformed("author as text", .malformed(.unexpectedType)) {
            $0.author = [0x78, 0x20] + [UInt8](repeating: 0x61, count: 32)
        },
        Malformed("long author head", .malformed(.notCanonical)) {
            $0.author = [0x59, 0x00, 0x20] + [UInt8](repeating: 1, count: 32)
        },
        Malformed("no value", .malformed(.truncated)) { $0.value = [] },
        Malformed("an array", value: [0x80], .unexpectedType),
        Malformed("bytes", value: [0x40], .unexpectedType),
        Malformed("undefined", value: [0xF7], .unsupported),
        Malformed("a tag", value: [0xC1, 0x00], .unsupported),
        Malformed("an empty object", value: [0xA0]),
        Malformed("null inside", value: [0xA1, 0x61, 0x61, 0xF6]),
        Malformed("an empty object inside", value: [0xA1, 0x61, 0x61, 0xA0]),
        Malformed("an array inside", value: [0xA1, 0x61, 0x61, 0x80], .unexpectedType),
        Malformed("keys out of order", value: [0xA2, 0x61, 0x62, 0x01, 0x61, 0x61, 0x01]),
        Malformed("longer key first", value: [0xA2, 0x62, 0x61, 0x61, 0x01, 0x61, 0x62, 0x01]),
        Malformed("equal keys", value: [0xA2, 0x61, 0x61, 0x01, 0x61, 0x61, 0x01]),
        Malformed("a number as key", value: [0xA1, 0x01, 0x01], .unexpectedType),
        Malformed("an invalid key", value: [0xA1, 0x61, 0x2E, 0x01]),
        Malformed("an engine key in a value", value: [0xA1, 0x69] + Array(".priority".utf8) + [0x01]),
        Malformed("an indefinite map", value: [0xBF, 0x61, 0x61, 0x01, 0xFF], .unsupported),
        Malformed("a long integer", value: [0x18, 0x17]),
        Malformed("beyond 2^53", value: [0x1B, 0x00, 0x20, 0, 0, 0, 0, 0, 1]),
        Malformed("beyond -2^53", value: [0x3B, 0x00, 0x20, 0, 0, 0, 0, 0, 0]),
        Malformed("beyond 64 bits", value: [0x3B, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], .outOfRange),
        Malformed("a whole number as half float", value: [0xF9, 0x3C, 0x00]),
        Malformed("minus zero", value: [0xF9, 0x80, 0x00]),
        Malformed("2^53 as double", value: [0xFB, 0x43, 0x40, 0, 0, 0, 0, 0, 0]),
        Malformed("1.5 as single", value: [0xFA, 0x3F, 0xC0, 0, 0]),
        Malformed("1.5 as double", value: [0xFB, 0x3F, 0xF8, 0, 0, 0, 0, 0, 0]),
        Malformed("NaN", value: [0xF9, 0x7E, 0x00]),
        Malformed("another NaN", value: [0xF9, 0x7E, 0x01]),
        Malformed("infinity", value: [0xF9, 0x7C, 0x00]),
        Malformed("minus infinity", value: [0xF9, 0xFC, 0x00]),
        Malformed("a long string head", value: [0x78, 0x01, 0x61]),
        Malformed("an indefinite string", value: [0x7F, 0x61, 0x61, 0xFF], .unsupported),
        Malformed("too deep together", .tooDeep) { $0.value = [UInt8]([0xA1, 0x61, 0x61].repeated(31)) + [0x01] },
        Malformed("a value too deep", value: [UInt8]([0xA1, 0x61, 0x61].repeated(33)) + [0x01], .tooDeep),
        Malformed("too long together", .pathTooLong) {
            $0.value = [0xA1, 0x79, 0x02, 0xFD] + [UInt8](repeating: 0x61, count: 765) + [0x01]
        },
    ]

    @Test(arguments: malformed) func refused(item: Malformed) {
        #expect(throws: item.error) { try Entry(decoding: item.bytes[...]) }
    }

    @Test func noPartOfAnEntryIsOne() throws {
        let key = try #require(Key("k"))
        let value = Value.object(ObjectValue([(key, .string("text"))]))
        let bytes = try testEntry("a/b", value).encoded
        for count in 0..<bytes.count { #expect(throws: EntryError.self) { try Entry(decoding: bytes[..<count]) } }
    }

    /// Whatever is done to the bytes: they are refused, or they are the canonical encoding of another entry.
    @Test func whatIsReadIsCanonical() throws {
        var random = SeededRandom(seed: 12)
        for index in 0..<4000 {
            var bytes = try testEntry("a/\(index % 10)", randomValue(&random, depth: 2)).encoded
            for _ in 0...random.below(2) { bytes[random.below(bytes.count)] = UInt8(truncatingIfNeeded: random.next()) }
            guard let read = try? Entry(decoding: bytes[...]) else { continue }
            let again = try Entry(
                path: read.path, hlc: read.hlc, author: read.author, value: read.value, kind: read.kind)
            try #require(again.encoded == bytes && again.id == read.id, "\(index): \(bytes)")
        }
    }

    @Test func limits() throws {
        let most =
            Entry.sizeMax - (try testEntry("a", .string(String(repeating: "x", count: 70_000)))).encoded.count + 70_000
        #expect(try testEntry("a", .string(String(repeating: "x", count: most))).encoded.count == Entry.sizeMax)
        #expect(throws: EntryError.tooLarge) { try testEntry("a", .string(String(repeating: "x", count: most + 1))) }
        #expect(throws: EntryError.noPath) { try testEntry("") }
        let long = try #require(Key(String(repeating: "x", count: 700)))
        #expect(throws: EntryError.pathTooLong) {
            try testEntry(String(repeating: "y", count: 68), .object(ObjectValue([(long, .integer(1))])))
        }
        #expect(
            try testEntry(String(repeating: "y", count: 67), .object(ObjectValue([(long, .integer(1))]))).path.depth
                == 1)
    }

    @Test func stampsAreOrderedByTimeThenAuthorThenContent() throws {
        let first = try testEntry("z", ms: 1, author: Bytes32(repeating: 9))
        let second = try testEntry("a", ms: 2, author: Bytes32(repeating: 1))
        let third = try testEntry("a", ms: 2, author: Bytes32(repeating: 2))
        #expect(first.stamp < second.stamp && second.stamp < third.stamp)
        let twins = try [testEntry("a", .integer(1)), testEntry("a", .integer(2))].sorted { $0.id < $1.id }
        #expect(twins[0].stamp < twins[1].stamp && !(twins[1].stamp < twins[0].stamp))
    }
}

extension [UInt8] {
    func repeated(_ count: Int) -> [UInt8] { (0..<count).flatMap { _ in self } }
}
