internal import Chat
internal import ControlAPI
internal import CPosix
internal import Glibc
internal import Net
internal import Replication
internal import Seal
internal import Store
internal import Tree
internal import Wire

extension Node {
    /// Presence lives this long and is refreshed at half of it.
    static let presenceMs: UInt64 = 30_000
    /// Without any client activity for this long a person counts as away.
    static let awayMs: UInt64 = 10 * 60 * 1000
    /// UTF-8 bytes of a display name.
    static let nameMax = 80

    /// At first start the login name becomes the display name; `--name` sets it at any start.
    func takeName() throws {
        let stored = try storedName(uid)
        let chosen = try options.name ?? (stored == nil ? inheritedName().flatMap(Node.plain) : nil)
        let wanted = chosen ?? stored ?? Node.loginName()
        if wanted != stored {
            if chosen == nil { try setDefaultName(wanted) } else { try setName(wanted) }
        }
        if isNewIdentity {
            log.info("you are \(wanted); change it with: starling profile --name NAME")
        }
    }

    /// Older than any time there is, so that a chosen name wins: a node whose database was lost gets it back from its
    /// peers.
    private func setDefaultName(_ name: String) throws {
        guard let path = ChatPath.user(uid)?.appending("displayName") else { return }
        try write([(path, .string(name))], at: HLC(ms: 1))
    }

    private static func loginName() -> String {
        if let entry = unsafe getpwuid(geteuid()) {
            let name = unsafe String(cString: entry.pointee.pw_name)
            if !name.isEmpty { return name }
        }
        return "user\(geteuid())"
    }

    /// A name of before control characters were refused, without them; nil if nothing is left.
    private static func plain(_ name: String) -> String? {
        let kept = String(String.UnicodeScalarView(name.unicodeScalars.filter { !isControl($0) }))
        return kept.isEmpty ? nil : kept
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.generalCategory == .control
    }

    func setName(_ name: String) throws(RPCError) {
        guard !name.isEmpty, name.utf8.count <= Node.nameMax else {
            throw .invalidParams("a display name has 1 to \(Node.nameMax) bytes")
        }
        guard !name.unicodeScalars.contains(where: Node.isControl) else {
            throw .invalidParams("a display name may not contain line breaks or other control characters")
        }
        guard let path = ChatPath.user(uid)?.appending("displayName") else { return }
        try write([(path, .string(name))])
    }

    func storedName(_ author: Bytes32) throws -> String? {
        if let known = storedNames[author] { return known }
        guard let path = ChatPath.user(author)?.appending("displayName"),
            let name = try metadata(at: path).string, !name.isEmpty
        else { return nil }
        // Others may have written more than this node would let its own user write.
        let short = name.utf8.count <= Node.nameMax ? name : String(name.unicodeScalars.prefix(Node.nameMax / 4))
        remember(name: short, of: author)
        return short
    }

    /// Bytes read of a name or a topic, which others have written.
    private static let metadataMax = 64 << 10

    /// A small value that others have written; null if it is far too large.
    func metadata(at path: Path) throws -> Value {
        do {
            return try storedView.value(at: path, sizeMax: Node.metadataMax)
        } catch ReadError.tooLarge {
            return .null
        }
    }

    /// The display name somebody has chosen, or the beginning of his key.
    func displayName(of author: Bytes32) throws -> String {
        try storedName(author) ?? String(UID.text(author).prefix(8))
    }

    /// For log lines: never fails.
    func name(of author: Bytes32) -> String {
        let short = String(UID.text(author).prefix(8))
        guard let name = try? storedName(author) else { return short }
        return "\(name) (\(short))"
    }

    func profileSet(_ params: Fields) throws -> JSON {
        if let name = try params.optionalString("name") { try setName(name) }
        if let about = try params.optionalString("about"), let path = ChatPath.user(uid)?.appending("about") {
            try write(at: path, about.isEmpty ? .null : .string(about))
        }
        if let isOn = try params.optionalBool("receipts") { try setSendsReceipts(isOn) }
        return [
            "uid": .string(UID.text(uid)), "name": .string(try displayName(of: uid)), "receipts": .bool(sendsReceipts),
        ]
    }

