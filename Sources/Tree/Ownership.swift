internal import CBOR
public import Seal

/// Who may write where: a function of kind, path, author and value alone, the same on every node.
///
/// It is applied to an entry's path and to every path inside its value; one denied path denies the entry. It never
/// looks at the state of the tree, so the order of arrival cannot matter.
public enum Ownership {
    /// A Firebase client's push ID may lie this far ahead of the entry that carries it.
    static let pushIDLeadMs: UInt64 = 60_000
    /// The deepest place a row names (`channels/{cid}/messages/{mid}/reactions/{uid}`); below it nothing changes.
    static let namedDepthMax = 6

    /// Why an entry is denied, or nil if its author may write it.
    public static func denial(of entry: Entry) -> Denial? {
        var keys = entry.path.keys
        if let last = keys.last, last.isEngine {
            if let denial = engineDenial(last, entry) { return denial }
            keys.removeLast()
        }
        guard let first = keys.first else { return .reserved }
        guard reserved.contains(first.text) else { return nil }
        let content = Content(entry: entry)
        return denial(keys, entry.value, content)
    }

    /// Whether anybody may write at a path, given a value that is his and a time that is late enough. What is
    /// overwritten there has no owner who could put it back. An engine's key counts as the place that it stands below.
    public static func isOpen(_ path: Path) -> Bool {
        let keys = path.last?.isEngine == true ? Array(path.keys.dropLast()) : path.keys
        guard let first = keys.first else { return false }
        return !reserved.contains(first.text) || row(keys, Content(ofAnybodyAt: keys.count)) == nil
    }

    /// Why `author` may not send soft state at a path, or nil if he may.
    public static func softDenial(path: Path, author: Bytes32) -> Denial? {
        let keys = path.keys
        switch (keys.first?.text, keys.count) {
        case ("presence", 2):
            return isAuthor(keys[1], author) ? nil : .notOwner
        case ("channels", 4) where keys[2].text == "typingIndicator":
            return isAuthor(keys[3], author) ? nil : .notOwner
        default: return .softOnly
        }
    }

    private static let conversations: Set<String> = ["channels", "dms", "rooms"]
    private static let reserved: Set<String> = ["users", "channels", "dms", "rooms", "presence", "retention"]

    private struct Content {
        /// Nil for anybody: somebody to whom no place belongs.
        let author: Bytes32?
        let hlc: HLC
        let value: Value
        /// Depth of the entry itself, without an engine key.
        let isEntry: (Int) -> Bool

        init(entry: Entry) {
            author = entry.author
            hlc = entry.hlc
            value = entry.value
            let depth = entry.path.depth
            isEntry = { $0 == depth }
        }

        init(ofAnybodyAt depth: Int) {
            author = nil
            hlc = HLC(ms: HLC.msMax)
            value = .bool(true)
            isEntry = { $0 == depth }
        }

        /// Whether the author made an AutoID.
        func certifies(_ id: AutoID, content: [UInt8] = []) -> Bool {
            author.map { id.isCertified(by: $0, content: content) } ?? false
        }
    }

    private static func denial(_ keys: [Key], _ value: Value, _ content: Content) -> Denial? {
        if let denial = row(keys, content) { return denial }
        guard keys.count < namedDepthMax, let object = value.object else { return nil }
        for child in object.children where hasOwnRow(child.key, below: keys) {
            if let denial = denial(keys + [child.key], child.value, content) { return denial }
        }
        return nil
    }

    /// Whether a row may say something else of a child than of its parent. Inside a message only reactions have a row
    /// of their own; that its fields belong to its author was established with the message, once.
    private static func hasOwnRow(_ child: Key, below parent: [Key]) -> Bool {
        guard parent.count >= 4, parent[2].text == "messages", conversations.contains(parent[0].text) else {
            return true
        }
        return (parent.count == 4 ? child : parent[4]).text == "reactions"
    }

    private static func engineDenial(_ key: Key, _ entry: Entry) -> Denial? {
        guard let id = key.additionID else {
            switch entry.value {
            case .null, .integer, .double, .string: return nil
            case .bool, .object: return .malformedKey
            }
        }
        switch entry.value {
        case .integer, .double: return id.isCertified(by: entry.author) && id.hlc <= entry.hlc ? nil : .notOwner
        default: return .malformedKey
        }
    }

    /// The most specific row for one path.
    private static func row(_ keys: [Key], _ content: Content) -> Denial? {
        guard let top = keys.first?.text else { return .reserved }
        if keys.count == 1 { return .reserved }
        switch top {
        case "users": return isAuthor(keys[1], content.author) ? nil : .notOwner
        case "channels": return channel(keys, content)
        case "dms": return direct(keys, content)
        case "rooms": return room(keys, content)
        case "presence": return .softOnly
        case "retention": return retention(keys, content)
        default: return nil
        }
    }

    private static func channel(_ keys: [Key], _ content: Content) -> Denial? {
        let channel = KeyClass(keys[1])
        if let denial = channel.timeDenial(content.hlc) { return denial }
        if keys.count == 2 {
            switch channel {
            case .auto(let id): return content.certifies(id) ? nil : .notOwner
            case .push: return nil
            case .name: return .namedChannel
            case .other: return .malformedKey
            }
        }
        switch keys[2].text {
        case "messages": return keys.count == 3 ? .reserved : message(keys, 3, content)
        case "reads":
            if keys.count == 3 { return .reserved }
            return isAuthor(keys[3], content.author) ? nil : .notOwner
        case "typingIndicator": return keys.count == 3 ? .reserved : .softOnly
        default: return nil
        }
    }

