internal import CPosix
internal import Glibc
internal import Net

/// A network this machine is on, by what tells it from another one: the hardware address of the gateway, that of IPv4
/// or, where there is none, of IPv6, else the prefixes of its addresses.
///
/// A network on which the machine has only link-local addresses has nothing of that: it is *nameless*. So is every
/// network for the first seconds, until addresses are given.
struct NetworkPlace: Sendable, Hashable, CustomStringConvertible {
    /// As `52:54:00:12:34:56`; nil where there is no gateway, or where the kernel has not asked for its address yet.
    var gateway: String?
    /// Whether the way out leads through it: not through that of a virtual machine, which goes wherever the machine
    /// goes.
    var isWayOut: Bool
    /// As `192.168.1.0/24`, sorted; none of them link-local.
    var prefixes: [String]
    /// The interface, and how often its cable was pulled or its access point left (sysfs-class-net, `carrier_changes`):
    /// as long as it is the same, the network is too.
    var interface = ""

    var isNameless: Bool { gateway == nil && !isWayOut && prefixes.isEmpty }

    var description: String {
        guard !isNameless else { return "a network that gives no addresses" }
        let prefixes = prefixes.joined(separator: " ")
        guard let gateway else { return prefixes }
        return prefixes.isEmpty ? "gateway \(gateway)" : "\(prefixes) (gateway \(gateway))"
    }

    /// The networks this machine is on now; none if it is on none, or if the system does not say.
    static func ofThisMachine() -> [NetworkPlace] {
        guard let interfaces = try? NetworkInterface.all() else { return [] }
        return all(
            interfaces, routes: content(of: "/proc/net/route"), neighbours: content(of: "/proc/net/arp"),
            routes6: content(of: "/proc/net/ipv6_route"), hardware6: hardware6,
            carrier: { content(of: "/sys/class/net/\($0)/carrier_changes").filter { !$0.isWhitespace } })
    }

    /// - `routes`, `neighbours`: `/proc/net/route` and `/proc/net/arp` (proc(5)).
    /// - `routes6`: `/proc/net/ipv6_route`.
    /// - `hardware6`: the hardware address of an IPv6 neighbour on the interface of that index.
    /// - `carrier`: how often the carrier of an interface has changed.
    static func all(
        _ interfaces: [NetworkInterface], routes: String, neighbours: String, routes6: String = "",
        hardware6: (UInt32, [UInt8]) -> String? = { _, _ in nil }, carrier: (String) -> String = { _ in "" }
    ) -> [NetworkPlace] {
        let gateways = gateways(routes)
        let gateways6 = gateways6(routes6)
        let hardware = hardware(neighbours)
        return interfaces.compactMap { interface in
            guard interface.isUp, !interface.isLoopback, !interface.isContainerBridge,
                interface.flags & UInt32(IFF_POINTOPOINT) == 0
            else { return nil }
            let gateway = gateways[interface.name]
            let prefixes = Set(interface.addresses.compactMap(prefix)).sorted()
            let gateway6 = gateways6[interface.name]
            guard gateway != nil || gateway6 != nil || !interface.addresses.isEmpty else { return nil }
            // Where there are both, IPv4's alone decides: they may be two machines.
            let known =
                gateway.map { hardware["\(interface.name) \($0)"] } ?? gateway6.map { hardware6(interface.index, $0) }
            return NetworkPlace(
                gateway: known ?? nil, isWayOut: gateway != nil || gateway6 != nil, prefixes: prefixes,
                interface: "\(interface.name) \(carrier(interface.name))")
        }
    }

    /// The port of RFC 863, whose service throws everything away.
    private static let discardPort: UInt16 = 9

