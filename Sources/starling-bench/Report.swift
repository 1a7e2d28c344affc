internal import ControlAPI
internal import Glibc

/// Collects the figures of a suite's runs and prints them when it is through: a table for people, or JSON lines.
final class Report {
    private enum Item {
        case heading(String)
        case figure(String)
    }

    private let isJSON: Bool
    private let recorded: Recorded
    private var items: [Item] = []
    private var runs: [String: [(figure: Figure, mark: Double?)]] = [:]
    private var headings: Set<String> = []
    /// All that was measured, in the order of the table.
    private(set) var outcomes: [Outcome] = []
    private(set) var moves: [(outcome: Outcome, move: Recorded.Move)] = []
    /// The time of a BLAKE2b of 200 bytes in this run of this suite, in nanoseconds.
    var coreNs = 0.0

    init(isJSON: Bool, recorded: Recorded) {
        self.isJSON = isJSON
        self.recorded = recorded
    }

    var areAimsMet: Bool { outcomes.allSatisfy { $0.isMet != false } }

    func heading(_ text: String) {
        if headings.insert(text).inserted { items.append(.heading(text)) }
    }

    func add(_ figure: Figure) {
        if runs[figure.key] == nil { items.append(.figure(figure.key)) }
        runs[figure.key, default: []].append((figure, figure.mark(coreNs: coreNs)))
    }

    /// Something that could not be measured, and why: said beside the figures, never left out.
    func absent(_ key: String, _ name: String, _ reason: String) {
        guard headings.insert("absent " + key).inserted else { return }
        let object: JSON = ["figure": .string(key), "absent": .string(reason)]
        items.append(.heading(isJSON ? "\(object)\n" : "  \(name.padded(50))not measured: \(reason)\n"))
    }

    /// Prints what has been collected, which ends it.
    func flush() {
        for item in items {
            switch item {
            case .heading(let text): write(heading: text)
            case .figure(let key):
                guard let outcome = Outcome(runs[key, default: []]) else { continue }
                outcomes.append(outcome)
                let move = recorded.move(of: outcome)
                if let move { moves.append((outcome, move)) }
                Terminal.write(isJSON ? json(outcome, move) : row(outcome, move))
            }
        }
        (items, runs, headings) = ([], [:], [])
    }

    /// Writes the ratios of this version with those that were measured until now in their places.
    func record(to path: String) throws {
        var ratios = try Recorded.ofThisProgram()
        ratios.take(outcomes)
        try ratios.write(to: path)
    }

    /// What moved beyond noise since the ratios were recorded, at the end of the table.
    func tellMoves() {
        guard !isJSON, !recorded.marks.isEmpty else { return }
        let compared = outcomes.count { recorded.marks[$0.figure.key] != nil }
        let what = moves.isEmpty ? "none moved" : "\(moves.count) moved"
        Terminal.write("\nOf \(compared) figures that are recorded, \(what) beyond noise.\n")
        for (outcome, move) in moves {
            guard let was = recorded.marks[outcome.figure.key], let now = outcome.mark else { continue }
            Terminal.write(
                "  \(move.rawValue.padded(8))\(outcome.figure.key.padded(38))"
                    + "\(Self.decimal(was.median, 2)) → \(Self.decimal(now.median, 2))\n")
        }
    }

    private func write(heading text: String) {
        // What was not measured is a line of its own.
        if text.hasSuffix("\n") { return Terminal.write(text) }
        guard !isJSON else { return }
        let columns = [
            "median".leftPadded(13), "least … greatest".leftPadded(32), "limit".leftPadded(13), "ratio".leftPadded(11),
            "was".leftPadded(11), "aim".leftPadded(13),
        ]
        Terminal.write("\n\(text)\n" + String(repeating: " ", count: 52) + columns.joined() + "\n")
    }

    private func row(_ outcome: Outcome, _ move: Recorded.Move?) -> String {
        let figure = outcome.figure
        func text(_ value: Double) -> String { Self.text(value, figure.unit) }
        let value = outcome.value
        let isOne = value.least == value.most
        let aim =
            switch figure.aim {
            case nil: ""
            case .atMost(let most): "≤ " + text(most)
            case .atLeast(let least): "≥ " + text(least)
            case .ratioAtMost(let most): "≤ " + Self.decimal(most, most < 3 ? 1 : 0) + " ×"
            }
        // Without a limit, what was recorded is not what the column beside it says.
        let was = outcome.ratio == nil ? nil : recorded.marks[figure.key].map { Self.decimal($0.median, 2) + " ×" }
        let verdict = outcome.isMet.map { $0 ? "  ok" : "  not met" } ?? ""
        return "  " + figure.name.padded(50) + text(value.median).leftPadded(13)
            + (isOne ? "" : "\(text(value.least)) … \(text(value.most))").leftPadded(32)
            + (outcome.limit.map(text) ?? "").leftPadded(13)
            + (outcome.ratio.map { Self.decimal($0.median, 2) + " ×" } ?? "").leftPadded(11)
            + (was ?? "").leftPadded(11) + aim.leftPadded(13) + verdict + (move.map { "  " + $0.rawValue } ?? "") + "\n"
    }

    private func json(_ outcome: Outcome, _ move: Recorded.Move?) -> String {
        let (figure, value) = (outcome.figure, outcome.value)
        var object: JSONObject = [
            "figure": .string(figure.key), "unit": .string(figure.unit.rawValue), "runs": .int(Int64(outcome.runs)),
            "median": .double(value.median), "least": .double(value.least), "most": .double(value.most),
        ]
        object.append("limit", ifPresent: outcome.limit.map(JSON.double))
        if let ratio = outcome.ratio {
            object.append("ratio", .double(ratio.median))
            object.append("ratioLeast", .double(ratio.least))
            object.append("ratioMost", .double(ratio.most))
        }
        object.append("mark", ifPresent: outcome.mark.map { .double($0.median) })
        object.append("was", ifPresent: recorded.marks[figure.key].map { .double($0.median) })
        object.append("moved", ifPresent: move.map { .string($0.rawValue) })
        switch figure.aim {
        case nil: break
        case .atMost(let most): object.append("atMost", .double(most))
        case .atLeast(let least): object.append("atLeast", .double(least))
        case .ratioAtMost(let most): object.append("ratioAtMost", .double(most))
        }
        object.append("ok", ifPresent: outcome.isMet.map(JSON.bool))
        return "\(JSON.object(object))\n"
    }

    static func text(_ value: Double, _ unit: Figure.Unit) -> String {
        let isSmall = unit == .percent || unit == .cores || (unit == .perSecond && value < 100)
        let places = isSmall ? 2 : unit == .perSecond || value >= 1000 ? 0 : 1
        let word = unit == .microseconds ? "µs" : unit.rawValue
        return word.isEmpty ? decimal(value, places) : decimal(value, places) + " " + word
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

    /// A line that says how far it is, where somebody watches; the next one, or an empty one, takes its place.
    static func progress(_ text: String) {
        if isatty(STDERR_FILENO) == 1 { write("\r\u{1b}[K\(text)", STDERR_FILENO) }
    }

    private static func write(_ text: String, _ descriptor: Int32) {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = unsafe bytes.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else { return }
            bytes = bytes.dropFirst(count)
        }
    }
}
