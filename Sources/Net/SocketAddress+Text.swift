internal import Glibc

extension SocketAddress: CustomStringConvertible, LosslessStringConvertible {
    /// Parses `10.0.0.1:47474`, `[fe80::1%eth0]:47474`, `[::]:47474`. The port is required and decimal without sign; a
    /// scope is an interface name of this host or an index. nil for everything else, names included.
    public init?(_ text: String) {
        guard let parts = HostPort(text) else { return nil }
        self.init(ip: parts.host, port: parts.port)
    }

    /// Parses an address without port: `10.0.0.1`, `fe80::1%eth0`. nil for everything else.
    public init?(ip text: String, port: UInt16) {
        // The C functions stop at a NUL and some accept blanks; nothing but these characters is in an address.
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { return nil }
        let halves = text.split(separator: "%", maxSplits: 1, omittingEmptySubsequences: false)
        let address = String(halves[0])
        if halves.count == 1, let bytes = Self.pton(AF_INET, address, count: 4) {
            self.init(ipv4: bytes, port: port)
            return
        }
        guard let bytes = Self.pton(AF_INET6, address, count: 16) else { return nil }
        var scope: UInt32 = 0
        if halves.count == 2 {
            guard let index = Self.interfaceIndex(String(halves[1])) else { return nil }
            scope = index
        }
        self.init(ipv6: bytes, scope: scope, port: port)
    }

    /// What ``init(_:)`` parses. A scope is shown by its interface's name where it has one now.
    public var description: String {
        isIPv4 ? "\(ipText):\(port)" : "[\(ipText)]:\(port)"
    }

    /// The address without port and brackets.
    public var ipText: String {
        let text = Self.ntop(isIPv4 ? AF_INET : AF_INET6, ipBytes)
        return scope == 0 ? text : "\(text)%\(Self.interfaceName(scope))"
    }

    private static func pton(_ family: Int32, _ text: String, count: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        return unsafe inet_pton(family, text, &bytes) == 1 ? bytes : nil
    }

    private static func ntop(_ family: Int32, _ bytes: [UInt8]) -> String {
        unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { buffer in
            guard let text = unsafe inet_ntop(family, bytes, buffer.baseAddress, socklen_t(buffer.count)) else {
                return ""
            }
            return unsafe String(cString: text)
        }
    }

    private static func interfaceIndex(_ text: String) -> UInt32? {
        guard !text.isEmpty, text.utf8.count < Int(IF_NAMESIZE) else { return nil }
        if text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
            return UInt32(text).flatMap { $0 == 0 ? nil : $0 }
        }
        let index = unsafe if_nametoindex(text)
        return index == 0 ? nil : index
    }

    private static func interfaceName(_ index: UInt32) -> String {
        unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(IF_NAMESIZE)) { buffer in
            guard let name = unsafe if_indextoname(index, buffer.baseAddress) else { return String(index) }
            return unsafe String(cString: name)
        }
    }
}

/// A host, given by name or address, and a port: what a user writes for `--peer`.
public struct HostPort: Sendable, Hashable {
    /// A name or an address without brackets, 1 … 253 bytes, printable ASCII; not checked further.
    public let host: String
    public let port: UInt16

    /// Splits `name:47474`, `10.0.0.1:47474` or `[fe80::1%eth0]:47474`. Without a port `defaultPort` is taken; when
    /// there is none either, or the text is something else, nil. An IPv6 address needs its brackets.
    public init?(_ text: String, defaultPort: UInt16? = nil) {
        let bytes = text.utf8
        guard bytes.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { return nil }
        let host: Substring
        let rest: Substring
        if text.hasPrefix("[") {
            guard let end = text.firstIndex(of: "]") else { return nil }
            host = text[text.index(after: text.startIndex)..<end]
            rest = text[text.index(after: end)...]
            guard host.contains(":") else { return nil }
        } else {
            let end = text.firstIndex(of: ":") ?? text.endIndex
            host = text[..<end]
            rest = text[end...]
        }
        guard !host.isEmpty, host.utf8.count <= Resolver.hostSizeMax, !host.contains("["), !host.contains("]") else {
            return nil
        }
        if rest.isEmpty {
            guard let defaultPort else { return nil }
            port = defaultPort
        } else {
            let digits = rest.dropFirst()
            guard rest.first == ":", (1...5).contains(digits.utf8.count),
                digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = UInt16(digits)
            else { return nil }
            port = number
        }
        self.host = String(host)
    }
}

extension HostPort: CustomStringConvertible {
    /// What ``init(_:defaultPort:)`` parses, always with the port.
    public var description: String {
        host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }
}
