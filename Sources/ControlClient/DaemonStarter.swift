internal import CPosix
internal import Glibc

/// Starts the daemon in the background.
public enum DaemonStarter {
    /// How long a daemon may take until it says `ready`.
    public static let readyTimeoutMs = 5_000

    /// Starts `starlingd` for these places in a session of its own and waits until it says `ready`.
    ///
    /// If it ends because another one was quicker, that one is as good: the caller connects afterwards anyway.
    ///
    /// - `arguments`: further arguments of `starlingd`.
    /// - Returns: its process id.
    /// - Throws: ``ClientError/notStarted(_:)`` with what the daemon said last and where its log is.
    @discardableResult
    public static func start(
        _ places: SocketPlaces, arguments: [String] = [], program: String? = DaemonProgram.find(),
        timeoutMs: Int = readyTimeoutMs
    ) throws(ClientError) -> Int32 {
        guard let program else {
            throw .notStarted("starlingd was found neither beside this program nor in PATH")
        }
        let log = try DaemonLog(path: places.log)
        let output = try Pipe()
        var words = [program]
        if let home = places.home { words += ["--home", home] }
        words += arguments
        var child: pid_t = 0
        let failure = unsafe withArguments(words) { argv in
            unsafe starling_spawn(program, argv, output.writeEnd, log.descriptor, &child)
        }
        guard failure == 0 else { throw .system(doing: "starting \(program)", errno: failure) }
        output.closeWriteEnd()
        switch try output.waitForReady(Deadline(timeoutMs: timeoutMs)) {
        case .ready:
            return child
        case .ended:
            throw .notStarted(ended(child, log.lastLine(), places.log))
        case .silent:
            throw .notStarted(
                "starlingd runs as process \(child) but did not get ready in \(timeoutMs / 1_000) s; see \(places.log)")
        }
    }

    /// Takes note of the end of a daemon that this process started, so that it leaves no zombie.
    public static func reap(_ child: Int32) {
        waitpid(child, nil, WNOHANG)
    }

    private static func ended(_ child: pid_t, _ lastLine: String?, _ log: String) -> String {
        var status: Int32 = 0
        unsafe waitpid(child, &status, 0)
        let how = status & 0x7F == 0 ? "exit code \(status >> 8 & 0xFF)" : "signal \(status & 0x7F)"
        guard let lastLine else {
            let why = isFull(log) ? ": the disk is full at \(log)" : " without a word; its log is \(log)"
            return "starlingd ended at once (\(how))\(why)"
        }
        return "starlingd ended at once (\(how)): \(lastLine)\nIts log is \(log)"
    }

    /// Whether no more than a page can be written where that file is; then its log has no word of the daemon either.
    private static func isFull(_ path: String) -> Bool {
        var disk = statvfs()
        guard unsafe statvfs(path, &disk) == 0 else { return false }
        return UInt64(disk.f_bavail) * UInt64(disk.f_frsize) <= 4_096
    }

    private static func withArguments(
        _ words: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Int32
    ) -> Int32 {
        let argv = unsafe words.map { unsafe strdup($0) } + [nil]
        defer { unsafe argv.forEach { unsafe free($0) } }
        return unsafe body(argv)
    }
}

/// The pipe that is the daemon's standard output until it is ready.
private final class Pipe {
    enum Outcome {
        case ready, ended, silent
    }

    private let readEnd: Int32
    private(set) var writeEnd: Int32

    init() throws(ClientError) {
        var ends: [Int32] = [-1, -1]
        guard unsafe pipe(&ends) == 0 else { throw .system(doing: "making a pipe", errno: errno) }
        (readEnd, writeEnd) = (ends[0], ends[1])
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    }

    deinit {
        close(readEnd)
        closeWriteEnd()
    }

    func closeWriteEnd() {
        if writeEnd >= 0 { close(writeEnd) }
        writeEnd = -1
    }

    /// Reads until a line is `ready`, the other end is closed, or time is up.
    func waitForReady(_ deadline: Deadline) throws(ClientError) -> Outcome {
        var text: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 512)
        while text.count < 64 << 10 {
            var entry = pollfd(fd: readEnd, events: Int16(POLLIN), revents: 0)
            let ready = unsafe poll(&entry, 1, deadline.pollMs)
            if ready == 0 { return .silent }
            guard ready > 0 else {
                guard errno == EINTR else { throw .system(doing: "poll", errno: errno) }
                continue
            }
            let count = unsafe chunk.withUnsafeMutableBytes { unsafe read(readEnd, $0.baseAddress, 512) }
            guard count > 0 else { return .ended }
            text += chunk[..<count]
            if text.split(separator: 0x0A).contains(where: { $0.elementsEqual("ready".utf8) }), text.contains(0x0A) {
                return .ready
            }
        }
        return .silent
    }
}
