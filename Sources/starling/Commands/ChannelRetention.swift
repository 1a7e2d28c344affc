internal import CommandLineKit
internal import ControlAPI
internal import Glibc

/// `starling channels retain`
enum ChannelRetention {
    static let command = Command(
        "retain", "End a channel's old messages, for everybody and for good",
        details: [
            "Only in a channel that you have created with --own. It cannot be undone: what has ended is gone on every "
                + "node, and comes back from none; the limit only ever rises.",
            "With DURATION, as 12h, 90d, 8w or 2y, messages older than that end now, and your daemon goes on once a "
                + "day while it runs; off ends the rule, and brings nothing back.",
            "TIME is a date as 2026-11-30, 2026-11-30T12:00 or 2026-11-30T12:00Z, or how long ago: 90m, 2h, 3d, 1w.",
        ],
        arguments: [.channel, Argument("DURATION", "How long messages are kept, or off", count: .optional)],
        options: [
            Option("before", value: "TIME", "End the messages before that time, once"),
            Option("show", "Say what has ended, and change nothing"),
            Option("yes", short: "y", "Do not ask"), .json,
        ],
        examples: [
            Example("starling channels retain build-log 90d", "Keep the messages of the last 90 days"),
            Example("starling channels retain build-log --before 2026-01-01 --yes", "End those of last year, unasked"),
        ])

    private static let units: [Character: Int64] = ["h": 3_600, "d": 86_400, "w": 604_800, "y": 31_557_600]

    /// Milliseconds of a duration as people write it.
    static func milliseconds(_ word: String) -> Int64? {
        let digits = word.dropLast()
        guard let unit = word.last.flatMap({ units[$0] }), (1...6).contains(digits.utf8.count),
            digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let count = Int64(digits), count > 0
        else { return nil }
        return count * unit * 1000
    }

    static func run(_ session: Session) throws {
        let invocation = session.invocation
        var params: JSONObject = ["channel": try session.channel("CHANNEL")]
        let (duration, before) = (invocation.argument("DURATION"), invocation.value("before"))
        let isShown = invocation.has("show")
        guard [duration != nil, before != nil, isShown].count(where: { $0 }) == 1 else {
            throw invocation.usageError("give DURATION, --before TIME or --show")
        }
        if let before {
            guard let ms = TimeWord.milliseconds(before, nowMs: LocalTime.nowMs()) else {
                throw invocation.usageError("--before must be a date as 2026-11-30 or 2026-11-30T12:00, or as 2h or 3d")
            }
            params.append("before", .int(ms))
        } else if let duration {
            guard let ms = duration == "off" ? 0 : milliseconds(duration) else {
                throw invocation.usageError("DURATION is as 12h, 90d, 8w or 2y, or off")
            }
            params.append("keepMs", .int(ms))
        }
        if !isShown, duration != "off", try !isMeant(params, session) { return }
        try show(try session.call("channel.retain", .object(params)), session)
    }

    /// Says what would end, and asks whoever can answer.
    private static func isMeant(_ params: JSONObject, _ session: Session) throws -> Bool {
        guard !session.invocation.has("yes") else { return true }
        var trial = params
        trial.append("trial", true)
        let answer = try session.call("channel.retain", .object(trial))
        let row = try ChannelRow(json: answer)
        let question =
            "#\(Escaper.escape(row.name)): \(ended(answer)) will be gone for everybody and for good"
        guard StandardInput.isTerminal else {
            throw session.invocation.usageError("\(question); to do it without being asked, add --yes")
        }
        Output.complain("\(question). Go on? [y/N]")
        let isMeant = ["y", "yes"].contains(readLine()?.lowercased() ?? "")
        if !isMeant { Output.complain("nothing has changed") }
        return isMeant
    }

    /// The daemon does not count further.
    private static let countMax: Int64 = 5_000

    private static func ended(_ answer: JSON) -> String {
        let count = answer["removes"]?.int ?? 0
        return count >= countMax ? "\(countMax) messages or more" : Words.count(count, "message", "messages")
    }

    /// What a list says of a channel.
    static func words(_ row: ChannelRow) -> String {
        if let keepMs = row.keepMs { return "keeps \(duration(keepMs))" }
        return row.before.map { "since \(LocalTime(milliseconds: $0).stamp)" } ?? ""
    }

    /// A duration as people write it, in the greatest unit that it is a multiple of.
    private static func duration(_ ms: Int64) -> String {
        for unit in ["y", "w", "d", "h"] {
            guard let seconds = units[Character(unit)], ms % (seconds * 1000) == 0 else { continue }
            return "\(ms / (seconds * 1000))\(unit)"
        }
        return "\(ms / 1000)s"
    }

    private static func show(_ answer: JSON, _ session: Session) throws {
        try session.print(answer) {
            let row = try ChannelRow(json: answer)
            let name = session.output.styled("#" + Escaper.escape(row.name), .cyan)
            let before = row.before.map { "messages before \(LocalTime(milliseconds: $0).stamp) have ended" }
            let rule = row.keepMs.map { "\(duration($0)) are kept from now on" }
            let words = [before, rule].compactMap { $0 }.joined(separator: "; ")
            session.output.line("\(name): \(words.isEmpty ? "all messages are kept" : words)")
            if let count = answer["removes"]?.int, count > 0 { session.output.line("\(ended(answer)) gone") }
        }
    }
}
