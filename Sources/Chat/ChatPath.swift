public import Seal
public import Tree

/// Where the chat keeps what.
public enum ChatPath {
    private static func path(_ keys: Key?...) -> Path? {
        let present = keys.compactMap { $0 }
        return present.count == keys.count ? Path(present) : nil
    }

    public static var channels: Path? { path(Key("channels")) }
    public static var users: Path? { path(Key("users")) }

    public static func channel(_ cid: Key) -> Path? { path(Key("channels"), cid) }
    public static func messages(_ cid: Key) -> Path? { path(Key("channels"), cid, Key("messages")) }
    public static func message(_ cid: Key, _ mid: Key) -> Path? { path(Key("channels"), cid, Key("messages"), mid) }

    public static func reaction(_ message: Path, _ author: Bytes32, _ emoji: Key) -> Path? {
        message.appending("reactions", UID.text(author))?.appending(emoji)
    }

    public static func typing(_ cid: Key, _ author: Bytes32) -> Path? {
        path(Key("channels"), cid, Key("typingIndicator"), Key(UID.text(author)))
    }

    public static func presence(_ author: Bytes32) -> Path? { path(Key("presence"), Key(UID.text(author))) }
    public static func user(_ author: Bytes32) -> Path? { path(Key("users"), Key(UID.text(author))) }

    /// The channel and author whose typing indicator a path is.
    public static func typingChannel(_ path: Path) -> Key? {
        let keys = path.keys
        guard keys.count == 4, keys[0].text == "channels", keys[2].text == "typingIndicator" else { return nil }
        return keys[1]
    }
}

extension Path {
    /// The path below this one, nil where a key is invalid or a limit would be passed.
    public func appending(_ keys: String...) -> Path? {
        var path = self
        for text in keys {
            guard let key = Key(text), let next = path.appending(key) else { return nil }
            path = next
        }
        return path
    }
}
