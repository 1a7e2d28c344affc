/// How many characters have to be added, removed or changed to make one word of another (Levenshtein's distance): for
/// guessing what was meant.
public enum EditDistance {
    /// Characters that are looked at: words that are typed are short, longer ones are cut.
    private static let lengthMax = 80

    /// The distance between two words, of which the first 80 characters count: 0 if they are alike there.
    public static func between(_ left: String, _ right: String) -> Int {
        let (left, right) = (Array(left.prefix(lengthMax)), Array(right.prefix(lengthMax)))
        var row = Array(0...right.count)
        for (i, character) in left.enumerated() {
            var diagonal = row[0]
            row[0] = i + 1
            for (j, other) in right.enumerated() {
                let changed = diagonal + (character == other ? 0 : 1)
                diagonal = row[j + 1]
                row[j + 1] = min(changed, row[j] + 1, diagonal + 1)
            }
        }
        return row[right.count]
    }
}
