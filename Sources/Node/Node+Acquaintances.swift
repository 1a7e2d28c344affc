internal import Chat
internal import ControlAPI
internal import Net
internal import Seal
internal import Store
internal import Tree

/// Trust on first use: a name belongs to the key that it was first seen with, until this user says otherwise.
extension Node {
    /// People looked at in one turn when the node starts.
    private static let recallStep = 100

    /// Reads what was decided, and finds out who has a name that somebody else had first; with many people in turns.
    func recallAcquaintances() throws {
        for (key, marks) in try store.personMarks() { acquaintances.set(marks, of: key) }
        recallNames(after: nil, [])
    }

    /// Names that were stored and not yet remembered, by an older version or just before the process died: none of them
    /// was known before the others.
    private func recallNames(after last: Key?, _ found: [(key: Bytes32, folded: String)]) {
        guard !isStopping, let users = ChatPath.users else { return }
        do {
            var (keys, names): ([Key], [(key: Bytes32, folded: String)]) = ([], found)
            try storedView.children(of: users, from: last, limit: Node.messageLimit) { key, _ in
                if key != last { keys.append(key) }
                return keys.count < Node.recallStep
            }
            for author in keys.compactMap({ UID.parse($0.text) }) {
                if let folded = try foldedName(of: author) { names.append((author, folded)) }
            }
            if keys.count == Node.recallStep, names.count < Node.peopleMax, let next = keys.last {
                let more = names
                return loop.execute { self.assumeIsolated { $0.recallNames(after: next, more) } }
            }
            try store.rememberNames(names, atMs: WallClock.milliseconds())
            for author in try store.namesakes() { try judgeName(of: author) }
        } catch {
            report(error, "remembering names")
        }
    }

    /// Writes into a new database what was decided; names are remembered anew as they come.
    func keepMarks() throws {
        for (key, marks) in acquaintances.marks { _ = try store.setMarks(marks, of: key) }
    }

    /// Something was written: names that have changed are looked at.
    func noticeNames(_ changed: [Path]) {
        var authors: Set<Bytes32> = []
        for path in changed where path.depth > 1 && path.keys[0].text == "users" {
            if let author = UID.parse(path.keys[1].text) { authors.insert(author) }
        }
        if !authors.isEmpty { noteNames(of: authors) }
    }

    private func noteNames(of authors: Set<Bytes32>) {
        guard !isClosed, !authors.isEmpty else { return }
        do {
            var names: [(key: Bytes32, folded: String)] = []
            for author in authors.sorted() {
                if let folded = try foldedName(of: author) { names.append((author, folded)) }
            }
            try store.rememberNames(names, atMs: WallClock.milliseconds())
            for author in authors.sorted() { try judgeName(of: author) }
        } catch {
            report(error, "remembering names")
        }
    }

    /// The login name that every machine has: it tells nobody from anybody.
    private static let everybodysName = "root"

    private func foldedName(of author: Bytes32) throws -> String? {
        let folded = try storedName(author).flatMap(PersonName.fold)
        return folded == Node.everybodysName ? nil : folded
    }

    /// Whether somebody has a name that is known from another key. Of people who are not to be seen nobody has to know.
    private func judgeName(of author: Bytes32) throws {
        guard author != uid, !acquaintances.hidden.contains(author), let folded = try foldedName(of: author),
            let bearer = try store.earlierBearer(of: folded, than: author)
        else { return endNamesake(author) }
        guard acquaintances.namesakes[author] != bearer else { return }
        guard acquaintances.namesakes.count < KnownPeople.namesakesMax else {
            return logOutside(.warning, "more people than can be told of have names that others had first")
        }
        acquaintances.namesakes[author] = bearer
        begin(NoticeRow(kind: .namesake, uid: UID.text(author), text: words(ofNamesake: author, bearer)))
        personChanged(author)
    }

    private func endNamesake(_ author: Bytes32) {
        guard acquaintances.namesakes.removeValue(forKey: author) != nil else { return }
        end(.namesake, uid: UID.text(author), "you know who \(name(of: author)) is")
        personChanged(author)
    }

