import Testing

@testable import starling

/// Held against what Python's qrcode makes of the same text with the same mask.
struct QRCodeTests {
    private func rows(_ code: QRCode) -> [String] {
        (0..<code.width).map { row in
            String((0..<code.width).map { code.isDark(row, $0) ? "#" : "." })
        }
    }

    @Test func aCodeIsThatOfAnotherProgram() throws {
        let code = try #require(QRCode("starling"))
        #expect(rows(code) == QRCodeTests.starling)
    }

    private static let starling = [
        "#######...#.#.#######", "#.....#.#.#.#.#.....#", "#.###.#.#.##..#.###.#", "#.###.#.....#.#.###.#",
        "#.###.#.#####.#.###.#", "#.....#.###...#.....#", "#######.#.#.#.#######", "........#............",
        "##.#..##..###.###.##.", "######..####...##...#", ".###..####.#...#..#.#", "##.#...##...######...",
        ".#.#..#.#.##..##....#", "........#....###.#.##", "#######.#..##.###.##.", "#.....#...#...#....#.",
        "#.###.#..#..###.##.#.", "#.###.#.##...####..##", "#.###.#..###.####...#", "#.....#.##.##..##....",
        "#######.#.#..#.#.#.#.",
    ]

    /// The three squares by which a reader finds a code, and the lines of alternating modules between them.
    @Test(arguments: [1, 17, 18, 200, 1024])
    func everyCodeCanBeFound(length: Int) throws {
        let code = try #require(QRCode(String(repeating: "a", count: length)))
        let rows = rows(code)
        #expect((code.width - 17) % 4 == 0 && code.width >= 21)
        let square = ["#######", "#.....#", "#.###.#", "#.###.#", "#.###.#", "#.....#", "#######"]
        #expect(rows.prefix(7).map { String($0.prefix(7)) } == square)
        #expect(rows.prefix(7).map { String($0.suffix(7)) } == square)
        #expect(rows.suffix(7).map { String($0.prefix(7)) } == square)
        for index in 8..<(code.width - 8) {
            let isDark = index.isMultiple(of: 2)
            #expect(code.isDark(6, index) == isDark && code.isDark(index, 6) == isDark)
        }
        #expect(!code.isDark(-1, 0) && !code.isDark(0, code.width))
    }

    /// Each line is two rows, light modules are drawn, and there is a margin.
    @Test func linesAreTwoRows() throws {
        let code = try #require(QRCode("starling"))
        let lines = code.lines(isColoured: false)
        #expect(lines.count == (code.width + 5) / 2 && lines.allSatisfy { $0.count == code.width + 4 })
        #expect(lines[0].allSatisfy { $0 == "█" })
        #expect(lines[1].hasPrefix("██ ▄▄▄▄▄ ") && lines[1].hasSuffix(" ▄▄▄▄▄ ██"))
        #expect(code.lines(isColoured: true)[1] == "\u{1b}[40;97m\(lines[1])\u{1b}[0m")
    }

    @Test func whatDoesNotFitIsNone() {
        #expect(QRCode("") == nil && QRCode("a\u{0}b") == nil)
        #expect(QRCode(String(repeating: "a", count: 2953)) != nil)
        #expect(QRCode(String(repeating: "a", count: 2954)) == nil)
    }
}
