internal import Glibc
internal import Net

/// A network this machine is on, by what tells it from another one: the hardware address of the gateway, else the
/// prefixes of its addresses.
struct NetworkPlace: Sendable, Hashable, CustomStringConvertible {
    /// As `52:54:00:12:34:56`; nil where there is no gateway, or where the kernel has not asked for its address yet.
    var gateway: String?
    /// Whether the way out leads through it: not through that of a virtual machine, which goes wherever the machine
    /// goes.
    var isWayOut: Bool
    /// As `192.168.1.0/24`, sorted; none of them link-local.
    var prefixes: [String]

    var description: String {
        let prefixes = prefixes.joined(separator: " ")
        guard let gateway else { return prefixes }
        return prefixes.isEmpty ? "gateway \(gateway)" : "\(prefixes) (gateway \(gateway))"
    }

    /// The networks this machine is on now; none if it is on none, or if the system does not say.
    static func ofThisMachine() -> [NetworkPlace] {
        guard let interfaces = try? NetworkInterface.all() else { return [] }
        return all(interfaces, routes: content(of: "/proc/net/route"), neighbours: content(of: "/proc/net/arp"))
    }

    /// - `routes`, `neighbours`: `/proc/net/route` and `/proc/net/arp` (proc(5)).
    static func all(_ interfaces: [NetworkInterface], routes: String, neighbours: String) -> [NetworkPlace] {
        let gateways = gateways(routes)
        let hardware = hardware(neighbours)
        return interfaces.compactMap { interface in
            guard interface.isUp, !interface.isLoopback, !interface.isContainerBridge,
                interface.flags & UInt32(IFF_POINTOPOINT) == 0
            else { return nil }
            let gateway = gateways[interface.name]
            let prefixes = Set(interface.addresses.compactMap(prefix)).sorted()
            guard gateway != nil || !prefixes.isEmpty else { return nil }
            return NetworkPlace(
                gateway: gateway.flatMap { hardware["\(interface.name) \($0)"] }, isWayOut: gateway != nil,
                prefixes: prefixes)
        }
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