    /// Sends each gateway of IPv4 an empty datagram: the kernel has to ask for a hardware address first, which nothing
    /// else may do for a while after a cable was put in. Of IPv6's gateways their own announcements tell.
    static func askGateways() {
        let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        for gateway in Set(gateways(content(of: "/proc/net/route")).values) {
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = discardPort.bigEndian
            guard unsafe inet_pton(AF_INET, gateway, &address.sin_addr) == 1 else { continue }
            // Whether it gets there does not matter.
            _ = unsafe withUnsafePointer(to: address) { pointer in
                unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    unsafe sendto(
                        descriptor, nil, 0, Int32(MSG_DONTWAIT), $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
        }
    }

    /// The IPv6 address of the gateway of each interface that has the default route: a line has the destination, the
    /// length of its prefix, source and length, the next hop, metric, two counters, flags and the interface, all in
    /// hexadecimal.
    private static func gateways6(_ routes: String) -> [String: [UInt8]] {
        // RTF_UP and RTF_GATEWAY of route.h, without RTF_REJECT.
        let (isWay, isNone): (UInt32, UInt32) = (0x0003, 0x0200)
        var found: [String: [UInt8]] = [:]
        for line in routes.split(separator: "\n") {
            let words = line.split(separator: " ", omittingEmptySubsequences: true)
            guard words.count == 10, words[0].allSatisfy({ $0 == "0" }), words[1] == "00", words[4].utf8.count == 32,
                let flags = UInt32(words[8], radix: 16), flags & isWay == isWay, flags & isNone == 0
            else { continue }
            let digits = Array(words[4])
            let bytes = stride(from: 0, to: 32, by: 2).compactMap { UInt8(String(digits[$0...$0 + 1]), radix: 16) }
            if bytes.count == 16, found[String(words[9])] == nil { found[String(words[9])] = bytes }
        }
        return found
    }

    private static func hardware6(_ index: UInt32, _ address: [UInt8]) -> String? {
        var bytes = [UInt8](repeating: 0, count: 6)
        guard address.count == 16, unsafe starling_neighbour(index, address, &bytes) == 1,
            bytes.contains(where: { $0 != 0 })
        else { return nil }
        return bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined(separator: ":")
    }

    /// The network of an address; nil where it says nothing, as that of a link-local one.
    private static func prefix(_ address: NetworkInterface.Address) -> String? {
        var bytes = address.address.ipBytes
        guard !address.address.isLinkLocal, (1..<(bytes.count * 8)).contains(address.prefixLength) else { return nil }
        for index in bytes.indices {
            let kept = min(8, max(0, address.prefixLength - index * 8))
            bytes[index] &= UInt8(truncatingIfNeeded: 0xFF00 >> kept)
        }
        let network = SocketAddress(ipv4: bytes, port: 0) ?? SocketAddress(ipv6: bytes, scope: 0, port: 0)
        return network.map { "\($0.ipText)/\(address.prefixLength)" }
    }

    /// The IPv4 address of the gateway of each interface that has the default route.
    private static func gateways(_ routes: String) -> [String: String] {
        var found: [String: String] = [:]
        for line in routes.split(separator: "\n").dropFirst() {
            let words = line.split { $0 == "\t" || $0 == " " }
            guard words.count > 7, words[1] == "00000000", words[7] == "00000000",
                let gateway = UInt32(words[2], radix: 16), gateway != 0
            else { continue }
            // The kernel prints it as the machine has it in memory, that is backwards.
            let bytes = (0..<4).map { UInt8(truncatingIfNeeded: gateway.littleEndian >> UInt32($0 * 8)) }
            found[String(words[0])] = bytes.map(String.init).joined(separator: ".")
        }
        return found
    }

    /// Hardware addresses that are known, by interface and IPv4 address.
    private static func hardware(_ neighbours: String) -> [String: String] {
        // ATF_COM of if_arp.h: the entry is complete.
        let complete = 2
        var found: [String: String] = [:]
        for line in neighbours.split(separator: "\n").dropFirst() {
            let words = line.split(separator: " ")
            guard words.count >= 6, let flags = Int(words[2].dropFirst(2), radix: 16), flags & complete != 0,
                words[3] != "00:00:00:00:00:00"
            else { continue }
            found["\(words[5]) \(words[0])"] = String(words[3])
        }
        return found
    }

    /// Bytes read of a table of the kernel.
    private static let tableMax = 1 << 20

    private static func content(of path: String) -> String {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return "" }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16 << 10)
        while bytes.count < tableMax {
            let count = unsafe chunk.withUnsafeMutableBytes { unsafe read(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else { break }
            bytes += chunk.prefix(count)
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
