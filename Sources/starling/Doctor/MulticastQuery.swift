internal import Glibc

/// Who has answered a question that went to everybody on a network.
struct MulticastAnswer: Equatable {
    /// The interface over which was asked.
    var interface: String
    var from: IPAddress
    /// Names of the instances that it tells of.
    var instances: [String]
    /// Where they listen, as far as the answer says.
    var endpoints: [Endpoint]
}

/// Asks by multicast DNS who offers Starling, past Avahi: from a port of its own, so each answers straight to it (RFC
/// 6762 section 6.7). This machine's Avahi hears the question too, as it comes back in from the network.
enum MulticastQuery {
    private static let port: UInt16 = 5353
    private static let type = ["_starling", "_tcp", "local"]
    /// Whoever offers anything answers this (RFC 6763 section 9): one who does shows that the network passes on what is
    /// sent to all, whether anybody runs Starling or not.
    private static let anything = ["_services", "_dns-sd", "_udp", "local"]
    /// Answers that are read, however many come.
    private static let answersMax = 1_024

    struct Result: Equatable {
        var answers: [MulticastAnswer] = []
        /// Who has answered anything, this machine included.
        var voices: Set<IPAddress> = []
        /// Interfaces over which a question went out.
        var asked: Set<String> = []
        /// Interfaces on which this machine forbids it (EPERM).
        var forbidden: Set<String> = []
    }

    private final class Line {
        let descriptor: Int32
        let interface: LocalInterface
        let group: IPAddress

        init(_ descriptor: Int32, _ interface: LocalInterface, _ group: IPAddress) {
            self.descriptor = descriptor
            self.interface = interface
            self.group = group
        }

        deinit { close(descriptor) }
    }

    /// Asks twice, for packets get lost, and collects what comes in the time.
    static func ask(_ interfaces: [LocalInterface], durationMs: Int) -> Result {
        var result = Result()
        let lines = interfaces.filter { $0.kind == .lan && $0.isUp }.flatMap { interface in
            [interface.addresses.first { $0.address.isIPv4 }, linkLocal(interface)].compactMap { $0 }
                .compactMap { open(interface, $0.address) }
        }
        guard !lines.isEmpty else { return result }
        let begin = DoctorClock.nowMs()
        // The answer has the number of its question.
        let id = UInt16.random(in: 1 ... .max - 1)
        for round in 0..<2 {
            for line in lines { send(line, id, &result) }
            let end = begin + Int64(round == 0 ? durationMs / 3 : durationMs)
            collect(lines, id, untilMs: end, &result)
        }
        return result
    }

    private static func linkLocal(_ interface: LocalInterface) -> LocalInterface.Address? {
        interface.addresses.first { !$0.address.isIPv4 && $0.address.isLinkLocal }
    }

    private static func open(_ interface: LocalInterface, _ source: IPAddress) -> Line? {
        let isIPv4 = source.isIPv4
        let bytes: [UInt8] =
            isIPv4 ? [224, 0, 0, 251] : [0xFF, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFB]
        guard var group = IPAddress(bytes) else { return nil }
        let family = isIPv4 ? AF_INET : AF_INET6
        let descriptor = socket(family, Int32(SOCK_DGRAM.rawValue) | O_CLOEXEC | O_NONBLOCK, 0)
        guard descriptor >= 0 else { return nil }
        if isIPv4 {
            var request = ip_mreqn()
            request.imr_ifindex = Int32(clamping: interface.index)
            _ = unsafe setsockopt(
                descriptor, Int32(IPPROTO_IP), IP_MULTICAST_IF, &request, socklen_t(MemoryLayout<ip_mreqn>.size))
            set(descriptor, Int32(IPPROTO_IP), IP_MULTICAST_TTL, 255)
            set(descriptor, Int32(IPPROTO_IP), IP_MULTICAST_LOOP, 1)
        } else {
            group.scope = interface.index
            set(descriptor, Int32(IPPROTO_IPV6), IPV6_MULTICAST_IF, Int32(clamping: interface.index))
            set(descriptor, Int32(IPPROTO_IPV6), IPV6_MULTICAST_HOPS, 255)
            set(descriptor, Int32(IPPROTO_IPV6), IPV6_MULTICAST_LOOP, 1)
        }
        let line = Line(descriptor, interface, group)
        let isBound = unsafe source.withSocketAddress(port: 0) { unsafe bind(descriptor, $0, $1) } == 0
        return isBound ? line : nil
    }

    private static func set(_ descriptor: Int32, _ level: Int32, _ name: Int32, _ value: Int32) {
        var value = value
        _ = unsafe setsockopt(descriptor, level, name, &value, socklen_t(MemoryLayout<Int32>.size))
    }

    private static func send(_ line: Line, _ id: UInt16, _ result: inout Result) {
        let question = DNSMessage.question(type, id: id)
        let sent = unsafe line.group.withSocketAddress(port: port) {
            unsafe sendto(line.descriptor, question, question.count, 0, $0, $1)
        }
        if sent == question.count {
            result.asked.insert(line.interface.name)
        } else if errno == EPERM || errno == EACCES {
            result.forbidden.insert(line.interface.name)
        }
        let other = DNSMessage.question(anything, id: id + 1)
        _ = unsafe line.group.withSocketAddress(port: port) {
            unsafe sendto(line.descriptor, other, other.count, 0, $0, $1)
        }
    }

    private static func collect(_ lines: [Line], _ id: UInt16, untilMs endMs: Int64, _ result: inout Result) {
        while true {
            let left = endMs - DoctorClock.nowMs()
            guard left > 0 else { return }
            var entries = lines.map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
            let count = nfds_t(lines.count)
            guard unsafe poll(&entries, count, Int32(clamping: left)) > 0 else { continue }
            for (line, entry) in zip(lines, entries) where entry.revents != 0 {
                guard result.answers.count + result.voices.count < answersMax else { return }
                receive(line, id, &result)
            }
        }
    }

    private static func receive(_ line: Line, _ id: UInt16, _ result: inout Result) {
        var bytes = [UInt8](repeating: 0, count: DNSMessage.sizeMax)
        var storage = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let capacity = bytes.count
        var source: IPAddress?
        let count = unsafe withUnsafeMutablePointer(to: &storage) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                let count = unsafe recvfrom(line.descriptor, &bytes, capacity, 0, address, &size)
                if count > 0 { source = unsafe IPAddress(UnsafePointer(address)) }
                return count
            }
        }
        guard count > 2, let source else { return }
        let records = DNSMessage.records(Array(bytes.prefix(count)))
        guard !records.isEmpty else { return }
        result.voices.insert(source)
        guard UInt16(bytes[0]) << 8 | UInt16(bytes[1]) == id else { return }
        if let answer = answer(records, line.interface, source) { result.answers.append(answer) }
    }

    /// What the records tell of instances of Starling; nil if nothing.
    static func answer(
        _ records: [DNSMessage.Record], _ interface: LocalInterface, _ source: IPAddress
    ) -> MulticastAnswer? {
        var answer = MulticastAnswer(interface: interface.name, from: source, instances: [], endpoints: [])
        for case .instance(let name) in records { answer.instances.append(String(decoding: name, as: UTF8.self)) }
        for case .service(_, let port, _) in records where port != 0 {
            let endpoint = Endpoint(source, port: port)
            if !answer.endpoints.contains(endpoint) { answer.endpoints.append(endpoint) }
        }
        return answer.instances.isEmpty ? nil : answer
    }
}
