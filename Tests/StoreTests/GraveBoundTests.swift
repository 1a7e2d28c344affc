import Seal
import Testing
import Tree

@testable import Store

private let (ann, bob, eve) = (Bytes32(repeating: 1), Bytes32(repeating: 2), Bytes32(repeating: 3))
private let hourMs: UInt64 = 3600 * 1000
private let dayMs: UInt64 = 24 * hourMs

/// The graveyard forgets after seven days, and never takes more than it may.
@Suite struct GraveBoundTests {
    /// A moment in 2025.
    private static let startMs: UInt64 = 1_750_000_000_000

    /// One more overwritten value.
    private func overwrite(_ store: any NodeStore, _ number: Int, _ text: String = "x", author: Bytes32 = ann) throws {
        let ms = UInt64(10 + 2 * number)
        try store.commit(testEntry("app/\(author == ann ? 0 : 1)", .string("\(number)" + text), ms: ms, author: author))
        try store.commit(testEntry("app/\(author == ann ? 0 : 1)", .integer(0), ms: ms + 1, author: bob))
    }

    private func ours(_ store: any NodeStore, of author: Bytes32 = ann) throws -> Int {
        try store.graves().count { $0.author == author }
    }

    // MARK: Time

    @Test(arguments: Backend.allCases) func forgetsAfterSevenDays(backend: Backend) throws {
        try backend.with { store in
            var nowMs = GraveBoundTests.startMs
            for number in 0..<7 {
                _ = try store.expireGraves(nowMs: nowMs, limit: 100)
                try overwrite(store, number)
                nowMs += dayMs
            }
            _ = try store.expireGraves(nowMs: nowMs - 1, limit: 100)
            #expect(try ours(store) == 7)
            _ = try store.expireGraves(nowMs: nowMs, limit: 100)
            #expect(try ours(store) == 6)
            _ = try store.expireGraves(nowMs: nowMs + dayMs, limit: 100)
            #expect(try ours(store) == 5)
            #expect(try store.value("app/0") == .integer(0), "what lives has no part in it")
        }
    }

    @Test(arguments: Backend.allCases) func forgetsInSlices(backend: Backend) throws {
        try backend.with { store in
            var nowMs = GraveBoundTests.startMs
            _ = try store.expireGraves(nowMs: nowMs, limit: 100)
            for number in 0..<10 { try overwrite(store, number) }
            let count = try store.graves().count
            for _ in 0..<6 {
                nowMs += dayMs
                #expect(try !store.expireGraves(nowMs: nowMs, limit: 3))
            }
            nowMs += dayMs
            var left = count
            while try store.expireGraves(nowMs: nowMs, limit: 3) {
                left -= 3
                #expect(try store.graves().count == left)
            }
            #expect(left > 0 && left <= 3)
            #expect(try store.graves().isEmpty)
        }
    }

    /// A clock that jumps costs a day at most, whichever way and how far.
    @Test(arguments: Backend.allCases) func clockJumpsForgetNothing(backend: Backend) throws {
        try backend.with { store in
            let startMs = GraveBoundTests.startMs
            _ = try store.expireGraves(nowMs: startMs, limit: 100)
            try overwrite(store, 0)
            for nowMs in [startMs + 365 * dayMs, startMs, 0, startMs + hourMs, UInt64.max, startMs] {
                _ = try store.expireGraves(nowMs: nowMs, limit: 100)
                #expect(try ours(store) == 1, "at \(nowMs)")
            }
            // Three days have been lost to three jumps ahead; the rest takes its time.
            for day in 1...3 {
                _ = try store.expireGraves(nowMs: startMs + UInt64(day) * dayMs, limit: 100)
                #expect(try ours(store) == 1, "day \(day)")
            }
            _ = try store.expireGraves(nowMs: startMs + 4 * dayMs, limit: 100)
            #expect(try ours(store) == 0)
        }
    }

    /// The age of graves passes through restarts, of which each counts for the time it took, up to a day.
    @Test func agesThroughRestarts() throws {
        let folder = try TemporaryFolder()
        var nowMs = GraveBoundTests.startMs
        func restart(_ body: (DatabaseStore) throws -> Void) throws {
            let store = try DatabaseStore(path: folder.path("workspace.db"))
            defer { store.close() }
            _ = try store.expireGraves(nowMs: nowMs, limit: 100)
            try body(store)
        }
        try restart { try overwrite($0, 0) }
        // The clock is not written down every half-hour.
        let pauses = Array(repeating: hourMs / 2, count: 12) + Array(repeating: 6 * hourMs, count: 27)
        for (number, pauseMs) in pauses.enumerated() {
            nowMs += pauseMs
            try restart { store in
                if number == 20 { try overwrite(store, 1) }
                let isOver = nowMs >= GraveBoundTests.startMs + 7 * dayMs
                try #require(try ours(store) == (number < 20 ? 1 : isOver ? 1 : 2), "restart \(number)")
            }
        }
        try #require(nowMs == GraveBoundTests.startMs + 7 * dayMs)
        // The second is nearly five days old. To be away for weeks is to be away for a day.
        for pauseMs in [30 * dayMs, dayMs] {
            nowMs += pauseMs
            try restart { store in
                let count = try ours(store)
                #expect(count == 1)
            }
        }
        nowMs += dayMs
        try restart { store in
            let isEmpty = try ours(store) == 0
            #expect(isEmpty)
        }
    }

    // MARK: Size

