internal import CLimit
internal import ControlAPI

/// Waits until two nodes hold the same, and knows when that was.
final class Equality {
    private static let patienceMs: Int64 = 300_000
    private static let pollMs: Int32 = 50

    private let clients: [LineClient]
    private let startNs = limit_now_ns()
    private var reachedNs: Int64?

    init(_ a: DaemonUnderTest, _ b: DaemonUnderTest) throws { clients = [try a.client(), try b.client()] }

    /// Whether they are equal now, or have been when this was asked before.
    var isReached: Bool {
        get throws {
            guard reachedNs == nil else { return true }
            let roots = try clients.map { try $0.call("node.status", [:])["root"]?.string }
            if roots[0] == roots[1] { reachedNs = limit_now_ns() - startNs }
            return reachedNs != nil
        }
    }

    /// Returns the nanoseconds from the beginning until they were equal.
    func wait() throws -> Int64 {
        while try !isReached {
            guard limit_now_ns() - startNs < Self.patienceMs * 1_000_000 else {
                throw BenchError.unexpected("two nodes did not become equal within \(Self.patienceMs / 1000) s")
            }
            try Interruption.sleep(ms: Self.pollMs)
        }
        return reachedNs ?? 0
    }
}
