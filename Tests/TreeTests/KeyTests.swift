import Seal
import Testing
import Tree

/// Segments and paths: what is one, and how they sort.
@Suite struct KeyTests {
    @Test(arguments: [
        "", ".", "a.b", "a#", "$a", "[", "]", "a/b", "\u{0}", "\u{1F}", "\u{7F}", ".priority", ".add:x",
        String(repeating: "x", count: 769), String(repeating: "é", count: 385),
    ])
    func noKey(text: String) {
        #expect(Key(text) == nil)
    }

    @Test(arguments: [
        "a", " ", "-", "~", "\u{80}", "é", "日本", "\u{10FFFF}", String(repeating: "x", count: 768),
        String(repeating: "é", count: 384),
    ])
    func isKey(text: String) {
        #expect(Key(text)?.text.utf8.elementsEqual(text.utf8) == true)
    }

    @Test func engineKeys() throws {
        let id = AutoID(hlc: HLC(ms: 5), author: .zero)
        #expect(Key(stored: ".priority") == .priority)
        #expect(Key.priority.isEngine && Key.priority.additionID == nil)
        let addition = try #require(Key(stored: ".add:" + id.text))
        #expect(addition == Key.addition(id) && addition.additionID == id && addition.isEngine)
        for text in [".", ".add", ".add:", ".add:x", ".add:" + id.text + "x", ".Priority", ".priority "] {
            #expect(Key(stored: text) == nil, "\(text)")
        }
        #expect(Key(stored: "a")?.isEngine == false)
    }

    /// Unicode takes these for the same text; the tree does not.
    @Test func comparesBytes() throws {
        let composed = try #require(Key("\u{E9}"))
        let decomposed = try #require(Key("e\u{301}"))
        #expect(composed.text == decomposed.text)
        #expect(composed != decomposed)
        #expect(decomposed < composed && !(composed < decomposed))
        #expect(Set([composed, decomposed]).count == 2)
        #expect(Path([composed]) != Path([decomposed]))
        #expect(Value.string("\u{E9}") != Value.string("e\u{301}"))
        let object = ObjectValue([(composed, .integer(1)), (decomposed, .integer(2))])
        #expect(object.count == 2 && object[composed] == .integer(1) && object[decomposed] == .integer(2))
    }

    @Test func sortsAsFirebaseDoes() {
        let sorted = [
            "-2147483648", "-10", "-1", "0", "1", "2", "10", "2147483647", "-", "--1", "-0", "-2147483649", "00", "01",
            "1a", "2147483648", "a", "a!", "aa", "b", "é", "\u{D7FF}", "\u{10000}", "\u{10FFFF}", "\u{E000}",
            "\u{FFFF}",
        ].compactMap { Key($0) }
        var random = SeededRandom(seed: 3)
        #expect(sorted.shuffled(using: &random).sorted().map(\.text) == sorted.map(\.text))
        #expect(sorted.count == 26)
    }

    /// Against the plain definition: integers first, then UTF-16.
    @Test func orderIsThatOfUTF16() {
        var random = SeededRandom(seed: 4)
        for _ in 0..<3000 {
            let (a, b) = (randomKey(&random), randomKey(&random))
            let expected: Bool
            switch (
                Int32(a.text).flatMap { "\($0)" == a.text ? $0 : nil },
                Int32(b.text).flatMap { "\($0)" == b.text ? $0 : nil }
            ) {
            case (let x?, let y?): expected = x < y
            case (.some, nil): expected = true
            case (nil, .some): expected = false
            case (nil, nil): expected = a.text.utf16.lexicographicallyPrecedes(b.text.utf16)
            }
            if (a < b) != expected { Issue.record("\(a) and \(b)") }
        }
    }

