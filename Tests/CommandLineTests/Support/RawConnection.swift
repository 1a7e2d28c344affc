import Foundation
import Lab

/// A connection to a daemon without any manners: bytes out, bytes in. Calls block for as long as they are told.
final class RawConnection {
    private let descriptor: Int32

    /// To a TCP port of this machine.
    init(port: Int) throws {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        descriptor = try Self.connect(AF_INET, address)
    }

    /// To a Unix socket.
    init(path: String) throws {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else { throw LabError("too long: \(path)") }
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
        descriptor = try Self.connect(AF_UNIX, address)
    }

    /// Takes over a connected socket.
    init(adopting descriptor: Int32) { self.descriptor = descriptor }

    deinit {
        close(descriptor)
    }

    private static func connect<Address>(_ family: Int32, _ address: Address) throws -> Int32 {
        let descriptor = socket(family, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        let status = unsafe withUnsafeBytes(of: address) { bytes in
            guard let base = bytes.baseAddress else { return Int32(-1) }
            return unsafe Glibc.connect(
                descriptor, base.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
        }
        guard status == 0 else {
            close(descriptor)
            throw LabError("cannot connect: error \(errno)")
        }
        return descriptor
    }

    /// Sends what the other side takes. False if it has closed.
    @discardableResult
    func send(_ bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { buffer in
                unsafe Glibc.send(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    /// What comes next; empty at the end of the stream, nil when nothing has come in time.
    func receive(within limit: Duration) -> [UInt8]? {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard unsafe poll(&entry, 1, Int32(limit / .milliseconds(1))) > 0 else { return nil }
        var bytes = [UInt8](repeating: 0, count: 65_536)
        let count = unsafe read(descriptor, &bytes, bytes.count)
        return Array(bytes.prefix(max(0, count)))
    }

    /// Reads on until the other side closes; what it said until then. Nil if it has not closed in time.
    func lastWords(within limit: Duration = .seconds(5)) -> [UInt8]? {
        let deadline = ContinuousClock.now + limit
        var words: [UInt8] = []
        while let bytes = receive(within: max(.zero, deadline - ContinuousClock.now)) {
            if bytes.isEmpty { return words }
            words += bytes
        }
        return nil
    }
}
