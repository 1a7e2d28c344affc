internal import CPosix
internal import Glibc

/// Why nothing could be measured.
enum BenchError: Error, CustomStringConvertible {
    /// INT or TERM arrived: what was started has been ended.
    case interrupted
    case system(doing: String, errno: Int32)
    /// A daemon or the limit's chain did something else than it should.
    case unexpected(String)

    static func current(_ doing: String) -> BenchError {
        errno == EINTR && Interruption.isPending ? .interrupted : .system(doing: doing, errno: errno)
    }

    var description: String {
        switch self {
        case .interrupted: "interrupted"
        case .system(let doing, let number): "\(doing): \(unsafe String(cString: strerror(number)))"
        case .unexpected(let words): words
        }
    }
}

/// INT and TERM end the run in order, so that no daemon and no file is left behind.
enum Interruption {
    private static let ends: [Int32]? = {
        var ends: [Int32] = [-1, -1]
        return unsafe starling_pipe(&ends) == 0 ? ends : nil
    }()

    static func route() throws(BenchError) {
        guard let ends else { throw .current("pipe") }
        for signal in [SIGINT, SIGTERM, SIGHUP] where starling_signal_route(signal, ends[1]) != 0 {
            throw .current("sigaction")
        }
    }

    static var isPending: Bool {
        guard let ends else { return false }
        var entry = pollfd(fd: ends[0], events: Int16(POLLIN), revents: 0)
        return unsafe poll(&entry, 1, 0) > 0
    }

    static func check() throws(BenchError) {
        if isPending { throw .interrupted }
    }

    /// Waits, unless interrupted.
    static func sleep(ms: Int32) throws(BenchError) {
        guard let ends else { return }
        var entry = pollfd(fd: ends[0], events: Int16(POLLIN), revents: 0)
        if unsafe poll(&entry, 1, ms) > 0 { throw .interrupted }
    }
}