    @Test func parsesPaths() throws {
        #expect(try Path(parsing: "") == .root)
        #expect(try Path(parsing: "/") == .root)
        #expect(try Path(parsing: "/a/b/").description == "a/b")
        #expect(try Path(parsing: "a").depth == 1)
        let invalid: [(String, PathError)] = [
            ("a//b", .invalidKey("")), ("//", .invalidKey("")), ("a/.b", .invalidKey(".b")),
            ("a/b#", .invalidKey("b#")),
            (String(repeating: "a/", count: 33), .tooDeep), (String(repeating: "abcdefgh/", count: 86), .tooDeep),
            (String(repeating: "abcdefghijklmnopqrstuvwxyz/", count: 29), .tooLong),
        ]
        for (text, error) in invalid { #expect(throws: error, "\(text)") { try Path(parsing: text) } }
    }

    @Test func limitsOfPaths() throws {
        let key = try #require(Key("k"))
        #expect(Path(Array(repeating: key, count: 32)) != nil)
        #expect(Path(Array(repeating: key, count: 33)) == nil)
        let half = try #require(Key(String(repeating: "x", count: 384)))
        let less = try #require(Key(String(repeating: "x", count: 383)))
        #expect(Path([half, less])?.depth == 2, "384 + 1 + 383 = 768")
        #expect(Path([half, half]) == nil)
        #expect(Path([half])?.appending(half) == nil)
    }

    @Test func containment() throws {
        let path = try Path(parsing: "a/b")
        #expect(try Path.root.contains(path) && path.contains(path) && path.contains(Path(parsing: "a/b/c")))
        #expect(try !path.contains(Path(parsing: "a")) && !path.contains(Path(parsing: "a/bc")))
        #expect(path.parent.description == "a" && path.prefix(0) == .root && path.last?.text == "b")
    }
}

/// Paths as bytes: the same order, and back again.
@Suite struct PathKeyTests {
    /// Parents before children, children as keys sort; engine keys before children.
    private func precedes(_ a: Path, _ b: Path) -> Bool {
        for (x, y) in zip(a.keys, b.keys) where x != y {
            return x.isEngine != y.isEngine ? x.isEngine : x < y
        }
        return a.depth < b.depth
    }

    @Test func orderAndRoundTrip() throws {
        var random = SeededRandom(seed: 5)
        var paths = (0..<120).map { _ in randomPath(&random) }
        paths += try paths.prefix(20).map { try #require($0.appending(.priority)) }
        let keys = paths.map { PathKey($0) }
        for (path, key) in zip(paths, keys) {
            try #require(key.path == path, "\(path)")
            try #require(key.prefixes == (0..<path.depth).map { PathKey(path.prefix($0 + 1)) }, "\(path)")
        }
        for (index, a) in keys.enumerated() {
            for (other, b) in keys.enumerated() {
                try #require((a < b) == precedes(paths[index], paths[other]), "\(paths[index]) and \(paths[other])")
                let isInside = !(b < a) && b < a.subtreeEnd
                try #require(isInside == paths[index].contains(paths[other]), "\(paths[index]) and \(paths[other])")
                try #require(isInside == a.isPrefix(of: b), "\(paths[index]) and \(paths[other])")
            }
        }
    }

    @Test func boundsAroundChildren() throws {
        let parent = try Path(parsing: "a")
        let key = PathKey(parent)
        let priority = PathKey(try #require(parent.appending(.priority)))
        for text in ["a/-2147483648", "a/0", "a/-", "a/\u{FFFF}", "a/0/b"] {
            let child = PathKey(try Path(parsing: text))
            #expect(key < key.firstBelow && key.firstBelow < priority && priority < key.firstChild)
            #expect(!(child < key.firstChild) && child < key.subtreeEnd)
        }
        #expect(key.subtreeEnd < PathKey(try Path(parsing: "a!")))
        #expect(PathKey(.root).bytes.isEmpty && PathKey(.root).prefixes.isEmpty)
    }

    @Test(
        arguments: [
            [1], [1, 0, 0, 0], [2], [2, 0x61], [2, 0], [2, 0x35, 0], [3, 0x61, 0], [0, 0x61, 0], [2, 0x2F, 0],
            [2, 0xC3, 0],
        ] as [[UInt8]])
    func noPathKey(bytes: [UInt8]) {
        #expect(PathKey(bytes: bytes).path == nil)
        _ = PathKey(bytes: bytes).prefixes
    }

    @Test func anyBytesAreHarmless() {
        var random = SeededRandom(seed: 6)
        for _ in 0..<2000 {
            let bytes = (0..<random.below(12)).map { _ in
                random.element([0, 1, 2, 0x30, 0x61, 0xC3, 0xA9, 0xF6, 0xFF] as [UInt8])
            }
            let key = PathKey(bytes: bytes)
            _ = key.prefixes
            if let path = key.path, key.prefixes.count != path.depth { Issue.record("\(bytes)") }
        }
    }
}
