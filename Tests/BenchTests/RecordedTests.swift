import ControlAPI
import Foundation
import Testing

@testable import starling_bench

/// What counts as moved, and the file of ratios.
struct RecordedTests {
    private func recorded(_ least: Double, _ median: Double, _ most: Double) throws -> Recorded {
        let line = #"{"figure":"a","least":\#(least),"median":\#(median),"most":\#(most)}"#
        return try Recorded(Array((line + "\n").utf8))
    }

    private func outcome(_ ratios: [Double]) throws -> Outcome {
        let figures = ratios.map { Figure(key: "a", name: "a", value: $0, unit: .microseconds, limit: 1) }
        return try #require(Outcome(figures.map { ($0, $0.ratio) }))
    }

    @Test func whatLiesCloserThanATenthHasNotMoved() throws {
        let was = try recorded(2, 2, 2)
        #expect(try was.move(of: outcome([2.15, 2.15, 2.15])) == nil)
        #expect(try was.move(of: outcome([2.3, 2.3, 2.3])) == .worse)
        #expect(try was.move(of: outcome([1.7, 1.7, 1.7])) == .better)
    }

    @Test func noiseOfEitherSideCoversAMove() throws {
        #expect(try recorded(1.5, 2, 2.5).move(of: outcome([2.8, 2.8, 2.8])) == nil)
        #expect(try recorded(2, 2, 2).move(of: outcome([1.9, 2.8, 3.4])) == nil)
        #expect(try recorded(1.5, 2, 2.5).move(of: outcome([3.2, 3.2, 3.2])) == .worse)
    }

    @Test func oneRunHasToMoveByAQuarter() throws {
        let was = try recorded(2, 2, 2)
        #expect(try was.move(of: outcome([2.4])) == nil)
        #expect(try was.move(of: outcome([2.6])) == .worse)
    }

    @Test func whatWasNotRecordedDoesNotMove() throws {
        #expect(try Recorded().move(of: outcome([2])) == nil)
    }

    @Test func whatIsWrittenIsReadAgainBesideWhatWasThere() throws {
        let path = NSTemporaryDirectory() + "bench-\(UUID().uuidString).jsonl"
        defer { try? FileManager.default.removeItem(atPath: path) }
        var ratios = try Recorded(Array(#"{"figure":"b","least":1,"median":2,"most":3}"#.utf8))
        ratios.take([try outcome([123_456.7, 0.0012346, 5])])
        try ratios.write(to: path)
        let again = try Recorded([UInt8](Data(contentsOf: URL(fileURLWithPath: path))))
        #expect(again.marks.keys.sorted() == ["a", "b"])
        #expect(again.marks["a"]?.least == 0.001235)
        #expect(again.marks["a"]?.most == 123_500)
        #expect(again.marks["b"]?.median == 2)
    }

    @Test func aDamagedFileIsAnError() {
        #expect(throws: (any Error).self) { try Recorded(Array(#"{"figure":"b","least":1}"#.utf8)) }
        #expect(throws: (any Error).self) { try Recorded(Array("nothing".utf8)) }
    }

    @Test func theFileOfThisVersionIsWholeAndSorted() throws {
        let ratios = try Recorded.ofThisProgram()
        #expect(!ratios.marks.isEmpty)
        for (key, mark) in ratios.marks {
            #expect(mark.least <= mark.median && mark.median <= mark.most && mark.median > 0, "\(key)")
        }
    }
}