    /// Two who overwrite each other's mebibyte do not fill the disk, and do not drive out what others have lost.
    @Test(arguments: Backend.allCases) func fightersFillNoDisk(backend: Backend) throws {
        try backend.with { store in
            try overwrite(store, 0)
            let text = Value.string(String(repeating: "x", count: 1 << 20 - 100))
            for number in 0..<90 {
                let author = number.isMultiple(of: 2) ? bob : eve
                try store.commit(testEntry("app/fight", text, ms: UInt64(100 + number), author: author))
            }
            #expect(try ours(store) == 1)
            let graves = try store.graves("app/fight")
            #expect(graves.count > 55 && graves.count < 65)
            #expect(graves.first?.hlc == HLC(ms: 188), "the last are kept")
            #expect(abs(graves.count { $0.author == bob } - graves.count { $0.author == eve }) <= 2)
            #expect(try store.databaseBytes < 96 << 20)
        }
    }

    @Test func shareOfManyAuthors() {
        var totals = GraveTotals()
        #expect(totals.share(of: 100) == 100)
        for (index, bytes) in [5, 10, 200, 300].enumerated() {
            totals.add(bytes, of: Bytes32(repeating: UInt8(index)))
        }
        #expect(totals.share(of: 515) == 515 && totals.bytes == 515)
        // The two small ones keep theirs, the two great ones half of the rest each.
        #expect(totals.share(of: 215) == 100)
        #expect(totals.share(of: 12) == 3)
        for seed in 0..<200 {
            var random = SeededRandom(seed: UInt64(seed))
            var totals = GraveTotals()
            for index in 0..<(1 + random.below(20)) {
                totals.add(1 + random.below(1000), of: Bytes32(repeating: UInt8(index)))
            }
            let target = 1 + random.below(totals.bytes)
            let share = totals.share(of: target)
            let left = totals.byAuthor.values.reduce(0) { $0 + min($1, share) }
            #expect(left <= target && left + totals.byAuthor.count > min(target, totals.bytes) - 1, "seed \(seed)")
        }
    }

    /// What is counted in memory is what lies in the file, also after a transaction that came to nothing.
    @Test func countsWhatLiesThere() throws {
        let folder = try TemporaryFolder()
        let store = try DatabaseStore(path: folder.path("workspace.db"))
        defer { store.close() }
        func check(_ place: Comment) throws {
            let counted = try store.graveTotals
            store.knownGraveTotals = nil
            #expect(try store.graveTotals == counted, place)
        }
        let text = String(repeating: "y", count: 20_000)
        for number in 0..<5 { try overwrite(store, number, text) }
        try check("after some deaths")
        try store.commit(testEntry("app/0", .string(text), ms: 900, author: ann))
        try store.database.execute("PRAGMA max_page_count=\(store.database.integer("PRAGMA page_count") + 2)")
        let entry = try testEntry("app/0", .string(String(repeating: text, count: 10)), ms: 1000, author: bob)
        let before = try store.graves().map(\.words)
        let error = #expect(throws: StoreError.self) { try store.commit(entry) }
        #expect(error?.isDiskFull == true)
        #expect(try store.graves().map(\.words) == before && store.value("app/0") == .string(text))
        try check("after a full disk")
        try store.database.execute("PRAGMA max_page_count=1000000")
        try store.commit(entry)
        #expect(try store.graves().count == before.count + 1)
        try check("after it had room again")
        try store.removeGraves(of: ann, downTo: 50_000)
        try check("after some were removed")
        #expect(try store.graveTotals.byAuthor[ann] ?? 0 > 20_000 && store.graveTotals.byAuthor[ann] ?? 0 <= 50_000)
    }

    /// Messages, edits and deletes do not so much as look there.
    @Test func messagesCostNothing() throws {
        let folder = try TemporaryFolder()
        let store = try DatabaseStore(path: folder.path("workspace.db"))
        defer { store.close() }
        let cid = AutoID.nameKey(foldedName: "general", workspace: .zero)
        for number in 0..<10 {
            let ms = UInt64(1000 + 10 * number)
            let author = number.isMultiple(of: 2) ? ann : bob
            let path = "channels/\(cid)/messages/\(AutoID(hlc: HLC(ms: ms), author: author).text)"
            try store.commit(testEntry(path, .string("text"), ms: ms, author: author))
            try store.commit(testEntry("\(path)/text", .string("edited"), ms: ms + 1, author: author))
            try store.commit(testEntry("\(path)/reactions/\(UID.text(bob))", .bool(true), ms: ms + 2, author: bob))
            try store.commit(testEntry(path, .null, ms: ms + 3, author: author))
        }
        let graves = store.graves
        let used = [graves.bury, graves.totals, graves.ofAuthor, graves.delete]
        #expect(used.allSatisfy { $0.virtualMachineSteps == 0 })
        try overwrite(store, 0)
        #expect(graves.bury.virtualMachineSteps > 0)
    }

    /// A database of any older version is taken over with what it was sweeping.
    @Test(arguments: 1...Schema.migrations.count) func takesOlderDatabasesOver(version: Int) throws {
        let folder = try TemporaryFolder()
        let path = folder.path("workspace.db")
        let old = try Database(path: path, busyTimeoutMs: 0)
        for migration in Schema.migrations[..<version] { try old.execute(migration) }
        try old.execute("PRAGMA application_id=\(0x5374_6172); PRAGMA user_version=\(version)")
        let key = PathKey(try testPath("app")).bytes.map { String($0, radix: 16) }.map { $0.count < 2 ? "0" + $0 : $0 }
        try old.execute("INSERT INTO sweep(path, next) VALUES(x'\(key.joined())', x'\(key.joined())02')")
        old.close()
        let store = try DatabaseStore(path: path)
        defer { store.close() }
        try store.commit(testEntry("app/a", .integer(1), ms: 10, author: ann))
        try store.commit(testEntry("app/a", .integer(2), ms: 11, author: bob))
        while try store.sweep(limit: 10) {}
        #expect(try store.graves().count == 1)
    }
}
