internal import Glibc

/// How far packets to a host get.
enum Reach {
    enum Outcome: Equatable {
        case open
        /// The host answers that nobody listens, or a firewall says so.
        case refused
        case timedOut
        case unreachable
        /// This machine forbids it.
        case forbidden

        init(errno number: Int32) {
            switch number {
            case 0: self = .open
            case ECONNREFUSED, ECONNRESET: self = .refused
            case EPERM, EACCES: self = .forbidden
            case EHOSTUNREACH, ENETUNREACH, ENETDOWN, EHOSTDOWN, EADDRNOTAVAIL, EAFNOSUPPORT, EINVAL:
                self = .unreachable
            default: self = .timedOut
            }
        }
    }

    /// Connects to all of them at once and closes again.
    static func connect(_ endpoints: [Endpoint], timeoutMs: Int) -> [Endpoint: Outcome] {
        var outcomes: [Endpoint: Outcome] = [:]
        var waiting: [(endpoint: Endpoint, descriptor: Int32)] = []
        for endpoint in Set(endpoints) {
            let descriptor = socket(
                endpoint.address.isIPv4 ? AF_INET : AF_INET6, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC | O_NONBLOCK, 0)
            guard descriptor >= 0 else { continue }
            let status = unsafe endpoint.address.withSocketAddress(port: endpoint.port) {
                unsafe Glibc.connect(descriptor, $0, $1) == 0 ? 0 : errno
            }
            if status == EINPROGRESS {
                waiting.append((endpoint, descriptor))
            } else {
                outcomes[endpoint] = Outcome(errno: status)
                close(descriptor)
            }
        }
        defer { for (_, descriptor) in waiting { close(descriptor) } }
        let end = DoctorClock.nowMs() + Int64(timeoutMs)
        while waiting.contains(where: { outcomes[$0.endpoint] == nil }) {
            var entries = waiting.map { item in
                // Poll leaves out what is negative.
                pollfd(
                    fd: outcomes[item.endpoint] == nil ? item.descriptor : -1, events: Int16(POLLOUT), revents: 0)
            }
            let (left, count) = (end - DoctorClock.nowMs(), nfds_t(entries.count))
            guard left > 0, unsafe poll(&entries, count, Int32(clamping: left)) > 0 else { break }
            for (item, entry) in zip(waiting, entries) where entry.fd >= 0 && entry.revents != 0 {
                var (number, size): (Int32, socklen_t) = (0, socklen_t(MemoryLayout<Int32>.size))
                _ = unsafe getsockopt(item.descriptor, SOL_SOCKET, SO_ERROR, &number, &size)
                outcomes[item.endpoint] = Outcome(errno: number)
            }
        }
        for (endpoint, _) in waiting where outcomes[endpoint] == nil { outcomes[endpoint] = .timedOut }
        return outcomes
    }

    /// The address of this machine from which it would send there, so which interface it would take; nil if there is
    /// no way. Sends nothing.
    static func source(to address: IPAddress) -> IPAddress? {
        let descriptor = socket(address.isIPv4 ? AF_INET : AF_INET6, Int32(SOCK_DGRAM.rawValue) | O_CLOEXEC, 0)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        guard unsafe address.withSocketAddress(port: 9, { unsafe Glibc.connect(descriptor, $0, $1) }) == 0 else {
            return nil
        }
        var storage = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return unsafe withUnsafeMutablePointer(to: &storage) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { local in
                unsafe getsockname(descriptor, local, &size) == 0 ? unsafe IPAddress(UnsafePointer(local)) : nil
            }
        }
    }

    /// Sends a datagram that nobody wants (RFC 863), so that the kernel asks who has the address.
    static func nudge(_ address: IPAddress) {
        let descriptor = socket(address.isIPv4 ? AF_INET : AF_INET6, Int32(SOCK_DGRAM.rawValue) | O_CLOEXEC, 0)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        let nothing: [UInt8] = [0]
        _ = unsafe address.withSocketAddress(port: 9) {
            unsafe sendto(descriptor, nothing, 1, Int32(MSG_DONTWAIT), $0, $1)
        }
    }

    /// Whether hosts on this machine's networks have answered when it asked who has their address (proc(5),
    /// `/proc/net/arp`: flag 2).
    static func neighbours(_ table: String) -> [IPAddress: Bool] {
        var found: [IPAddress: Bool] = [:]
        for line in table.split(separator: "\n").dropFirst() {
            let columns = line.split(separator: " ", omittingEmptySubsequences: true)
            guard columns.count >= 3, let address = IPAddress(String(columns[0])), columns[2].hasPrefix("0x"),
                let flags = UInt32(columns[2].dropFirst(2), radix: 16)
            else { continue }
            found[address] = flags & 2 != 0
        }
        return found
    }

    /// The router that everything goes to which is not for here (`/proc/net/route`); nil without one.
    static func gateway(_ table: String) -> IPAddress? {
        for line in table.split(separator: "\n").dropFirst() {
            let columns = line.split(whereSeparator: { $0 == "\t" || $0 == " " })
            guard columns.count >= 8, columns[1] == "00000000", columns[7] == "00000000",
                let number = UInt32(columns[2], radix: 16), number != 0
            else { continue }
            // In the byte order of this machine.
            return unsafe withUnsafeBytes(of: number) { unsafe IPAddress(Array($0)) }
        }
        return nil
    }
}
