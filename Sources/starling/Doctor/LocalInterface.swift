internal import Glibc

/// A network interface of this machine.
struct LocalInterface: Equatable {
    struct Address: Equatable {
        var address: IPAddress
        var prefixLength: Int
    }

    enum Kind: Equatable {
        /// A network with other machines on it, as far as one can tell.
        case lan
        case loopback
        /// A bridge or cable of containers or virtual machines.
        case container
        /// A VPN: it carries no multicast.
        case tunnel
    }

    var name: String
    var index: UInt32
    var kind: Kind
    /// Switched on and with a carrier.
    var isUp: Bool
    var addresses: [Address]

    var hasIPv4: Bool { addresses.contains { $0.address.isIPv4 } }
    var hasIPv6: Bool { addresses.contains { !$0.address.isIPv4 } }

    /// Whether the address belongs to a network of this interface.
    func isOnLink(_ other: IPAddress) -> Bool {
        guard other.scope == 0 || other.scope == index else { return false }
        return addresses.contains { $0.address.shares($0.prefixLength, with: other) }
    }

    /// Whether both have a network of which one is part of the other. Link-local ones are on every interface.
    func overlaps(_ other: LocalInterface) -> Bool {
        addresses.contains { one in
            !one.address.isLinkLocal
                && other.addresses.contains { two in
                    !two.address.isLinkLocal
                        && one.address.shares(min(one.prefixLength, two.prefixLength), with: two.address)
                }
        }
    }

    /// The daemon does not look for peers at the first five.
    private static let containers = [
        "docker", "br-", "veth", "virbr", "cni", "podman", "lxc", "lxd", "vmnet", "vboxnet", "vnet", "incus",
    ]
    private static let tunnels = [
        "tun", "tap", "wg", "ppp", "tailscale", "zt", "nordlynx", "proton", "mullvad", "ipsec", "vpn", "utun",
    ]

    static func kind(name: String, flags: UInt32) -> Kind {
        if flags & UInt32(IFF_LOOPBACK) != 0 { return .loopback }
        if containers.contains(where: name.hasPrefix) { return .container }
        let isTunnel = tunnels.contains(where: name.hasPrefix)
        return isTunnel || flags & UInt32(IFF_POINTOPOINT) != 0 ? .tunnel : .lan
    }

    /// All of them by index (getifaddrs(3)); none if the system does not tell.
    static func all() -> [LocalInterface] {
        var list: UnsafeMutablePointer<ifaddrs>?
        guard unsafe getifaddrs(&list) == 0 else { return [] }
        defer { unsafe freeifaddrs(list) }
        var found: [String: LocalInterface] = [:]
        var next = unsafe list
        while let entry = unsafe next {
            let (name, flags) = unsafe (String(cString: entry.pointee.ifa_name), entry.pointee.ifa_flags)
            if found[name] == nil {
                let needed = UInt32(IFF_UP | IFF_RUNNING)
                found[name] = LocalInterface(
                    name: name, index: unsafe if_nametoindex(name), kind: kind(name: name, flags: flags),
                    isUp: flags & needed == needed, addresses: [])
            }
            if let address = unsafe IPAddress(entry.pointee.ifa_addr),
                let mask = unsafe IPAddress(entry.pointee.ifa_netmask)
            {
                let length = mask.bytes.reduce(0) { $0 + $1.nonzeroBitCount }
                found[name]?.addresses.append(Address(address: address, prefixLength: length))
            }
            unsafe next = entry.pointee.ifa_next
        }
        return found.values.filter { $0.index != 0 }.sorted { $0.index < $1.index }
    }
}
