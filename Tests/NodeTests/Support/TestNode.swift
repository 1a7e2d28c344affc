import Foundation
import Glibc
import Net
import Node
import Seal
import Tree

/// A node on a loop of its own, with real sockets, in a home of its own.
final class TestNode: Sendable {
    let home: TestHome
    let loop: EventLoop
    let node: Node
    let port: UInt16
    private let logFile: LogFile

    /// Where the node writes its log; closed with the node.
    private final class LogFile: Sendable {
        let descriptor: Int32

        init(_ path: String) throws {
            descriptor = unsafe open(path, O_CREAT | O_APPEND | O_WRONLY | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else { throw TestFailure("cannot open \(path)") }
        }

        deinit { close(descriptor) }
    }

    init(
        _ name: String, home: TestHome? = nil, peers: [TestNode] = [], workspace: Workspace = .open,
        change: (inout NodeOptions) -> Void = { _ in }
    ) async throws {
        let home = try home ?? TestHome()
        let logFile = try LogFile(home.file("log"))
        var options = try home.options
        options.name = name
        options.listen = SocketAddress("127.0.0.1:0")
        options.peers = peers.compactMap { HostPort("127.0.0.1:\($0.port)") }
        options.workspace = workspace
        options.log = Log(level: .info, descriptor: logFile.descriptor)
        change(&options)
        let loop = try EventLoop(name: name)
        self.home = home
        self.logFile = logFile
        self.loop = loop
        var started: Node?
        do {
            node = try Node(options, loop: loop)
            started = node
            try await node.open()
            port = await node.port
        } catch {
            if let started { await TestNode.stop(started, loop) }
            loop.stop()
            throw error
        }
    }

    private static func stop(_ node: Node, _ loop: EventLoop) async {
        await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
            loop.execute { node.assumeIsolated { $0.stop { done.resume() } } }
        }
    }

    deinit {
        // The home goes when the node has stopped.
        let (loop, node, home, logFile) = (loop, node, home, logFile)
        loop.execute {
            node.assumeIsolated {
                $0.stop {
                    loop.stop()
                    _ = (home, logFile)
                }
            }
        }
    }

    /// Stops the node as TERM does and waits for its end.
    func stop() async {
        await TestNode.stop(node, loop)
        loop.stop()
    }

    var uid: Bytes32 { node.uid }
    var address: String { "127.0.0.1:\(port)" }
    var log: String { (try? String(contentsOfFile: home.file("log"), encoding: .utf8)) ?? "" }

    /// Lines of the log with a word in them.
    func logLines(_ word: String) -> [Substring] {
        log.split(separator: "\n").filter { $0.contains(word) }
    }

    func client() throws -> LineClient { try LineClient(home.socketPath) }
}

extension TestNode {
    /// Waits until the log has so many lines with a word in them. Written by another thread, it gives no other sign.
    func waitForLog(_ word: String, count: Int = 1) async throws {
        let deadline = Deadline(afterMs: LineClient.timeoutMs)
        while logLines(word).count < count {
            guard deadline.leftMs > 0 else { throw TestFailure("no line with \(word.debugDescription): \(log)") }
            // A round trip through the node: what it was about to log is logged after it.
            _ = await node.port
        }
    }
}
