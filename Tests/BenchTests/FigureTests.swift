import Testing

@testable import starling_bench

/// How runs become a row, and what a figure is compared by.
struct FigureTests {
    private func outcome(_ values: [Double], limit: Double? = nil, aim: Figure.Aim? = nil) throws -> Outcome {
        let figures = values.map {
            Figure(key: "a.b", name: "a", value: $0, unit: .microseconds, limit: limit, aim: aim)
        }
        return try #require(Outcome(figures.map { ($0, $0.mark(coreNs: 1000)) }))
    }

    @Test func aRowHasTheMedianOfItsRuns() throws {
        let outcome = try outcome([30, 10, 20], limit: 10)
        #expect(outcome.runs == 3)
        #expect((outcome.value.least, outcome.value.median, outcome.value.most) == (10, 20, 30))
        #expect(outcome.ratio?.median == 2)
    }

    @Test func aSingleRunKeepsTheRangeWithinIt() throws {
        let figure = Figure(key: "a", name: "a", value: 5, unit: .perSecond, range: 3...9)
        let outcome = try #require(Outcome([(figure, nil)]))
        #expect((outcome.value.least, outcome.value.median, outcome.value.most) == (3, 5, 9))
    }

    @Test func aimsAreHeldAgainstTheMedian() throws {
        #expect(try outcome([1, 2, 90], aim: .atMost(2)).isMet == true)
        #expect(try outcome([1, 3, 90], aim: .atMost(2)).isMet == false)
        #expect(try outcome([1, 3, 90], aim: .atLeast(3)).isMet == true)
        #expect(try outcome([20], limit: 10, aim: .ratioAtMost(1.5)).isMet == false)
        // Nothing to hold it against is not good enough.
        #expect(try outcome([20], aim: .ratioAtMost(1.5)).isMet == false)
        #expect(try outcome([20]).isMet == nil)
    }

    @Test func ratesGoIntoTheLimitAndTimesAreMultiplesOfIt() {
        #expect(Figure(key: "a", name: "a", value: 50, unit: .perSecond, limit: 100).ratio == 2)
        #expect(Figure(key: "a", name: "a", value: 50, unit: .milliseconds, limit: 100).ratio == 0.5)
        #expect(Figure(key: "a", name: "a", value: 50, unit: .milliseconds).ratio == nil)
    }

    /// Without a limit: times by the core's own work, sizes as they are, and always the more the worse.
    @Test func eachFigureHasAMark() {
        func mark(_ value: Double, _ unit: Figure.Unit, isOfMachine: Bool = true) -> Double? {
            Figure(key: "a", name: "a", value: value, unit: unit, isOfMachine: isOfMachine).mark(coreNs: 500)
        }
        #expect(mark(2, .microseconds) == 4)
        #expect(mark(1000, .perSecond) == 2000)
        #expect(mark(1000, .perSecond, isOfMachine: false) == 0.001)
        #expect(mark(360, .bytes) == 360)
        #expect(mark(700, .milliseconds, isOfMachine: false) == 700)
        #expect(mark(0, .count) == nil)
        // The limits, before there is anything to hold them against.
        #expect(Figure(key: "a", name: "a", value: 3, unit: .perSecond).mark(coreNs: 0) == nil)
    }
}
