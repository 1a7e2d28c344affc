internal import Store
internal import Chat
internal import ControlAPI
internal import Tree

extension Node {
    /// Messages in one answer.
    static let messagesMax = 10_000
    static let messagesDefault = 50

    func messageSend(_ params: Fields) throws -> JSON {
        let text = try params.string("text")
        guard !text.isEmpty else { throw RPCError.invalidParams("a message has a text") }
        guard text.utf8.count <= Message.textMax else {
            throw RPCError(reason: .tooLarge, message: "a message has at most \(Message.textMax) bytes")
        }
        let (cid, note) = try resolveChannel(try params.string("to"))
        let replyTo = try params.optionalString("replyTo")
        if let replyTo { _ = try message(replyTo) }
        let hlc = try tick()
        let asked = try params.optionalString("key")
        let mid = try asked.flatMap(renewedKey) ?? asked ?? AutoID(hlc: hlc, author: uid).text
        guard let key = Key(mid), AutoID(mid)?.isCertified(by: uid) == true, let path = ChatPath.message(cid, key)
        else {
            throw RPCError.invalidParams("\"key\" must come from tree.newKey")
        }
        var answer: JSONObject = ["key": .string(mid), "in": .string(cid.text)]
        answer.append("note", ifPresent: note.map(JSON.string))
        if !acquaintances.namesakes.isEmpty {
            let warnings = namesakeWarnings
            if !warnings.isEmpty { answer.append("warnings", .array(warnings.map(JSON.string))) }
        }
        // A retry with the same key finds the message there, or its tombstone, and changes nothing.
        if params["key"] != nil, try store.entry(at: PathKey(path)) != nil { return .object(answer) }
        let value = Message.value(
            sender: uid, senderName: try displayName(of: uid), text: text, createdAtMs: hlc.ms, replyTo: replyTo)
        try write([(path, value)], at: hlc)
        return .object(answer)
    }

    /// The channel and path of a message, found by its key alone.
    func message(_ text: String) throws -> Path {
        var found: [Path] = []
        for container in try store.containers(ofMessage: text) {
            // Conversations and rooms have messages, too, of which the chat knows nothing.
            guard let key = Key(text), container.depth == 2, container.keys[0].text == "channels",
                let path = ChatPath.message(container.keys[1], key)
            else { continue }
            found.append(path)
        }
        guard found.count <= 1 else {
            throw RPCError(reason: .ambiguousName, message: "two channels have a message \(text)")
        }
        guard let path = found.first else {
            if let renewed = try renewedKey(text) { return try message(renewed) }
            throw RPCError(reason: .notFound, message: "there is no message \(text)")
        }
        return path
    }

    func messageEdit(_ params: Fields) throws -> JSON {
        let text = try params.string("text")
        guard !text.isEmpty else { throw RPCError.invalidParams("a message has a text; to remove it, delete it") }
        guard text.utf8.count <= Message.textMax else {
            throw RPCError(reason: .tooLarge, message: "a message has at most \(Message.textMax) bytes")
        }
        let path = try message(try params.string("key"))
        guard let textPath = path.appending("text"), let editedPath = path.appending("editedAt") else { return [:] }
        try refuseOthers(path)
        let hlc = try tick()
        try write([(textPath, .string(text)), (editedPath, .number(Int64(clamping: hlc.ms)))], at: hlc)
        return Node.keyAnswer(path)
    }

    private static func keyAnswer(_ path: Path) -> JSON {
        ["key": .string(path.last?.text ?? ""), "in": .string(path.keys[1].text)]
    }

    func messageDelete(_ params: Fields) throws -> JSON {
        let path = try message(try params.string("key"))
        try refuseOthers(path)
        try write([(path, .null)])
        return Node.keyAnswer(path)
    }

    /// Whose message it is, in words for whoever wants to change it; the key says so, whatever the message claims.
    private func refuseOthers(_ path: Path) throws {
        guard let key = path.last?.text, let id = AutoID(key), !id.isCertified(by: uid) else { return }
        let sender = try metadata(at: path.appending("senderId") ?? path).string
        guard let sender, let author = UID.parse(sender), id.isCertified(by: author) else { return }
        let name = try displayName(of: author)
        throw RPCError(
            reason: .permissionDenied, message: "that message is \(name)'s; only \(name) can change it")
    }

    func messageReact(_ params: Fields) throws -> JSON {
        let path = try message(try params.string("key"))
        let text = try params.string("emoji")
        guard let emoji = Key(text), let place = ChatPath.reaction(path, uid, emoji) else {
            throw RPCError(reason: .invalidPath, message: "\(PathError.invalidKey(text))")
        }
        let removes = try params.optionalBool("remove") ?? false
        try write(at: place, removes ? .null : .bool(true))
        return Node.keyAnswer(path)
    }

