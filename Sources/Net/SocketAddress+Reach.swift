extension SocketAddress {
    /// 127.0.0.0/8 or ::1.
    public var isLoopback: Bool {
        isIPv4 ? isIn(0x7F00_0000, 8) : high == 0 && low == 1
    }

    /// 169.254.0.0/16 (RFC 3927) or fe80::/10 (RFC 4291).
    public var isLinkLocal: Bool {
        isIPv4 ? isIn(0xA9FE_0000, 16) : high >> 54 == 0x3FA
    }

    /// Addresses that do not leave a site: RFC 1918, unique local IPv6 (RFC 4193), shared address space 100.64/10 (RFC
    /// 6598), benchmarking 198.18/15 (RFC 2544), link-local and loopback. What a peer may be dialled at unless the user
    /// says more.
    public var isPrivate: Bool {
        if isLoopback || isLinkLocal { return true }
        guard isIPv4 else { return isUniqueLocal }
        return isIn(0x0A00_0000, 8) || isIn(0xAC10_0000, 12) || isIn(0xC0A8_0000, 16) || isIn(0x6440_0000, 10)
            || isIn(0xC612_0000, 15)
    }

    /// 224.0.0.0/4 or ff00::/8.
    public var isMulticast: Bool {
        isIPv4 ? isIn(0xE000_0000, 4) : high >> 56 == 0xFF
    }

    /// 0.0.0.0/8 or ::.
    public var isUnspecified: Bool {
        isIPv4 ? isIn(0, 8) : high == 0 && low == 0
    }

    /// Whether a connection to it can be meant at all: one host, a port, and a scope where IPv6 needs one.
    public var isDialable: Bool {
        guard port != 0, !isMulticast, !isUnspecified, !(isIPv4 && low == 0xFFFF_FFFF) else { return false }
        return isIPv4 || !isLinkLocal || scope != 0
    }

    /// In which order the addresses of one peer are tried, soonest first.
    public enum DiallingClass: Int, Sendable, Comparable, CaseIterable {
        /// IPv4 on a subnet of this host.
        case sharedIPv4
        /// Unique local or global IPv6.
        case routedIPv6
        /// Link-local, either family.
        case linkLocal
        /// The rest: IPv4 behind a router.
        case other

        public static func < (one: Self, other: Self) -> Bool {
            one.rawValue < other.rawValue
        }
    }

    /// The address's class, seen from a host with these interfaces.
    public func diallingClass(interfaces: [NetworkInterface]) -> DiallingClass {
        if isLinkLocal { return .linkLocal }
        if !isIPv4 { return .routedIPv6 }
        return interfaces.isOnLink(self) ? .sharedIPv4 : .other
    }

    private var isUniqueLocal: Bool {
        !isIPv4 && high >> 57 == 0x7E
    }

    private func isIn(_ network: UInt64, _ prefixLength: UInt64) -> Bool {
        low >> (32 - prefixLength) == network >> (32 - prefixLength)
    }

    /// Whether both addresses agree in their first `prefixLength` bits (0 … 32 or 128). Never across families.
    func shares(prefixLength: Int, with other: SocketAddress) -> Bool {
        guard isIPv4 == other.isIPv4, (0...(isIPv4 ? 32 : 128)).contains(prefixLength) else { return false }
        if isIPv4 { return (low ^ other.low) >> UInt64(32 - prefixLength) == 0 }
        if prefixLength <= 64 { return (high ^ other.high) >> UInt64(64 - prefixLength) == 0 }
        return high == other.high && (low ^ other.low) >> UInt64(128 - prefixLength) == 0
    }
}
