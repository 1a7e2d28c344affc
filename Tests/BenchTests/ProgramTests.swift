import ControlAPI
import Lab
import Testing

@testable import starling_bench

/// The program itself, as a script would call it.
struct ProgramTests {
    private func run(_ words: [String]) async throws -> LabResult {
        try await LabProcess([try Lab.product("starling-bench")] + words).finish(timeout: .seconds(300))
    }

    @Test func suitesHaveNamesOfTheirOwn() {
        let names = Suite.all.map { $0.name } + [Suite.rivals.name]
        #expect(Set(names).count == names.count)
    }

    @Test func aSuiteThatDoesNotExistIsAWrongCommandLine() async throws {
        let result = try await run(["latency", "nothing"])
        #expect(result.status == 2)
        #expect(result.err.contains("there is no suite nothing: latency, throughput"))
    }

    /// Real daemons; every line is an object, with the figures of both runs in one row.
    @Test func aSuiteTellsOfAllItsRuns() async throws {
        let result = try await run(["local", "--quick", "--runs", "2", "--json"])
        #expect(result.status == 0, "\(result.err)")
        let objects = try result.out.split(separator: "\n").map { try JSON.parse(String($0)) }
        let names = objects.compactMap { $0["figure"]?.string }
        #expect(names.count == objects.count)
        #expect(Set(names).count == names.count)
        let figure = try #require(objects.first { $0["figure"]?.string == "local.message.p50" })
        #expect(figure["runs"]?.int == 2)
        let values = try ["least", "median", "most", "limit", "ratio"].map { try #require(figure[$0]?.double) }
        #expect(values[0] <= values[1] && values[1] <= values[2])
        #expect(values[3] > 0 && values[4] > 0)
        #expect(objects.contains { $0["figure"]?.string == "limit.honest.p50" })
    }

    /// A rival that is not there is said to be absent, with the reason.
    @Test func anUnknownRivalIsAbsent() throws {
        let report = Report(isJSON: true, recorded: Recorded())
        report.absent("rivals.x", "x", "it is not installed")
        report.flush()
        #expect(report.outcomes.isEmpty)
        #expect(report.areAimsMet)
    }
}
