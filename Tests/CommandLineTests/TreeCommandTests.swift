import ControlAPI
import Lab
import Testing

@testable import starling

/// `starling tree get`, `watch` and `set` with each of their options, and the real programs.
@Suite(.serialized, .showsLogs)
struct TreeCommandTests {
    /// The words after the path, and the keys of the answer in order.
    private let queries: [(words: String, keys: String)] = [
        ("", "a b c d"), ("--order-by-key", "a b c d"), ("--order-by-key --limit-to-first 2", "a b"),
        ("--limit-to-last 1", "b"), ("--order-by-priority", "c d a b"), ("--order-by-child n/m", "a d b c"),
        ("--order-by-child n/m --limit-to-last 2", "b c"), ("--order-by-child n/m --start-at 2", "b c"),
        ("--order-by-child n/m --start-at null", "a d b c"), ("--order-by-child n/m --start-after null", "d b c"),
        ("--order-by-child n/m --start-after 2", "c"), ("--order-by-child n/m --end-at 2", "a d b"),
        ("--order-by-child n/m --end-before 2", "a d"), ("--order-by-child n/m --equal-to null", "a"),
        ("--order-by-child n/m --equal-to -1", "d"), ("--order-by-child n/m --equal-to=\"x\"", "c"),
        ("--order-by-key --start-after \"b\" --end-before \"d\"", "c"), ("--order-by-value --equal-to true", "a"),
        ("--order-by-priority --start-at null --start-key d --end-at 1 --end-key a", "d a"),
        ("--order-by-priority --start-after null --start-key c --end-before 1 --end-key b", "d a"),
    ]

