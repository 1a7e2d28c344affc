internal import CPosix
internal import Discovery
internal import Glibc
internal import Net
internal import Synchronization

/// A node as a process: signals, the `ready` line, exit codes.
public enum Daemon {
    /// Runs a node on the calling thread until TERM, INT or a client's request ends it.
    ///
    /// - Returns: the exit code: 0 after an orderly end, 1 if it could not start.
    public static func run(_ options: NodeOptions) -> Int32 {
        // Before any thread: it sets the environment.
        DiscoveryService.prepareProcess()
        // No file this process makes is for others.
        umask(0o077)
        // Keys are in memory. Without it the daemon runs as well.
        if starling_forbid_core_dumps() != 0 { options.log.warning("this system lets memory with keys be dumped") }
        // A log that nobody reads any more must not end the daemon.
        signal(SIGPIPE, SIG_IGN)
        do {
            let loop = try EventLoop(name: "starlingd", startsThread: false)
            let node = try Node(options, loop: loop)
            let process = NodeProcess(node, loop, options.log)
            loop.execute { begin(node, options, process) }
            loop.runHere()
            return process.exitCode.load(ordering: .acquiring)
        } catch {
            options.log.error("\(error)")
            return 1
        }
    }

    private static func begin(_ node: Node, _ options: NodeOptions, _ process: NodeProcess) {
        node.assumeIsolated { node in
            do {
                node.onStopRequest = { process.end() }
                node.onRestartRequest = { restart(node, options, process) }
                try process.takeSignals()
                try node.open()
                process.sayReady()
            } catch {
                process.fail(error)
            }
        }
    }

    /// Ends a node and starts another in its place, in the same home and with the same signals.
    private static func restart(_ node: Node, _ options: NodeOptions, _ process: NodeProcess) {
        var options = options
        // It was taken when the process started, and may have been changed since.
        options.name = nil
        options.invite = nil
        options.workspaceName = nil
        let successor = options
        process.log.info("starting anew")
        node.assumeIsolated { old in
            old.stop {
                guard !process.isEnding.load(ordering: .acquiring) else { return process.leave() }
                do {
                    let node = try Node(successor, loop: process.loop)
                    process.node.withLock { $0 = node }
                    begin(node, successor, process)
                } catch {
                    process.exitCode.store(1, ordering: .releasing)
                    process.log.error("\(error)")
                    process.leave()
                }
            }
        }
    }
}

/// What is known of the process, whichever node runs in it.
private final class NodeProcess: Sendable {
    let loop: EventLoop
    let log: Log
    let node: Mutex<Node>
    /// Told by the node, read after the loop has ended.
    let exitCode = Atomic<Int32>(0)
    /// Somebody has asked for the end.
    let isEnding = Atomic<Bool>(false)
    private let isReady = Atomic<Bool>(false)
    private let signals = Mutex<SignalSource?>(nil)

    init(_ node: Node, _ loop: EventLoop, _ log: Log) {
        self.node = Mutex(node)
        self.loop = loop
        self.log = log
    }

    /// Stops the node and the loop. Not joined: the discovery thread may be inside a call that takes 25 s.
    func end() {
        isEnding.store(true, ordering: .releasing)
        let node = node.withLock { $0 }
        node.assumeIsolated { $0.stop { self.leave() } }
    }

    /// Ends the loop. What waits for signals holds this object.
    func leave() {
        signals.withLock { $0 = nil }
        loop.stop()
    }

    func fail(_ error: any Error) {
        log.error("\(error)")
        exitCode.store(1, ordering: .releasing)
        end()
    }

    /// Once: there must be no moment at which TERM finds nobody.
    func takeSignals() throws(NetError) {
        guard signals.withLock({ $0 == nil }) else { return }
        let source = try SignalSource([SIGTERM, SIGINT, SIGHUP], on: loop) { signal in
            self.log.info("signal \(signal): stopping")
            self.end()
        }
        signals.withLock { $0 = source }
    }

    /// Once: whoever has started the process is not told that its node was started anew.
    func sayReady() {
        guard isReady.compareExchange(expected: false, desired: true, ordering: .relaxed).exchanged else { return }
        let line = Array("ready\n".utf8)
        _ = unsafe line.withUnsafeBytes { unsafe write(STDOUT_FILENO, $0.baseAddress, $0.count) }
    }
}
