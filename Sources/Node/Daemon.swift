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
        // A log that nobody reads any more must not end the daemon.
        signal(SIGPIPE, SIG_IGN)
        do {
            let loop = try EventLoop(name: "starlingd", startsThread: false)
            let node = try Node(options, loop: loop)
            let exitCode = ExitCode()
            loop.execute { begin(node, loop, options.log, exitCode) }
            loop.runHere()
            return exitCode.value.load(ordering: .acquiring)
        } catch {
            options.log.error("\(error)")
            return 1
        }
    }

    private static func begin(_ node: Node, _ loop: EventLoop, _ log: Log, _ exitCode: ExitCode) {
        node.assumeIsolated { node in
            do {
                let end: @Sendable () -> Void = {
                    // Not joined: the discovery thread may be inside a call that takes 25 s.
                    node.assumeIsolated { $0.stop { loop.stop() } }
                }
                node.onStopRequest = end
                node.signals = try SignalSource([SIGTERM, SIGINT, SIGHUP], on: loop) { signal in
                    log.info("signal \(signal): stopping")
                    end()
                }
                try node.open()
                let ready = Array("ready\n".utf8)
                _ = unsafe ready.withUnsafeBytes { unsafe write(STDOUT_FILENO, $0.baseAddress, $0.count) }
            } catch {
                log.error("\(error)")
                exitCode.value.store(1, ordering: .releasing)
                node.stop { loop.stop() }
            }
        }
    }

    /// Told by the node, read after the loop has ended.
    private final class ExitCode: Sendable {
        let value = Atomic<Int32>(0)
    }
}
