import ControlAPI
import Testing

/// Which texts are JSON. The cases follow RFC 8259 and the classes of Nicolas Seriot's "Parsing JSON is a Minefield".
struct JSONConformanceTests {
    static let accepted: [(text: String, value: JSON)] = [
        ("null", .null), (" true\t", true), ("\r\nfalse\n", false),
        ("0", 0), ("-0", -0.0), ("123", 123), ("-1", -1),
        ("9223372036854775807", .int(.max)), ("-9223372036854775808", .int(.min)),
        ("9223372036854775808", 9223372036854775808.0), ("-9223372036854775809", -9223372036854775809.0),
        ("18446744073709551616", 18446744073709551616.0),
        ("1.0", 1.0), ("0.1", 0.1), ("1e3", 1000.0), ("1E+2", 100.0), ("1e-2", 0.01), ("123.456e-3", 0.123456),
        ("-0.0", -0.0), ("0e1", 0.0), ("1e-400", 0.0), ("1.7976931348623157e308", 1.7976931348623157e308),
        ("5e-324", .double(.leastNonzeroMagnitude)),
        ("2.2250738585072011e-308", .double(Double.leastNormalMagnitude.nextDown)),
        ("9007199254740993.0", 9007199254740992.0), ("0.30000000000000004", 0.30000000000000004),
        ("0.000000000000000000000000000000000000000000000000000000000000000000000000001", 1e-75),
        ("\"\"", ""), ("\"a\"", "a"), ("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\u{8}\u{c}\n\r\t"),
        ("\"\\u0000\"", "\0"), ("\"\\u00e9\"", "\u{e9}"), ("\"\\u20AC\\u20ac\"", "€€"),
        ("\"\\ud83d\\ude00\"", "😀"), ("\"\\uD834\\uDD1E!\"", "\u{1d11e}!"), ("\"\\uffff\"", "\u{ffff}"),
        ("\"😀é\u{7f}\u{2028}\"", "😀é\u{7f}\u{2028}"), ("\"é\\né\"", "é\né"),
        ("[]", []), ("[ ]", []), ("[1,[2],{}]", [1, [2], [:]]), ("{}", [:]), ("{ }", [:]),
        ("{\"a\":1,\"\":null}", ["a": 1, "": .null]), ("{\"b\":1 , \"a\" : [ true ] }", ["b": 1, "a": [true]]),
    ]

    @Test(arguments: accepted.indices)
    func accepts(_ index: Int) throws {
        let (text, expected) = Self.accepted[index]
        let value = try JSON.parse(text)
        #expect(value == expected)
        let again = try JSON.parse(value.serialized)
        #expect(again == value)
    }

    static let refused: [(text: String, offset: Int, reason: JSONError.Reason)] = [
        ("", 0, .endOfText), ("  ", 2, .endOfText), ("nul", 3, .endOfText), ("nulL", 0, .expectedValue),
        ("True", 0, .expectedValue), ("NaN", 0, .expectedValue), ("Infinity", 0, .expectedValue),
        ("'a'", 0, .expectedValue), ("1 2", 2, .trailingBytes), ("[]]", 2, .trailingBytes),
        ("{}x", 2, .trailingBytes), ("nullx", 4, .trailingBytes), ("// c\n1", 0, .expectedValue),
        ("[", 1, .endOfText), ("[1", 2, .endOfText), ("[1,", 3, .endOfText), ("[1,]", 3, .expectedValue),
        ("[,1]", 1, .expectedValue), ("[1 2]", 3, .expectedCommaOrEnd), ("[1;2]", 2, .expectedCommaOrEnd),
        ("]", 0, .expectedValue), ("[1}", 2, .expectedCommaOrEnd), ("[\"a\":1]", 4, .expectedCommaOrEnd),
        ("{", 1, .endOfText), ("{\"a\"", 4, .endOfText), ("{\"a\":", 5, .endOfText), ("{\"a\":1", 6, .endOfText),
        ("{\"a\":1,}", 7, .expectedName), ("{a:1}", 1, .expectedName), ("{1:1}", 1, .expectedName),
        ("{\"a\" 1}", 5, .expectedColon), ("{\"a\":1 \"b\":2}", 7, .expectedCommaOrEnd),
        ("{\"a\":1,\"a\":1}", 7, .duplicateName), ("{\"a\":1,\"\\u0061\":1}", 7, .duplicateName),
        ("{\"a\":1,,}", 7, .expectedName),
        ("\"", 1, .endOfText), ("\"a", 2, .endOfText), ("\"\\", 2, .endOfText), ("\"\\\"", 3, .endOfText),
        ("\"\\x\"", 1, .invalidEscape), ("\"a\\'\"", 2, .invalidEscape), ("\"\\u12\"", 1, .invalidEscape),
        ("\"\\u12", 5, .endOfText),
        ("\"\\u12g4\"", 1, .invalidEscape), ("\"\\U0041\"", 1, .invalidEscape), ("\"\\u+041\"", 1, .invalidEscape),
        ("\"\\ud800\"", 1, .loneSurrogate), ("\"\\udc00\"", 1, .loneSurrogate), ("\"\\ud83dx\"", 1, .loneSurrogate),
        ("\"\\ud83d\\n\"", 1, .loneSurrogate), ("\"\\ud83d\\ud83d\"", 1, .loneSurrogate),
        ("\"a\tb\"", 2, .controlCharacter), ("\"\n\"", 1, .controlCharacter), ("\"\\n\u{1f}\"", 3, .controlCharacter),
        ("\"\0\"", 1, .controlCharacter),
        ("-", 1, .endOfText), ("-a", 1, .invalidNumber), ("+1", 0, .expectedValue), ("01", 1, .invalidNumber),
        ("-01", 2, .invalidNumber), ("00", 1, .invalidNumber), ("1.", 2, .endOfText), ("1.a", 2, .invalidNumber),
        (".5", 0, .expectedValue), ("1e", 2, .endOfText), ("1e+", 3, .endOfText), ("1e+]", 3, .invalidNumber),
        ("1.e1", 2, .invalidNumber), ("0x10", 1, .trailingBytes), ("1_000", 1, .trailingBytes),
        ("1e400", 0, .numberOutOfRange), ("[-1e99999999999999999999]", 1, .numberOutOfRange),
        ("\u{feff}1", 0, .expectedValue), ("\u{a0}1", 0, .expectedValue), ("\u{b}1", 0, .expectedValue),
    ]

