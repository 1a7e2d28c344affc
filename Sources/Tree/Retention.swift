/// An entry at `retention/{cid}/{before}`: the messages of a channel that are older than `before` have ended, and so
/// has everything at or below their keys, whatever its stamp.
///
/// Only the author whom `cid` certifies may write one. Of a channel's entries the greatest `before` counts and the
/// lower ones are dead, so the limit never falls. `before` is an AutoID or a push ID, of which the milliseconds count:
/// keys of messages begin with theirs in the same letters, so what has ended is one range of paths. What an entry at
/// `channels/{cid}` holds inside its value stays: only that same author can write one.
public struct Retention: Sendable, Equatable {
    /// `retention/{cid}/{before}`.
    public let path: PathKey
    /// `retention/{cid}`.
    public let channelRules: PathKey
    /// What has ended: `lower` ≤ path < `upper`.
    public let lower: PathKey
    public let upper: PathKey

    private static let root = segment("retention")
    private static let channels = segment("channels")
    private static let messages = segment("messages")
    /// Characters of a key that say its milliseconds.
    public static let timeLength = 8

    private static func segment(_ key: String) -> [UInt8] { [2] + Array(key.utf8) + [0] }

    /// Nil for every other path.
    public init?(_ path: PathKey) {
        guard PathKey.begins(path.bytes, with: Retention.root) else { return nil }
        self.init(path.prefixes)
    }

    /// - `prefixes`: those of the path.
    public init?(_ prefixes: [PathKey]) {
        guard prefixes.count == 3, prefixes[0].bytes == Retention.root else { return nil }
        let before = prefixes[2].bytes[prefixes[1].bytes.count...]
        guard before.first == 2, before.count > Retention.timeLength + 1 else { return nil }
        path = prefixes[2]
        channelRules = prefixes[1]
        let channel = prefixes[1].bytes[Retention.root.count...]
        let place = PathKey(bytes: Retention.channels + channel + Retention.messages)
        lower = place.firstChild
        upper = PathKey(bytes: place.bytes + before.prefix(Retention.timeLength + 1))
    }

    /// Where the retention of what is below a path stands, `retention/{cid}`, if that is messages of a channel.
    ///
    /// - `prefixes`: those of the path.
    public static func rules(below prefixes: [PathKey]) -> PathKey? {
        guard prefixes.count > 2, prefixes[0].bytes == channels else { return nil }
        let end = prefixes[1].bytes.count
        guard prefixes[2].bytes[end...].elementsEqual(messages) else { return nil }
        return PathKey(bytes: root + prefixes[1].bytes[channels.count...])
    }

    /// `retention/{cid}`.
    public static func rules(ofChannel cid: Key) -> PathKey {
        PathKey(bytes: root + PathKey(Path([cid]) ?? .root).bytes)
    }

    /// Whether what stands at a path has ended.
    public func covers(_ path: PathKey) -> Bool { !(path < lower) && path < upper }

    /// The least key of a message that has not ended.
    public var leastKey: String {
        String(decoding: path.bytes.dropFirst(channelRules.bytes.count + 1).prefix(Retention.timeLength), as: UTF8.self)
    }

    /// Milliseconds since 1970: older messages have ended.
    public var beforeMs: UInt64 { (path.path?.last?.text).map { AutoID.order(of: $0).ms } ?? 0 }

    /// `channels/{cid}/messages`: what observers of it see may have changed.
    public var messagesPath: Path? { PathKey(bytes: Array(lower.bytes.dropLast())).path }
}

extension Entry {
    /// What readers may see changed when it becomes live: its path, and the messages that it ends.
    public var changedPaths: [Path] {
        guard path.keys.first?.text == "retention", let messages = Retention(PathKey(path))?.messagesPath else {
            return [path]
        }
        return [path, messages]
    }
}
