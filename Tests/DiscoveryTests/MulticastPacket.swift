/// A multicast DNS announcement as a stranger may send it, valid or not.
struct MulticastPacket {
    /// The instance's label, any bytes.
    var name: [UInt8]
    var host = "evil"
    var port: UInt16 = 9
    /// The TXT record's data as it stands.
    var txt: [UInt8] = [0]
    var address: [UInt8] = [10, 99, 0, 1]

    /// The packet in hexadecimal digits: PTR, SRV, TXT and A records that live for 120 s.
    var hex: String {
        let type = label("_starling") + label("_tcp") + label("local") + [0]
        let instance = label(name) + type
        let target = label(host) + label("local") + [0]
        let bytes: [UInt8] =
            [0, 0, 0x84, 0, 0, 0, 0, 4, 0, 0, 0, 0]
            + record(type, 12, instance) + record(instance, 33, [0, 0, 0, 0] + pair(port) + target)
            + record(instance, 16, txt) + record(target, 1, address)
        return bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    private func label(_ text: String) -> [UInt8] {
        label(Array(text.utf8))
    }

    private func label(_ bytes: [UInt8]) -> [UInt8] {
        [UInt8(truncatingIfNeeded: bytes.count)] + bytes
    }

    private func record(_ name: [UInt8], _ type: UInt8, _ data: [UInt8]) -> [UInt8] {
        name + [0, type, 0, 1, 0, 0, 0, 120] + pair(UInt16(truncatingIfNeeded: data.count)) + data
    }

    private func pair(_ number: UInt16) -> [UInt8] {
        [UInt8(number >> 8), UInt8(number & 0xff)]
    }
}
