/// DNS TXT records as DNS-SD uses them (RFC 6763 section 6): strings of `key=value`, each behind a length byte.
package enum TXTRecord {
    /// Bytes of our own record at most: with its names it then fits any packet, whatever else is announced.
    package static let ownSizeMax = 199
    /// Bytes of a record that is looked at; longer ones are not of this service (RFC 6763 section 6.2 advises 400).
    package static let receivedSizeMax = 400

    /// The record's bytes.
    package static func encode(_ entries: [(String, [UInt8])]) throws(DiscoveryError) -> [UInt8] {
        var bytes: [UInt8] = []
        for (key, value) in entries {
            guard isKey(key.utf8) else {
                throw DiscoveryError(.invalidTXTKey)
            }
            let entry = Array(key.utf8) + [UInt8(ascii: "=")] + value
            guard let length = UInt8(exactly: entry.count), bytes.count + 1 + entry.count <= ownSizeMax else {
                throw DiscoveryError(.txtTooLong)
            }
            bytes.append(length)
            bytes += entry
        }
        return bytes
    }

    /// The values by key, keys in lower case because they are compared so. The first of equal keys counts, a key
    /// without `=` has an empty value, what is no key is left out. Nil for a record that is too long or cut off.
    package static func decode(_ bytes: [UInt8]) -> [String: [UInt8]]? {
        guard bytes.count <= receivedSizeMax else {
            return nil
        }
        var values: [String: [UInt8]] = [:]
        var rest = bytes[...]
        while let length = rest.popFirst() {
            guard rest.count >= Int(length) else {
                return nil
            }
            let entry = rest.prefix(Int(length))
            rest = rest.dropFirst(Int(length))
            let key = entry.prefix { $0 != UInt8(ascii: "=") }
            guard isKey(key) else {
                continue
            }
            let name = String(decoding: key, as: UTF8.self).lowercased()
            if values[name] == nil {
                values[name] = Array(entry.dropFirst(key.count + 1))
            }
        }
        return values
    }

    private static func isKey(_ bytes: some Collection<UInt8>) -> Bool {
        !bytes.isEmpty && bytes.allSatisfy { (0x20...0x7e).contains($0) && $0 != UInt8(ascii: "=") }
    }
}
