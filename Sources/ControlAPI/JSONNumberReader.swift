/// Reads a number: integers within 64 bits exactly, everything else as the nearest double.
struct JSONNumberReader {
    var index: Int
    private var mantissa: UInt64 = 0
    /// Digits were dropped from `mantissa` because they did not fit.
    private var overflowed = false
    private var exponent = 0

    init(index: Int) {
        self.index = index
    }

    mutating func read(_ bytes: Span<UInt8>) throws(JSONError) -> JSON {
        let start = index
        let negative = bytes[index] == UInt8(ascii: "-")
        if negative { index += 1 }
        try integer(bytes)
        let whole = index
        try fraction(bytes)
        try power(bytes)
        if index == whole, !overflowed {
            if negative, mantissa == 0 { return .double(-0.0) }
            if negative, mantissa <= UInt64(Int64.max) + 1 { return .int(Int64(truncatingIfNeeded: 0 &- mantissa)) }
            if !negative, let value = Int64(exactly: mantissa) { return .int(value) }
        }
        if let value = exact { return .double(negative ? -value : value) }
        // Digits, sign, point and e are all that was passed.
        let text = unsafe String(copying: UTF8Span(unchecked: bytes.extracting(start..<index), isKnownASCII: true))
        guard let value = Double(text), value.isFinite else {
            throw JSONError(offset: start, reason: .numberOutOfRange)
        }
        return .double(value)
    }

    /// The value where one multiplication or division of two exact doubles gives the correctly rounded result
    /// (W. D. Clinger, How to Read Floating Point Numbers Accurately, 1990).
    private var exact: Double? {
        guard !overflowed, mantissa < 1 << 53, exponent >= -22, exponent <= 22 else { return nil }
        let value = Double(mantissa)
        return exponent < 0 ? value / powersOfTen[-exponent] : value * powersOfTen[exponent]
    }

    private mutating func integer(_ bytes: Span<UInt8>) throws(JSONError) {
        guard index < bytes.count else { throw JSONError(offset: index, reason: .endOfText) }
        if bytes[index] == UInt8(ascii: "0") {
            index += 1
            guard index == bytes.count || !isDigit(bytes[index]) else {
                throw JSONError(offset: index, reason: .invalidNumber)
            }
            return
        }
        _ = try digits(bytes)
    }

    private mutating func fraction(_ bytes: Span<UInt8>) throws(JSONError) {
        guard index < bytes.count, bytes[index] == UInt8(ascii: ".") else { return }
        index += 1
        exponent -= try digits(bytes)
    }

    private mutating func power(_ bytes: Span<UInt8>) throws(JSONError) {
        guard index < bytes.count, bytes[index] | 0x20 == UInt8(ascii: "e") else { return }
        index += 1
        guard index < bytes.count else { throw JSONError(offset: index, reason: .endOfText) }
        let negative = bytes[index] == UInt8(ascii: "-")
        if negative || bytes[index] == UInt8(ascii: "+") { index += 1 }
        let start = index
        var power = 0
        while index < bytes.count, isDigit(bytes[index]) {
            // Beyond this the value is zero or out of range, whatever follows; the text decides which.
            if power < 100_000 { power = power * 10 + Int(bytes[index] - UInt8(ascii: "0")) }
            index += 1
        }
        guard index > start else { throw missingDigit(bytes) }
        exponent += negative ? -power : power
    }

    /// Passes at least one digit; returns how many.
    private mutating func digits(_ bytes: Span<UInt8>) throws(JSONError) -> Int {
        let start = index
        while index < bytes.count, isDigit(bytes[index]) {
            let digit = UInt64(bytes[index] - UInt8(ascii: "0"))
            let (product, high) = mantissa.multipliedReportingOverflow(by: 10)
            let (sum, carry) = product.addingReportingOverflow(digit)
            if high || carry { overflowed = true } else { mantissa = sum }
            index += 1
        }
        guard index > start else { throw missingDigit(bytes) }
        return index - start
    }

    private func missingDigit(_ bytes: Span<UInt8>) -> JSONError {
        JSONError(offset: index, reason: index < bytes.count ? .invalidNumber : .endOfText)
    }

    @inline(__always)
    private func isDigit(_ byte: UInt8) -> Bool {
        byte &- UInt8(ascii: "0") < 10
    }
}

private let powersOfTen: [Double] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
    1e20, 1e21, 1e22,
]
