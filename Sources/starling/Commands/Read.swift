internal import CommandLineKit
internal import ControlAPI
internal import ControlClient

/// `starling read`
enum Read {
    static let command = Command(
        "read", "Read the messages of a channel, oldest first",
        details: [
            "A question mark behind a name says that the message's key does not certify its sender; ⚠ before it, that "
                + "you know the name from another key: see starling who. Of one name people are told apart as "
                + "bob~x7Qa.",
            "With --follow it waits up to a minute for a daemon that is gone and goes on where it was; if none comes "
                + "it ends with exit code 3.",
            "With --follow and --json an edit repeats the row, and a deleted message is {key, in, deleted: true}.",
        ],
        arguments: [.channel],
        options: [
            Option("number", short: "n", value: "N", "The last N messages; 50 if not given"),
            Option("follow", short: "f", "Go on printing what comes, until interrupted"),
            Option("before", value: "KEY", "Those before the message of that key"),
            Option("keys", short: "k", "Print each message's key before it"), .json,
        ], group: "Chat",
        examples: [
            Example("starling read '#general' -n 20", "The last 20 messages of #general"),
            Example("starling read ops -f --json | jq -r .text", "The text of every message as it comes"),
        ])

    static func run(_ session: Session) throws {
        let number = try session.invocation.integer("number", in: 0...10_000) ?? 50
        let channel = try session.channel("CHANNEL")
        let printer = try MessagePrinter(session)
        guard session.invocation.has("follow") else {
            guard number > 0 else { return }
            let before = session.invocation.value("before")
            // By its form alone: those after one that was deleted are still asked for by it.
            guard before.map(ChannelWord.isKey) ?? true else {
                throw ClientError.refused(RPCError(reason: .notFound, message: "no message has that key"))
            }
            return printer.print(try list(session, channel, number, before: before.map(JSON.string)))
        }
        guard session.invocation.value("before") == nil else {
            throw session.invocation.usageError("--before and --follow do not go together")
        }
        try ReadFollow(session, channel, number, printer).run()
    }

    /// The last so many messages before that key. One answer holds 3 MiB, so that large ones take several questions.
    static func list(_ session: Session, _ channel: JSON, _ number: Int, before: JSON?) throws -> [JSON] {
        var pages: [[JSON]] = []
        var (rest, before) = (number, before)
        while rest > 0 {
            let rows = try page(session, channel, rest, before: before)
            guard let first = rows.first?["key"] else { break }
            pages.append(rows)
            (rest, before) = (rest - rows.count, first)
        }
        return pages.reversed().flatMap { $0 }
    }

    /// At most so many messages before that key, in one answer.
    static func page(_ session: Session, _ channel: JSON, _ number: Int, before: JSON?) throws -> [JSON] {
        var params: JSONObject = ["in": channel, "limitToLast": .int(Int64(number))]
        params.append("before", ifPresent: before)
        return try session.call("message.list", .object(params))["messages"]?.array ?? []
    }
}

/// Prints messages one after another, for `read`.
final class MessagePrinter {
    private let session: Session
    private var senders = Senders()
    private var format: MessageFormat?
    private var lastDay: LocalTime?
    private var shown: Set<String> = []

    init(_ session: Session) throws {
        self.session = session
        if !session.json { senders = try Senders(session) }
    }

    func print(_ rows: [JSON]) {
        guard !session.json else {
            for row in rows { session.output.json(row) }
            return
        }
        let messages = rows.compactMap { try? MessageRow(json: $0) }
        for message in messages where !message.deleted { senders.add(message) }
        let widest = messages.map { TextWidth.of(senders.shown($0)) + ($0.verified ? 0 : 1) }.max() ?? 0
        format = format ?? layout(min(MessageFormat.nameMax, max(6, widest)))
        for message in messages { print(message) }
    }

    private func layout(_ nameColumns: Int) -> MessageFormat {
        let output = session.output
        return MessageFormat(
            nameColumns: nameColumns, columns: output.isTerminal ? output.columns : 0, style: output.style)
    }

    private func print(_ row: MessageRow) {
        guard let format else { return }
        let output = session.output
        guard !row.deleted else {
            output.line(output.styled("a message was deleted: \(Escaper.escape(row.key))", .dim))
            return
        }
        let time = LocalTime(milliseconds: row.createdAt)
        if lastDay.map({ !$0.isSameDay(as: time) }) ?? true { output.line(format.dayLine(time)) }
        lastDay = time
        if !shown.insert(row.key).inserted { output.line(output.styled("changed:", .dim)) }
        if session.invocation.has("keys") { output.line(output.styled(Escaper.escape(row.key), .dim)) }
        for line in format.lines(row, time: time, name: senders.shown(row)) { output.line(line) }
    }
}
