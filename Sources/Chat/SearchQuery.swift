/// What somebody looks for: phrases of words, all of which a message has to contain.
///
/// Written as people write it: words, `"words in a row"`, and `begin*` for words that begin so; everything else is
/// taken literally, as a message's text is. Punctuation inside a word makes a phrase of it: `foo-bar` finds `foo bar`.
public struct SearchQuery: Sendable, Equatable {
    /// UTF-8 bytes of a query.
    public static let sizeMax = 1024
    /// Phrases of a query; each costs a look into the index.
    public static let phrasesMax = 64

    /// Words that stand in a row.
    public struct Phrase: Sendable, Equatable {
        /// At least one.
        public let words: [String]
        /// Whether the last word is only the beginning of one.
        public let isPrefix: Bool
    }

    public let phrases: [Phrase]

    /// - Throws: ``SearchQueryError``.
    public init(_ text: String) throws(SearchQueryError) {
        guard text.utf8.count <= SearchQuery.sizeMax else { throw .tooLong }
        let phrases = SearchQuery.items(text).compactMap { item in
            let words = SearchWords.words(of: item.text)
            return words.isEmpty ? nil : Phrase(words: words, isPrefix: item.isPrefix)
        }
        guard !phrases.isEmpty else { throw .noWords }
        guard phrases.count <= SearchQuery.phrasesMax else { throw .tooLong }
        self.phrases = phrases
    }

    private static func items(_ text: String) -> [(text: String, isPrefix: Bool)] {
        var items: [(text: String, isPrefix: Bool)] = []
        var rest = text.unicodeScalars[...]
        while let first = rest.first {
            if first.properties.isWhitespace {
                rest.removeFirst()
            } else if first == "\"" {
                rest.removeFirst()
                let quoted = rest.prefix { $0 != "\"" }
                rest = rest.dropFirst(quoted.count + 1)
                let isPrefix = rest.first == "*"
                if isPrefix { rest.removeFirst() }
                items.append((String(quoted), isPrefix))
            } else {
                let word = rest.prefix { !$0.properties.isWhitespace && $0 != "\"" }
                rest = rest.dropFirst(word.count)
                items.append((String(word), word.last == "*"))
            }
        }
        return items
    }

    /// Whether it asks for words that begin with one or two letters: mostly many words do.
    public var isBroad: Bool {
        phrases.contains { $0.isPrefix && ($0.words.last?.unicodeScalars.count ?? 0) <= 2 }
    }

    /// Whether a text with these words is found.
    public func matches(_ words: [String]) -> Bool { phrases.allSatisfy { $0.stands(in: words) } }
}

extension SearchQuery.Phrase {
    fileprivate func stands(in text: [String]) -> Bool {
        guard text.count >= words.count else { return false }
        return (0...(text.count - words.count)).contains { start in
            for (offset, word) in words.enumerated() {
                let candidate = text[start + offset]
                let isLast = offset == words.count - 1
                // As bytes, as the index compares them.
                let isBegun = candidate.utf8.starts(with: word.utf8)
                guard isBegun, isPrefix && isLast || candidate.utf8.count == word.utf8.count else { return false }
            }
            return true
        }
    }
}

/// Why a text is no query.
public enum SearchQueryError: Error, Equatable, Sendable, CustomStringConvertible {
    /// Nothing in it is a word: only spaces and punctuation.
    case noWords
    case tooLong

    public var description: String {
        switch self {
        case .noWords: "a search names at least one word"
        case .tooLong: "a search has at most \(SearchQuery.sizeMax) bytes and \(SearchQuery.phrasesMax) words"
        }
    }
}
