internal import CommandLineKit
internal import ControlAPI

/// `starling search`
enum Search {
    static let command = Command(
        "search", "Find messages by their words, oldest first",
        details: [
            "All words have to be in a message; case and accents do not matter. In quotes words stand in a row, and "
                + "begin* finds words that begin so. In a shell, put single quotes around all of it.",
            "TIME is a date as 2026-11-30, 2026-11-30T12:00 or 2026-11-30T12:00Z, or how long ago: 90m, 2h, 3d, 1w.",
            "For more than the last N, give the first message's key to --before.",
        ],
        arguments: [Argument("TEXT", "What to look for", count: .rest)],
        options: [
            Option("in", value: "CHANNEL", "Only in this channel: '#name', name, or its key"),
            Option("from", value: "PERSON", "Only by this person: a name or a uid"),
            Option("since", value: "TIME", "Only those written then or later"),
            Option("before", value: "TIME|KEY", "Only those written before then, or before the message of that key"),
            Option("number", short: "n", value: "N", "The last N of them; 50 if not given"),
            Option("keys", short: "k", "Print each message's key before it"), .json,
        ], group: "Chat",
        examples: [
            Example("starling search lunch friday", "Messages with both words"),
            Example(
                "starling search '\"coffee machine\" brok*' --in ops --since 3d", "A phrase, and how a word begins"),
        ])

    static func run(_ session: Session) throws {
        let words = session.invocation.rest("TEXT")
        guard !words.isEmpty else { throw session.invocation.usageError("TEXT is missing: give the words to look for") }
        let text = words.joined(separator: " ")
        let limit = try session.invocation.integer("number", in: 1...10_000) ?? 50
        let rows = try find(session, text, limit)
        defer { if isCut(rows, limit) { complainOfMore(rows) } }
        guard !session.json else {
            for row in rows { session.output.json(row) }
            return
        }
        let messages = rows.compactMap { try? MessageRow(json: $0) }
        guard !messages.isEmpty else { return Output.complain("no message is found") }
        let channels = try names(session)
        for line in lines(messages, text, channels, try Senders(session), session) { session.output.line(line) }
    }

    private static func find(_ session: Session, _ text: String, _ limit: Int) throws -> [JSON] {
        let invocation = session.invocation
        var params: JSONObject = ["text": .string(text)]
        params.append("limit", .int(Int64(limit)))
        params.append("in", ifPresent: invocation.value("in").map { .string(ChannelWord.normalised($0)) })
        params.append("from", ifPresent: invocation.value("from").map(JSON.string))
        if let word = invocation.value("since") { params.append("since", .int(try time(word, "since", invocation))) }
        if let word = invocation.value("before") {
            let isKey = ChannelWord.isKey(word)
            params.append("before", isKey ? .string(word) : .int(try time(word, "before", invocation)))
        }
        return try session.call("message.search", .object(params))["messages"]?.array ?? []
    }

    /// An answer of the daemon holds 3 MiB. One that is nearly as large may have left out what did not fit.
    private static let answerBytes = 2 << 20

    private static func isCut(_ rows: [JSON], _ limit: Int) -> Bool {
        rows.count < limit && rows.reduce(0) { $0 + $1.description.utf8.count } > answerBytes
    }

    private static func complainOfMore(_ rows: [JSON]) {
        let key = rows.first?["key"]?.string ?? "KEY"
        Output.complain("there may be more: these are large, and an answer holds 3 MiB; go on with --before \(key)")
    }

    private static func time(_ word: String, _ option: String, _ invocation: Invocation) throws -> Int64 {
        guard let ms = TimeWord.milliseconds(word, nowMs: LocalTime.nowMs()) else {
            throw invocation.usageError("--\(option) must be a date as 2026-11-30 or 2026-11-30T12:00, or as 2h or 3d")
        }
        return ms
    }

    private static func names(_ session: Session) throws -> [String: String] {
        let rows = try Fields(session.call("channel.list")).rows("channels", ChannelRow.init(json:))
        return Dictionary(rows.map { ($0.key, $0.name) }) { first, _ in first }
    }

    private static func lines(
        _ messages: [MessageRow], _ text: String, _ channels: [String: String], _ known: Senders, _ session: Session
    ) -> [String] {
        var senders = known
        for message in messages { senders.add(message) }
        let output = session.output
        let widest = messages.map { TextWidth.of(senders.shown($0)) + ($0.verified ? 0 : 1) }.max() ?? 0
        var format = MessageFormat(
            nameColumns: min(MessageFormat.nameMax, max(6, widest)), columns: output.isTerminal ? output.columns : 0,
            style: output.style)
        format.emphasis = Emphasis(text)
        var lines: [String] = []
        var last: (day: LocalTime, channel: String)?
        for message in messages {
            let time = LocalTime(milliseconds: message.createdAt)
            if last.map({ !$0.day.isSameDay(as: time) || $0.channel != message.channel }) ?? true {
                lines.append(format.dayLine(time, channel: channels[message.channel] ?? message.channel))
            }
            last = (time, message.channel)
            if session.invocation.has("keys") { lines.append(output.styled(Escaper.escape(message.key), .dim)) }
            lines += format.lines(message, time: time, name: senders.shown(message))
        }
        return lines
    }
}