    @Test(arguments: refused.indices)
    func refuses(_ index: Int) {
        let (text, offset, reason) = Self.refused[index]
        let expected = JSONError(offset: offset, reason: reason)
        #expect(throws: expected) { try JSON.parse(text) }
        let sliced = ArraySlice(Array("##\(text)".utf8)).dropFirst(2)
        #expect(throws: expected) { try JSON.parse(sliced) }
    }

    /// Overlong forms, surrogates as UTF-8, stray and cut sequences, beyond U+10FFFF.
    static let invalidUTF8: [[UInt8]] = [
        [0x80], [0xC3], [0xC0, 0xAF], [0xE0, 0x80, 0xAF], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xFF],
        [0xE2, 0x82], [0xF0, 0x9F, 0x98],
    ]

    @Test(arguments: invalidUTF8)
    func refusesInvalidUTF8(_ bytes: [UInt8]) {
        let plain = JSONError(offset: 2, reason: .invalidUTF8)
        #expect(throws: plain) { try JSON.parse([0x22, 0x61] + bytes + [0x22]) }
        let escaped = JSONError(offset: 3, reason: .invalidUTF8)
        #expect(throws: escaped) { try JSON.parse([0x22, 0x5C, 0x6E] + bytes + [0x22]) }
        #expect(throws: JSONError.self) { try JSON.parse([0x22] + bytes + Array("\\u00e9\"".utf8)) }
        #expect(throws: JSONError.self) { try JSON.parse(Array("{\"".utf8) + bytes + Array("\":1}".utf8)) }
    }

    @Test func depthIsBounded() throws {
        let deepest = String(repeating: "[", count: 64) + String(repeating: "]", count: 64)
        #expect(throws: Never.self) { try JSON.parse(deepest) }
        let tooDeep = JSONError(offset: 64, reason: .tooDeep)
        #expect(throws: tooDeep) { try JSON.parse("[" + deepest + "]") }
        let objects = String(repeating: "{\"a\":", count: 1_000_000)
        let deepObject = JSONError(offset: 64 * 5, reason: .tooDeep)
        #expect(throws: deepObject) { try JSON.parse(objects) }
        // Siblings do not count.
        #expect(throws: Never.self) { try JSON.parse("[" + String(repeating: "[[]],", count: 200) + "1]") }
    }

    @Test func duplicateIsFoundAmongMany() {
        let members = (0..<500).map { "\"k\($0)\":\($0)" }.joined(separator: ",")
        #expect(throws: Never.self) { try JSON.parse("{\(members)}") }
        for again in [0, 11, 12, 13, 250, 499] {
            #expect(throws: JSONError.self) { try JSON.parse("{\(members),\"k\(again)\":0}") }
        }
    }

    /// Names are bytes, as in the tree: Swift's own string equality would call these two equal.
    @Test(arguments: [0, 40]) func composedAndDecomposedAreTwoNames(_ others: Int) throws {
        let many = (0..<others).map { "\"k\($0)\":0," }.joined()
        let value = try JSON.parse("{\(many)\"\u{e9}\":1,\"e\u{301}\":2}")
        #expect(value["\u{e9}"] == 1)
        #expect(value["e\u{301}"] == 2)
        #expect(JSON.string("\u{e9}") != .string("e\u{301}"))
    }

    @Test func everyPrefixOfATextIsRefused() {
        let text = Array(#"{"a":[1,-2.5e1,"x\u00e9\ud83d\ude00é",true,null],"b":{"c":false}}"#.utf8)
        #expect(throws: Never.self) { try JSON.parse(text) }
        for count in 0..<text.count {
            #expect(throws: JSONError.self) { try JSON.parse(text[..<count]) }
        }
    }

    @Test func errorsSayWhereWithoutTheText() {
        let error = #expect(throws: JSONError.self) { try JSON.parse("[secret]") }
        #expect(error?.description == "expected a value at byte 1")
    }
}
