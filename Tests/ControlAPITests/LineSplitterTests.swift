import ControlAPI
import Testing

struct LineSplitterTests {
    private func lines(_ chunks: [String], lineMax: Int = 10) throws -> [String] {
        var splitter = LineSplitter(lineMax: lineMax)
        var lines: [String] = []
        for chunk in chunks {
            splitter.append(Array(chunk.utf8))
            while let line = try splitter.next() { lines.append(String(decoding: line, as: UTF8.self)) }
        }
        return lines
    }

    @Test func cutsWhateverTheChunks() throws {
        let text = "one\n\ntwo two\nthree\r\nrest"
        let expected = ["one", "", "two two", "three\r"]
        #expect(try lines([text]) == expected)
        #expect(try lines(text.unicodeScalars.map { String($0) }) == expected)
        #expect(try lines(["one", "\n", "\ntwo", " two\nthree\r\nre", "st"]) == expected)
        #expect(try lines([]) == [])
    }

    @Test func boundIsExact() throws {
        #expect(try lines(["0123456789\n"]) == ["0123456789"])
        #expect(try lines(["01234", "56789", "\nx\n"]) == ["0123456789", "x"])
        #expect(throws: LineError.overlong) { try lines(["0123456789a\n"]) }
        #expect(throws: LineError.overlong) { try lines(["0123456789", "a"]) }
    }

    @Test func overlongIsFinalAndHoldsNothing() throws {
        var splitter = LineSplitter(lineMax: 4)
        splitter.append(Array("ok\ntoo long".utf8))
        let first = try splitter.next()
        #expect(first.map(Array.init) == Array("ok".utf8))
        #expect(throws: LineError.overlong) { try splitter.next() }
        splitter.append(Array("fine\n".utf8))
        #expect(throws: LineError.overlong) { try splitter.next() }
        #expect(splitter.pendingCount == 0)
    }

    @Test func pendingCountTellsOfACutLine() throws {
        var splitter = LineSplitter()
        splitter.append(Array("done\nhal".utf8))
        _ = try splitter.next()
        #expect(splitter.pendingCount == 3)
    }

    /// Byte by byte, a line of the greatest size takes as long as its length: quadratic work would take hours.
    @Test func tinyChunksCostNoQuadraticWork() throws {
        var splitter = LineSplitter()
        let chunk = [UInt8](repeating: 0x61, count: 16)
        for _ in 0..<(LineSplitter.lineMax / 16) {
            splitter.append(chunk)
            let none = try splitter.next()
            guard none == nil else { return #expect(none == nil) }
        }
        splitter.append([0x0A])
        let count = try splitter.next()?.count
        #expect(count == LineSplitter.lineMax)
    }
}