    func messageList(_ params: Fields) throws -> JSON {
        let cid = try resolveChannel(try params.string("in")).key
        let limit = try messageLimit(params)
        guard let messages = ChatPath.messages(cid) else { return [:] }
        var before: Key?
        if let text = try params.optionalString("before") {
            guard let key = Key(text) else { throw RPCError.invalidParams("\"before\" is a message's key") }
            before = key
        }
        var rows: [MessageRow] = []
        var size = 0
        try storedView.children(of: messages, through: before, descending: true, limit: Node.messageLimit) {
            key, value in
            if key != before, let message = Message(key: key, value: value), !isHidden(message, in: cid) {
                size += value.approximateSize
                guard size <= Node.snapshotMax else { return false }
                rows.append(row(message, cid))
            }
            return rows.count < limit
        }
        return ["in": .string(cid.text), "messages": .array(rows.reversed().map(\.json))]
    }

    private func messageLimit(_ params: Fields) throws -> Int {
        let limit = try params.optionalInt("limitToLast") ?? Int64(Node.messagesDefault)
        guard limit >= 1, limit <= Int64(Node.messagesMax) else {
            throw RPCError.invalidParams("a limit is 1 to \(Node.messagesMax)")
        }
        return Int(limit)
    }

    func row(_ message: Message, _ channel: Key) -> MessageRow {
        MessageRow(
            key: message.key.text, channel: channel.text, senderId: message.senderId, senderName: message.senderName,
            text: message.text, createdAt: message.createdAtMs, verified: message.isVerified, replyTo: message.replyTo,
            editedAt: message.editedAtMs, attachment: message.attachment.map { JSON($0) },
            reactions: visible(message.reactions).map { MessageRow.Reaction(emoji: $0.emoji, uids: $0.uids) })
    }

    func messageObserve(_ params: Fields, _ session: ControlSession, _ id: JSON?) throws -> JSON? {
        let cid = try resolveChannel(try params.string("in")).key
        let limit = try messageLimit(params)
        guard let messages = ChatPath.messages(cid) else { return [:] }
        let observation = Observation(
            path: messages, query: Query(limit: .last(try fitting(limit, messages))),
            kinds: [.childAdded, .childChanged, .childRemoved], sizeMax: Node.messageWindowMax,
            childLimit: Node.messageLimit)
        let (window, events) = try followed(observation, .messages(channel: cid), storedView)
        let lines =
            events.compactMap { line($0, of: cid, TouchedMessages([], of: cid)) } + [EventLine(["event": "ready"])]
        try subscribe(session, .window(window), id, answer: ["in": .string(cid.text)], lines: lines)
        return nil
    }

    /// Bytes of a message that are read; with more, for instance thousands of reactions, it is shown without what is
    /// too much. A text of the greatest length fits even if every byte of it has to be escaped.
    static let messageLimit = ChildLimit.abridge(sizeMax: 512 << 10)
    /// Bytes of messages that one follower's window may grow to.
    static let messageWindowMax = 32 << 20

    /// How many of the last messages can be shown at once: others decide how large they are, and a few large ones must
    /// not keep anybody from reading.
    private func fitting(_ limit: Int, _ messages: Path) throws -> Int {
        var count = 0
        var size = 0
        try storedView.children(of: messages, descending: true, limit: Node.messageLimit) { _, value in
            size += value.approximateSize
            guard size <= Node.snapshotMax else { return false }
            count += 1
            return count < limit
        }
        return size <= Node.snapshotMax ? limit : max(1, count)
    }

    /// A change of a channel's messages as its followers see it. A message that only left the window is no news.
    ///
    /// - Parameter touched: what was written.
    func line(_ event: TreeEvent, of channel: Key, _ touched: TouchedMessages) -> EventLine? {
        guard let key = event.key else { return nil }
        var fields = JSONObject()
        switch event.kind {
        case .childAdded, .childChanged:
            guard let message = Message(key: key, value: event.value), !isHidden(message, in: channel) else {
                return nil
            }
            fields.append("event", "message")
            fields.append("message", row(message, channel).json)
        case .childRemoved:
            // With every message that arrives one leaves the window: whatever was not written to is still there.
            guard touched.contains(key), let path = ChatPath.message(channel, key),
                (try? storedView.isAbsent(at: path)) ?? false,
                let message = Message(key: key, value: event.value), !isHidden(message, in: channel)
            else { return nil }
            fields.append("event", "deleted")
            fields.append("key", .string(key.text))
            fields.append("in", .string(channel.text))
        case .childMoved, .value: return nil
        }
        return EventLine(fields)
    }
}

/// Which messages of a channel some writes touched. In a burst one leaves the window with each that arrives: looking
/// through all writes for each would take a quarter of the time.
struct TouchedMessages {
    private var isAll = false
    private var keys: Set<Key> = []

    init(_ changed: [Path], of channel: Key) {
        guard let messages = ChatPath.messages(channel) else { return }
        for path in changed {
            if path.contains(messages) {
                isAll = true
            } else if messages.contains(path) {
                keys.insert(path.keys[messages.depth])
            }
        }
    }

    func contains(_ key: Key) -> Bool { isAll || keys.contains(key) }
}
