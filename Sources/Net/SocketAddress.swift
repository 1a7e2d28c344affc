internal import Glibc

/// An IPv4 or IPv6 address with a port, and for link-local IPv6 the interface it is valid on.
///
/// An IPv4 address mapped into IPv6 (`::ffff:10.0.0.1`, RFC 4291 2.5.5.2) becomes the IPv4 address, and a scope on an
/// address that needs none becomes 0, so that equal destinations are equal values.
public struct SocketAddress: Sendable, Hashable {
    /// The 128 bits, big-endian halves; an IPv4 address is the low 32 bits.
    let high: UInt64
    let low: UInt64
    /// Whether the address is IPv4; otherwise it is IPv6.
    public let isIPv4: Bool
    /// Interface index of a link-local IPv6 address; 0 when unknown or not needed.
    public let scope: UInt32
    /// 0 … 65535; 0 lets the system choose when listening and cannot be dialled.
    public var port: UInt16

    /// An IPv4 address from its 4 bytes in network order; nil for another count.
    public init?(ipv4 bytes: some Collection<UInt8>, port: UInt16) {
        guard bytes.count == 4 else { return nil }
        self.init(isIPv4: true, high: 0, low: bytes.reduce(0) { $0 << 8 | UInt64($1) }, scope: 0, port: port)
    }

    /// An IPv6 address from its 16 bytes in network order; nil for another count.
    public init?(ipv6 bytes: some Collection<UInt8>, scope: UInt32, port: UInt16) {
        guard bytes.count == 16 else { return nil }
        let high = bytes.prefix(8).reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
        let low = bytes.dropFirst(8).reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
        if high == 0, low >> 32 == 0xFFFF {
            self.init(isIPv4: true, high: 0, low: low & 0xFFFF_FFFF, scope: 0, port: port)
        } else {
            // Scoped: fe80::/10, and multicast on one interface or link (ff01, ff02).
            let isScoped = high >> 54 == 0x3FA || high >> 56 == 0xFF && (1...2).contains(high >> 48 & 0xF)
            self.init(isIPv4: false, high: high, low: low, scope: isScoped ? scope : 0, port: port)
        }
    }

    private init(isIPv4: Bool, high: UInt64, low: UInt64, scope: UInt32, port: UInt16) {
        self.isIPv4 = isIPv4
        self.high = high
        self.low = low
        self.scope = scope
        self.port = port
    }

    /// `0.0.0.0`: every IPv4 address of this host, for listening.
    public static func anyIPv4(port: UInt16) -> SocketAddress {
        SocketAddress(isIPv4: true, high: 0, low: 0, scope: 0, port: port)
    }

    /// `[::]`: every address of this host, for listening.
    public static func anyIPv6(port: UInt16) -> SocketAddress {
        SocketAddress(isIPv4: false, high: 0, low: 0, scope: 0, port: port)
    }

    /// `127.0.0.1`.
    public static func loopback(port: UInt16) -> SocketAddress {
        SocketAddress(isIPv4: true, high: 0, low: 0x7F00_0001, scope: 0, port: port)
    }

    /// The address in network order: 4 bytes for IPv4, 16 for IPv6.
    public var ipBytes: [UInt8] {
        let bytes = [high, low].flatMap { half in
            stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: half >> UInt64($0)) }
        }
        return isIPv4 ? Array(bytes.suffix(4)) : bytes
    }

    /// The same host with another port.
    public func with(port: UInt16) -> SocketAddress {
        var copy = self
        copy.port = port
        return copy
    }
}
