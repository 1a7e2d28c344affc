public import Chat
public import Seal
public import Tree

/// Which messages are looked for.
public struct MessageSearch: Sendable {
    public var query: SearchQuery
    /// Only those of this channel.
    public var container: Path?
    /// Only those whose `senderId` this is.
    public var sender: Bytes32?
    /// Only those whose key is not older, in milliseconds since 1970.
    public var sinceMs: UInt64?
    /// Only those whose key is older, in milliseconds since 1970.
    public var beforeMs: UInt64?
    /// Only those that stand before the message of this key; where there is none, before its time.
    public var beforeMessage: String?

    public init(_ query: SearchQuery) { self.query = query }
}

/// How far a search has come. Opaque; of use to the store that gave it.
public struct SearchPosition: Sendable, Equatable {
    /// What comes next has a smaller one.
    let number: Int64
    /// Whether messages are followed one by one, because asking the index for everything at once takes too long.
    var isWalk = false

    /// From the newest on one by one: the faster way where every few messages one matches, the slower one elsewhere.
    public static let newest = SearchPosition(number: .max, isWalk: true)
}

/// Messages that a search has come upon, newest first by their keys: all that match, and maybe some that do not.
public struct SearchPage: Sendable {
    public var messages: [Path] = []
    /// Where to go on; nil when there is nothing more.
    public var next: SearchPosition?
}

/// Numbers of messages that are in the order of their keys, so that the index gives the newest first.
///
/// A number is the key's milliseconds, its counter, and two bits for keys that are equal so far; if more are, the next
/// number of that millisecond that is free. Small, because the index holds differences of them: with 15 bits instead
/// of 8 below the millisecond a message takes about 16 bytes more.
enum SearchNumber {
    private static let bits = 8
    private static let tieBits = 2
    /// What does not fit is found, but counts as older than everything else.
    static let overflow: ClosedRange<Int64> = Int64.min...(-1)

    /// Where a message of that key may have its number.
    static func range(of key: String) -> ClosedRange<Int64> {
        let (ms, counter) = AutoID.order(of: key)
        let first = Int64(ms << UInt64(bits))
        return (first + Int64(counter << UInt64(tieBits)))...(first + (1 << Int64(bits)) - 1)
    }

    /// The first number of a millisecond.
    static func first(ofMs ms: UInt64) -> Int64 { Int64(min(ms, HLC.msMax) << UInt64(bits)) }
}

extension MessagePlace {
    /// A message in a public channel, or nil for one whose text is sealed.
    var isSearched: Bool { container.bytes.starts(with: MessagePlace.channels) }

    static let channels: [UInt8] = [2] + Array("channels".utf8) + [0]

    var path: Path? {
        guard let messages = Key("messages"), let key = Key(mid) else { return nil }
        return container.path?.appending(messages)?.appending(key)
    }

    /// The message that something at or below a path may change the words or the sender of.
    init?(changedBy path: Path) {
        guard path.depth >= 4, let place = MessagePlace(path.prefix(4)), place.isSearched else { return nil }
        guard path.depth == 4 || ["text", "senderId"].contains(path.keys[4].text) else { return nil }
        self = place
    }

    /// Messages that stand inside the value of an entry above them.
    static func inside(_ entry: Entry) -> [MessagePlace] {
        let path = entry.path
        guard let messages = Key("messages"), path.keys.first?.text == "channels", path.depth <= 3,
            path.depth < 3 || path.keys[2] == messages
        else { return [] }
        var channels: [(path: Path, value: Value)] = [(path, entry.value)]
        if path.depth == 1 {
            channels = (entry.value.object?.children ?? []).compactMap { child in
                path.appending(child.key).map { ($0, child.value) }
            }
        }
        return channels.flatMap { channel -> [MessagePlace] in
            let value = path.depth == 3 ? channel.value : channel.value[messages]
            return (value.object?.children ?? []).compactMap { child in
                channel.path.prefix(2).appending(messages)?.appending(child.key).flatMap { MessagePlace($0) }
            }
        }
    }
}
