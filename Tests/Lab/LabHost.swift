/// One host of a lab. Its `HOME` and `/run` are its own; the rest of the file system is shared with this machine.
public struct LabHost: Sendable {
    /// Its number, counted from 1.
    public let number: Int
    let prefix: String

    /// Its IPv4 address.
    public var address: String {
        "10.99.0.\(number)"
    }

    /// Starts a program on the host; the environment given is added to the host's.
    public func spawn(_ arguments: [String], environment: [String: String] = [:]) throws -> LabProcess {
        let assignments = environment.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        return try LabProcess(
            ["bash", Lab.script, "exec", "\(number)", "env"] + assignments + arguments,
            environment: ["LAN_PREFIX": prefix])
    }

    /// Runs a program on the host to its end. It is killed at the timeout.
    ///
    /// - Throws: `LabError` when it cannot be started or is still running after the timeout; a status other than 0 is
    ///   no error.
    public func run(
        _ arguments: [String], environment: [String: String] = [:], input: String = "",
        timeout: Duration = .seconds(60)
    ) async throws -> LabResult {
        try await spawn(arguments, environment: environment).finish(input: input, timeout: timeout)
    }
}
