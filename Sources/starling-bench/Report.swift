internal import ControlAPI
internal import Glibc

/// One number, what it is held against, and whether that is met.
struct Figure {
    enum Unit: String {
        case microseconds = "us"
        case milliseconds = "ms"
        case kilobytes = "kB"
        case megabytes = "MB"
        case bytes = "B"
        case seconds = "s"
        case perSecond = "/s"
        case megabytesPerSecond = "MB/s"
        /// 10⁶ bytes; the others' megabytes are the kernel's.
        case millionBytes = "10⁶ B"
        case percent = "%"
        case bytesPerSecond = "B/s"
        /// Just a number.
        case count = ""
    }

    enum Aim {
        /// At most this value.
        case atMost(Double)
        /// At most this many times the limit.
        case ratioAtMost(Double)
    }

    /// For scripts: words joined by dots, never changed.
    let key: String
    /// For people.
    let name: String
    let value: Double
    let unit: Unit
    /// What this machine can do at most, from the same run.
    var limit: Double?
    var aim: Aim?
    /// From the least to the greatest of several runs, of which the value is the median.
    var range: ClosedRange<Double>?

    /// How many times the limit it takes; of rates, how many times it would go into the limit.
    var ratio: Double? {
        guard let limit, limit > 0, value > 0 else { return nil }
        return unit == .perSecond || unit == .megabytesPerSecond ? limit / value : value / limit
    }

    /// Nil without an aim.
    var isMet: Bool? {
        switch aim {
        case nil: nil
        case .atMost(let most): value <= most
        case .ratioAtMost(let most): ratio.map { $0 <= most } ?? false
        }
    }
}

/// Prints figures as they come: a table for people, or JSON lines.
final class Report {
    private let isJSON: Bool
    private(set) var areAimsMet = true

    init(isJSON: Bool) { self.isJSON = isJSON }

    func heading(_ text: String) {
        guard !isJSON else { return }
        let columns = ["value".leftPadded(13), "limit".leftPadded(13), "ratio".leftPadded(11), "aim".leftPadded(11)]
        Terminal.write("\n" + text.padded(44) + columns.joined() + "\n")
    }

    func add(_ figure: Figure) {
        if figure.isMet == false { areAimsMet = false }
        Terminal.write(isJSON ? json(figure) : row(figure))
    }

    private func row(_ figure: Figure) -> String {
        func text(_ value: Double?) -> String { value.map { Self.text($0, figure.unit) } ?? "" }
        let ratio = figure.ratio.map { Self.decimal($0, 2) + " ×" } ?? ""
        let aim =
            switch figure.aim {
            case nil: ""
            case .atMost(let most): "≤ " + Self.text(most, figure.unit)
            case .ratioAtMost(let most): "≤ " + Self.decimal(most, most < 2 ? 1 : 0) + " ×"
            }
        let verdict = figure.isMet.map { $0 ? "  ok" : "  not met" } ?? ""
        let range = figure.range.map { "  \(text($0.lowerBound)) … \(text($0.upperBound))" } ?? ""
        return "  " + figure.name.padded(42) + text(figure.value).leftPadded(13) + text(figure.limit).leftPadded(13)
            + ratio.leftPadded(11) + aim.leftPadded(11) + verdict + range + "\n"
    }

    private func json(_ figure: Figure) -> String {
        var object: JSONObject = [
            "figure": .string(figure.key), "value": .double(figure.value), "unit": .string(figure.unit.rawValue),
        ]
        object.append("limit", ifPresent: figure.limit.map(JSON.double))
        object.append("ratio", ifPresent: figure.ratio.map(JSON.double))
        switch figure.aim {
        case nil: break
        case .atMost(let most): object.append("atMost", .double(most))
        case .ratioAtMost(let most): object.append("ratioAtMost", .double(most))
        }
        object.append("least", ifPresent: figure.range.map { .double($0.lowerBound) })
        object.append("most", ifPresent: figure.range.map { .double($0.upperBound) })
        object.append("ok", ifPresent: figure.isMet.map(JSON.bool))
        return "\(JSON.object(object))\n"
    }

    static func text(_ value: Double, _ unit: Figure.Unit) -> String {
        let places = unit == .perSecond || value >= 1000 ? 0 : 1
        return decimal(value, places) + " " + (unit == .microseconds ? "µs" : unit.rawValue)
    }

    /// A number with so many decimal places and thousands set apart; rounded half up.
    static func decimal(_ value: Double, _ places: Int) -> String {
        let scale = places == 0 ? 1.0 : places == 1 ? 10.0 : 100.0
        let scaled = Int64(exactly: (value * scale).rounded()) ?? 0
        let whole = String(scaled / Int64(scale))
        var grouped = ""
        for (index, digit) in whole.enumerated() {
            if index > 0, (whole.count - index) % 3 == 0 { grouped += "," }
            grouped.append(digit)
        }
        guard places > 0 else { return grouped }
        let rest = String(scaled % Int64(scale))
        return grouped + "." + String(repeating: "0", count: places - rest.count) + rest
    }
}

extension String {
    func padded(_ width: Int) -> String { self + String(repeating: " ", count: max(1, width - count)) }
    func leftPadded(_ width: Int) -> String { String(repeating: " ", count: max(0, width - count)) + self }
}

/// Standard output and error.
enum Terminal {
    static func write(_ text: String) { write(text, STDOUT_FILENO) }

    static func complain(_ text: String) { write("starling-bench: \(text)\n", STDERR_FILENO) }

    private static func write(_ text: String, _ descriptor: Int32) {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = unsafe bytes.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else { return }
            bytes = bytes.dropFirst(count)
        }
    }
}
