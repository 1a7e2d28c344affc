internal import Glibc

/// Looks whether D-Bus and Avahi answer, as the daemon needs them: by asking (D-Bus Specification 0.40).
enum SystemBus {
    enum State: Equatable {
        case answers
        /// Nobody listens, or nobody has the name.
        case absent
        /// Somebody listens and does not answer in time.
        case hangs
    }

    private static let addressPrefix = "unix:path="

    /// The bus's socket: of `DBUS_SYSTEM_BUS_ADDRESS`, else where it always is.
    static func path(_ address: String?) -> String {
        guard let address, address.hasPrefix(addressPrefix) else { return "/run/dbus/system_bus_socket" }
        return String(address.dropFirst(addressPrefix.count).prefix { $0 != "," && $0 != ";" })
    }

    /// How the two answer, each in this time.
    static func ask(path: String, timeoutMs: Int) -> (bus: State, avahi: State) {
        guard let line = SocketLine(path: path) else { return (.absent, .absent) }
        let user = "\(getuid())".utf8.map { String($0, radix: 16) }.joined()
        guard line.send([0] + Array("AUTH EXTERNAL \(user)\r\n".utf8)),
            let greeting = line.receive(atLeast: 3, timeoutMs: timeoutMs), greeting.starts(with: Array("OK ".utf8)),
            dropLine(greeting, line), line.send(Array("BEGIN\r\n".utf8)), line.send(call(1, hello)),
            nextAnswer(line, timeoutMs) != nil
        else { return (.hangs, .hangs) }
        guard line.send(call(2, version)), let answer = nextAnswer(line, timeoutMs) else { return (.answers, .hangs) }
        let text = String(decoding: answer, as: UTF8.self)
        let isUnknown = ["ServiceUnknown", "NameHasNoOwner"].contains(where: text.contains)
        return (.answers, isUnknown ? .absent : .answers)
    }

    /// The greeting comes in one piece, for it is one write.
    private static func dropLine(_ greeting: [UInt8], _ line: SocketLine) -> Bool {
        line.drop(greeting.count)
        return greeting.last == UInt8(ascii: "\n")
    }

    private struct Call {
        let destination, path, interface, member: String
    }

    private static let hello = Call(
        destination: "org.freedesktop.DBus", path: "/org/freedesktop/DBus", interface: "org.freedesktop.DBus",
        member: "Hello")
    private static let version = Call(
        destination: "org.freedesktop.Avahi", path: "/", interface: "org.freedesktop.Avahi.Server",
        member: "GetVersionString")

    /// A call without arguments that starts no service.
    private static func call(_ serial: UInt8, _ call: Call) -> [UInt8] {
        var fields: [UInt8] = []
        let values: [(UInt8, Character, String)] = [
            (1, "o", call.path), (2, "s", call.interface), (3, "s", call.member), (6, "s", call.destination),
        ]
        for (code, type, text) in values {
            pad(&fields)
            fields += [code, 1, type.asciiValue ?? 0, 0]
            fields += word(text.utf8.count)
            fields += Array(text.utf8) + [0]
        }
        var bytes: [UInt8] = [UInt8(ascii: "l"), 1, 2, 1]
        for value in [0, Int(serial), fields.count] { bytes += word(value) }
        bytes += fields
        pad(&bytes)
        return bytes
    }

    private static func word(_ value: Int) -> [UInt8] {
        let value = UInt32(clamping: value)
        return (0..<4).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
    }

    private static func pad(_ bytes: inout [UInt8]) {
        while bytes.count % 8 != 0 { bytes.append(0) }
    }

    /// An answer is longer than this only if it is not one to these questions.
    private static let answerMax = 64 << 10

    /// The next message that is a return or an error; one question is asked at a time.
    private static func nextAnswer(_ line: SocketLine, _ timeoutMs: Int) -> [UInt8]? {
        for _ in 0..<8 {
            guard let head = line.receive(atLeast: 16, timeoutMs: timeoutMs) else { return nil }
            let isLittle = head[0] == UInt8(ascii: "l")
            func number(_ offset: Int) -> Int {
                let four = head[offset..<offset + 4]
                return (isLittle ? Array(four.reversed()) : Array(four)).reduce(0) { $0 << 8 | Int($1) }
            }
            let (body, fields) = (number(4), number(12))
            guard body <= answerMax, fields <= answerMax else { return nil }
            let size = 16 + (fields + 7) / 8 * 8 + body
            guard let message = line.receive(atLeast: size, timeoutMs: timeoutMs) else { return nil }
            line.drop(size)
            if message[1] == 2 || message[1] == 3 { return Array(message.prefix(size)) }
        }
        return nil
    }
}

/// A Unix stream that somebody may or may not answer on.
final class SocketLine {
    private let descriptor: Int32
    private var pending: [UInt8] = []

    /// Nil where nobody listens.
    init?(path: String) {
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC | O_NONBLOCK, 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let room = MemoryLayout.size(ofValue: address.sun_path)
        guard descriptor >= 0, path.utf8.count < room else { return nil }
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: Array(path.utf8)) }
        let status = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        // EAGAIN: so many wait already that there is no place, so somebody listens.
        guard status == 0 || errno == EAGAIN else { return nil }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    func send(_ bytes: [UInt8]) -> Bool {
        unsafe Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
    }

    /// What has come and was not dropped, once it is so much; nil if it does not come in time.
    func receive(atLeast count: Int, timeoutMs: Int) -> [UInt8]? {
        let end = DoctorClock.nowMs() + Int64(timeoutMs)
        while pending.count < count {
            var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            let left = max(0, end - DoctorClock.nowMs())
            guard unsafe poll(&entry, 1, Int32(clamping: left)) > 0 else { return nil }
            var chunk = [UInt8](repeating: 0, count: 4096)
            let size = unsafe recv(descriptor, &chunk, chunk.count, 0)
            guard size > 0 else { return nil }
            pending += chunk.prefix(size)
        }
        return pending
    }

    /// Forgets the beginning of what has come.
    func drop(_ count: Int) { pending.removeFirst(min(count, pending.count)) }
}

enum DoctorClock {
    /// Milliseconds of a clock that nobody sets.
    static func nowMs() -> Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
    }
}
