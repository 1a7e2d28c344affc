/// Reads a string that has escapes, from its first backslash to the closing quote.
struct JSONEscapeReader {
    var index: Int
    private var text: [UInt8] = []

    init(index: Int) {
        self.index = index
    }

    /// - Parameter start: where the string's content began.
    mutating func read(_ bytes: Span<UInt8>, from start: Int) throws(JSONError) -> String {
        try appendRun(bytes, start..<index)
        var runStart = index
        while index < bytes.count {
            let byte = bytes[index]
            if byte == UInt8(ascii: "\"") {
                try appendRun(bytes, runStart..<index)
                index += 1
                return String(decoding: text, as: UTF8.self)
            }
            if byte == UInt8(ascii: "\\") {
                try appendRun(bytes, runStart..<index)
                try escape(bytes)
                runStart = index
            } else {
                guard byte >= 0x20 else { throw JSONError(offset: index, reason: .controlCharacter) }
                index += 1
            }
        }
        throw JSONError(offset: index, reason: .endOfText)
    }

    /// Each run between escapes must be valid by itself, because no escape can stand inside a character.
    private mutating func appendRun(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(JSONError) {
        guard !range.isEmpty else { return }
        let run = bytes.extracting(range)
        do throws(UTF8.ValidationError) {
            _ = try UTF8Span(validating: run)
        } catch {
            throw JSONError(offset: range.lowerBound + error.byteOffsets.lowerBound, reason: .invalidUTF8)
        }
        unsafe run.withUnsafeBufferPointer { unsafe text.append(contentsOf: $0) }
    }

    private mutating func escape(_ bytes: Span<UInt8>) throws(JSONError) {
        let start = index
        guard index + 1 < bytes.count else { throw JSONError(offset: bytes.count, reason: .endOfText) }
        let letter = bytes[index + 1]
        index += 2
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(letter)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"): try unicode(bytes, from: start)
        default: throw JSONError(offset: start, reason: .invalidEscape)
        }
    }

    /// `\uXXXX`, and the second half if this is the first of a surrogate pair.
    private mutating func unicode(_ bytes: Span<UInt8>, from start: Int) throws(JSONError) {
        var code = try hex(bytes, from: start)
        if code & 0xF800 == 0xD800 {
            guard code < 0xDC00, index + 1 < bytes.count, bytes[index] == UInt8(ascii: "\\"),
                bytes[index + 1] == UInt8(ascii: "u")
            else { throw JSONError(offset: start, reason: .loneSurrogate) }
            let second = index
            index += 2
            let low = try hex(bytes, from: second)
            guard low & 0xFC00 == 0xDC00 else { throw JSONError(offset: start, reason: .loneSurrogate) }
            code = 0x10000 + ((code & 0x3FF) << 10) + (low & 0x3FF)
        }
        guard let scalar = Unicode.Scalar(code) else { throw JSONError(offset: start, reason: .loneSurrogate) }
        text.append(contentsOf: scalar.utf8)
    }

    private mutating func hex(_ bytes: Span<UInt8>, from start: Int) throws(JSONError) -> UInt32 {
        var code: UInt32 = 0
        for _ in 0..<4 {
            guard index < bytes.count else { throw JSONError(offset: index, reason: .endOfText) }
            guard let digit = hexDigit(bytes[index]) else { throw JSONError(offset: start, reason: .invalidEscape) }
            code = code << 4 | digit
            index += 1
        }
        return code
    }

    private func hexDigit(_ byte: UInt8) -> UInt32? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt32(byte - UInt8(ascii: "a") + 10)
        case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt32(byte - UInt8(ascii: "A") + 10)
        default: nil
        }
    }
}
