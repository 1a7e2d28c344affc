internal import ControlAPI

/// What the chat knows, and the lines that come of what happens. A pure value: events go in, lines come out.
struct ChatModel: Sendable {
    /// Messages remembered, to tell what changed in one that comes again.
    static let rememberedMax = 2_000
    /// Messages shown of what was written before.
    static let backlog = 30
    /// Messages that a search shows.
    static let foundMax = 20
    /// The channel that is in each workspace.
    static let general = "#general"

    /// One's own; another after `identity new`.
    var uid: String
    let style: Style
    var columns: Int
    private(set) var names = Names()
    private(set) var people: [String: PersonRow] = [:]
    /// Those who came and whose name has not come yet.
    private var nameless: Set<String> = []
    private(set) var channels: [ChannelRow] = []
    /// Key of the channel on the screen; empty before one was joined.
    private(set) var current = ""
    var isConnected = true
    /// How to start a daemon, where none has been there for a while.
    var start: String?
    private var messages: [String: MessageRow] = [:]
    private var order: [String] = []
    private var isCatchingUp = false
    private var window = MessageWindow(limit: ChatModel.backlog)
    private var lastDay: LocalTime?
    private var notices: [NoticeRow] = []
    /// Days and times as the user's clock has them; a parameter for tests.
    let time: @Sendable (Int64) -> LocalTime
    /// Keys of the messages up to which one's own have come to another node, and were read.
    var held: String?
    var read: String?
    /// Messages of one's own on the screen, as they were shown there.
    private(set) var ownLines: [(row: MessageRow, name: String)] = []
    /// Whether the terminal may lack a tick.
    let isPlain: Bool

    init(
        uid: String, style: Style, columns: Int, isPlain: Bool = false,
        time: @escaping @Sendable (Int64) -> LocalTime = { LocalTime(milliseconds: $0) }
    ) {
        self.uid = uid
        self.style = style
        self.columns = columns
        self.isPlain = isPlain
        self.time = time
    }

    var format: MessageFormat {
        MessageFormat(
            nameColumns: columns < 60 ? 8 : 12, columns: max(20, columns - 1), style: style, isPlain: isPlain)
    }

    // MARK: Channels

    /// The channel on the screen.
    var currentChannel: ChannelRow? { channels.first { $0.key == current } }

    /// As `#general`, safe.
    var currentName: String { currentChannel.map { "#" + Escaper.escape($0.name) } ?? "#" }

    /// Goes to another channel, or comes back to the same after the connection was lost.
    mutating func join(_ key: String) -> [String] {
        isCatchingUp = true
        window = MessageWindow(limit: Self.backlog)
        guard key != current else { return [] }
        current = key
        messages = [:]
        order = []
        lastDay = nil
        (held, read, ownLines) = (nil, nil, [])
        var title = currentName
        if let topic = currentChannel?.topic, !topic.isEmpty { title += " · " + Escaper.escape(topic) }
        return ["", style.apply(TextWidth.fitted(title, to: columns - 1), [.bold])]
    }

    mutating func take(_ row: ChannelRow) -> [String] {
        guard let index = channels.firstIndex(where: { $0.key == row.key }) else {
            channels.append(row)
            return []
        }
        let old = channels[index]
        channels[index] = row
        guard row.key == current else { return [] }
        var lines: [String] = []
        if old.name != row.name { lines += notice("#\(Escaper.escape(old.name)) is \(currentName) now") }
        if old.topic != row.topic {
            let topic = Escaper.escape(row.topic ?? "")
            lines += notice(topic.isEmpty ? "the topic was taken away" : "the topic is: \(topic)")
        }
        if old.archived != row.archived { lines += notice(row.archived ? "archived" : "brought back") }
        return lines
    }

    // MARK: People

    /// Sets who is there before anything is shown, without a word about it.
    mutating func fill(_ rows: [PersonRow]) {
        for row in rows {
            people[row.uid] = row
            names.set(row.uid, row.name)
        }
    }

    mutating func take(_ row: PersonRow) -> [String] {
        let old = people.updateValue(row, forKey: row.uid)
        let before = names.shown(row.uid)
        let renamed = names.set(row.uid, row.name) != nil
        let who = names.shown(row.uid)
        var lines: [String] = []
        let wasNameless = nameless.contains(row.uid)
        if renamed, !wasNameless { lines += notice(row.isSelf ? "you are \(who) now" : "\(before) is \(who) now") }
        guard !row.isSelf else { return lines }
        let wasHere = old.map { $0.state != .offline } ?? false
        let isHere = row.state != .offline
        // Somebody new is heard of a moment before their name is; they come when it does.
        if isHere, wasNameless || !wasHere, row.name == row.uid.prefix(8) {
            nameless.insert(row.uid)
            return lines
        }
        nameless.remove(row.uid)
        if isHere, wasNameless || !wasHere { lines += notice("\(who) is here") }
        if !isHere, wasHere, !wasNameless { lines += notice("\(who) has left") }
        return lines
    }

