internal import Chat
internal import Seal
internal import Tree

extension DatabaseStore {
    public func messages(
        _ wanted: MessageSearch, before: SearchPosition?, limit: Int, while goesOn: () -> Bool
    ) throws -> SearchPage {
        guard limit > 0, let tags = try tags(wanted) else { return SearchPage() }
        let lower = wanted.sinceMs.map(SearchNumber.first(ofMs:)) ?? .min
        var end = before?.number ?? .max
        if let ms = wanted.beforeMs { end = min(end, SearchNumber.first(ofMs: ms)) }
        if let key = wanted.beforeMessage { end = min(end, try number(ofKey: key)) }
        guard lower < end else { return SearchPage() }
        return try mendingIndex {
            let stretch = Stretch(lower: lower, end: end, limit: limit)
            let found =
                before?.isWalk == true
                ? try walk(stretch, tags + wanted.query.rareWords(Self.walkTermsMax - tags.count))
                : try look(stretch, tags, wanted.query, while: goesOn)
            var page = SearchPage(next: found.next)
            // A walk does not look for every tag in every message.
            let container = try wanted.container.flatMap { try knownContainer(PathKey($0)) }
            for number in found.numbers {
                let place = try search.messageAtNumber.first(.integer(number)) { ($0.integer(0), $0.text(1)) }
                guard let place, container.map({ $0 == place.0 }) ?? true else { continue }
                let path = MessagePlace(container: try path(ofContainer: place.0), mid: place.1).path
                if let path { page.messages.append(path) }
            }
            return page
        }
    }

    /// Words that the index knows the wanted channel and sender by; nil where one is meant that no message is from.
    private func tags(_ wanted: MessageSearch) throws -> [String]? {
        var tags: [String] = []
        if let container = wanted.container {
            guard let id = try knownContainer(PathKey(container)) else { return nil }
            tags.append(SearchTag.container(id))
        }
        if let sender = wanted.sender {
            guard let id = try knownAuthor(sender) else { return nil }
            tags.append(SearchTag.sender(id))
        }
        return tags
    }

    // MARK: Ways to look

    /// Numbers that are looked at: `lower` ≤ number < `end`, the greatest first, at most `limit`.
    private struct Stretch {
        let lower: Int64
        let end: Int64
        let limit: Int

        var bounds: [SQLValue] { [.integer(lower), .integer(end)] }
    }

    private struct Found {
        var numbers: [Int64]
        var next: SearchPosition?
    }

    /// Asks FTS5 for all of it. For the beginning of a word that collects all messages with such a word before the
    /// first is seen, and words that hardly ever meet it follows through all messages; so it may be ended.
    private func look(
        _ stretch: Stretch, _ tags: [String], _ query: SearchQuery, while goesOn: () -> Bool
    ) throws -> Found {
        let phrases = query.phrases.map { quoted($0.words.joined(separator: " ")) + ($0.isPrefix ? " *" : "") }
        let expression = (phrases + tags.map(quoted)).joined(separator: " AND ")
        var numbers: [Int64] = []
        var isEnded = false
        do {
            let goesOn = {
                isEnded = isEnded || !goesOn()
                return !isEnded
            }
            try database.interruptible(while: goesOn) {
                try search.find.each([.text(expression)] + stretch.bounds + [.integer(stretch.limit)]) { row in
                    guard !isEnded else { return false }
                    numbers.append(row.integer(0))
                    return true
                }
            }
        } catch let error as StoreError where !isEnded {
            throw error
        } catch {
            // FTS5 takes a page that it was not let read now for the end of its list, now for damage.
        }
        guard !isEnded else {
            return Found(
                numbers: numbers, next: SearchPosition(number: numbers.last ?? stretch.end, isWalk: true))
        }
        guard numbers.count == stretch.limit, let last = numbers.last else { return Found(numbers: numbers) }
        return Found(numbers: numbers, next: SearchPosition(number: last))
    }

    /// Every word stands in quotes and has only letters, digits, marks and pictographs: nothing in it is syntax
    /// (SQLite's "Full-text Query Syntax" of FTS5).
    private func quoted(_ words: String) -> String { "\"\(words)\"" }