    private func words(ofNamesake author: Bytes32, _ bearer: NameBearer) -> String {
        let uid = UID.text(author)
        let name = (try? storedName(author)) ?? String(uid.prefix(8))
        let tags = PersonTag.telling([uid, UID.text(bearer.key)])
        let known = bearer.key == self.uid ? "you" : "the \(name) you know (~\(tags[1]))"
        return "\(name)~\(tags[0]) has another key than \(known): a new machine, or somebody else; "
            + "ask them, and compare words: starling verify-identity \(uid)"
    }

    /// Warnings in one answer.
    private static let warningsMax = 3

    /// What somebody who sends something should know about those who may read it.
    var namesakeWarnings: [String] {
        let present = acquaintances.namesakes.filter { author, _ in
            (try? person(UID.text(author)))?.state != .offline
        }
        return present.sorted { $0.key < $1.key }.prefix(Node.warningsMax).map { words(ofNamesake: $0.key, $0.value) }
    }

    // MARK: What is not to be seen

    /// Whether a message is of somebody who is muted or blocked.
    func isHidden(_ message: Message, in channel: Key) -> Bool {
        guard !acquaintances.hidden.isEmpty else { return false }
        if acquaintances.hiddenUIDs.contains(message.senderId) { return true }
        guard !message.isVerified, let path = ChatPath.message(channel, message.key) else { return false }
        // Its sender may be anybody's word; who has signed it is not.
        return (try? store.entry(at: PathKey(path))).map { acquaintances.hidden.contains($0.author) } ?? false
    }

    /// Reactions without those of people who are not to be seen.
    func visible(_ reactions: [(emoji: String, uids: [String])]) -> [(emoji: String, uids: [String])] {
        guard !acquaintances.hidden.isEmpty else { return reactions }
        return reactions.compactMap { reaction in
            let uids = reaction.uids.filter { !acquaintances.hiddenUIDs.contains($0) }
            return uids.isEmpty ? nil : (reaction.emoji, uids)
        }
    }

    // MARK: Requests

    func peopleCall(_ method: String, _ params: Fields) throws -> JSON {
        let author = try resolvePerson(try params.string("person"))
        if method == "people.words" { return try safetyWords(author) }
        guard author != uid else { throw RPCError.invalidParams("that is you") }
        var marks = acquaintances.marks(of: author)
        switch method {
        case "people.verify": marks.isVerified = try params.optionalBool("verified") ?? true
        case "people.mute": marks.isMuted = try params.optionalBool("muted") ?? true
        case "people.block": marks.isBlocked = try params.optionalBool("blocked") ?? true
        default: break
        }
        let accepts = method == "people.accept" || (method == "people.verify" && marks.isVerified)
        if accepts, let folded = try foldedName(of: author) { try store.acceptName(folded, of: author) }
        guard try store.setMarks(marks, of: author) else {
            throw RPCError(reason: .quota, message: "\(KnownPeople.marksMax) people have a mark already")
        }
        let old = acquaintances.marks(of: author)
        acquaintances.set(marks, of: author)
        try judgeName(of: author)
        if old.isHidden != marks.isHidden { try visibilityChanged() }
        if old.isBlocked != marks.isBlocked { blockChanged(author, marks.isBlocked) }
        personChanged(author)
        return try person(UID.text(author))?.json ?? [:]
    }

    private func safetyWords(_ author: Bytes32) throws -> JSON {
        guard author != uid else {
            throw RPCError.invalidParams("words are compared with somebody else; your fingerprint: identity.show")
        }
        return [
            "uid": .string(UID.text(author)), "name": .string(try displayName(of: author)),
            "fingerprint": .string(Node.fingerprint(author)),
            "words": .array(SafetyWords.words(uid, author).map(JSON.string)),
            "verified": .bool(acquaintances.marks(of: author).isVerified),
        ]
    }

    /// What is unread has changed everywhere.
    private func visibilityChanged() throws {
        guard !subscriptions.channels.isEmpty, let channels = ChatPath.channels else { return }
        let keys = try storedView.childKeys(of: channels, limit: Node.channelsMax)
        notifyObservers(keys.compactMap { ChatPath.channel($0) }.map { [$0] })
    }

    private func blockChanged(_ author: Bytes32, _ isBlocked: Bool) {
        if isBlocked {
            for id in links.keys.sorted() where links[id]?.peer == author {
                closeLink(id, reason: "\(name(of: author)) is blocked")
            }
        } else {
            dialer.reset(nowMs: EventLoop.monotonicMs())
            dialDue()
        }
    }
}
