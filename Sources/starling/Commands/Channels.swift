internal import CommandLineKit
internal import ControlAPI

/// `starling channels`
enum Channels {
    static let command = Command(
        "channels", "List the channels, or change them",
        options: [Option("archived", "List archived channels too"), .json],
        subcommands: [
            Command(
                "create", "Open a channel; an existing one is opened again",
                arguments: [Argument("NAME", "Its name, with or without #")],
                options: [
                    Option("topic", value: "TEXT", "What it is about"),
                    Option("own", "A channel of yours: you alone can remove it, or end its old messages"), .json,
                ],
                examples: [Example("starling channels create lunch --topic 'Who eats where'", "Open #lunch")]),
            Command(
                "rename", "Give a channel another name",
                arguments: [.channel, Argument("NAME", "The new name")], options: [.json],
                examples: [Example("starling channels rename lunch food", "#lunch is #food from now on")]),
            Command(
                "topic", "Say what a channel is about",
                arguments: [.channel, Argument("TEXT", "The topic; '' takes it away", count: .rest)], options: [.json],
                examples: [Example("starling channels topic ops 'Maintenance on Friday'", "Set the topic of #ops")]),
            Command(
                "archive", "Put a channel away; nothing of it is lost",
                arguments: [.channel], options: [Option("undo", "Bring it back"), .json],
                examples: [Example("starling channels archive lunch", "Put #lunch away")]),
            ChannelRetention.command,
        ], group: "Chat",
        examples: [Example("starling channels", "What there is, and what you have not read")])

    static func list(_ session: Session) throws {
        let all = try session.call("channel.list")["channels"]?.array ?? []
        let listed = session.invocation.has("archived") ? all : all.filter { $0["archived"]?.bool != true }
        try session.print(rows: listed) {
            var table = Table()
            for row in try listed.map(ChannelRow.init(json:)) { add(row, to: &table, session.output) }
            for line in table.lines() { session.output.line(line) }
        }
    }

    static func add(_ row: ChannelRow, to table: inout Table, _ output: Output) {
        let unread = row.unread > 0 ? "\(row.unread) new" : ""
        let marks = [row.archived ? "archived" : "", ChannelRetention.words(row)]
        table.add(
            .init("#" + Escaper.escape(row.name)) { output.styled($0, row.unread > 0 ? .bold : .cyan) },
            .init(unread) { output.styled($0, .yellow) },
            .init(marks.filter { !$0.isEmpty }.joined(separator: ", ")),
            .init(Escaper.escape(row.topic ?? "")) { output.styled($0, .dim) })
    }

    static func create(_ session: Session) throws {
        var params: JSONObject = ["name": .string(ChannelWord.bare(try session.invocation.required("NAME")))]
        params.append("topic", ifPresent: session.invocation.value("topic").map(JSON.string))
        params.append("own", ifPresent: session.invocation.has("own") ? true : nil)
        try show(try session.call("channel.create", .object(params)), session)
    }

    static func rename(_ session: Session) throws {
        let name = ChannelWord.bare(try session.invocation.required("NAME"))
        let params: JSON = ["channel": try session.channel("CHANNEL"), "name": .string(name)]
        try show(try session.call("channel.rename", params), session)
    }

    static func topic(_ session: Session) throws {
        let params: JSON = ["channel": try session.channel("CHANNEL"), "topic": .string(try session.text("TEXT"))]
        try show(try session.call("channel.topic", params), session)
    }

    static func archive(_ session: Session) throws {
        let archived = !session.invocation.has("undo")
        let params: JSON = ["channel": try session.channel("CHANNEL"), "archived": .bool(archived)]
        try show(try session.call("channel.archive", params), session)
    }

    private static func show(_ answer: JSON, _ session: Session) throws {
        try session.print(answer) {
            var table = Table()
            add(try ChannelRow(json: answer), to: &table, session.output)
            for line in table.lines() { session.output.line(line) }
        }
    }
}