    /// Words that a walk looks at; the others stand in the messages it comes upon, or not.
    private static let walkTermsMax = 8

    /// One step from message to message: those of the word that is rarest just there, without those that are known not
    /// to have another. A single word's messages FTS5 gives one by one, so a step costs about the same everywhere.
    private func walk(_ stretch: Stretch, _ terms: [String]) throws -> Found {
        let breadth = terms.count == 1 ? stretch.limit : max(stretch.limit, walkBreadth)
        guard !terms.isEmpty else {
            let numbers = try search.walk.all(
                .integer(stretch.lower), .integer(stretch.end), .integer(stretch.limit)
            ) { $0.integer(0) }
            return Found(numbers: numbers, next: numbers.count == stretch.limit ? position(numbers.last) : nil)
        }
        var lists: [(numbers: [Int64], least: Int64)] = []
        for term in terms {
            let numbers = try search.find.all(
                .text(quoted(term)), .integer(stretch.lower), .integer(stretch.end), .integer(breadth)
            ) { $0.integer(0) }
            guard let last = numbers.last else { return Found(numbers: []) }
            lists.append((numbers, numbers.count < breadth ? stretch.lower : last))
        }
        lists.sort { $0.least < $1.least }
        var numbers = lists[0].numbers
        for other in lists.dropFirst() {
            let known = Set(other.numbers)
            numbers.removeAll { $0 >= other.least && !known.contains($0) }
        }
        if numbers.count > stretch.limit {
            numbers = Array(numbers.prefix(stretch.limit))
            return Found(numbers: numbers, next: position(numbers.last))
        }
        return Found(
            numbers: numbers, next: lists[0].numbers.count == breadth ? position(lists[0].numbers.last) : nil)
    }

    private func position(_ number: Int64?) -> SearchPosition? {
        number.map { SearchPosition(number: $0, isWalk: true) }
    }

    /// The number before which everything older than a message is.
    private func number(ofKey key: String) throws -> Int64 {
        let range = SearchNumber.range(of: key)
        let bounds = (SQLValue.integer(range.lowerBound), SQLValue.integer(range.upperBound))
        return try search.numberOfKey.first(bounds.0, bounds.1, .text(key)) { $0.integer(0) }
            ?? search.overflowOfKey.first(.text(key)) { $0.integer(0) } ?? range.lowerBound
    }

    func path(ofContainer id: Int64) throws -> PathKey {
        if let known = containers.name(id) { return known }
        guard let path = try local.containerPath.first(.integer(id), read: { PathKey(bytes: $0.blob(0)) }) else {
            throw StoreError(.corrupt, detail: "a container is missing")
        }
        containers.insert(id, path)
        return path
    }

    // MARK: A broken index

    /// `SQLITE_CORRUPT_VTAB`: the index contradicts itself, the tree does not.
    static let brokenIndex: Int32 = 11 | 1 << 8

    /// Does something with the index. One that turns out to be broken is thrown away and made anew: all of it follows
    /// from the tree.
    func mendingIndex<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as StoreError where error.resultCode == Self.brokenIndex {
            try transaction {
                try database.execute(Schema.dropSearch)
                try database.execute(Schema.search)
                indexedChange = 0
            }
            return try body()
        }
    }
}

/// Words that no text has, by which the index knows where a message is and whose: they begin with characters for
/// private use, which separate words.
enum SearchTag {
    static func container(_ id: Int64) -> String { "\u{E000}\(id)" }
    static func sender(_ id: Int64) -> String { "\u{E001}\(id)" }
}

extension SearchQuery {
    /// Whole words that stand in every message that is found, the longest first: they are the rarest, mostly.
    fileprivate func rareWords(_ limit: Int) -> [String] {
        let words = phrases.flatMap { $0.isPrefix ? $0.words.dropLast() : $0.words[...] }
        return Array(Set(words).sorted { ($1.utf8.count, $0) < ($0.utf8.count, $1) }.prefix(max(0, limit)))
    }
}