    // MARK: Messages

    /// A message that is new, or comes again because something about it changed.
    mutating func take(_ row: MessageRow) -> [String] {
        guard row.channel == current else { return [] }
        if isCatchingUp { window.add(row.key) }
        guard !window.isRefill(row.key) else { return [] }
        if people[row.senderId] == nil { names.set(row.senderId, row.senderName) }
        guard let old = remember(row) else { return shown(row) }
        var lines: [String] = []
        if old.text != row.text { lines += shown(row, mark: "✎ ") }
        lines += reactionLines(old, row)
        return lines
    }

    mutating func delete(_ key: String) -> [String] {
        guard let old = messages.removeValue(forKey: key) else { return [] }
        order.removeAll { $0 == key }
        return notice("\(names.shown(old.senderId)) deleted \(quoted(old))")
    }

    /// What was there has all come.
    mutating func ready() -> [String] {
        guard isCatchingUp else { return [] }
        isCatchingUp = false
        return order.isEmpty ? notice("nothing has been written here yet") : []
    }

    /// Whether a message is news, not history.
    var isLive: Bool { !isCatchingUp }

    /// The last message of one's own; nil if none is remembered.
    var lastOwn: MessageRow? {
        order.last { messages[$0]?.senderId == uid }.flatMap { messages[$0] }
    }

    /// The last message; nil if none is remembered.
    var last: MessageRow? { order.last.flatMap { messages[$0] } }

    /// The last messages that a search has found, each with its channel and day.
    func found(_ rows: [MessageRow], by text: String) -> [String] {
        guard !rows.isEmpty else { return notice("no message is found") }
        var format = format
        format.emphasis = Emphasis(text)
        var lines: [String] = []
        var place: (day: LocalTime, channel: String)?
        for row in rows.suffix(Self.foundMax) {
            let at = time(row.createdAt)
            if place.map({ !$0.day.isSameDay(as: at) || $0.channel != row.channel }) ?? true {
                let name = channels.first { $0.key == row.channel }?.name ?? row.channel
                lines += StyledLine.wrapped(format.dayLine(at, channel: name), columns: columns - 1)
            }
            place = (at, row.channel)
            let name = people[row.senderId] == nil ? Escaper.escape(row.senderName) : names.shown(row.senderId)
            lines += shortened(row, format) { format.lines($0, time: at, name: name, isOwn: row.senderId == uid) }
        }
        guard rows.count <= Self.foundMax else {
            return lines + notice("found: the last \(Self.foundMax) of more; starling search -n 100 shows older ones")
        }
        return lines + notice("found: \(Words.count(Int64(rows.count), "message", "messages"))")
    }

    /// Returns what was known of it.
    private mutating func remember(_ row: MessageRow) -> MessageRow? {
        let old = messages.updateValue(row, forKey: row.key)
        if old == nil {
            order.append(row.key)
            if order.count > Self.rememberedMax { messages[order.removeFirst()] = nil }
        }
        return old
    }

    private mutating func shown(_ row: MessageRow, mark: String = "") -> [String] {
        var lines: [String] = []
        let at = time(row.createdAt)
        if mark.isEmpty, lastDay.map({ !$0.isSameDay(as: at) }) ?? true {
            lines += StyledLine.wrapped(format.dayLine(at), columns: columns - 1)
            lastDay = at
        }
        if mark.isEmpty, let key = row.replyTo, let answered = messages[key] {
            lines += notice("↳ \(names.shown(answered.senderId)): \(excerpt(answered))")
        }
        var row = row
        if !mark.isEmpty {
            row.text = mark + (row.text ?? "")
            row.reactions = []
        }
        let warning = people[row.senderId]?.namesakeOf == nil ? "" : "⚠"
        let name = warning + names.shown(row.senderId)
        guard row.senderId == uid else {
            return lines + shortened(row, format) { format.lines($0, time: at, name: name) }
        }
        // An edit comes later than what it changes; its line has no mark of its own.
        if mark.isEmpty { remember(shown: row, name) }
        let status = mark.isEmpty ? self.mark(of: row.key) : .waiting
        return lines + shortened(row, format) { format.lines($0, time: at, name: name, isOwn: true, status: status) }
    }

