import Seal
import Store
import Testing
import Tree

/// Both stores answer alike, whatever happens to them.
@Suite struct DifferentialTests {
    @Test(arguments: 0..<6) func storesAgree(seed: Int) throws {
        var random = SeededRandom(seed: UInt64(seed))
        let folder = try TemporaryFolder()
        let database = try DatabaseStore(path: folder.path("workspace.db"))
        defer { database.close() }
        let memory: any NodeStore = MemoryStore()
        var clock: UInt64 = 1 << 40
        var day: UInt64 = 0
        for step in 0..<40 {
            clock += UInt64(random.below(400))
            let limit = HLC(ms: clock)
            switch random.below(9) {
            case 8:
                for _ in 0..<3 {
                    day += 24 * 3600 * 1000
                    let isMoreLeft = try database.expireGraves(nowMs: day, limit: 2)
                    try #require(try memory.expireGraves(nowMs: day, limit: 2) == isMoreLeft, "seed \(seed)")
                }
            case 0:
                let (a, b) = try (database.release(heldAfter: limit), memory.release(heldAfter: limit))
                try #require(a.applied == b.applied && a.dead == b.dead, "seed \(seed), step \(step)")
            case 1:
                let arrival = Int64(random.below(20))
                let container = try testPath("channels/\(random.below(2))")
                try database.setReadMark(container: container, arrival: arrival)
                try memory.setReadMark(container: container, arrival: arrival)
            default:
                let bundles = try (0...random.below(3)).map { _ in try randomBundle(around: clock, &random) }
                let a = try database.commit(bundles, heldAfter: limit)
                let b = try memory.commit(bundles, heldAfter: limit)
                try #require(a.applied == b.applied && a.held == b.held, "seed \(seed), step \(step)")
                try #require(a.dead == b.dead && a.known == b.known, "seed \(seed), step \(step)")
            }
            try compare(database, memory, "seed \(seed), step \(step)")
        }
    }

    private func randomBundle(around clock: UInt64, _ random: inout SeededRandom) throws -> Bundle {
        let author = Bytes32(repeating: UInt8(1 + random.below(3)))
        let entries = try (0...random.below(4)).map { index in
            let (first, last) = (random.below(2), random.below(2))
            let path = random.element([
                "channels/\(last)", "channels/\(first)/messages/m\(last)", "channels/\(first)/messages/m\(last)/text",
                "rooms/\(first)/messages/m\(last)", "a/\(last)",
            ])
            let value: Value = random.below(4) == 0 ? .null : .integer(Int64(random.below(3)))
            return try testEntry(
                path, value, ms: clock - 300 + UInt64(random.below(600)), counter: UInt64(index), author: author,
                kind: random.below(10) == 0 ? 1 : 0)
        }
        let present = entries.indices.filter { _ in random.below(4) > 0 }
        return try testBundle(entries, present: present.isEmpty ? nil : present)
    }

    private func compare(_ a: any NodeStore, _ b: any NodeStore, _ place: Comment) throws {
        try #require(try a.liveEntries() == b.liveEntries(), place)
        let references = try a.allReferences()
        try #require(try references == b.allReferences(), place)
        try #require(try a.digest(of: .root) == b.digest(of: .root), place)
        try #require(try a.children(of: .root).map(\.digest) == b.children(of: .root).map(\.digest), place)
        try #require(try a.bundles(for: references).bundles == b.bundles(for: references).bundles, place)
        try #require(try a.entryCount == b.entryCount && a.heldCount == b.heldCount, place)
        let (gravesA, gravesB) = try (a.graves().map(\.words), b.graves().map(\.words))
        try #require(gravesA == gravesB, place)
        try #require(try a.graves("a/0", limit: 2).map(\.id) == b.graves("a/0", limit: 2).map(\.id), place)
        try #require(try a.nextHeldDue == b.nextHeldDue, place)
        let (heldA, heldB) = try (Set(a.heldAuthors), Set(b.heldAuthors))
        try #require(heldA == heldB, place)
        try #require(try a.greatestHLC(notAfter: farFuture) == b.greatestHLC(notAfter: farFuture), place)
        for text in ["channels/0", "channels/1", "rooms/0"] {
            let path = try testPath(text)
            try #require(try a.lastArrival(container: path) == b.lastArrival(container: path), place)
            try #require(try a.readMark(container: path) == b.readMark(container: path), place)
            let author = Bytes32(repeating: 1)
            let (unreadA, unreadB) = try (
                a.unread(container: path, afterArrival: 2, notBy: author),
                b.unread(container: path, afterArrival: 2, notBy: author)
            )
            try #require(unreadA == unreadB, place)
        }
        try #require(try Set(a.containers(ofMessage: "m0")) == Set(b.containers(ofMessage: "m0")), place)
    }
}
