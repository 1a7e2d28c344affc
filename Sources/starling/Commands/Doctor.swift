internal import CommandLineKit
internal import ControlAPI
internal import Glibc

/// `starling doctor`
enum Doctor {
    static let command = Command(
        "doctor", "Find out what is wrong, and how to mend it",
        details: [
            "Looks at the daemon, Avahi, the network, the clock and the disk, and needs none of them to work.",
            "It takes less than 10 seconds. The exit code is 1 if there is a problem, with warnings alone 0.",
        ],
        options: [.json], group: "Network",
        examples: [
            Example("starling doctor", "Why the others are not found"),
            Example("starling doctor --json | jq -r 'select(.level == \"problem\").mend[]'", "What would mend it"),
        ])

    static func run(_ session: Session) throws {
        let begin = DoctorClock.nowMs()
        var examination = Examination(try session.places)
        let checks = Diagnosis(evidence: examination.carryOut()).checks
        session.print(rows: checks.map(\.json)) {
            for check in checks { for line in lines(check, session.output) { session.output.line(line) } }
            session.output.line(summary(checks, tookMs: DoctorClock.nowMs() - begin, session.output))
        }
        guard checks.contains(where: { $0.level == .problem }) else { return }
        session.output.flush()
        exit(1)
    }

    /// Columns of the mark and the check's name.
    private static let indent = 13

    /// What was seen, beside the check's name, and below it what mends it.
    static func lines(_ check: Check, _ output: Output) -> [String] {
        let (mark, colour): (String, Style.Attribute) =
            switch check.level {
            case .ok: ("✓", .green)
            case .warning: ("!", .yellow)
            case .problem: ("✗", .red)
            case .skipped: ("-", .dim)
            }
        let width = max(30, output.columns - indent)
        let words = MessageFormat.wrapped(Escaper.escape(check.saw), width)
        let blank = String(repeating: " ", count: indent)
        var lines = words.enumerated().map { index, text in
            let head = "\(mark) \(TextWidth.padded(check.name, to: indent - 2))"
            return (index == 0 ? output.styled(head, colour) : blank) + text
        }
        // Not broken into lines: it is there to be copied.
        for text in check.mend { lines.append("\(blank)→ \(output.styled(Escaper.escape(text), .bold))") }
        return lines
    }

    static func summary(_ checks: [Check], tookMs: Int64, _ output: Output) -> String {
        let problems = checks.count { $0.level == .problem }
        let warnings = checks.count { $0.level == .warning }
        let seconds = "\(tookMs / 1_000).\(tookMs % 1_000 / 100) s"
        guard problems + warnings > 0 else { return output.styled("nothing is wrong (\(seconds))", .green) }
        let words = [
            problems > 0 ? Words.count(Int64(problems), "problem", "problems") : nil,
            warnings > 0 ? Words.count(Int64(warnings), "warning", "warnings") : nil,
        ].compactMap { $0 }
        return output.styled("\(words.joined(separator: ", ")) (\(seconds))", problems > 0 ? .red : .yellow)
    }
}
