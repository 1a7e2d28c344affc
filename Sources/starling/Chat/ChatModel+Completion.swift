internal import CommandLineKit
internal import ControlAPI

/// Words that the user may mean.
extension ChatModel {
    /// Words shown where Tab cannot decide.
    private static let choicesMax = 40

    /// What Tab may put into the line: commands, channels that are not put away, people.
    var completions: [String] {
        var seen: Set<String> = []
        let words =
            ChatInput.completions + channels.filter { !$0.archived }.map { "#" + $0.name }
            + people.values.map { names.shown($0.uid) }.sorted()
        return words.filter { seen.insert($0).inserted }
    }

    func choices(_ words: [String]) -> [String] {
        let shown = words.prefix(Self.choicesMax).map { Escaper.escape($0) }.joined(separator: "  ")
        return notice(words.count > Self.choicesMax ? shown + "  …" : shown)
    }

    /// That there is no such channel, and which one may be meant.
    func noChannel(_ name: String) -> [String] {
        let wanted = name.lowercased()
        let near = channels.filter { !$0.archived }
            .map { ($0.name, EditDistance.between($0.name.lowercased(), wanted)) }
            .filter { $0.1 <= min(2, name.count - 1) }.min { $0.1 < $1.1 }
        let hint = near.map { " did you mean #\(Escaper.escape($0.0))?" } ?? ""
        let word = Escaper.escape(name)
        return complaint("there is no #\(word);\(hint) /create \(word) opens it")
    }
}
