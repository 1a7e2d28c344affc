import Seal
import Store
import Testing
import Tree

/// A bundle whose entries stand together is judged by one look at all their places: nothing else may come of it than of
/// each entry for itself.
@Suite struct StretchTests {
    @Test(arguments: 0..<24) func togetherIsAsEachForItself(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let folder = try TemporaryFolder()
        let database = try DatabaseStore(path: folder.path("workspace.db"))
        defer { database.close() }
        let together: any NodeStore = seed.isMultiple(of: 2) ? database : MemoryStore()
        let singly: any NodeStore = MemoryStore()
        for round in 0..<12 {
            let author = Bytes32(repeating: UInt8(1 + random.below(2)))
            let entries = try (0..<20).map { index in
                let key = random.element(["m1", "m2", "m3", "m4", "m5", "7", "é"])
                let path =
                    switch random.below(20) {
                    case 0: "channels/a/messages"
                    case 1: "channels/a"
                    case 2..<6: "channels/a/messages/\(key)/text"
                    case 6: "channels/a/messages/\(key)/text/deep"
                    case 7: "channels/b/messages/\(key)"
                    default: "channels/a/messages/\(key)"
                    }
                let value: Value = random.below(4) == 0 ? .null : .integer(Int64(random.below(3)))
                return try testEntry(
                    path, value, ms: UInt64(100 + random.below(200)), counter: UInt64(index + 20 * round % 40),
                    author: author, kind: random.below(12) == 0 ? 1 : 0)
            }
            let limit = HLC(ms: UInt64(150 + random.below(300)))
            let bundle = try testBundle(entries)
            let whole = try together.commit([bundle], heldAfter: limit)
            var each = CommitResult()
            for leaf in bundle.leaves {
                let result = try singly.commit([testBundle([leaf.entry])], heldAfter: limit)
                each.applied += result.applied
                each.held += result.held
                each.dead += result.dead
                each.known += result.known
            }
            let place = "seed \(seed), round \(round)"
            try #require(whole.applied == each.applied && whole.held == each.held, "\(place)")
            try #require(whole.dead == each.dead && whole.known == each.known, "\(place)")
            while try together.sweep(limit: 10) {}
            while try singly.sweep(limit: 10) {}
            let (live, root, tally) = (try singly.liveEntries(), try singly.digest(of: .root), try singly.tally)
            try #require(try together.liveEntries() == live, "\(place)")
            try #require(try together.digest(of: .root) == root, "\(place)")
            try #require(try together.tally == tally, "\(place)")
            let channel = try testPath("channels/a")
            let unread = try singly.unread(container: channel, afterArrival: 0, notBy: author)
            try #require(try together.unread(container: channel, afterArrival: 0, notBy: author) == unread, "\(place)")
        }
    }
}
