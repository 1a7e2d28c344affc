internal import Replication
internal import Store
internal import Chat
internal import ControlAPI
internal import Tree

extension Node {
    /// Channels listed at once.
    static let channelsMax = 5000
    /// Characters of a topic that a list shows.
    static let topicMax = 250
    /// Nodes that are looked at for a channel's youngest message; others may put there what is none.
    static let lastMax = 100

    private var generalName: ChannelName? { try? ChannelName(ChannelName.general) }
    var generalKey: Key? { generalName?.key(workspace: workspace.id) }

    /// A channel's name as it stands in the tree; `#general` has one from the start.
    func channelName(_ cid: Key) throws -> String? {
        if let path = ChatPath.channel(cid)?.appending("name"), let name = try metadata(at: path).string, !name.isEmpty,
            name.utf8.count <= ChannelName.textSizeMax
        {
            return name
        }
        return cid == generalKey ? ChannelName.general : nil
    }

    private func lastArrival(_ cid: Key) throws -> Int64 {
        try ChatPath.channel(cid).map { try store.lastArrival(container: $0) } ?? 0
    }

    /// Whether anybody has named the channel or written into it.
    func channelExists(_ cid: Key) throws -> Bool { try channelName(cid) != nil || lastArrival(cid) > 0 }

    /// The channel that a client means by `#name` or by key.
    ///
    /// A name is looked up first by the key that certifies it, unless that channel has been renamed since; then among
    /// the current names; a renamed channel is still found by its old one.
    ///
    /// - Throws: `not_found`, `ambiguous_name`, `invalid_params`.
    func resolveChannel(_ text: String) throws -> (key: Key, note: String?) {
        guard text.utf8.first == 0x23 else {
            if text.utf8.first == 0x40 {
                throw RPCError.invalidParams("there are no direct messages yet: name a channel, like #general")
            }
            if let cid = Key(text), AutoID(text) != nil || AutoID.pushIDMs(text) != nil {
                guard try channelExists(cid) else { throw Node.noChannel(text) }
                return (cid, nil)
            }
            throw RPCError.invalidParams("a channel is named like #general, or by its key")
        }
        if let known = certifiedChannels[text] { return (known, nil) }
        let name = try channelName(parsing: text)
        guard let certified = name.key(workspace: workspace.id) else { throw Node.noChannel(text) }
        let current = try channelName(certified)
        if let current, ChannelName.fold(current) == name.folded {
            remember(channel: certified, as: text)
            return (certified, nil)
        }
        let hasMessages = try lastArrival(certified) > 0
        if current == nil, hasMessages { return (certified, nil) }
        let named = try channelKeys().filter { try channelName($0).flatMap(ChannelName.fold) == name.folded }
        if named.count > 1 {
            let keys = named.map(\.text).joined(separator: ", ")
            throw RPCError(reason: .ambiguousName, message: "several channels are called #\(name.text): \(keys)")
        }
        if let only = named.first { return (only, nil) }
        guard let current else { throw Node.noChannel(text) }
        return (certified, "#\(name.text) is called #\(current) now")
    }

    func channelName(parsing text: String) throws(RPCError) -> ChannelName {
        do throws(ChannelNameError) {
            return try ChannelName(text)
        } catch {
            throw .invalidParams("\(error)")
        }
    }

    static func noChannel(_ text: String) -> RPCError {
        let create = text.utf8.first == 0x23 ? "; open it with: starling channels create '\(text)'" : ""
        return RPCError(reason: .notFound, message: "nobody has opened \(text)\(create)")
    }

    private func channelKeys() throws -> [Key] {
        guard let channels = ChatPath.channels else { return [] }
        return try storedView.childKeys(of: channels, limit: Node.channelsMax)
    }

    func channelRow(_ cid: Key) throws -> ChannelRow? {
        guard let path = ChatPath.channel(cid), let messages = ChatPath.messages(cid), try channelExists(cid) else {
            return nil
        }
        let topic = try path.appending("topic").flatMap { try metadata(at: $0).string }
            .map { String($0.unicodeScalars.prefix(Node.topicMax)) }
        let archived = try path.appending("archived").map { try metadata(at: $0) } == .bool(true)
        var last: String?
        var seen = 0
        try storedView.children(of: messages, descending: true, limit: Node.messageLimit) { key, value in
            if Message(key: key, value: value) != nil { last = key.text }
            seen += 1
            return last == nil && seen < Node.lastMax
        }
        let mark = try store.readMark(container: path)
        let unread = try store.unread(container: path, afterArrival: mark, notBy: uid)
        return ChannelRow(
            key: cid.text, name: try channelName(cid) ?? cid.text, topic: topic, unread: Int64(unread), last: last,
            archived: archived, before: try store.retention(ofChannel: cid).map { Int64(clamping: $0.beforeMs) },
            keepMs: try keptMs(cid))
    }

    /// All channels: `#general` first, the others by name.
    func channelRows() throws -> [ChannelRow] {
        var keys = try channelKeys()
        if let general = generalKey, !keys.contains(general) { keys.append(general) }
        let rows = try keys.compactMap { try channelRow($0) }
        return rows.sorted { a, b in
            let (generalA, generalB) = (a.key == generalKey?.text, b.key == generalKey?.text)
            if generalA != generalB { return generalA }
            return a.name != b.name ? a.name < b.name : a.key < b.key
        }
    }

