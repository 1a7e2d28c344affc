/// Makes the words of a search stand out in a line. A help for the eye: the daemon decides what is found.
struct Emphasis: Sendable {
    private let words: [[String]]

    /// - Parameter query: as it was typed.
    init(_ query: String) {
        words = query.split { !$0.isLetter && !$0.isNumber }.map { $0.map(Emphasis.letter) }
    }

    /// A letter without case and accents: by its name in Unicode, which calls `É` a letter E with acute.
    private static func letter(_ character: Character) -> String {
        guard let scalar = character.lowercased().unicodeScalars.first, let name = scalar.properties.name else {
            return String(character)
        }
        return name.split(separator: " WITH ", maxSplits: 1).first.map(String.init) ?? name
    }

    /// The text with every place that begins a word of the query in bold.
    func applied(to text: String, _ style: Style) -> String {
        guard style.isColoured, !words.isEmpty else { return text }
        let characters = Array(text)
        let letters = characters.map(Emphasis.letter)
        var result = ""
        var index = 0
        while index < characters.count {
            let length = length(at: index, characters, letters)
            if length > 0 {
                result += style.apply(String(characters[index..<(index + length)]), [.bold, .yellow])
            } else {
                result.append(characters[index])
            }
            index += max(1, length)
        }
        return result
    }

    /// Characters of the longest word that begins there; 0 for none.
    private func length(at index: Int, _ text: [Character], _ letters: [String]) -> Int {
        // Within a word nothing begins, except where a script has no spaces.
        let isInside = index > 0 && text[index].isASCII && (text[index - 1].isLetter || text[index - 1].isNumber)
        guard !isInside else { return 0 }
        return words.filter { letters[index...].starts(with: $0) }.map(\.count).max() ?? 0
    }
}
