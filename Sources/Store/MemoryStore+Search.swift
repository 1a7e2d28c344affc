internal import Chat
internal import Seal
internal import Tree

/// Without an index: every message is looked at. The database has to find the same.
extension MemoryStore {
    public var indexedChange: Int64 { lastChange }
    public func isIndexed(through change: Int64) -> Bool { true }
    public func indexMessages(limit: Int, while goesOn: () -> Bool) -> Bool { false }

    public func messages(
        _ search: MessageSearch, before: SearchPosition?, limit: Int, while goesOn: () -> Bool
    ) throws -> SearchPage {
        var found = try messages(search)
        found.sort { ($0.number, $0.key) > ($1.number, $1.key) }
        // Positions have to fall, also between messages that time does not tell apart.
        for index in found.indices.dropFirst() {
            found[index].number = min(found[index].number, found[index - 1].number - 1)
        }
        let rest = found.filter { $0.number < before?.number ?? .max }
        let page = rest.prefix(max(0, limit))
        let last = page.count < rest.count ? page.last : nil
        return SearchPage(messages: page.map(\.path), next: last.map { SearchPosition(number: $0.number) })
    }

    private func messages(_ search: MessageSearch) throws -> [(number: Int64, key: String, path: Path)] {
        guard let channels = Key("channels").flatMap({ Path([$0]) }), let messages = Key("messages") else { return [] }
        let view = TreeView(self)
        let containers =
            try search.container.map { [$0] } ?? view.childKeys(of: channels).compactMap(channels.appending)
        var found: [(number: Int64, key: String, path: Path)] = []
        for container in containers {
            guard let parent = container.appending(messages) else { continue }
            try view.children(of: parent) { key, value in
                if let path = parent.appending(key), matches(search, key.text, value) {
                    found.append((SearchNumber.range(of: key.text).lowerBound, key.text, path))
                }
                return true
            }
        }
        return found
    }

    private func matches(_ search: MessageSearch, _ key: String, _ value: Value) -> Bool {
        guard let sender = value["senderId"].string, let text = value["text"].string,
            search.query.matches(SearchWords.words(of: text))
        else { return false }
        let (ms, _) = AutoID.order(of: key)
        if let wanted = search.sender, UID.parse(sender) != wanted { return false }
        if let since = search.sinceMs, ms < since { return false }
        if let before = search.beforeMs, ms >= before { return false }
        guard let other = search.beforeMessage else { return true }
        let (number, limit) = (SearchNumber.range(of: key).lowerBound, SearchNumber.range(of: other).lowerBound)
        return (number, key) < (limit, other)
    }
}
