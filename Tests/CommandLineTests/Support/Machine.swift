import ControlAPI
import Foundation
import Lab
import Synchronization
import Testing

/// A person's machine: its daemon and the commands that talk to it, all of them the real programs.
final class Machine: Sendable {
    let name: String
    /// The folder that goes with it; nil on a lab host, which has its own.
    let home: String?
    private let host: LabHost?
    private let environment: [String: String]
    private let running = Mutex<LabProcess?>(nil)

    /// On a host of a lab, with nothing configured but the name, and what else its programs are to find in their
    /// environment.
    init(_ name: String, on host: LabHost, environment: [String: String] = [:]) {
        self.name = name
        self.host = host
        home = nil
        self.environment = environment
    }

    /// On this machine, in a folder that goes with it; `variables` makes the programs find it.
    init(_ name: String, variables: (String) -> [String: String] = { ["STARLING_HOME": $0] }) throws {
        self.name = name
        host = nil
        var template = Array("/tmp/starling-XXXXXX".utf8CString)
        guard let made = unsafe mkdtemp(&template) else { throw LabError("mkdtemp: error \(errno)") }
        let folder = unsafe String(cString: made)
        home = folder
        environment = variables(folder)
    }

    deinit {
        let daemon = running.withLock { $0 }
        daemon?.kill(SIGKILL)
        guard let home else { return }
        // Daemons in the background that a test has left behind.
        for id in Self.daemons(of: home) { kill(id, SIGKILL) }
        // Until they are gone they may make files.
        for _ in 0..<200 where daemon?.isRunning == true || !Self.daemons(of: home).isEmpty { poll(nil, 0, 10) }
        try? FileManager.default.removeItem(atPath: home)
    }

    /// Processes of `starlingd` that have this folder in their environment.
    static func daemons(of home: String) -> [pid_t] {
        let all = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return all.compactMap { pid_t($0) }.filter { id in
            guard let name = try? String(contentsOfFile: "/proc/\(id)/comm", encoding: .utf8), name == "starlingd\n",
                let environment = FileManager.default.contents(atPath: "/proc/\(id)/environ")
            else { return false }
            return environment.split(separator: 0).contains { String(decoding: $0, as: UTF8.self).contains("=\(home)") }
        }
    }

    // MARK: The daemon

