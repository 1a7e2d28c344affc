import ControlClient
import Foundation
import Glibc
import Testing

/// The starter against shell scripts that stand in for the daemon.
@Suite(.timeLimit(.minutes(1)))
struct DaemonStarterTests {
    private func start(_ script: String, timeoutMs: Int = 5_000) throws -> (pid: Int32, home: TemporaryDirectory) {
        let home = try TemporaryDirectory()
        let program = try Self.program(script, in: home)
        let places = try places(home)
        let pid = try DaemonStarter.start(
            places, arguments: ["--log", "debug"], program: program, timeoutMs: timeoutMs)
        return (pid, home)
    }

    /// Writes the script through another process: were it open for writing here while any other test forks, running it
    /// would fail as "text file busy".
    private static func program(_ script: String, in home: TemporaryDirectory) throws -> String {
        let text = try home.file("text", "#!/bin/sh\n" + script)
        let places = try SocketPlaces(
            home: nil, .init(environment: [:], passwordHome: home.path, userID: 1, currentDirectory: "/"))
        let copy = "cp '\(text)' '\(home.path)/fake' && chmod +x '\(home.path)/fake' && echo ready"
        let pid = try DaemonStarter.start(places, arguments: ["-c", copy], program: "/bin/sh")
        waitpid(pid, nil, 0)
        return home.path + "/fake"
    }

    private func places(_ home: TemporaryDirectory) throws -> SocketPlaces {
        try SocketPlaces(
            home: home.path + "/deep/home",
            .init(environment: [:], passwordHome: nil, userID: 1, currentDirectory: "/"))
    }

    @Test func readyIsAwaitedInASessionOfItsOwn() throws {
        let (pid, home) = try start(
            """
            echo "$@" > "\(NSTemporaryDirectory())/starling-args-$$"
            echo logged >&2
            echo starting
            echo ready
            exec sleep 60
            """)
        defer {
            kill(pid, SIGKILL)
            waitpid(pid, nil, 0)
        }
        #expect(getsid(pid) == pid)
        let argumentsFile = "\(NSTemporaryDirectory())/starling-args-\(pid)"
        let arguments = try String(contentsOfFile: argumentsFile, encoding: .utf8)
        try FileManager.default.removeItem(atPath: argumentsFile)
        #expect(arguments == "--home \(home.path)/deep/home --log debug\n")
        let log = home.path + "/deep/home/starlingd.log"
        #expect(try String(contentsOfFile: log, encoding: .utf8) == "logged\n")
        var status = stat()
        #expect(unsafe stat(log, &status) == 0 && status.st_mode & 0o777 == 0o600)
        #expect(unsafe stat(home.path + "/deep/home", &status) == 0 && status.st_mode & 0o777 == 0o700)
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(pid)/cwd") == "/")
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(pid)/fd/0") == "/dev/null")
    }

    @Test func anEarlyEndTellsTheDaemonsLastWords() throws {
        let error = #expect(throws: ClientError.self) { try start("echo first >&2; echo the disk is gone >&2; exit 7") }
        #expect(
            error?.description.hasPrefix("starlingd ended at once (exit code 7): the disk is gone\nIts log is ") == true
        )
        let wordless = #expect(throws: ClientError.self) { try start("kill -9 $$") }
        #expect(wordless?.description.hasPrefix("starlingd ended at once (signal 9) without a word") == true)
    }

    @Test func aDaemonThatDoesNotGetReadyIsTold() throws {
        let error = #expect(throws: ClientError.self) { try start("exec sleep 1", timeoutMs: 50) }
        #expect(error?.description.contains("did not get ready") == true)
    }

    @Test func noProgram() throws {
        let home = try TemporaryDirectory()
        let missing = ClientError.notStarted("starlingd was found neither beside this program nor in PATH")
        #expect(throws: missing) { try DaemonStarter.start(places(home), program: nil) }
        #expect(throws: ClientError.self) { try DaemonStarter.start(places(home), program: home.path + "/none") }
    }

    @Test func aGreatLogIsSetAside() throws {
        let home = try TemporaryDirectory()
        try FileManager.default.createDirectory(atPath: home.path + "/deep/home", withIntermediateDirectories: true)
        let log = home.path + "/deep/home/starlingd.log"
        try Data(count: 5 << 20).write(to: URL(fileURLWithPath: log))
        let program = try Self.program("echo new >&2; exit 1", in: home)
        #expect(throws: ClientError.self) { try DaemonStarter.start(places(home), program: program) }
        #expect(try String(contentsOfFile: log, encoding: .utf8) == "new\n")
        #expect(try FileManager.default.attributesOfItem(atPath: log + ".1")[.size] as? Int == 5 << 20)
    }
}
