import ControlAPI
import Lab
import Testing

/// What `starling doctor` says on a machine.
struct DoctorRun {
    let rows: [JSON]
    let duration: Duration

    init(_ machine: Machine) async throws {
        let begin = ContinuousClock.now
        let result = try await machine.starling("doctor", "--json")
        duration = ContinuousClock.now - begin
        rows = try result.out.split(separator: "\n").map { try JSON.parse(String($0)) }
        let hasProblem = rows.contains { $0["level"] == "problem" }
        guard !rows.isEmpty, result.status == (hasProblem ? 1 : 0) else {
            throw LabError("doctor: exit code \(result.status) \(result.out) \(result.err)")
        }
    }

    /// Names of the checks that are not as they should be.
    var named: [String] {
        rows.filter { $0["level"] == "problem" || $0["level"] == "warning" }.compactMap { $0["check"]?.string }
    }

    func row(_ name: String) -> JSON { rows.first { $0["check"]?.string == name } ?? .null }
}

extension Machine {
    /// Waits until doctor names these checks and no other, and returns what it says then: what a machine has just begun
    /// or lost needs its time to be seen.
    @discardableResult
    func doctor(names expected: [String], within limit: Duration = .seconds(90)) async throws -> DoctorRun {
        var last: DoctorRun?
        do {
            try await eventually("doctor on \(name) names \(expected)", within: limit) {
                let run = try await DoctorRun(self)
                last = run
                return run.named == expected
            }
        } catch {
            let rows = (last?.rows ?? []).filter { $0["level"] != "ok" }.map { "\($0)" }.joined(separator: "\n")
            throw LabError("\(error)\n\(rows)")
        }
        return try #require(last)
    }
}
