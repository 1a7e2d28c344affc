internal import CLimit
internal import ControlAPI
internal import Glibc
internal import Seal
internal import Synchronization

/// How long a node that has nothing takes to have everything.
struct NewNodeBench {
    private static let messages = 100_000
    /// Threads that verify: the cores of the smallest machine.
    private static let threads = 2
    private static let secondsOfAMillion = 20.0
    private static let bytesMax = 220.0
    /// Of the verification limit, as how many times it would go into it.
    private static let verifyRatio = 1 / 0.8
    private static let limitMs: Int32 = 1000
    private static let patienceMs = 600_000

    private let program: String
    private let scratch: ScratchFolder

    init(_ program: String, _ scratch: ScratchFolder) {
        self.program = program
        self.scratch = scratch
    }

    func measure(messages: Int?, _ report: Report) throws {
        let count = messages ?? Self.messages
        report.heading("a new node (limit: Ed25519, two threads)")
        let limit = try verifyRate()
        for (key, together, name) in [
            ("together", true, "signed together"), ("singly", false, "singly signed"),
        ] {
            let run = try run(count, key, together)
            let (seconds, bytes) = (run.seconds, run.bytes)
            let share = Double(count) / 1_000_000
            report.add(
                Figure(
                    key: "newnode.\(key).seconds", name: "\(Report.decimal(Double(count), 0)) messages, \(name)",
                    value: seconds, unit: .seconds, aim: together ? .atMost(Self.secondsOfAMillion * share) : nil))
            report.add(
                Figure(
                    key: "newnode.\(key).rate", name: "messages, \(name)", value: Double(count) / seconds,
                    unit: .perSecond, limit: together ? nil : limit,
                    aim: together ? nil : .ratioAtMost(Self.verifyRatio)))
            report.add(
                Figure(
                    key: "newnode.\(key).bytes", name: "on the wire for a message, both ways",
                    value: Double(bytes) / Double(count), unit: .bytes,
                    aim: together ? .atMost(Self.bytesMax) : nil))
            for (side, ns) in [("sender", run.senderNs), ("receiver", run.receiverNs)] {
                report.add(
                    Figure(
                        key: "newnode.\(key).\(side)", name: "processor time of the \(side)'s loop for a message",
                        value: Double(ns) / 1000 / Double(count), unit: .microseconds))
            }
        }
    }

    /// Signatures that two threads verify a second together.
    private func verifyRate() throws -> Double {
        let total = Mutex(0.0)
        let path = scratch.path
        let threads = (0..<Self.threads).compactMap { _ in
            RateThread.start { total.withLock { $0 += unsafe limit_rate(LIMIT_VERIFY, Self.limitMs, path) } }
        }
        for thread in threads { pthread_join(thread, nil) }
        return total.withLock { $0 }
    }

    struct Run {
        let seconds: Double
        let bytes: Int
        /// Processor time of the loops; what the pool takes comes on top.
        let senderNs: Int64
        let receiverNs: Int64
    }

    /// Seconds from the start of the empty one until both are equal, and the bytes that went over their connection.
    func run(_ count: Int, _ key: String, _ together: Bool) throws -> Run {
        let folder = scratch.path + "/newnode-\(key)"
        let (portA, portB) = (try DaemonUnderTest.freePort(), try DaemonUnderTest.freePort())
        let full = try prepare(count, folder, together, portA)
        defer { full.end() }
        let other = try full.client()
        let fullNs = try full.cpuNs()
        let start = limit_now_ns()
        let empty = try DaemonUnderTest(program, home: folder + "/b", port: portB, peer: portA)
        defer {
            empty.end()
            ScratchFolder.remove(folder)
        }
        let client = try empty.client()
        // Each has an entry of its own beside them.
        while try entries(client) < count || root(client) != root(other) {
            guard limit_now_ns() - start < Int64(Self.patienceMs) * 1_000_000 else {
                throw BenchError.unexpected("the new node has not caught up; see \(empty.home)/starlingd.log")
            }
            try Interruption.sleep(ms: 20)
        }
        let seconds = Double(limit_now_ns() - start) / 1e9
        return Run(
            seconds: seconds, bytes: try Connection.bytes(ports: [portA]), senderNs: try full.cpuNs() - fullNs,
            receiverNs: try empty.cpuNs())
    }

    /// A daemon that has the messages. It is started once before, so that its home is as it makes it.
    private func prepare(_ count: Int, _ folder: String, _ together: Bool, _ port: UInt16) throws -> DaemonUnderTest {
        let home = folder + "/a"
        try DaemonUnderTest(program, home: home, port: port, peer: nil).end()
        var archive = try MessageArchive(count, workspace: BLAKE2b.hash(Array("starling/workspace/open".utf8)))
        try archive.write(count, together: together, to: home + "/workspace.db")
        return try DaemonUnderTest(program, home: home, port: port, peer: nil)
    }

    private func entries(_ client: LineClient) throws -> Int {
        Int(try client.call("node.status", [:])["entries"]?.int ?? 0)
    }

    private func root(_ client: LineClient) throws -> String {
        try client.call("node.status", [:])["root"]?.string ?? ""
    }
}

/// A thread that does one thing.
private enum RateThread {
    private final class Body {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    static func start(_ run: @escaping @Sendable () -> Void) -> pthread_t? {
        var thread = pthread_t()
        let body = unsafe Unmanaged.passRetained(Body(run)).toOpaque()
        let status = unsafe pthread_create(
            &thread, nil,
            { context in
                guard let context = unsafe context else { return nil }
                unsafe Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run()
                return nil
            }, body)
        return status == 0 ? thread : nil
    }
}
