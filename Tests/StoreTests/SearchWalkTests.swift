import Chat
import Seal
@testable import Store
import Testing
import Tree

/// Whether the index looks for everything at once or goes from message to message, it finds the same.
@Suite struct SearchWalkTests {
    private static let words = ["a", "an", "and", "ant", "b", "bee", "been", "c", "東", "京"]
    private let people = [Bytes32(repeating: 1), Bytes32(repeating: 2), Bytes32(repeating: 3)]

    /// Few words are common, many are rare.
    private func word(_ random: inout SeededRandom) -> String {
        Self.words[min(random.below(Self.words.count), random.below(Self.words.count))]
    }

    private func entries(_ random: inout SeededRandom) throws -> [Entry] {
        try (0..<150).map { number in
            let person = random.element(people)
            let (ms, counter) = (UInt64(1000 + random.below(200)), UInt64(random.below(3)))
            let key =
                random.below(10) == 0
                ? "own-\(number)" : AutoID(hlc: HLC(ms: ms, counter: counter), author: person).text
            let text = (0...random.below(4)).map { _ in word(&random) }.joined(separator: " ")
            let value = Message.value(sender: person, senderName: "x", text: text, createdAtMs: 1, replyTo: nil)
            let path = "channels/\(random.element(["x", "x", "x", "y"]))/messages/\(key)"
            return try testEntry(path, value, ms: 1000 + UInt64(number))
        }
    }

    private func search(_ random: inout SeededRandom) throws -> MessageSearch {
        let phrases = (0...random.below(3)).map { _ in
            let words = (0...random.below(2)).map { _ in word(&random) }.joined(separator: " ")
            return "\"\(words)\"" + (random.below(3) == 0 ? "*" : "")
        }
        var search = MessageSearch(try SearchQuery(phrases.joined(separator: " ")))
        if random.below(3) == 0 { search.container = try testPath("channels/\(random.element(["x", "y"]))") }
        if random.below(3) == 0 { search.sender = random.element(people) }
        if random.below(4) == 0 { search.sinceMs = UInt64(1000 + random.below(150)) }
        if random.below(4) == 0 { search.beforeMs = UInt64(1050 + random.below(150)) }
        return search
    }

    @Test(arguments: 0..<3) func bothWaysFindTheSame(seed: Int) throws {
        var random = SeededRandom(seed: UInt64(seed) &+ 4321)
        let folder = try TemporaryFolder()
        let store = try DatabaseStore(path: folder.path("workspace.db"))
        defer { store.close() }
        store.walkBreadth = 1 + random.below(30)
        let memory = MemoryStore()
        let bundles = [try testBundle(entries(&random))]
        _ = try store.commit(bundles, heldAfter: farFuture)
        _ = try memory.commit(bundles, heldAfter: farFuture)
        try store.follow()
        for number in 0..<20 {
            let search = try search(&random)
            let place: Comment = "seed \(seed), search \(number): \(search)"
            let whole = try store.found(search, limit: 1000)
            try #require(try Set(memory.found(search, limit: 1000)) == Set(whole), place)
            try #require(try store.found(search, limit: 1 + random.below(9)) == whole, place)
            try #require(try store.found(search, limit: 1 + random.below(9), looks: 0) == whole, place)
            try #require(
                try store.found(search, limit: 1 + random.below(9), looks: random.below(40)) == whole, place)
            let newest = try store.found(search, limit: 1 + random.below(9), from: .newest)
            try #require(newest == whole, place)
        }
    }

    /// A look that was ended leaves nothing behind, and what it has found by then counts.
    @Test func aLookEndsWhenItIsTold() throws {
        let folder = try TemporaryFolder()
        let store = try DatabaseStore(path: folder.path("workspace.db"))
        defer { store.close() }
        var random = SeededRandom(seed: 1)
        for _ in 0..<4 { _ = try store.commit([testBundle(entries(&random))], heldAfter: farFuture) }
        try store.follow()
        let search = MessageSearch(try SearchQuery("a*"))
        let page = try store.messages(search, before: nil, limit: 20) { false }
        #expect(page.messages.count < 20 && page.next?.isWalk == true)
        let whole = try store.found(search)
        #expect(whole.count > 20)
        var steps = 0
        var position = page.next
        while let next = position {
            steps += 1
            position = try store.messages(search, before: next, limit: 20, while: { false }).next
        }
        #expect(steps > 4)
        #expect(try store.found(search) == whole)
    }
}
