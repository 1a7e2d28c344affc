internal import Chat
internal import Seal
internal import Store
internal import Tree

/// Looks at the messages of all channels themselves, newest first: what a search does where the index is far behind, as
/// after an upgrade, or while much arrives at once.
///
/// The channel that has been followed least far back goes on, so what is newer than the place of every channel is known
/// in order. Messages whose keys are no times come last; with a limit in time those with keys above it are not seen.
struct SearchWalk {
    private struct Course {
        let channel: Key
        /// The last key that was looked at; at first where to begin, or nil for the end.
        var place: Key?
        var isFresh = true

        /// Whether the other comes first: it has been followed less far back.
        func isBefore(_ other: Course) -> Bool {
            guard isFresh == other.isFresh else { return other.isFresh }
            guard let place, let otherPlace = other.place else { return false }
            return place < otherPlace
        }
    }

    private struct Match {
        let key: Key
        let path: Path
    }

    /// Messages of a channel that are looked at in one go.
    private static let stride = 32

    private let wanted: MessageSearch
    private var courses: [Course]
    /// Found, but there may be newer ones; the newest last.
    private var waiting: [Match] = []
    /// Found under keys that are no times.
    private var timeless: [Match] = []

    init(_ wanted: MessageSearch, _ view: TreeView) throws {
        self.wanted = wanted
        let one = wanted.container?.last
        let all = Key("channels").flatMap { Path([$0]) }
        let channels = try one.map { [$0] } ?? all.map { try view.childKeys(of: $0) } ?? []
        let end = wanted.beforeMessage.flatMap { Key($0) } ?? wanted.beforeMs.flatMap(SearchWalk.firstKey)
        courses = channels.map { Course(channel: $0, place: end) }
    }

    /// Begins as the keys of a millisecond do, and stands before all of them.
    private static func firstKey(ofMs ms: UInt64) -> Key? {
        let time = HLC(ms: min(ms, HLC.msMax), counter: 0)
        return Key(String(AutoID(hlc: time, author: .zero).text.prefix(8)))
    }

    /// Goes on by one stretch of one channel; returns what is certain to come next, newest first, or nil at the end.
    ///
    /// - `goesOn`: asked after each message; false ends the step.
    mutating func step(_ view: TreeView, while goesOn: () -> Bool) throws -> [Path]? {
        guard let index = courses.indices.max(by: { courses[$0].isBefore(courses[$1]) }) else {
            guard !timeless.isEmpty else { return nil }
            defer { timeless = [] }
            return timeless.sorted { $1.key < $0.key }.map(\.path)
        }
        var course = courses[index]
        if try follow(&course, view, while: goesOn) { courses[index] = course } else { courses.remove(at: index) }
        waiting.sort { $0.key < $1.key }
        guard let next = courses.max(by: { $0.isBefore($1) }) else { return take(waiting.count) }
        guard let place = next.place, !next.isFresh else { return [] }
        return take(waiting.reversed().prefix { place <= $0.key }.count)
    }

    private mutating func take(_ count: Int) -> [Path] {
        defer { waiting.removeLast(count) }
        return waiting.suffix(count).reversed().map(\.path)
    }

    /// Returns whether the channel has more.
    private mutating func follow(_ course: inout Course, _ view: TreeView, while goesOn: () -> Bool) throws -> Bool {
        guard let messages = ChatPath.messages(course.channel) else { return false }
        let since = wanted.sinceMs ?? 0
        let begin = course.place
        var left = course.isFresh ? 1 : SearchWalk.stride
        var hasMore = false
        try view.children(of: messages, through: begin, descending: true, limit: Node.messageLimit) { key, value in
            guard key != begin else { return true }
            course.place = key
            let ms = AutoID.order(of: key.text).ms
            if ms > 0, ms < since { return false }
            if ms >= since, wanted.isMatch(value), let path = messages.appending(key) {
                let match = Match(key: key, path: path)
                if ms > 0 { waiting.append(match) } else { timeless.append(match) }
            }
            left -= 1
            hasMore = left <= 0 || !goesOn()
            return !hasMore
        }
        course.isFresh = false
        return hasMore
    }
}

extension MessageSearch {
    /// Whether a message has the words and the sender.
    func isMatch(_ message: Value) -> Bool {
        guard let text = message["text"].string, let id = message["senderId"].string,
            sender.map({ $0 == UID.parse(id) }) ?? true
        else { return false }
        return query.matches(SearchWords.words(of: text))
    }
}