    private func fill(_ machine: Machine) async throws {
        let value = #"{"a":{".value":true,".priority":1},"b":{"n":{"m":2},".priority":1},"c":{"n":{"m":"x"}},"#
        _ = try await machine.row("tree", "set", "demo/q", value + #""d":{"n":{"m":-1}}}"#)
    }

    @Test(.timeLimit(.minutes(1))) func everyFlagOfAQuery() async throws {
        let ann = try Machine("ann")
        try await ann.startLocally()
        try await fill(ann)
        for (words, keys) in queries {
            let words = words.split(separator: " ").map(String.init)
            let result = try await ann.spawn("starling", ["tree", "get", "demo/q"] + words).finish()
            #expect(result.status == 0 && result.err.isEmpty, "\(words): \(result.err)")
            let value = try JSON.parse(String(result.out.dropLast()))
            #expect(value.object?.members.map(\.key).joined(separator: " ") == keys, "\(words)")
        }
        let shallow: JSON = ["a": true, "b": true, "c": true, "d": true]
        #expect(try await ann.row("tree", "get", "demo/q", "--shallow") == shallow)
        let exported = try await ann.row("tree", "get", "demo/q", "--export", "--limit-to-last", "2")
        #expect(exported == ["a": [".priority": 1, ".value": true], "b": [".priority": 1, "n": ["m": 2]]])
        for words in ["--order-by-key --start-at \"x\"", "--equal-to 1 --order-by-value"] {
            let result = try await ann.spawn(
                "starling", ["tree", "get", "demo/q"] + words.split(separator: " ").map(String.init)
            )
            .finish()
            #expect(result.out == "null\n", "\(words)")
        }
    }

    /// What makes no sense is found before the daemon is asked, and the message names the options.
    @Test(
        .timeLimit(.minutes(1)),
        arguments: [
            ("--start-at 1", "--start-at says nothing by itself: add --order-by-key"),
            ("--end-key k", "--end-key says nothing by itself"),
            ("--order-by-key --order-by-value", "choose one --order-by"),
            ("--limit-to-first 1 --limit-to-last 1", "choose --limit-to-first or --limit-to-last"),
            ("--limit-to-first 0", "--limit-to-first must be a number"),
            ("--order-by-value --start-at 1 --start-after 1", "choose --start-at or --start-after"),
            ("--order-by-value --end-before 1 --equal-to 1", "choose --end-before or --equal-to"),
            ("--order-by-value --start-key k", "--start-key goes with --start-at or --start-after"),
            ("--order-by-value --end-key k --equal-to 1", "--end-key goes with --end-at or --end-before"),
            ("--order-by-key --start-at 5", "--start-at is a key as a string with --order-by-key: '\"5\"'"),
            ("--order-by-value --end-at {}", "--end-at is a number, a string, true, false or null"),
            ("--order-by-value --end-at x", "--end-at is no JSON"),
            ("--shallow --export", "choose --shallow or --export"),
            ("--watch --event child", "no event is called child; there are child_added"),
            ("--event value", "--event goes with --watch"),
        ])
    func whatMakesNoSense(words: String, says: String) async throws {
        let nobody = try Machine("nobody")
        let words = words.split(separator: " ").map(String.init)
        let result = try await nobody.spawn("starling", ["tree", "get", "demo"] + words).finish()
        #expect(result.status == 2 && result.out.isEmpty, "\(words)")
        #expect(result.err.hasPrefix("starling tree get: \(says)"), "\(result.err)")
        #expect(result.err.hasSuffix("Try: starling tree get --help\n"))
    }

    @Test(.timeLimit(.minutes(1))) func watching() async throws {
        let ann = try Machine("ann")
        try await ann.startLocally()
        try await fill(ann)
        let query = ["--order-by-child", "n/m", "--limit-to-last", "1", "--json"]
        let watch = try ann.spawn("starling", ["tree", "watch", "demo/q", "--shallow"] + query)
        let get = try ann.spawn(
            "starling", ["tree", "get", "demo/q", "--watch", "--export", "-e", "child_added"] + query)
        let first: JSON = ["event": "child_added", "key": "c", "value": true, "previous": .null]
        #expect(try await watch.nextRow() == first)
        #expect(try await watch.nextRow() == ["event": "value", "key": .null, "value": ["c": true], "previous": .null])
        #expect(try await get.nextRow()["value"] == ["n": ["m": "x"]])
        _ = try await ann.row("tree", "set", "demo/q/e", #"{"n":{"m":"y"},".priority":3}"#)
        #expect(try await watch.nextRow() == ["event": "child_removed", "key": "c", "value": true, "previous": .null])
        #expect(try await watch.nextRow() == ["event": "child_added", "key": "e", "value": true, "previous": .null])
        #expect(try await get.nextRow()["value"] == [".priority": 3, "n": ["m": "y"]])
        try await ann.stop()
        #expect(try await watch.wait(timeout: .seconds(60)) != 0)
    }

    /// Without `--json`: the event, the key, the value, and where a child has moved to.
    @Test(.timeLimit(.minutes(1))) func whatPeopleSee() async throws {
        let ann = try Machine("ann")
        try await ann.startLocally()
        _ = try await ann.row("tree", "set", "demo/m", #"{"a":1,"b":"\u009b\u001b","c\u202e":3}"#)
        let watch = try ann.follow("tree", "watch", "demo/m", "--order-by-value")
        func next(_ count: Int) async throws -> [String] {
            var lines: [String] = []
            for _ in 0..<count { lines.append(try await watch.nextLine() ?? "") }
            return lines
        }
        let first = [
            "child_added    a  1", "child_added    c\\u{202e}  3", #"child_added    b  "\u009b\u001b""#,
            #"value          {"a":1,"b":"\u009b\u001b","c\u202e":3}"#,
        ]
        #expect(try await next(4) == first)
        _ = try await ann.row("tree", "set", "demo/m/a", "4")
        #expect(try await next(2) == ["child_moved    a  4  after c\\u{202e}", "child_changed  a  4"])
        _ = try await next(1)
        _ = try await ann.row("tree", "update", "demo/m", #"{"b":false,"a":null,"c\u202e":null}"#)
        _ = try await next(2)
        #expect(
            try await next(3) == [
                "child_moved    b  false  to the front", "child_changed  b  false", #"value          {"b":false}"#,
            ])
        _ = try await ann.row("tree", "remove", "demo/m")
        #expect(try await next(2) == ["child_removed  b  false", "value          null"])
    }

    @Test(.timeLimit(.minutes(1))) func onlyWhereThatStands() async throws {
        let ann = try Machine("ann")
        try await ann.startLocally()
        let taken = try await ann.starling("tree", "set", "demo/desk", #""ann""#, "--expect", "null")
        #expect(taken.status == 0 && taken.out.isEmpty && taken.err.isEmpty)
        let refused = try await ann.starling("tree", "set", "demo/desk", #""bob\u009b""#, "--expect", "null")
        #expect(refused.status == 1 && refused.out.isEmpty)
        #expect(refused.err == "starling: nothing was written: what stands there is \"ann\"\n")
        let row = try await ann.starling("tree", "set", "demo/desk", "2", "--expect", "1", "--json")
        #expect(row.status == 1 && row.out == "{\"committed\":false,\"value\":\"ann\"}\n" && !row.err.isEmpty)
        #expect(
            try await ann.row("tree", "set", "demo/desk", "\u{22}\u{9b}\u{22}", "--expect", #""ann""#)
                == ["committed": true, "value": "\u{9b}"])
        let hostile = try await ann.starling("tree", "set", "demo/desk", "1", "--expect", "null")
        #expect(hostile.err == "starling: nothing was written: what stands there is \"\\u009b\"\n")
        let empty = try await ann.starling("tree", "set", "demo/chair", "1", "--expect", "0")
        #expect(empty.status == 1 && empty.err.hasSuffix("what stands there is nothing\n"))
        #expect(try await ann.starling("tree", "set", "demo/chair", "1", "--expect", "nul").status == 2)
        #expect(try await ann.starling("tree", "set", "users/ann", "1", "--expect", "null").status == 5)
        // With priorities, by themselves and expected.
        #expect(try await ann.starling("tree", "set", "demo/desk/.priority", "7").status == 0)
        let other = try await ann.starling(
            "tree", "set", "demo/desk", "1", "--expect", "{\".value\":\"\\u009b\",\".priority\":8}")
        #expect(other.status == 1 && other.err.contains(#"{".priority":7,".value":"\u009b"}"#), "\(other.err)")
        #expect(try await ann.starling("tree", "remove", "demo/desk/.priority").status == 0)
    }
}
