@testable import Replication
import Seal
import Testing
import Wire

@Suite struct HeldMarksTests {
    private func root(_ number: Int) -> DigestPrefix { DigestPrefix(count: number, sum: UInt64(number)) }
    private func node(_ number: UInt8) -> Bytes32 { Bytes32(repeating: number) }

    @Test func aRootOfLateSaysWhatAPeerHeld() {
        var marks = HeldMarks()
        for change in 1...5 { marks.note(root(change), change: Int64(change)) }
        marks.heard(root(3), from: node(1))
        marks.heard(root(77), from: node(2))
        #expect(marks.mark(of: node(1)) == 3 && marks.mark(of: node(2)) == 0)
        // A peer that is found behind has held more all the same.
        marks.heard(root(2), from: node(1))
        #expect(marks.mark(of: node(1)) == 3)
        marks.heard(root(5), from: node(2))
        #expect(marks.holders(of: 4) == [node(2)] && marks.holders(of: 3) == [node(1), node(2)])
        // The same entries again, after something came and went.
        marks.note(root(3), change: 9)
        marks.heard(root(3), from: node(1))
        #expect(marks.mark(of: node(1)) == 9)
    }

    @Test func marksSurviveAndAreBounded() {
        var marks = HeldMarks()
        for change in 1...(3 * HeldMarks.rootsMax) { marks.note(root(change), change: Int64(change)) }
        marks.heard(root(1), from: node(1))
        #expect(marks.mark(of: node(1)) == 0)
        marks.heard(root(3 * HeldMarks.rootsMax), from: node(1))
        marks.heard(root(3 * HeldMarks.rootsMax - 1), from: node(2))
        let restored = HeldMarks(restoring: marks.bytes, lastChange: 700)
        #expect(restored.mark(of: node(1)) == 700 && restored.mark(of: node(2)) == 700)
        #expect(HeldMarks(restoring: Array(marks.bytes.dropLast()), lastChange: .max).mark(of: node(2)) == 0)
        #expect(HeldMarks(restoring: marks.bytes, lastChange: .max).mark(of: node(1)) == Int64(3 * HeldMarks.rootsMax))

        var many = HeldMarks()
        for number in 1...(HeldMarks.nodesMax + 10) {
            let change = Int64(number)
            many.note(root(number), change: change)
            let bytes = (0..<32).map { UInt8(truncatingIfNeeded: number >> ($0 * 8 % 24)) }
            if let node = Bytes32(bytes) { many.heard(root(number), from: node) }
        }
        #expect(many.holders(of: 1).count == HeldMarks.nodesMax && many.holders(of: 11).count == HeldMarks.nodesMax)
    }
}
