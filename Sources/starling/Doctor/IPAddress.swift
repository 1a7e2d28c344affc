internal import Glibc

/// An address of a host, of either family.
struct IPAddress: Hashable, CustomStringConvertible {
    /// 4 bytes, or 16, in network order.
    let bytes: [UInt8]
    /// The index of the interface, for link-local IPv6; else 0.
    var scope: UInt32 = 0

    init?(_ bytes: [UInt8], scope: UInt32 = 0) {
        guard bytes.count == 4 || bytes.count == 16 else { return nil }
        self.bytes = bytes
        if isLinkLocal, !isIPv4 { self.scope = scope }
    }

    /// Reads `10.0.0.1`, `fe80::1%eth0` or `fe80::1%2`; nil for anything else.
    init?(_ text: String) {
        let halves = text.split(separator: "%", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard let address = halves.first else { return nil }
        for (family, count) in [(AF_INET, 4), (AF_INET6, 16)] {
            var bytes = [UInt8](repeating: 0, count: count)
            guard unsafe inet_pton(family, address, &bytes) == 1 else { continue }
            let index = unsafe halves.count < 2 ? 0 : UInt32(halves[1]) ?? if_nametoindex(halves[1])
            self.init(bytes, scope: index)
            return
        }
        return nil
    }

    /// What a pointer from the system says, which must cover as much as its family needs.
    init?(_ pointer: UnsafePointer<sockaddr>?) {
        guard let pointer = unsafe pointer else { return nil }
        let raw = unsafe UnsafeRawPointer(pointer)
        switch unsafe Int32(pointer.pointee.sa_family) {
        case AF_INET:
            let address = unsafe raw.loadUnaligned(as: sockaddr_in.self)
            self.init(unsafe withUnsafeBytes(of: address.sin_addr) { unsafe Array($0) })
        case AF_INET6:
            let address = unsafe raw.loadUnaligned(as: sockaddr_in6.self)
            self.init(
                unsafe withUnsafeBytes(of: address.sin6_addr) { unsafe Array($0) }, scope: address.sin6_scope_id)
        default: return nil
        }
    }

    var isIPv4: Bool { bytes.count == 4 }
    var isLinkLocal: Bool {
        isIPv4 ? bytes[0] == 169 && bytes[1] == 254 : bytes[0] == 0xFE && bytes[1] & 0xC0 == 0x80
    }

    /// Whether the first bits are those of the other one, of the same family.
    func shares(_ prefixLength: Int, with other: IPAddress) -> Bool {
        guard bytes.count == other.bytes.count, (0...bytes.count * 8).contains(prefixLength) else { return false }
        for (index, pair) in zip(bytes, other.bytes).enumerated() {
            let bits = min(8, prefixLength - index * 8)
            guard bits > 0 else { break }
            if (pair.0 ^ pair.1) >> UInt8(8 - bits) != 0 { return false }
        }
        return true
    }

    var description: String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let size = socklen_t(text.count)
        guard unsafe inet_ntop(isIPv4 ? AF_INET : AF_INET6, bytes, &text, size) != nil else { return "?" }
        let address = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return scope == 0 ? address : "\(address)%\(InterfaceName.of(scope))"
    }

    /// Calls `body` with the address as the kernel wants it.
    func withSocketAddress<Result>(
        port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
    ) -> Result {
        var storage = sockaddr_storage()
        let size: Int
        if isIPv4 {
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            unsafe withUnsafeMutableBytes(of: &address.sin_addr) { unsafe $0.copyBytes(from: bytes) }
            size = MemoryLayout<sockaddr_in>.size
            unsafe withUnsafeMutableBytes(of: &storage) { unsafe $0.storeBytes(of: address, as: sockaddr_in.self) }
        } else {
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = port.bigEndian
            address.sin6_scope_id = scope
            unsafe withUnsafeMutableBytes(of: &address.sin6_addr) { unsafe $0.copyBytes(from: bytes) }
            size = MemoryLayout<sockaddr_in6>.size
            unsafe withUnsafeMutableBytes(of: &storage) { unsafe $0.storeBytes(of: address, as: sockaddr_in6.self) }
        }
        return unsafe withUnsafePointer(to: &storage) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe body($0, socklen_t(size)) }
        }
    }
}

/// An address with a port, as `10.0.0.1:47474` or `[fe80::1%eth0]:47474`.
struct Endpoint: Hashable, CustomStringConvertible {
    var address: IPAddress
    var port: UInt16

    init(_ address: IPAddress, port: UInt16) {
        self.address = address
        self.port = port
    }

    init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]), port > 0 else {
            return nil
        }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        guard let address = IPAddress(String(host)) else { return nil }
        self.init(address, port: port)
    }

    var description: String { address.isIPv4 ? "\(address):\(port)" : "[\(address)]:\(port)" }
}

enum InterfaceName {
    /// The name of the interface with an index; the index where there is none any more.
    static func of(_ index: UInt32) -> String {
        var name = [CChar](repeating: 0, count: Int(IF_NAMESIZE))
        guard unsafe if_indextoname(index, &name) != nil else { return "\(index)" }
        return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
