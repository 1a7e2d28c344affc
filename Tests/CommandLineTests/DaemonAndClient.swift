import Foundation
import Lab
import Testing

/// A daemon of its own under a temporary home, and the command line to talk to it.
final class DaemonAndClient: Sendable {
    let home: String
    private let daemon: LabProcess

    init(name: String = "ada") async throws {
        home = FileManager.default.temporaryDirectory.path + "/starling-\(UInt32.random(in: 0 ... .max))"
        daemon = try LabProcess([
            try Lab.product("starlingd"), "--home", home, "--no-discovery", "--listen", "127.0.0.1:0", "--name", name,
        ])
        let line = try await daemon.nextLine()
        #expect(line == "ready")
    }

    deinit {
        daemon.kill(SIGKILL)
        try? FileManager.default.removeItem(atPath: home)
    }

    /// Runs a command of the client to its end.
    func run(_ words: String..., input: String = "") async throws -> LabResult {
        let process = try LabProcess([try Lab.product("starling"), "--home", home] + words)
        return try await process.finish(input: input)
    }

    /// Starts a command that goes on.
    func start(_ words: String...) throws -> LabProcess {
        try LabProcess([try Lab.product("starling"), "--home", home] + words)
    }
}
