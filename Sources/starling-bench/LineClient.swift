internal import CLimit
internal import ControlAPI
internal import Glibc

/// A client of the daemon that blocks and does nothing between a line and the system call: what is measured is the
/// daemon.
final class LineClient {
    /// Longer than anything takes that is not stuck.
    private static let timeoutSeconds = 30

    let descriptor: Int32
    private var splitter = LineSplitter()
    private var chunk = [UInt8](repeating: 0, count: 64 << 10)
    private var lastID: Int64 = 0

    /// Connects and takes the daemon's hello.
    init(path: String) throws(BenchError) {
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC, 0)
        guard descriptor >= 0 else { throw .current("socket") }
        // With a time limit set, a read ends with EINTR when a signal comes (signal(7)).
        var limit = timeval(tv_sec: Self.timeoutSeconds, tv_usec: 0)
        let size = socklen_t(MemoryLayout<timeval>.size)
        guard unsafe setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, size) == 0 else {
            throw .current("SO_RCVTIMEO")
        }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else {
            throw .unexpected("the socket path is too long: \(path)")
        }
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
        let status = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard status == 0 else { throw .current("connecting to \(path)") }
        _ = try line()
    }

    deinit { close(descriptor) }

    /// A request with an id of its own, as the line to write.
    func request(_ method: String, _ params: JSON) -> [UInt8] {
        lastID += 1
        return RPCRequest(id: .int(lastID), method: method, params: params).line
    }

    func write(_ bytes: [UInt8]) throws(BenchError) {
        var sent = 0
        while sent < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { buffer in
                let rest = unsafe UnsafeRawBufferPointer(rebasing: buffer[sent...])
                return unsafe send(descriptor, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw .current("writing to the daemon") }
            sent += count
        }
    }

    /// Whether a line, or part of one, is there or comes within some time.
    func hasLine(waitMs: Int32) throws(BenchError) -> Bool {
        do throws(LineError) {
            var ahead = splitter
            if try ahead.next() != nil { return true }
        } catch {
            throw .unexpected("the daemon's line: \(error)")
        }
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return unsafe poll(&entry, 1, waitMs) > 0
    }

    /// The next line, waiting for it.
    func line() throws(BenchError) -> [UInt8] {
        while true {
            do throws(LineError) {
                if let line = try splitter.next() { return Array(line) }
            } catch {
                throw .unexpected("the daemon's line: \(error)")
            }
            let size = chunk.count
            let count = unsafe chunk.withUnsafeMutableBytes { unsafe recv(descriptor, $0.baseAddress, size, 0) }
            guard count > 0 else {
                if count < 0, errno == EAGAIN { throw .unexpected("no word from the daemon for 30 s") }
                throw count == 0 ? .unexpected("the daemon closed the connection") : .current("reading")
            }
            splitter.append(chunk.span.extracting(first: count))
        }
    }

    /// Waits for so many lines at each of some clients, whichever has some, and looks at nothing but their ends: the
    /// limit reads in the same way.
    static func skip(_ lines: Int, at clients: [LineClient]) throws(BenchError) {
        guard !clients.isEmpty else { return }
        let error = unsafe limit_take_lines(clients.map(\.descriptor), Int32(clients.count), Int32(lines))
        guard error == 0 else {
            throw error == EINTR && Interruption.isPending
                ? .interrupted : .system(doing: "waiting for events", errno: error)
        }
    }

    /// Waits for the result of a request; nothing else may be under way.
    @discardableResult
    func call(_ method: String, _ params: JSON) throws(BenchError) -> JSON {
        try write(request(method, params))
        return try Self.result(try line())
    }

    static func result(_ line: [UInt8]) throws(BenchError) -> JSON {
        switch try answer(line) {
        case .result(_, let result): return result
        case .error(_, let error): throw .unexpected("the daemon refused: \(error)")
        case .notification(let method, _): throw .unexpected("\(method) came instead of an answer")
        }
    }

    /// The text of a message that an event tells of; nil for any other event.
    static func messageText(_ line: [UInt8]) throws(BenchError) -> String? {
        guard case .notification("event", let params) = try answer(line) else {
            throw .unexpected("an answer came instead of an event")
        }
        return params["message"]?["text"]?.string
    }

    static func answer(_ line: [UInt8]) throws(BenchError) -> RPCAnswer {
        do throws(RPCAnswerError) { return try RPCAnswer(line: line[...]) } catch {
            throw .unexpected("the daemon's line: \(error)")
        }
    }

    /// Follows a channel: its last messages come first, then this returns.
    func observe(_ channel: String, limit: Int64) throws(BenchError) {
        try call("message.observe", ["in": .string(channel), "limitToLast": .int(limit)])
        while true {
            if case .notification(_, let params) = try Self.answer(try line()), params["event"]?.string == "ready" {
                return
            }
        }
    }
}
