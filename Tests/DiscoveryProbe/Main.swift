internal import Discovery
internal import Glibc

/// Discovery as a program, so that a lab host can run it.
///
///     discovery-probe NAME PORT [KEY=VALUE]...     announce and look; commands come on standard input
///     discovery-probe send ADDRESS HEX             send a packet to the multicast DNS group from this address
@main
enum Main {
    static func main() {
        DiscoveryService.prepareProcess()
        let arguments = Array(CommandLine.arguments.dropFirst())
        if arguments.count == 3, arguments[0] == "send" {
            exit(send(from: arguments[1], hex: arguments[2]) ? 0 : 1)
        }
        guard arguments.count >= 2, let port = UInt16(arguments[1]) else {
            exit(2)
        }
        do {
            let configuration = try DiscoveryConfiguration(
                instanceName: arguments[0], port: port, txt: arguments.dropFirst(2).map(entry),
                skipInterfaces: { $0.hasPrefix("docker") })
            let service = DiscoveryService(configuration: configuration) { event in
                say(describe(event))
            }
            service.start()
            while let line = readLine() {
                let began = ContinuousClock.now
                try obey(line.split(separator: " ").map(String.init), service)
                say("done \(line) \((ContinuousClock.now - began) / .milliseconds(1)) ms")
            }
            service.stop()
        } catch {
            say("error \(error)")
            exit(1)
        }
    }

    private static func obey(_ words: [String], _ service: DiscoveryService) throws {
        switch words.first {
        case "rescan": service.rescan()
        case "rebuild": service.rebuild()
        case "again": service.resolveAgain(words.dropFirst().joined(separator: " "))
        case "connected": service.setConnected(words.last == "yes")
        case "port": try service.update(port: words.last.flatMap { UInt16($0) } ?? 0)
        case "txt": try service.update(txt: words.dropFirst().map(entry))
        default: say("unknown command")
        }
    }

    private static func entry(_ text: String) -> (String, [UInt8]) {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        return (String(parts[0]), parts.count > 1 ? Array(parts[1].utf8) : [])
    }

    private static func describe(_ event: DiscoveryEvent) -> String {
        switch event {
        case .state(.down(let reason)): "state down: \(reason)"
        case .state(let state): "state \(state)"
        case .registered(let name): "registered \(name)"
        case .lost(let name): "lost \(name)"
        case .found(let sighting): describe(sighting)
        }
    }

    private static func describe(_ sighting: Sighting) -> String {
        let addresses = sighting.addresses.map { "\(hex($0.bytes))%\($0.scopeID)" }.joined(separator: ",")
        let txt = sighting.txt.sorted { $0.key < $1.key }.map { "\($0.key):\(hex($0.value))" }.joined(separator: ",")
        return "found \(sighting.instance) interface=\(sighting.interfaceIndex) host=\(sighting.host)"
            + " port=\(sighting.port) addresses=\(addresses) txt=\(txt)"
    }

    private static func hex(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    private static func say(_ line: String) {
        let bytes = Array("\(line)\n".utf8)
        _ = unsafe write(1, bytes, bytes.count)
    }

    /// Sends as mDNS programs do: from port 5353, shared with Avahi, with a hop limit of 255 (RFC 6762 section 11).
    private static func send(from source: String, hex: String) -> Bool {
        let digits = Array(hex)
        let packet = stride(from: 0, to: digits.count - 1, by: 2).compactMap {
            UInt8(String(digits[$0...($0 + 1)]), radix: 16)
        }
        let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
        var (on, hopLimit): (Int32, Int32) = (1, 255)
        var interface = in_addr()
        unsafe inet_pton(AF_INET, source, &interface)
        let size = socklen_t(MemoryLayout<Int32>.size)
        unsafe setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, size)
        unsafe setsockopt(descriptor, SOL_SOCKET, SO_REUSEPORT, &on, size)
        unsafe setsockopt(descriptor, Int32(IPPROTO_IP), IP_MULTICAST_TTL, &hopLimit, size)
        unsafe setsockopt(
            descriptor, Int32(IPPROTO_IP), IP_MULTICAST_IF, &interface, socklen_t(MemoryLayout<in_addr>.size))
        func withAddress(_ host: String, _ call: (UnsafePointer<sockaddr>, socklen_t) -> Int) -> Int {
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = UInt16(5353).bigEndian
            unsafe inet_pton(AF_INET, host, &address.sin_addr)
            return unsafe withUnsafePointer(to: &address) { pointer in
                unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    unsafe call($0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
        }
        guard unsafe withAddress("0.0.0.0", { unsafe Int(bind(descriptor, $0, $1)) }) == 0 else {
            return false
        }
        return unsafe withAddress("224.0.0.251") {
            unsafe sendto(descriptor, packet, packet.count, 0, $0, $1)
        } == packet.count
    }
}