    func channelList() throws -> JSON { ["channels": .array(try channelRows().map(\.json))] }

    func channelObserve(_ session: ControlSession, _ id: JSON?) throws -> JSON? {
        let rows = try channelRows()
        var told: [String: ChannelRow] = [:]
        for row in rows { told[row.key] = row }
        try subscribe(session, .channels(told), id) { number in rows.lazy.map { Node.channelEvent(number, $0) } }
        return nil
    }

    func channelCreate(_ params: Fields) throws -> JSON {
        let text = try params.string("name")
        let name = try channelName(parsing: text)
        let isOwn = try params.optionalBool("own") ?? false
        do {
            // Also one that was renamed since: opening it by its old name must not rename it back for everybody.
            let existing = try resolveChannel("#" + name.text)
            guard !isOwn || AutoID(existing.key.text)?.isCertified(by: uid) == true else {
                throw RPCError(reason: .permissionDenied, message: "#\(name.text) is open already, and not yours")
            }
            if try channelName(existing.key) != nil, case .object(var row)? = try channelRow(existing.key)?.json {
                row.append("note", ifPresent: existing.note.map(JSON.string))
                return .object(row)
            }
        } catch let error as RPCError where error.reason == .notFound {}
        let hlc = try tick()
        let key = isOwn ? Key(AutoID(hlc: hlc, author: uid).text) : name.key(workspace: workspace.id)
        guard let cid = key, let path = ChatPath.channel(cid),
            let namePath = path.appending("name"), let byPath = path.appending("createdBy"),
            let atPath = path.appending("createdAt"), let topicPath = path.appending("topic")
        else { throw Node.noChannel(text) }
        var writes: [(path: Path, value: Value)] = [
            (namePath, .string(name.text)), (byPath, .string(UID.text(uid))),
            (atPath, .number(Int64(clamping: hlc.ms))),
        ]
        if let topic = try params.optionalString("topic"), !topic.isEmpty { writes.append((topicPath, .string(topic))) }
        try write(writes, at: hlc)
        return try channelRow(cid)?.json ?? [:]
    }

    private func channelWrite(_ params: Fields, _ field: String, _ value: Value) throws -> JSON {
        let cid = try resolveChannel(try params.string("channel")).key
        guard let path = ChatPath.channel(cid)?.appending(field) else { return [:] }
        try write(at: path, value)
        return try channelRow(cid)?.json ?? [:]
    }

    func channelRename(_ params: Fields) throws -> JSON {
        let name = try channelName(parsing: try params.string("name"))
        return try channelWrite(params, "name", .string(name.text))
    }

    func channelTopic(_ params: Fields) throws -> JSON {
        let topic = try params.string("topic")
        return try channelWrite(params, "topic", topic.isEmpty ? .null : .string(topic))
    }

    func channelArchive(_ params: Fields) throws -> JSON {
        try channelWrite(params, "archived", try params.optionalBool("archived") ?? true ? .bool(true) : .null)
    }

    func readMark(_ params: Fields) throws -> JSON {
        let cid = try resolveChannel(try params.string("in")).key
        guard let path = ChatPath.channel(cid) else { return [:] }
        try store.setReadMark(container: path, arrival: try store.lastArrival(container: path))
        notifyObservers([[path]])
        noteRead(cid)
        sendReceiptSoon(cid)
        return [:]
    }

    // MARK: Typing

    /// Typing lives this long and is refreshed at half of it.
    static let typingMs: UInt64 = 6000

    func typingSet(_ params: Fields, _ session: ControlSession) throws -> JSON {
        let cid = try resolveChannel(try params.string("in")).key
        setTyping(cid, try params.bool("typing"), holds: try params.optionalBool("hold") ?? false, session)
        return [:]
    }

    /// - Parameter holds: it lasts until the client ends.
    func setTyping(_ cid: Key, _ isTyping: Bool, holds: Bool, _ session: ControlSession) {
        guard let path = ChatPath.typing(cid, uid) else { return }
        if isTyping {
            if holds { session.typing.insert(cid) }
            // What one client holds does not end because another says the same for a while.
            let isHeld = sessions.values.contains { $0.typing.contains(cid) }
            step(.setSoft(path, .bool(true), ttlMs: Node.typingMs, isRefreshed: isHeld))
        } else {
            session.typing.remove(cid)
            endTyping(cid)
        }
    }

    /// An own message has ended the indicator, whoever held it.
    func forgetTyping(_ written: [Entry]) {
        for entry in written where !entry.value.isNull {
            let keys = entry.path.keys
            guard keys.count == 4, keys[0].text == "channels", keys[2].text == "messages" else { continue }
            for session in sessions.values { session.typing.remove(keys[1]) }
        }
    }

    /// Ends the typing indicator unless another client still holds it.
    func endTyping(_ cid: Key) {
        guard !sessions.values.contains(where: { $0.typing.contains(cid) }), let path = ChatPath.typing(cid, uid) else {
            return
        }
        step(.setSoft(path, nil, ttlMs: 0, isRefreshed: false))
    }
}
