/// As much of DNS as a question for one service type takes (RFC 1035, RFC 6762 section 6.7).
enum DNSMessage {
    /// A record of an answer, as far as it is understood.
    enum Record: Equatable {
        /// A name that stands for a service's instance, without the service's name behind it.
        case instance([UInt8])
        /// Port and host name of an instance.
        case service(instance: [UInt8], port: UInt16, host: [UInt8])
        case address(host: [UInt8], IPAddress)
    }

    /// Bytes that are looked at: the longest message of multicast DNS (RFC 6762 section 17).
    static let sizeMax = 9_000
    /// Records that are looked at in one message.
    private static let recordsMax = 256
    /// Jumps within one name: each goes backwards, so there cannot be many.
    private static let jumpsMax = 16
    private static let nameBytesMax = 255

    /// Who offers `type`, as `["_starling", "_tcp", "local"]`?
    static func question(_ type: [String], id: UInt16) -> [UInt8] {
        var bytes: [UInt8] = [UInt8(id >> 8), UInt8(id & 0xFF), 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]
        for label in type {
            bytes.append(UInt8(clamping: label.utf8.count))
            bytes += label.utf8
        }
        // PTR, IN.
        return bytes + [0, 0, 12, 0, 1]
    }

    /// The records of an answer; empty for what is none. Everything in it may be a lie or nonsense.
    static func records(_ bytes: [UInt8]) -> [Record] {
        guard bytes.count >= 12, bytes.count <= sizeMax, bytes[2] & 0x80 != 0 else { return [] }
        var reader = Reader(bytes: bytes, position: 4)
        guard let questions = reader.word() else { return [] }
        var count = 0
        for _ in 0..<3 { count += Int(reader.word() ?? 0) }
        for _ in 0..<min(Int(questions), recordsMax) {
            guard reader.name() != nil, reader.skip(4) else { return [] }
        }
        var found: [Record] = []
        for _ in 0..<min(count, recordsMax) {
            guard let name = reader.name(), let type = reader.word(), reader.skip(6), let size = reader.word(),
                reader.position + Int(size) <= bytes.count
            else { break }
            let end = reader.position + Int(size)
            if let record = record(type, name, size: Int(size), &reader) { found.append(record) }
            reader.position = end
        }
        return found
    }

    private static func record(_ type: UInt16, _ name: [[UInt8]], size: Int, _ reader: inout Reader) -> Record? {
        switch type {
        case 12: reader.name().flatMap(\.first).map(Record.instance)
        case 33:
            if reader.skip(4), let port = reader.word(), let host = reader.name(), let instance = name.first {
                .service(instance: instance, port: port, host: joined(host))
            } else {
                nil
            }
        case 1 where size == 4, 28 where size == 16:
            reader.take(size).flatMap { IPAddress($0) }.map { .address(host: joined(name), $0) }
        default: nil
        }
    }

    private static func joined(_ labels: [[UInt8]]) -> [UInt8] { Array(labels.joined(separator: [UInt8(ascii: ".")])) }

    private struct Reader {
        let bytes: [UInt8]
        var position: Int

        mutating func skip(_ count: Int) -> Bool {
            guard position + count <= bytes.count else { return false }
            position += count
            return true
        }

        mutating func take(_ count: Int) -> [UInt8]? {
            let start = position
            return skip(count) ? Array(bytes[start..<start + count]) : nil
        }

        mutating func word() -> UInt16? { take(2).map { UInt16($0[0]) << 8 | UInt16($0[1]) } }

        /// A name's labels. Compression points backwards only (RFC 1035 section 4.1.4).
        mutating func name() -> [[UInt8]]? {
            var labels: [[UInt8]] = []
            var (here, limit, total, jumps) = (position, bytes.count, 0, 0)
            var hasJumped = false
            while here < limit {
                let length = Int(bytes[here])
                if length & 0xC0 == 0xC0 {
                    guard here + 1 < limit, jumps < jumpsMax else { return nil }
                    let target = (length & 0x3F) << 8 | Int(bytes[here + 1])
                    if !hasJumped { position = here + 2 }
                    guard target < here else { return nil }
                    (hasJumped, limit, here, jumps) = (true, here, target, jumps + 1)
                } else if length == 0 {
                    if !hasJumped { position = here + 1 }
                    return labels
                } else {
                    total += length + 1
                    guard length < 64, here + 1 + length <= limit, total <= nameBytesMax else { return nil }
                    labels.append(Array(bytes[here + 1..<here + 1 + length]))
                    here += 1 + length
                }
            }
            return nil
        }
    }
}