    var daemon: LabProcess {
        get throws { try #require(running.withLock { $0 }, "the daemon of \(name) was never started") }
    }

    /// Starts the daemon and returns when clients can attach.
    @discardableResult
    func start(_ arguments: String...) async throws -> LabProcess {
        let daemon = try launch(["--name", name] + arguments)
        try await ready()
        return daemon
    }

    /// On this machine: with a port of its own, without discovery, connected to other machines by address.
    func startLocally(knowing peers: Machine..., arguments: [String] = []) async throws {
        var words = ["--name", name, "--no-discovery", "--listen", "127.0.0.1:0"] + arguments
        for peer in peers { words += ["--peer", "127.0.0.1:\(try await peer.port)"] }
        try launch(words)
        try await ready()
    }

    /// Starts the daemon with these arguments alone and does not wait.
    @discardableResult
    func launch(_ arguments: [String]) throws -> LabProcess {
        let daemon = try spawn("starlingd", arguments)
        Journal.add(name, daemon.errors)
        running.withLock { $0 = daemon }
        return daemon
    }

    /// Waits until the daemon says that clients can attach.
    func ready() async throws {
        let daemon = try daemon
        let line = try await daemon.output.nextLine(timeout: .seconds(60))
        guard line == "ready" else { throw LabError("the daemon of \(name) is not ready: \(daemon.errors.text)") }
    }

    /// The port on which it listens for peers, as its log says.
    var port: Int {
        get async throws {
            let prefix = "listening for peers on port "
            let log = try daemon.errors
            var found: Int?
            try await eventually("\(name) logs its port", within: .seconds(20)) {
                found = log.text.split(separator: "\n").last { $0.contains(prefix) }?.split(separator: " ").last
                    .flatMap { Int($0) }
                return found != nil
            }
            return try #require(found)
        }
    }

    /// Ends the daemon as a shutdown does; it has two seconds.
    func stop() async throws {
        try daemon.terminate()
        #expect(try await daemon.wait(timeout: .seconds(60)) == 0)
    }

    /// Ends it as a crash does.
    func crash() async throws {
        try daemon.kill(SIGKILL)
        try await daemon.wait()
    }

    /// Resident memory of the daemon in kilobytes (proc(5), VmRSS).
    func residentKB() throws -> Int {
        let status = try String(contentsOfFile: "/proc/\(try daemon.id)/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") })
        return try #require(line.split(separator: " ").dropLast().last.flatMap { Int($0) })
    }

    // MARK: Commands

    /// Starts a program of this package on the machine.
    func spawn(_ program: String, _ words: [String], environment: [String: String] = [:]) throws -> LabProcess {
        try spawn([try Lab.product(program)] + words, environment: environment)
    }

    /// Starts any program on the machine.
    func spawn(_ words: [String], environment: [String: String] = [:]) throws -> LabProcess {
        let environment = self.environment.merging(environment) { $1 }
        if let host { return try host.spawn(words, environment: environment) }
        return try LabProcess(words, environment: environment)
    }

    /// Runs `starling` to its end.
    func starling(
        _ words: String..., input: String = "", environment: [String: String] = [:]
    ) async throws -> LabResult {
        try await spawn("starling", words, environment: environment).finish(input: input)
    }

    /// Runs `starling … --json`, which has to succeed, and returns its lines.
    func rows(_ words: String..., input: String = "") async throws -> [JSON] {
        let result = try await spawn("starling", words + ["--json"]).finish(input: input)
        guard result.status == 0 else {
            throw LabError(
                "\(name): starling \(words.joined(separator: " ")): exit code \(result.status) \(result.err)")
        }
        return try result.out.split(separator: "\n").map { try JSON.parse(String($0)) }
    }

    /// The same for a command that prints one line.
    func row(_ words: String..., input: String = "") async throws -> JSON {
        let result = try await spawn("starling", words + ["--json"]).finish(input: input)
        guard result.status == 0, result.out.utf8.count(where: { $0 == 0x0A }) == 1 else {
            throw LabError(
                "\(name): starling \(words.joined(separator: " ")): exit code \(result.status) \(result.err)"
                    + "\(result.out)")
        }
        return try JSON.parse(String(result.out.dropLast()))
    }

    /// Starts a `starling` that goes on until it is ended.
    func follow(_ words: String...) throws -> LabProcess {
        try spawn("starling", words)
    }

    /// Sends a message to #general and returns its key.
    @discardableResult
    func say(_ text: String) async throws -> String {
        try #require(try await row("send", "general", text)["key"]?.string)
    }

    /// The texts of #general, oldest first.
    func texts() async throws -> [String] {
        try await rows("read", "general", "-n", "10000").compactMap { $0["text"]?.string }
    }

    /// Names of the people who are not offline, in order; with oneself.
    func present() async throws -> [String] {
        try await rows("who").filter { $0["state"] != "offline" }.compactMap { $0["name"]?.string }.sorted()
    }

    var root: String {
        get async throws { try #require(try await row("status")["root"]?.string) }
    }

    /// A line of JSON-RPC after another, as `socat` sees them; the first is the daemon's hello.
    func attach() throws -> LabProcess {
        let socket = home.map { $0 + "/starling.sock" } ?? "/run/user/0/starling/starling.sock"
        return try spawn(["socat", "-", "UNIX-CONNECT:\(socket)"])
    }
}

extension LabProcess {
    /// The next line that is an object for which the condition holds.
    @discardableResult
    func nextRow(within limit: Duration = .seconds(10), where isWanted: (JSON) -> Bool = { _ in true }) async throws
        -> JSON
    {
        var found: JSON?
        _ = try await output.nextLine(timeout: limit) { line in
            guard let row = try? JSON.parse(line), isWanted(row) else { return false }
            found = row
            return true
        }
        return try #require(found)
    }

    /// Sends a request of JSON-RPC.
    func request(_ id: Int, _ method: String, _ params: JSON = [:]) throws {
        let request: JSON = ["jsonrpc": "2.0", "id": .int(Int64(id)), "method": .string(method), "params": params]
        try send(line: "\(request)")
    }

    /// The answer to the request of that id.
    func answer(_ id: Int, within limit: Duration = .seconds(10)) async throws -> JSON {
        try await nextRow(within: limit) { $0["id"]?.int == Int64(id) }
    }
}
