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
        let mid = try params.optionalString("key") ?? AutoID(hlc: hlc, author: uid).text
        guard let key = Key(mid), AutoID(mid)?.isCertified(by: uid) == true, let path = ChatPath.message(cid, key)
        else {
            throw RPCError.invalidParams("\"key\" must come from tree.newKey")
        }
        var answer: JSONObject = ["key": .string(mid), "in": .string(cid.text)]
        answer.append("note", ifPresent: note.map(JSON.string))
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
            guard let key = Key(text), container.depth == 2, let path = ChatPath.message(container.keys[1], key) else {
                continue
            }
            found.append(path)
        }
        guard found.count <= 1 else {
            throw RPCError(reason: .ambiguousName, message: "two channels have a message \(text)")
        }
        guard let path = found.first else {
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
        let hlc = try tick()
        try write([(textPath, .string(text)), (editedPath, .number(Int64(clamping: hlc.ms)))], at: hlc)
        return Node.keyAnswer(path)
    }

    private static func keyAnswer(_ path: Path) -> JSON { ["key": .string(path.last?.text ?? "")] }

    func messageDelete(_ params: Fields) throws -> JSON {
        let path = try message(try params.string("key"))
        try write([(path, .null)])
        return Node.keyAnswer(path)
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
        try view.children(of: messages, through: before, descending: true) { key, value in
            if key != before, let message = Message(key: key, value: value) {
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
            reactions: message.reactions.map { MessageRow.Reaction(emoji: $0.emoji, uids: $0.uids) })
    }

    func messageObserve(_ params: Fields, _ session: ControlSession, _ id: JSON?) throws -> JSON? {
        let cid = try resolveChannel(try params.string("in")).key
        let limit = try messageLimit(params)
        guard let messages = ChatPath.messages(cid) else { return [:] }
        var observation = Observation(
            path: messages, query: Query(limit: .last(limit)), kinds: [.childAdded, .childChanged, .childRemoved],
            sizeMax: Node.snapshotMax)
        let events = try observation.start(view)
        let number = try subscribe(session, .messages(observation, channel: cid))
        answer(id, ["subscription": .int(Int64(number)), "in": .string(cid.text)], session)
        for event in events { send(event, of: cid, number, session) }
        session.send(
            RPCResponse.notification("event", ["subscription": .int(Int64(number)), "event": "ready"]))
        return nil
    }

    /// A change of a channel's messages as its followers see it. A message that only left the window is no news.
    func send(_ event: TreeEvent, of channel: Key, _ number: Int, _ session: ControlSession) {
        guard let key = event.key else { return }
        var params: JSONObject = ["subscription": .int(Int64(number))]
        switch event.kind {
        case .childAdded, .childChanged:
            guard let message = Message(key: key, value: event.value) else { return }
            params.append("event", "message")
            params.append("message", row(message, channel).json)
        case .childRemoved:
            guard let path = ChatPath.message(channel, key), (try? view.value(at: path))?.isNull ?? false,
                Message(key: key, value: event.value) != nil
            else { return }
            params.append("event", "deleted")
            params.append("key", .string(key.text))
            params.append("in", .string(channel.text))
        case .childMoved, .value: return
        }
        session.send(RPCResponse.notification("event", .object(params)))
    }
}
