internal import ControlAPI
internal import Glibc

/// The ratios of an earlier commit, which are a part of this program (`Benchmarks/ratios.jsonl`).
struct Recorded {
    /// What lies closer together than this share is never told apart.
    static let noiseLeast = 0.1
    /// The same where there is only one run, so that this run's own noise is not known.
    static let noiseLeastOfOne = 0.25

    enum Move: String {
        case better, worse
    }

    private(set) var marks: [String: Spread] = [:]

    init() {}

    /// - Parameter lines: one JSON object a line: `figure`, `least`, `median`, `most`.
    init(_ lines: [UInt8]) throws {
        for line in lines.split(separator: UInt8(ascii: "\n")) {
            let object = try JSON.parse(line)
            guard let key = object["figure"]?.string, let least = object["least"]?.double,
                let median = object["median"]?.double, let most = object["most"]?.double
            else { throw BenchError.unexpected("a recorded ratio cannot be read: \(object)") }
            marks[key] = Spread(least: least, median: median, most: most)
        }
    }

    static func ofThisProgram() throws -> Recorded { try Recorded(PackageResources.ratios_jsonl) }

    /// Whether a figure has moved beyond noise: its median is farther from the recorded one than either spread is wide.
    func move(of outcome: Outcome) -> Move? {
        guard let was = marks[outcome.figure.key], let now = outcome.mark, was.median > 0 else { return nil }
        let least = outcome.runs > 1 ? Self.noiseLeast : Self.noiseLeastOfOne
        let noise = max(least, was.width, now.width)
        let change = now.median / was.median
        if change > 1 + noise { return .worse }
        return change < 1 / (1 + noise) ? .better : nil
    }

    /// Puts what was measured now in the place of what was recorded; what was not measured stays.
    mutating func take(_ outcomes: [Outcome]) {
        for outcome in outcomes {
            if let mark = outcome.mark { marks[outcome.figure.key] = mark }
        }
    }

    func write(to path: String) throws(BenchError) {
        var text = ""
        for (key, mark) in marks.sorted(by: { $0.key < $1.key }) {
            let object: JSON = [
                "figure": .string(key), "least": Self.rounded(mark.least), "median": Self.rounded(mark.median),
                "most": Self.rounded(mark.most),
            ]
            text += "\(object)\n"
        }
        try ProcFile.make(Array(text.utf8), path, mode: 0o644)
    }

    /// Four digits that count: more are noise in the history of the file.
    private static func rounded(_ value: Double) -> JSON {
        guard value > 0 else { return .double(0) }
        let scale = pow(10, 3 - log10(value).rounded(.down))
        return .double((value * scale).rounded() / scale)
    }
}
