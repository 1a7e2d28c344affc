import ControlAPI
import Testing

struct JSONWriterTests {
    static let written: [(value: JSON, text: String)] = [
        (.null, "null"), (true, "true"), (false, "false"), (0, "0"), (-7, "-7"), (1_000_000, "1000000"),
        (.int(.max), "9223372036854775807"), (.int(.min), "-9223372036854775808"),
        (0.1, "0.1"), (1.0, "1.0"), (-0.0, "-0.0"), (1e21, "1e+21"), (.double(.leastNonzeroMagnitude), "5e-324"),
        (.double(1.0 / 3), "0.3333333333333333"),
        (.double(.nan), "null"), (.double(.infinity), "null"),
        ("", "\"\""), ("a\"b\\c/", "\"a\\\"b\\\\c/\""), ("\n\r\t\u{8}\u{c}", "\"\\n\\r\\t\\b\\f\""),
        ("\0\u{1b}\u{1f}\u{7f}", "\"\\u0000\\u001b\\u001f\u{7f}\""), ("é😀", "\"é😀\""), ("\nx", "\"\\nx\""),
        ([], "[]"), ([1, [2, .null]], "[1,[2,null]]"), ([:], "{}"),
        (["b": 1, "a\n": ["c": []]], "{\"b\":1,\"a\\n\":{\"c\":[]}}"),
    ]

    @Test(arguments: written.indices)
    func writes(_ index: Int) {
        let (value, text) = Self.written[index]
        #expect(value.description == text)
    }

    @Test func membersKeepTheirOrderAndPlace() {
        var object: JSONObject = ["z": 1, "a": 2, "m": 3]
        object["a"] = 9
        object["z"] = nil
        object["n"] = "new"
        object.append("left out", ifPresent: nil)
        #expect(JSON.object(object).description == #"{"a":9,"m":3,"n":"new"}"#)
        #expect(object.count == 3)
        #expect(object["z"] == nil)
    }

    @Test func accessorsTakeOnlyTheirKind() {
        let value: JSON = ["s": "x", "i": 5, "f": 5.0, "h": 0.5, "b": true, "a": [1], "n": .null]
        #expect(value["s"]?.string == "x" && value["i"]?.string == nil)
        #expect(value["i"]?.int == 5 && value["f"]?.int == 5 && value["h"]?.int == nil)
        #expect(value["i"]?.double == 5 && value["h"]?.double == 0.5 && value["s"]?.double == nil)
        #expect(value["b"]?.bool == true && value["i"]?.bool == nil)
        #expect(value["a"]?[0] == 1 && value["a"]?[1] == nil && value["a"]?[-1] == nil)
        #expect(value["n"]?.isNull == true && value["missing"] == nil && JSON.null["x"] == nil)
        #expect(JSON.double(1e300).int == nil)
    }
}
