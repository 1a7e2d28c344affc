import ControlAPI
import Foundation
import Lab
import Testing
import Tree
import Wire

/// Doctor on this machine, whatever else is wrong with it: only what a test breaks is new.
@Suite(.serialized, .showsLogs)
struct DoctorUseTests {
    /// What is wrong now and was not before.
    private func news(_ machine: Machine, since before: [String]) async throws -> [String] {
        try await DoctorRun(machine).named.filter { !before.contains($0) }
    }

    @Test(.timeLimit(.minutes(2))) func withoutADaemon() async throws {
        let ann = try Machine("ann")
        let home = try #require(ann.home)
        let run = try await DoctorRun(ann)
        #expect(run.named.contains("daemon") && run.duration < .seconds(10))
        #expect(run.row("daemon")["mend"] == [.string("starling --home \(home) daemon start")])
        #expect(run.row("identity")["level"] == "skipped" && run.row("clock")["level"] != "problem")
        // The file that a daemon would find.
        try Data("this is no database, whatever its name".utf8).write(to: URL(filePath: home + "/workspace.db"))
        _ = unsafe chmod(home + "/workspace.db", 0o600)
        #expect(try await news(ann, since: run.named) == ["database"])
    }

    /// A daemon that hangs is ended by its number: this user may have others, in other homes.
    @Test(.timeLimit(.minutes(2))) func aHungDaemonIsEndedAndNoOther() async throws {
        let ann = try Machine("ann")
        let home = try #require(ann.home)
        try await ann.startLocally()
        let process = try ann.daemon.id
        try ann.daemon.kill(SIGSTOP)
        let mend = try await DoctorRun(ann).row("daemon")["mend"]
        try ann.daemon.kill(SIGCONT)
        #expect(mend == [.string("kill -KILL \(process); starling --home \(home) daemon start")])
    }

    /// A person sees marks, words and commands, and no line goes beyond what the terminal is taken for.
    @Test(.timeLimit(.minutes(1))) func forAPerson() async throws {
        let ann = try Machine("ann")
        let result = try await ann.starling("doctor")
        #expect(result.status == 1 && result.out.contains("✗ daemon") && result.out.contains("→ starling --home"))
        #expect(!result.out.contains("\u{1b}"))
        #expect(result.out.split(separator: "\n").last?.contains("problem") == true, "\(result.out)")
    }

    @Test(.timeLimit(.minutes(2))) func filesAndDatabase() async throws {
        let ann = try Machine("ann")
        let home = try #require(ann.home)
        try await ann.startLocally()
        let before = try await DoctorRun(ann).named
        #expect(!before.contains("files") && !before.contains("database") && !before.contains("daemon"))
        _ = unsafe chmod(home + "/workspace.db", 0o640)
        #expect(try await news(ann, since: before) == ["files"])
        _ = unsafe chmod(home + "/workspace.db", 0o600)
        try Data("damaged".utf8).write(to: URL(filePath: home + "/workspace.db.corrupt-1"))
        _ = unsafe chmod(home + "/workspace.db.corrupt-1", 0o600)
        #expect(try await news(ann, since: before) == ["database"])
    }

    /// A daemon of another version, as after an update: it speaks the same API and does not know the question.
    @Test(.timeLimit(.minutes(2))) func anotherVersion() async throws {
        let ann = try Machine("ann")
        let home = try #require(ann.home)
        let before = try await DoctorRun(ann).named
        let hello =
            #"{"jsonrpc":"2.0","method":"hello","params":{"version":"0.0.9","api":1,"workspace":"w","uid":"u"}}"#
        let refusal =
            #"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no","data":{"reason":"method_not_found"}}}"#
        let script = "#!/bin/sh\necho '\(hello)'\nread -r line\necho '\(refusal)'\ncat >/dev/null\n"
        try Data(script.utf8).write(to: URL(filePath: home + "/old"))
        _ = unsafe chmod(home + "/old", 0o700)
        let old = try LabProcess(["socat", "UNIX-LISTEN:\(home)/starling.sock,mode=600,fork", "EXEC:\(home)/old"])
        try await eventually("the old daemon listens", within: .seconds(20)) {
            FileManager.default.fileExists(atPath: home + "/starling.sock")
        }
        let run = try await DoctorRun(ann)
        #expect(run.named.filter { !before.contains($0) } == ["version"] && !run.named.contains("daemon"))
        #expect(run.row("version")["saw"]?.string?.contains("0.0.9") == true)
        old.terminate()
    }

    /// Somebody connects whose clock is ten minutes ahead.
    @Test(.timeLimit(.minutes(2))) func aWrongClock() async throws {
        let ann = try Machine("ann")
        try await ann.startLocally()
        let before = try await DoctorRun(ann).named
        let intruder = try Intruder(port: try await ann.port)
        let clockMs = UInt64(time(nil)) * 1_000 + 600_000
        let vitals = Vitals(
            clockMs: clockMs, isSynchronised: true, highWater: HLC(ms: 0), root: DigestPrefix(count: 0, sum: 0))
        try intruder.send(.hello(vitals, peers: []))
        try await eventually("doctor names the clock", within: .seconds(60)) {
            try await news(ann, since: before) == ["clock"]
        }
    }
}
