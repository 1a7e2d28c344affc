import ControlAPI
import Glibc

/// A client on the local socket that sends whatever a test wants, one thread, no library of ours but the JSON reader.
final class LineClient {
    /// Only what hangs reaches it, however slow the machine and whatever watches the program.
    static let timeoutMs = Pace.ms(20_000)

    let hello: JSON
    private let descriptor: Int32
    private var splitter = LineSplitter()
    private var events: [JSON] = []
    private var lastID: Int64 = 0

    init(_ path: String) throws {
        descriptor = try LineClient.connect(path)
        var splitter = LineSplitter()
        guard let hello = try LineClient.line(descriptor, &splitter, Deadline(afterMs: LineClient.timeoutMs)) else {
            throw TestFailure("closed before the hello")
        }
        self.hello = hello
        self.splitter = splitter
    }

    deinit { _ = Glibc.close(descriptor) }

    static func connect(_ path: String) throws -> Int32 {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: Array(path.utf8)) }
        let result = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard descriptor >= 0, result == 0 else {
            _ = Glibc.close(descriptor)
            throw TestFailure("cannot connect to \(path): \(errno)")
        }
        return descriptor
    }

    /// Ends the connection as a killed program does.
    func close() { shutdown(descriptor, Int32(SHUT_RDWR)) }

    /// Ends the sending direction alone.
    func endSending() { shutdown(descriptor, Int32(SHUT_WR)) }

    // MARK: Raw

    func send(_ text: String) throws { try send(Array(text.utf8)) }

    func send(_ bytes: [UInt8]) throws {
        let deadline = Deadline(afterMs: LineClient.timeoutMs)
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes {
                unsafe Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
            }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno == EAGAIN {
                try deadline.wait(for: POLLOUT, on: descriptor, "sending")
            } else {
                throw TestFailure("cannot send: \(errno)")
            }
        }
    }

    /// As much as the daemon takes; false when it takes no more.
    func offer(_ bytes: [UInt8]) -> Bool {
        unsafe bytes.withUnsafeBytes {
            unsafe Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
        } == bytes.count
    }

    private static func line(_ descriptor: Int32, _ splitter: inout LineSplitter, _ deadline: Deadline) throws -> JSON?
    {
        while true {
            if let line = try splitter.next() { return try JSON.parse(line) }
            try deadline.wait(for: POLLIN, on: descriptor, "waiting for a line")
            var chunk = [UInt8](repeating: 0, count: 64 << 10)
            let count = unsafe chunk.withUnsafeMutableBytes { unsafe recv(descriptor, $0.baseAddress, $0.count, 0) }
            guard count > 0 else { return nil }
            splitter.append(Array(chunk.prefix(count)))
        }
    }

    /// The next line, whatever it is; nil when the daemon has closed.
    func line(timeoutMs: UInt64 = LineClient.timeoutMs) throws -> JSON? {
        if !events.isEmpty { return events.removeFirst() }
        return try LineClient.line(descriptor, &splitter, Deadline(afterMs: timeoutMs))
    }

    /// The last line before the daemon closes; those before it are read and not looked at.
    func lastLine() throws -> JSON {
        let deadline = Deadline(afterMs: LineClient.timeoutMs)
        var last: [UInt8] = []
        while true {
            while let line = try splitter.next() { last = Array(line) }
            try deadline.wait(for: POLLIN, on: descriptor, "waiting for the end")
            var chunk = [UInt8](repeating: 0, count: 64 << 10)
            let count = unsafe chunk.withUnsafeMutableBytes { unsafe recv(descriptor, $0.baseAddress, $0.count, 0) }
            guard count > 0 else { return try JSON.parse(last) }
            splitter.append(Array(chunk.prefix(count)))
        }
    }

    /// The next line that is no notification.
    func answer() throws -> JSON {
        let deadline = Deadline(afterMs: LineClient.timeoutMs)
        while true {
            guard let line = try LineClient.line(descriptor, &splitter, deadline) else { throw TestFailure("closed") }
            if line["method"] == nil { return line }
            events.append(line)
        }
    }

    // MARK: Calls

    /// Sends a request and returns its id.
    @discardableResult
    func request(_ method: String, _ params: JSON = [:]) throws -> Int64 {
        lastID += 1
        try send(RPCRequest(id: .int(lastID), method: method, params: params).line)
        return lastID
    }

    /// Carries out a method; throws `RPCError` if it is refused. Events that come meanwhile are kept.
    @discardableResult
    func call(_ method: String, _ params: JSON = [:]) throws -> JSON {
        let id = try request(method, params)
        while true {
            let line = try answer()
            guard line["id"]?.int == id else { continue }
            if let error = line["error"] { throw RPCError(json: error) }
            return line["result"] ?? .null
        }
    }

    /// The reason for which a method is refused; "none" if it is carried out.
    func refusal(_ method: String, _ params: JSON = [:]) throws -> String {
        do {
            try call(method, params)
            return "none"
        } catch let error as RPCError {
            return error.reason.rawValue
        }
    }

    /// The parameters of the next event that fits; those before it are dropped.
    @discardableResult
    func event(
        _ what: String = "an event", timeoutMs: UInt64 = LineClient.timeoutMs,
        where fits: (JSON) -> Bool = { _ in true }
    ) throws -> JSON {
        let deadline = Deadline(afterMs: timeoutMs)
        while true {
            let line: JSON
            if !events.isEmpty {
                line = events.removeFirst()
            } else if let next = try LineClient.line(descriptor, &splitter, deadline) {
                line = next
            } else {
                throw TestFailure("closed while waiting for \(what)")
            }
            if line["method"]?.string == "event", let params = line["params"], fits(params) { return params }
        }
    }

    // MARK: What tests ask often

    @discardableResult
    func send(message text: String, to channel: String = "#general") throws -> String {
        guard let key = try call("message.send", ["to": .string(channel), "text": .string(text)])["key"]?.string else {
            throw TestFailure("no key")
        }
        return key
    }

    /// The messages of a channel, oldest first.
    func messages(_ channel: String = "#general", limit: Int64 = 10_000) throws -> [JSON] {
        let answer = try call("message.list", ["in": .string(channel), "limitToLast": .int(limit)])
        return answer["messages"]?.array ?? []
    }

    func texts(_ channel: String = "#general") throws -> [String] {
        try messages(channel).map { $0["text"]?.string ?? "" }
    }

    func status() throws -> JSON { try call("node.status") }
    func root() throws -> String { try status()["root"]?.string ?? "" }

    func value(_ path: String) throws -> JSON { try call("tree.get", ["path": .string(path)])["value"] ?? .null }

    func set(_ path: String, _ value: JSON) throws { try call("tree.set", ["path": .string(path), "value": value]) }

    /// Waits until a message with this text is there; the client follows the channel from here on.
    func waitForMessage(_ text: String, in channel: String = "#general") throws {
        try call("message.observe", ["in": .string(channel), "limitToLast": 200])
        try event("message \(text)") { $0["message"]?["text"]?.string == text }
    }

    /// Waits until a person's row fits.
    func waitForPerson(_ uid: String, _ what: String, where fits: (JSON) -> Bool) throws {
        try call("people.observe")
        try event(what) { event in
            guard let person = event["person"], person["uid"]?.string == uid else { return false }
            return fits(person)
        }
    }

    /// Waits until as many peers as given are connected and hold the same entries.
    func waitUntilEqual(peers count: Int) throws {
        let deadline = Deadline(afterMs: LineClient.timeoutMs)
        while deadline.leftMs > 0 {
            let peers = try call("node.verify")["peers"]?.array ?? []
            if peers.count == count, peers.allSatisfy({ $0["equal"]?.bool == true }) { return }
        }
        throw TestFailure("not equal: \(try status())")
    }
}
