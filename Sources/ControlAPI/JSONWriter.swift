extension JSON {
    /// The JSON text without any space: one line, members in their order, integers exact, doubles in the shortest form
    /// that reads back as the same double. A double that is not finite has no form in JSON and becomes `null`.
    public var serialized: [UInt8] {
        var out: [UInt8] = []
        out.reserveCapacity(256)
        append(to: &out)
        return out
    }

    /// Appends what ``serialized`` returns.
    public func append(to out: inout [UInt8]) {
        switch self {
        case .null: out.append(contentsOf: [0x6E, 0x75, 0x6C, 0x6C])
        case .bool(true): out.append(contentsOf: [0x74, 0x72, 0x75, 0x65])
        case .bool(false): out.append(contentsOf: [0x66, 0x61, 0x6C, 0x73, 0x65])
        case .int(let value): appendInteger(value, to: &out)
        case .double(let value): appendDouble(value, to: &out)
        case .string(let value): appendString(value, to: &out)
        case .array(let elements):
            out.append(UInt8(ascii: "["))
            var first = true
            for element in elements {
                if first { first = false } else { out.append(UInt8(ascii: ",")) }
                element.append(to: &out)
            }
            out.append(UInt8(ascii: "]"))
        case .object(let object):
            object.append(to: &out)
        }
    }
}

extension JSONObject {
    /// Appends the object as JSON text.
    public func append(to out: inout [UInt8]) {
        out.append(UInt8(ascii: "{"))
        var first = true
        for member in members {
            if first { first = false } else { out.append(UInt8(ascii: ",")) }
            appendString(member.key, to: &out)
            out.append(UInt8(ascii: ":"))
            member.value.append(to: &out)
        }
        out.append(UInt8(ascii: "}"))
    }
}

private func appendInteger(_ value: Int64, to out: inout [UInt8]) {
    var digits = InlineArray<20, UInt8>(repeating: 0)
    var start = 20
    var rest = value.magnitude
    repeat {
        start -= 1
        digits[start] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
        rest /= 10
    } while rest > 0
    if value < 0 { out.append(UInt8(ascii: "-")) }
    for index in start..<20 { out.append(digits[index]) }
}

private func appendDouble(_ value: Double, to out: inout [UInt8]) {
    guard value.isFinite else { return JSON.null.append(to: &out) }
    out.append(contentsOf: value.description.utf8)
}

private func appendString(_ text: String, to out: inout [UInt8]) {
    out.append(UInt8(ascii: "\""))
    unsafe text.utf8.span.withUnsafeBufferPointer { bytes in
        var start = 0
        for index in 0..<bytes.count {
            let byte = unsafe bytes[index]
            guard byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") else { continue }
            unsafe out.append(contentsOf: bytes[start..<index])
            appendEscape(byte, to: &out)
            start = index + 1
        }
        unsafe out.append(contentsOf: bytes[start...])
    }
    out.append(UInt8(ascii: "\""))
}

private func appendEscape(_ byte: UInt8, to out: inout [UInt8]) {
    out.append(UInt8(ascii: "\\"))
    switch byte {
    case 0x08: out.append(UInt8(ascii: "b"))
    case 0x09: out.append(UInt8(ascii: "t"))
    case 0x0A: out.append(UInt8(ascii: "n"))
    case 0x0C: out.append(UInt8(ascii: "f"))
    case 0x0D: out.append(UInt8(ascii: "r"))
    case 0x00..<0x20:
        out.append(contentsOf: [0x75, 0x30, 0x30])
        out.append(hexDigits[Int(byte >> 4)])
        out.append(hexDigits[Int(byte & 0x0F)])
    default: out.append(byte)
    }
}

private let hexDigits: [UInt8] = Array("0123456789abcdef".utf8)
