internal import Glibc

/// Two hosts on this machine, each with its own network, D-Bus and Avahi, on one switch. They are made by the script
/// that makes those of the tests (`Benchmarks/lan`).
final class Hosts {
    private static let tools = ["ip", "nft", "nsenter", "unshare", "dbus-daemon", "avahi-daemon"]

    private let script: String
    private let prefix: String
    private let folder: String

    /// Nil when hosts can be made here, otherwise what is missing.
    static var unavailableReason: String? {
        get throws {
            guard geteuid() == 0 else { return "hosts of their own need root" }
            for tool in tools
            where try CommandOutput.of("PATH=$PATH:/usr/sbin:/sbin command -v \(tool)").isEmpty {
                return "\(tool) is not installed"
            }
            return nil
        }
    }

    init(_ count: Int, in scratch: ScratchFolder) throws {
        folder = scratch.path
        script = folder + "/lan"
        prefix = "bench\(getpid())"
        try ProcFile.make(PackageResources.lan, script)
        let answer = try lan("up \(count) 2>&1 && echo up")
        guard answer.hasSuffix("up\n") else {
            throw BenchError.unexpected("hosts cannot be made here: \(answer)")
        }
    }

    deinit { _ = try? lan("down 2>/dev/null") }

    static func address(_ host: Int) -> String { "10.99.0.\(host)" }

    /// A program that runs another one on a host, with the arguments it is given, and becomes it.
    func program(_ program: String, on host: Int) throws -> String {
        let path = "\(folder)/host\(host)"
        let lines = "#!/bin/bash\nLAN_PREFIX=\(prefix) exec bash '\(script)' exec \(host) '\(program)' \"$@\"\n"
        try ProcFile.make(Array(lines.utf8), path, mode: 0o700)
        return path
    }

    private func lan(_ words: String) throws -> String {
        try CommandOutput.of("LAN_PREFIX=\(prefix) LAN_OWNER=\(getpid()) bash '\(script)' \(words)")
    }
}
