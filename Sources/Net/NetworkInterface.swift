internal import Glibc

/// A network interface of this host, as it is now.
public struct NetworkInterface: Sendable, Hashable {
    /// An address with the length of its network's prefix in bits.
    public struct Address: Sendable, Hashable {
        /// Port 0.
        public let address: SocketAddress
        /// 0 … 32 for IPv4, 0 … 128 for IPv6.
        public let prefixLength: Int

        public init(address: SocketAddress, prefixLength: Int) {
            self.address = address
            self.prefixLength = prefixLength
        }
    }

    public let name: String
    /// The kernel's index, > 0; what ``SocketAddress/scope`` refers to.
    public let index: UInt32
    /// IFF_ bits (netdevice(7)).
    public let flags: UInt32
    public let addresses: [Address]

    public init(name: String, index: UInt32, flags: UInt32, addresses: [Address]) {
        self.name = name
        self.index = index
        self.flags = flags
        self.addresses = addresses
    }

    /// Switched on and with a carrier.
    public var isUp: Bool {
        let needed = UInt32(IFF_UP | IFF_RUNNING)
        return flags & needed == needed
    }

    public var isLoopback: Bool {
        flags & UInt32(IFF_LOOPBACK) != 0
    }

    /// Whether it is a bridge or cable of a container or virtual machine by its name (`docker* br-* veth* virbr*
    /// cni*`): its addresses exist on every host that runs such software and reach nobody.
    public var isContainerBridge: Bool {
        ["docker", "br-", "veth", "virbr", "cni"].contains { name.hasPrefix($0) }
    }

    /// Whether the address belongs to a network this interface is part of; a scope has to name this interface.
    public func isOnLink(_ address: SocketAddress) -> Bool {
        guard address.scope == 0 || address.scope == index else { return false }
        return addresses.contains { $0.address.shares(prefixLength: $0.prefixLength, with: address) }
    }

    /// Every interface, with or without addresses, sorted by index; addresses in the kernel's order (getifaddrs(3)).
    public static func all() throws(NetError) -> [NetworkInterface] {
        var list: UnsafeMutablePointer<ifaddrs>?
        guard unsafe getifaddrs(&list) == 0 else { throw NetError.current("getifaddrs") }
        defer { unsafe freeifaddrs(list) }

        var flags: [String: UInt32] = [:]
        var addresses: [String: [Address]] = [:]
        var next = unsafe list
        while let entry = unsafe next {
            let name = unsafe String(cString: entry.pointee.ifa_name)
            flags[name] = unsafe entry.pointee.ifa_flags
            if let address = unsafe SocketAddress(entry.pointee.ifa_addr),
                let mask = unsafe SocketAddress(entry.pointee.ifa_netmask)
            {
                // The ones of a mask are contiguous, so counting them gives the length.
                let length = mask.high.nonzeroBitCount + mask.low.nonzeroBitCount
                addresses[name, default: []].append(Address(address: address, prefixLength: length))
            }
            unsafe next = entry.pointee.ifa_next
        }
        return flags.compactMap { name, flags in
            let index = unsafe if_nametoindex(name)
            // 0: it has vanished meanwhile.
            guard index != 0 else { return nil }
            return NetworkInterface(name: name, index: index, flags: flags, addresses: addresses[name] ?? [])
        }.sorted { $0.index < $1.index }
    }
}

extension [NetworkInterface] {
    /// Whether the address can be reached without a router: it is in a network of one of these interfaces that is up.
    /// Link-local IPv6 without a scope never is.
    public func isOnLink(_ address: SocketAddress) -> Bool {
        if !address.isIPv4, address.isLinkLocal, address.scope == 0 { return false }
        return contains { $0.isUp && $0.isOnLink(address) }
    }
}