    /// `…/{mid}` at `keys[index]` and what stands below it.
    private static func message(_ keys: [Key], _ index: Int, _ content: Content) -> Denial? {
        let message = KeyClass(keys[index])
        if let denial = message.timeDenial(content.hlc) { return denial }
        if keys.count > index + 2, keys[index + 1].text == "reactions" {
            return isAuthor(keys[index + 2], content.author) ? nil : .notOwner
        }
        switch message {
        case .auto(let id): return content.certifies(id) ? nil : .notOwner
        case .push: return nil
        case .name, .other: return .malformedKey
        }
    }

    private static func direct(_ keys: [Key], _ content: Content) -> Denial? {
        let parties = keys[1].text.split(separator: "~", omittingEmptySubsequences: false)
        guard parties.count == 2, let a = UID.parse(String(parties[0])), let b = UID.parse(String(parties[1])), a < b
        else {
            return .malformedKey
        }
        guard content.author == a || content.author == b else { return .notOwner }
        return conversation(keys, content)
    }

    /// `messages` and `reads` of a direct conversation or a room.
    private static func conversation(_ keys: [Key], _ content: Content) -> Denial? {
        guard keys.count >= 4 else { return .reserved }
        switch keys[2].text {
        case "messages": return message(keys, 3, content)
        case "reads": return isAuthor(keys[3], content.author) ? nil : .notOwner
        default: return .reserved
        }
    }

    private static func room(_ keys: [Key], _ content: Content) -> Denial? {
        let room = KeyClass(keys[1])
        guard case .auto = room else { return .malformedKey }
        if let denial = room.timeDenial(content.hlc) { return denial }
        guard keys.count >= 3, keys[2].text == "epochs" else { return conversation(keys, content) }
        guard keys.count >= 4 else { return .reserved }
        // An epoch is written once and whole: its key covers its value, so nothing else is ever accepted there.
        guard content.isEntry(4) else { return keys.count > 4 && !content.isEntry(keys.count) ? nil : .reserved }
        let epoch = KeyClass(keys[3])
        if let denial = epoch.timeDenial(content.hlc) { return denial }
        guard case .auto(let id) = epoch, content.value != .null else { return .malformedKey }
        var writer = CBORWriter()
        content.value.encode(to: &writer)
        return content.certifies(id, content: BLAKE2b.hash(writer.bytes).bytes) ? nil : .notOwner
    }

    private static func retention(_ keys: [Key], _ content: Content) -> Denial? {
        guard keys.count == 3, content.isEntry(3), content.value == .bool(true) else { return .reserved }
        let channel = KeyClass(keys[1])
        let before = KeyClass(keys[2])
        if let denial = channel.timeDenial(content.hlc) ?? before.timeDenial(content.hlc) { return denial }
        switch before {
        case .auto, .push: break
        case .name, .other: return .malformedKey
        }
        guard case .auto(let id) = channel, content.certifies(id) else { return .notOwner }
        return nil
    }

    private static func isAuthor(_ key: Key, _ author: Bytes32?) -> Bool {
        author != nil && UID.parse(key.text) == author
    }
}

/// What a key certifies by its form.
enum KeyClass {
    case auto(AutoID)
    case name
    case push(ms: UInt64)
    case other

    init(_ key: Key) {
        if AutoID.isNameKey(key.text) {
            self = .name
        } else if let id = AutoID(key.text) {
            self = .auto(id)
        } else if let ms = AutoID.pushIDMs(key.text) {
            self = .push(ms: ms)
        } else {
            self = .other
        }
    }

    /// Nobody sticks a message to the bottom: a key's time may not lie after its entry's.
    func timeDenial(_ hlc: HLC) -> Denial? {
        switch self {
        case .auto(let id): id.hlc.ms <= hlc.ms ? nil : .futureKey
        case .push(let ms): ms <= hlc.ms + Ownership.pushIDLeadMs ? nil : .futureKey
        case .name: nil
        case .other: .malformedKey
        }
    }
}

/// Why a write is not allowed.
public enum Denial: Error, Equatable, Sendable, CustomStringConvertible {
    /// Nobody writes here; the engine or the schema reserves the place.
    case reserved
    /// Another author owns the place.
    case notOwner
    /// Only soft state lives here; it is never stored.
    case softOnly
    /// A key that certifies a name belongs to nobody: the channel can be archived, not deleted.
    case namedChannel
    /// A key that certifies nobody where an owner is needed.
    case malformedKey
    /// The time in a key lies after the write itself.
    case futureKey

    public var description: String {
        switch self {
        case .reserved: "this place is reserved"
        case .notOwner: "this belongs to somebody else"
        case .softOnly: "only soft state lives here"
        case .namedChannel: "a named channel belongs to nobody; archive it instead"
        case .malformedKey: "a key here must be one that certifies its author"
        case .futureKey: "the time in a key lies after the write"
        }
    }
}
