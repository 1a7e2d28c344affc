internal import CLimit
internal import ControlAPI
internal import ControlClient
internal import Glibc

/// A daemon that this run started, and ends.
final class DaemonUnderTest {
    /// How long it may take to end before it is killed.
    private static let endMs: Int64 = 5000

    let home: String
    /// Where it listens for peers.
    let port: UInt16
    let process: Int32
    /// From before it was started until it said `ready`, in nanoseconds.
    let readyNs: Int64
    private var hasEnded = false

    /// Starts it on loopback, without discovery.
    ///
    /// - Parameters:
    ///   - port: where it listens for the other one.
    ///   - peer: the port of the other one.
    convenience init(_ program: String, home: String, port: UInt16, peer: UInt16?) throws {
        try self.init(program, home: home, port: port, peers: peer.map { [$0] } ?? [])
    }

    /// - Parameters:
    ///   - port: where it listens for the others.
    ///   - peers: the ports of the others.
    convenience init(_ program: String, home: String, port: UInt16, peers: [UInt16]) throws {
        var arguments = ["--listen", "127.0.0.1:\(port)", "--no-discovery", "--name", "bench"]
        for peer in peers { arguments += ["--peer", "127.0.0.1:\(peer)"] }
        try self.init(program, home: home, listensAt: port, arguments)
    }

    /// Starts it with these arguments.
    init(_ program: String, home: String, listensAt port: UInt16, _ arguments: [String]) throws {
        self.home = home
        self.port = port
        let arguments = arguments + ["--log", "warning"]
        try Interruption.check()
        let places = try SocketPlaces(home: home, .ofProcess())
        let start = limit_now_ns()
        process = try DaemonStarter.start(places, arguments: arguments, program: program)
        readyNs = limit_now_ns() - start
    }

    deinit { end() }

    /// The program to measure.
    static func program(_ named: String?) throws(BenchError) -> String {
        if let named {
            guard let path = unsafe realpath(named, nil) else { throw .current(named) }
            defer { unsafe free(path) }
            return unsafe String(cString: path)
        }
        guard let found = DaemonProgram.find() else {
            throw .unexpected("starlingd is not beside this program; build it, or name it with --daemon")
        }
        return found
    }

    /// A TCP port that nobody listens on now.
    static func freePort() throws(BenchError) -> UInt16 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC, 0)
        guard descriptor >= 0 else { throw .current("socket") }
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                let bound = unsafe bind(descriptor, generic, size)
                return bound == 0 ? unsafe getsockname(descriptor, generic, &size) : bound
            }
        }
        guard status == 0 else { throw .current("looking for a free port") }
        return UInt16(bigEndian: address.sin_port)
    }

    func client() throws(BenchError) -> LineClient { try LineClient(path: home + "/starling.sock") }

    /// Waits until it has so many connected peers.
    func waitForPeers(_ count: Int) throws {
        let client = try client()
        for _ in 0..<1000 {
            let peers = try client.call("node.status", [:])["peers"]?.array ?? []
            if peers.count(where: { $0["state"]?.string == "connected" }) >= count { return }
            try Interruption.sleep(ms: 10)
        }
        throw BenchError.unexpected("two daemons did not connect within 10 s; see \(home)/starlingd.log")
    }

    /// Nanoseconds that its main thread, which does all the work, has run so far (proc(5), schedstat).
    func cpuNs() throws(BenchError) -> Int64 {
        let text = try ProcFile.text("/proc/\(process)/schedstat")
        guard let ns = text.split(separator: " ").first.flatMap({ Int64($0) }) else {
            throw .unexpected("the kernel does not tell how long a process has run")
        }
        return ns
    }

    /// Nanoseconds of processor time that all its threads have taken so far.
    func allCpuNs() throws(BenchError) -> Int64 {
        let ns = limit_process_cpu_ns(process)
        guard ns >= 0 else { throw .unexpected("the kernel does not tell the processor time of process \(process)") }
        return ns
    }

    /// How often its threads have waited for something and been woken so far (proc(5), voluntary_ctxt_switches).
    func wakeUps() throws(BenchError) -> Int64 {
        var sum: Int64 = 0
        for task in try ProcFile.names("/proc/\(process)/task") {
            for line in try ProcFile.text("/proc/\(process)/task/\(task)/status").split(separator: "\n")
            where line.hasPrefix("voluntary_ctxt_switches:") {
                sum += line.split(separator: "\t").last.flatMap { Int64($0) } ?? 0
            }
        }
        return sum
    }

    /// Ends it: first asked, then, after a while, killed.
    func end() {
        guard !hasEnded else { return }
        hasEnded = true
        kill(process, SIGTERM)
        let start = limit_now_ns()
        while waitpid(process, nil, WNOHANG) == 0 {
            if limit_now_ns() - start > Self.endMs * 1_000_000 { kill(process, SIGKILL) }
            usleep(2000)
        }
    }
}

extension DaemonUnderTest {
    /// Two daemons, in fresh homes below a folder, that are to connect to each other.
    static func pair(_ program: String, in folder: String) throws -> (a: DaemonUnderTest, b: DaemonUnderTest) {
        let (portA, portB) = (try freePort(), try freePort())
        let a = try DaemonUnderTest(program, home: folder + "/a", port: portA, peer: portB)
        return (a, try DaemonUnderTest(program, home: folder + "/b", port: portB, peer: portA))
    }
}
