import Chat
@testable import Node
import Seal
import Store
import Testing
import Tree

/// Where the index is far behind, the tree itself is searched, and the same is found.
@Suite struct SearchWalkTests {
    private let people = [Bytes32(repeating: 1), Bytes32(repeating: 2)]
    private let channels = ["a", "b", "c"]
    private let words = ["red", "reed", "green", "grün", "blue"]

    /// Firebase's push IDs have 20 characters, AutoIDs 22; all other keys are older than any time.
    private func key(_ random: inout some RandomNumberGenerator) -> String {
        let ms = UInt64.random(in: 1000..<1060, using: &random)
        let counter = UInt64.random(in: 0..<2, using: &random)
        let text = AutoID(hlc: HLC(ms: ms, counter: counter), author: people[0]).text
        switch Int.random(in: 0..<10, using: &random) {
        case 0: return String(AutoID(hlc: HLC(ms: ms + 100, counter: 0), author: people[0]).text.prefix(20))
        case 1: return "\(Int.random(in: -3..<3, using: &random))"
        case 2: return "own"
        default: return text
        }
    }

    private func entry(_ ms: UInt64, _ random: inout some RandomNumberGenerator) throws -> Entry {
        let text = (0..<3).compactMap { _ in words.randomElement(using: &random) }.joined(separator: " ")
        let (key, person) = (key(&random), people.randomElement(using: &random) ?? .zero)
        let message = Message.value(sender: person, senderName: "x", text: text, createdAtMs: 1, replyTo: nil)
        var path = "channels/\(channels.randomElement(using: &random) ?? "a")/messages"
        var value = Value.object(ObjectValue([(try #require(Key(key)), message)]))
        switch Int.random(in: 0..<60, using: &random) {
        case 0: break
        case 1...10: (path, value) = ("\(path)/\(key)/text", .string(text))
        case 11...15: (path, value) = ("\(path)/\(key)", .null)
        default: (path, value) = ("\(path)/\(key)", message)
        }
        return try Entry(path: Path(parsing: path), hlc: HLC(ms: ms), author: person, value: value)
    }

    @Test(arguments: 0..<3) func findsWhatAScanFinds(seed: UInt64) throws {
        var random = Numbers(state: seed &+ 99)
        let store = MemoryStore()
        for ms in 0..<150 as Range<UInt64> {
            let author = SigningKey(seed: Bytes32(repeating: 7))
            let bundle = Bundle(signing: [try entry(5000 + ms, &random)], by: author, workspace: .zero)
            _ = try store.commit([bundle], heldAfter: HLC(ms: HLC.msMax))
        }
        let view = TreeView(store)
        for number in 0..<30 {
            let text = ["red", "re*", "green blue", "\"blue red\"", "grun", "none"].randomElement(using: &random) ?? ""
            var search = MessageSearch(try SearchQuery(text))
            if number % 3 == 0 { search.container = try Path(parsing: "channels/a") }
            if number % 4 == 0 { search.sender = people[0] }
            if number % 5 == 0 { search.sinceMs = UInt64.random(in: 990..<1100, using: &random) }
            if number % 7 == 0 { search.beforeMs = UInt64.random(in: 990..<1200, using: &random) }
            if number % 7 == 1 { search.beforeMessage = AutoID(hlc: HLC(ms: 1030), author: people[0]).text }
            let hasEnd = search.beforeMs != nil || search.beforeMessage != nil
            let scanned = try store.messages(search, before: nil, limit: 1000).messages
            let expected = scanned.filter { !hasEnd || isTime($0) }
            var walk = try SearchWalk(search, view)
            var found: [Path] = []
            while let step = try walk.step(view, while: { Bool.random(using: &random) }) { found += step }
            if hasEnd { found.removeAll { !isTime($0) } }
            let place: Comment = "seed \(seed), search \(number), \(text)"
            try #require(Set(found) == Set(expected) && found.count == expected.count, place)
            let timed = found.filter(isTime)
            try #require(found.starts(with: timed), place)
            let keys = timed.compactMap(\.last)
            try #require(keys == keys.sorted { $1 < $0 }, place)
        }
    }

    private func isTime(_ path: Path) -> Bool { AutoID.order(of: path.last?.text ?? "").ms > 0 }
}

private struct Numbers: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        let mixed = (state ^ state >> 30) &* 0xBF58_476D_1CE4_E5B9
        return mixed ^ mixed >> 31
    }
}
