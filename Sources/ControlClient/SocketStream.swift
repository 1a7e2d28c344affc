internal import CPosix
internal import ControlAPI
internal import Glibc

/// A connected Unix stream socket that never blocks; waiting is poll(2) with a deadline.
struct SocketStream: ~Copyable {
    let descriptor: Int32

    /// Connects, waiting only while the daemon's queue of connections is full.
    ///
    /// Only to a daemon of this user: what is written here must not go to somebody else who made the folder first.
    ///
    /// - Throws: ``ClientError/foreignDaemon(_:)``, or
    ///   ``ClientError/system(doing:errno:)``; `ENOENT`, `ENOTDIR` and `ECONNREFUSED` mean that nobody listens.
    init(path: String, deadline: Deadline) throws(ClientError) {
        let kind = Int32(SOCK_STREAM.rawValue) | O_CLOEXEC | O_NONBLOCK
        let descriptor = socket(AF_UNIX, kind, 0)
        guard descriptor >= 0 else { throw .system(doing: "socket", errno: errno) }
        while let failure = Self.connect(descriptor, path) {
            // EAGAIN: the listener's backlog is full. Nothing can be polled for; look again shortly.
            guard failure == EAGAIN || failure == EINTR, !deadline.hasPassed else {
                close(descriptor)
                throw .system(doing: "connecting to \(path)", errno: failure)
            }
            poll(nil, 0, 10)
        }
        guard Self.isOwn(descriptor) else {
            close(descriptor)
            throw .foreignDaemon(path)
        }
        self.descriptor = descriptor
    }

    deinit {
        close(descriptor)
    }

    private static func isOwn(_ descriptor: Int32) -> Bool {
        var (process, user, group): (Int32, UInt32, UInt32) = (0, 0, 0)
        return unsafe starling_peer_credentials(descriptor, &process, &user, &group) == 0 && user == geteuid()
    }

    private static func connect(_ descriptor: Int32, _ path: String) -> Int32? {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = path.utf8.span
        // sun_path was zeroed, and its last byte stays so.
        guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else { return ENAMETOOLONG }
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { target in
            for index in 0..<bytes.count { unsafe target[index] = bytes[index] }
        }
        let status = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        return status == 0 ? nil : errno
    }

    /// What poll(2) found.
    struct Readiness {
        var readable: Bool
        var writable: Bool
    }

    /// Waits until there is something to read (or the end), or, if wanted, room to write. Nil after the deadline.
    borrowing func wait(forRoom: Bool, deadline: Deadline) throws(ClientError) -> Readiness? {
        while true {
            let events = Int16(POLLIN) | (forRoom ? Int16(POLLOUT) : 0)
            var entry = pollfd(fd: descriptor, events: events, revents: 0)
            let count = unsafe poll(&entry, 1, deadline.pollMs)
            if count > 0 {
                let ended = entry.revents & Int16(POLLERR | POLLHUP | POLLNVAL) != 0
                return Readiness(
                    readable: ended || entry.revents & Int16(POLLIN) != 0,
                    writable: entry.revents & Int16(POLLOUT) != 0)
            }
            if count == 0 { return nil }
            guard errno == EINTR else { throw .system(doing: "poll", errno: errno) }
        }
    }

    /// How a read or write went.
    enum Progress {
        case bytes(Int)
        case wouldBlock
        case ended
    }

    /// Reads what is there into the splitter, one chunk.
    borrowing func read(into splitter: inout LineSplitter, _ chunk: inout [UInt8]) throws(ClientError) -> Progress {
        let size = chunk.count
        let count = unsafe chunk.withUnsafeMutableBytes { unsafe Glibc.read(descriptor, $0.baseAddress, size) }
        if count > 0 {
            splitter.append(chunk.span.extracting(first: count))
            return .bytes(count)
        }
        if count == 0 { return .ended }
        switch errno {
        case EAGAIN, EINTR: return .wouldBlock
        case ECONNRESET: return .ended
        default: throw .system(doing: "reading from the daemon", errno: errno)
        }
    }

    /// Writes as much as there is room for.
    borrowing func write(_ bytes: ArraySlice<UInt8>) throws(ClientError) -> Progress {
        let size = bytes.count
        let count = unsafe bytes.withUnsafeBytes {
            unsafe send(descriptor, $0.baseAddress, size, Int32(MSG_NOSIGNAL))
        }
        if count >= 0 { return .bytes(count) }
        switch errno {
        case EAGAIN, EINTR: return .wouldBlock
        case EPIPE, ECONNRESET: return .ended
        default: throw .system(doing: "writing to the daemon", errno: errno)
        }
    }
}
