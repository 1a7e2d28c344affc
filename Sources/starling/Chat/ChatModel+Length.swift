internal import ControlAPI

/// How much of one message the chat shows.
extension ChatModel {
    /// Lines of a message's text that are shown; a message may have 65,536, which would be all that the terminal keeps.
    static let linesMax = 30

    /// The lines of a message, with a word about those that are left out. What stands below the text stays: attachment
    /// and reactions.
    ///
    /// - Parameter lines: lays a message out.
    func shortened(_ row: MessageRow, _ format: MessageFormat, _ lines: (MessageRow) -> [String]) -> [String] {
        let all = lines(row)
        var bare = row
        (bare.reactions, bare.attachment) = ([], nil)
        // One more is shown rather than counted.
        guard all.count > Self.linesMax + 1, row.text != nil else { return all }
        let textLines = lines(bare).count
        guard textLines > Self.linesMax + 1 else { return all }
        return all[..<Self.linesMax] + notice(leftOut(textLines - Self.linesMax, row)) + all[textLines...]
    }

    private func leftOut(_ count: Int, _ row: MessageRow) -> String {
        let name = channels.first { $0.key == row.channel }?.name ?? row.channel
        // Whoever copies this into a shell must not get another command out of the name of a channel.
        let isPlain = name.utf8.allSatisfy { Self.isPlain($0) } && name.utf8.first != UInt8(ascii: "-")
        let more = "… \(Words.count(Int64(count), "more line", "more lines"))"
        return isPlain ? "\(more); all of it: starling read \(name)" : more
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