    func identityShow() throws -> JSON {
        [
            "uid": .string(UID.text(uid)), "name": .string(try displayName(of: uid)),
            "fingerprint": .string(Node.fingerprint(uid)),
        ]
    }

    static func fingerprint(_ author: Bytes32) -> String {
        // Groups of four are easier to compare aloud.
        let digits = Array(BLAKE2b.hash(author.bytes).hex.prefix(32))
        let groups = stride(from: 0, to: digits.count, by: 4).map { String(digits[$0..<($0 + 4)]) }
        return groups.joined(separator: " ")
    }

    // MARK: People

    func people() throws -> [PersonRow] {
        var uids: Set<String> = [UID.text(uid)]
        if let users = ChatPath.users {
            uids.formUnion(try storedView.childKeys(of: users, limit: Node.peopleMax).map(\.text))
        }
        for author in replicator.soft.liveAuthors.prefix(Node.peopleMax) { uids.insert(UID.text(author)) }
        for node in connectedNodes { uids.insert(UID.text(node)) }
        for author in acquaintances.marks.keys { uids.insert(UID.text(author)) }
        let rows = try uids.compactMap { try person($0) }
        return rows.sorted { a, b in
            if a.isSelf != b.isSelf { return a.isSelf }
            let (offlineA, offlineB) = (a.state == .offline, b.state == .offline)
            if offlineA != offlineB { return offlineB }
            return a.name != b.name ? a.name < b.name : a.uid < b.uid
        }
    }

    static let peopleMax = 10_000

    func person(_ text: String) throws -> PersonRow? {
        guard let author = UID.parse(text) else { return nil }
        var state = PersonRow.State.offline
        var since: Int64?
        if let path = ChatPath.presence(author), let record = replicator.soft.record(author: author, path: path) {
            state = record.value["state"].string == "away" ? .away : .online
            since = record.value["since"].integer
        } else if connectedNodes.contains(author) {
            state = .online
        }
        let marks = acquaintances.marks(of: author)
        let records = marks.isHidden ? [] : replicator.soft.live(of: author)
        let typing = records.compactMap { ChatPath.typingChannel($0.path)?.text }
        return PersonRow(
            uid: text, name: try displayName(of: author), state: state, since: since, typing: typing,
            verified: marks.isVerified, isSelf: author == uid, muted: marks.isMuted, blocked: marks.isBlocked,
            namesakeOf: acquaintances.namesakes[author].map { UID.text($0.key) })
    }

    func peopleObserve(_ session: ControlSession, _ id: JSON?) throws -> JSON? {
        let rows = try people()
        try subscribe(session, .people, id) { number in rows.lazy.map { Node.personEvent(number, $0) } }
        return nil
    }

    static func personEvent(_ number: Int, _ row: PersonRow) -> JSON {
        RPCResponse.notification(
            "event", ["subscription": .int(Int64(number)), "event": "person", "person": row.json])
    }

    func personChanged(_ author: Bytes32) { notifyPerson(UID.text(author)) }

    func publishPresence() {
        guard let path = ChatPath.presence(uid), let state = Key("state"), let since = Key("since") else { return }
        let value = Value.object(
            ObjectValue([
                (state, .string(isAway ? "away" : "online")), (since, .number(Int64(clamping: presenceSinceMs))),
            ]))
        step(.setSoft(path, value, ttlMs: Node.presenceMs, isRefreshed: true))
    }

    /// Follows the activity of clients: away after ten minutes without any, back at the first request.
    func updateAway() {
        let away = EventLoop.monotonicMs() &- lastClientMs >= Node.awayMs
        guard away != isAway else { return }
        isAway = away
        presenceSinceMs = WallClock.milliseconds()
        publishPresence()
    }
}