    /// Messages of one's own whose marks still change: more are on no screen.
    private static let ownLinesMax = 200

    private mutating func remember(shown row: MessageRow, _ name: String) {
        ownLines.append((row, name))
        if ownLines.count > Self.ownLinesMax { ownLines.removeFirst() }
    }

    private func reactionLines(_ old: MessageRow, _ new: MessageRow) -> [String] {
        func pairs(_ row: MessageRow) -> [(emoji: String, uid: String)] {
            row.reactions.flatMap { reaction in reaction.uids.map { (emoji: reaction.emoji, uid: $0) } }
        }
        let (before, after) = (pairs(old), pairs(new))
        let added = after.filter { pair in !before.contains { $0 == pair } }
        let removed = before.filter { pair in !after.contains { $0 == pair } }
        // Whoever writes to the tree can react with more than an emoji.
        func emoji(_ text: String) -> String {
            TextWidth.fitted(Escaper.escape(text), to: ChatInput.reactionColumns)
        }
        return added.flatMap { notice("\(names.shown($0.uid)) \(emoji($0.emoji)) \(quoted(new))") }
            + removed.flatMap { notice("\(names.shown($0.uid)) took \(emoji($0.emoji)) back") }
    }

    /// The beginning of a message on one line, with newlines as the input line has them.
    private func excerpt(_ row: MessageRow) -> String {
        // Longer than what is shown, whatever the characters are.
        let start = (row.text ?? "").prefix(100).map { character -> Character in
            switch character {
            case "\n", "\r\n", "\r": "⏎"
            case "\t": " "
            default: character
            }
        }
        return TextWidth.fitted(Escaper.escape(String(start)), to: 40)
    }

    private func quoted(_ row: MessageRow) -> String {
        "“\(excerpt(row))”"
    }

    /// What a person should know and can mend; once, also where it is told again after a lost connection.
    mutating func take(_ row: NoticeRow) -> [String] {
        let known = notices.firstIndex { $0.kind == row.kind && $0.uid == row.uid }
        guard row.isOver == (known != nil) else { return [] }
        if let known { notices.remove(at: known) } else { notices.append(row) }
        let text = Escaper.escape(row.text)
        return row.isOver ? notice(text) : complaint(text)
    }

    // MARK: Lines of one's own

    /// Words of the program, set off from messages.
    func notice(_ text: String) -> [String] {
        wrapped(text).map { style.apply($0, [.dim]) }
    }

    /// Words about something that went wrong.
    func complaint(_ text: String) -> [String] {
        wrapped(text).map { style.apply($0, [.red]) }
    }

    func wrapped(_ text: String) -> [String] {
        MessageFormat.wrapped(text, max(20, columns - 3)).map { "  " + $0 }
    }

    // MARK: The status line

    /// Who types on the left, unread channels on the right; empty if there is neither.
    func status() -> (text: String, width: Int) {
        let left = isConnected ? typing() : disconnected
        let unread = channels.filter { $0.unread > 0 && $0.key != current && !$0.archived }
            .map { "#\(Escaper.escape($0.name)) \($0.unread)" }.joined(separator: "  ")
        guard !left.isEmpty || !unread.isEmpty else { return ("", 0) }
        let room = max(10, columns - 1)
        let right = TextWidth.fitted(unread, to: room / 2)
        let fitted = TextWidth.fitted(left, to: room - TextWidth.of(right) - 2)
        let gap = room - TextWidth.of(fitted) - TextWidth.of(right)
        let text = style.apply(fitted, [isConnected ? .dim : .red])
        guard !right.isEmpty else { return (text, TextWidth.of(fitted)) }
        return (text + String(repeating: " ", count: max(1, gap)) + style.apply(right, [.yellow]), room)
    }

    private var disconnected: String {
        guard let start = start.map({ Escaper.escape($0) }) else { return "no connection to the daemon, trying again…" }
        let words = "no daemon; start it: \(start)"
        return TextWidth.of(words) < columns ? words : start
    }

    private func typing() -> String {
        let typists = people.values.filter { !$0.isSelf && $0.typing.contains(current) }.map { names.shown($0.uid) }
            .sorted()
        switch typists.count {
        case 0: return ""
        case 1: return "\(typists[0]) is typing…"
        case 2: return "\(typists[0]) and \(typists[1]) are typing…"
        default: return "\(typists.count) people are typing…"
        }
    }
}
