import Foundation
import Seal
import Testing
import Tree

@testable import Store

/// What only a file can do: last, be damaged, be full, be somebody else's.
@Suite struct DatabaseStoreTests {
    private let folder: TemporaryFolder
    private var path: String { folder.path("workspace.db") }

    init() throws { folder = try TemporaryFolder() }

    private func entries(_ count: Int, size: Int = 10) throws -> [Entry] {
        let text = String(repeating: "x", count: size)
        return try (0..<count).map { try testEntry("channels/c/messages/m\($0)", .string(text), ms: UInt64(10 + $0)) }
    }

    @Test func isThereAfterReopening() throws {
        let entries = try entries(20)
        let channel = try testPath("channels/c")
        let store = try DatabaseStore(path: path)
        _ = try store.commit([testBundle(entries, present: [3, 5, 8])], heldAfter: farFuture)
        try store.commit(testEntry("app/held", .integer(1), ms: 5000), heldAfter: HLC(ms: 100))
        try store.setSetting("seed", [1, 2, 3])
        try store.setReadMark(container: channel, arrival: 2)
        let digest = try store.digest(of: .root)
        let arrival = try store.lastArrival(container: channel)
        let bundles = try store.bundles(for: store.allReferences()).bundles
        store.close()

        let again = try DatabaseStore(path: path)
        #expect(try again.digest(of: .root) == digest)
        #expect(try again.liveEntries() == [entries[3], entries[5], entries[8]])
        #expect(try again.heldCount == 1)
        #expect(try again.setting("seed") == [1, 2, 3])
        #expect(try again.readMark(container: channel) == 2)
        #expect(try again.bundles(for: again.allReferences()).bundles == bundles)
        try again.commit(testEntry("channels/c/messages/new", .integer(1), ms: 99))
        #expect(try again.lastArrival(container: channel) > arrival)
        again.close()
    }

    @Test func arrivalNumbersPassTheMarkAfterEverythingWasDeleted() throws {
        let channel = try testPath("channels/c")
        let store = try DatabaseStore(path: path)
        _ = try store.commit([testBundle(entries(5))], heldAfter: farFuture)
        try store.setReadMark(container: channel, arrival: 5)
        try store.commit(testEntry("channels/c/messages", .null, ms: 1000))
        store.close()
        let again = try DatabaseStore(path: path)
        try again.commit(testEntry("channels/c/messages/new", .integer(1), ms: 2000))
        #expect(try again.unread(container: channel, afterArrival: 5, notBy: .zero) == 1)
        again.close()
    }

    @Test func sweepsGoOnAfterReopening() throws {
        let store = try DatabaseStore(path: path)
        _ = try store.commit([testBundle(entries(1500))], heldAfter: farFuture)
        let tombstone = try testEntry("channels/c/messages", .null, ms: 9000)
        try store.commit(tombstone)
        #expect(try store.entryCount == 501)
        store.close()
        let again = try DatabaseStore(path: path)
        while try again.sweep(limit: 200) {}
        #expect(try again.liveEntries() == [tombstone])
        #expect(try again.entryCount == 1)
        #expect(try again.database.integer("SELECT count(*) FROM bundle") == 1 - 1)
        #expect(try again.database.integer("SELECT count(*) FROM proof") == 0)
        #expect(try again.database.integer("SELECT count(*) FROM entry WHERE arrival IS NOT NULL") == 0)
        again.close()
    }

    /// Of what is dead a bundle keeps no more hashes than its tree is deep for each leaf that lives.
    @Test func keepsFewHashesOfTheDead() throws {
        let store = try DatabaseStore(path: path)
        let all = try entries(1000)
        _ = try store.commit([testBundle(all)], heldAfter: farFuture)
        for entry in all where entry != all[700] {
            try store.commit(testEntry(entry.path.description, .null, ms: 9000))
        }
        let hashes = try store.database.integer("SELECT count(*) FROM proof")
        #expect(hashes == 10)
        #expect(try store.bundles(for: [all[700].reference]).bundles == [testBundle(all, present: [700])])
        store.close()
    }

    @Test func belongsToItsOwnerAlone() throws {
        let store = try DatabaseStore(path: path)
        try store.commit(testEntry("app/a", .integer(1), ms: 10))
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.url.path) {
            let attributes = try FileManager.default.attributesOfItem(atPath: folder.path(name))
            #expect(attributes[.posixPermissions] as? Int == 0o600, "\(name)")
        }
        let error = #expect(throws: StoreError.self) { try DatabaseStore(path: path, busyTimeoutMs: 0) }
        #expect(error?.code == .inUse)
        store.close()
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
        try DatabaseStore(path: path).close()
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
    }

    @Test func closedMeansClosed() throws {
        let store = try DatabaseStore(path: path)
        try store.commit(testEntry("app/a", .integer(1), ms: 10))
        store.close()
        store.close()
        let error = #expect(throws: StoreError.self) { try store.entryCount }
        #expect(error?.code == .closed)
        #expect(throws: StoreError.self) { try store.commit(testEntry("app/b", .integer(1), ms: 10)) }
    }

    @Test func cannotOpenWhereThereIsNoFolder() {
        let error = #expect(throws: StoreError.self) { try DatabaseStore(path: folder.path("no/workspace.db")) }
        #expect(error?.code == .cannotOpen)
    }

    @Test func leavesOtherDatabasesAlone() throws {
        let database = try Database(path: path, busyTimeoutMs: 0)
        try database.execute("PRAGMA application_id=7; CREATE TABLE theirs(x)")
        database.close()
        let before = try Data(contentsOf: URL(fileURLWithPath: path))
        let error = #expect(throws: StoreError.self) { try DatabaseStore(path: path) }
        #expect(error?.code == .foreign)
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
    }

    @Test func refusesWhatANewerVersionWrote() throws {
        let store = try DatabaseStore(path: path)
        try store.database.execute("PRAGMA user_version=1000")
        store.close()
        let error = #expect(throws: StoreError.self) { try DatabaseStore(path: path) }
        #expect(error?.code == .newer)
    }

    // MARK: Cost

    /// Reading the last 50 of many messages costs what reading the last 50 of few does. All but the last hundred are
    /// rows that no reader could make sense of: who touched one would fail.
    @Test func readingTheEndDoesNotReadTheRest() throws {
        func steps(_ count: Int) throws -> Int {
            let store = try DatabaseStore(path: folder.path("\(count).db"))
            defer { store.close() }
            try store.database.execute(
                """
                INSERT INTO author(key) VALUES(zeroblob(32));
                INSERT INTO container(path) VALUES(CAST(x'02' || 'channels' || x'0002' || 'c' || x'00' AS BLOB));
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))
                INSERT INTO entry(path, hlc, author, prefix, id, kind, held, signature, value)
                SELECT CAST(x'030000000102' || printf('a%08d', i) || x'00' AS BLOB), i, 1, random(), randomblob(24), 0,
                    0, zeroblob(64), x'FF' FROM n
                """)
            try #require(try store.database.integer("SELECT count(*) FROM entry") == count)
            store.lastChange = Int64(count)
            _ = try store.commit([testBundle(entries(100))], heldAfter: farFuture)
            let before = store.database.virtualMachineSteps
            var keys: [String] = []
            try TreeView(store).children(of: testPath("channels/c/messages"), descending: true) { key, value in
                #expect(value == .string("xxxxxxxxxx"))
                keys.append(key.text)
                return keys.count < 50
            }
            #expect(keys.count == 50 && keys.first == "m99")
            return store.database.virtualMachineSteps - before
        }
        let few = try steps(100)
        let many = try steps(100_000)
        #expect(many == few)
        #expect(few < 50 * 100)
    }

    // MARK: Damage

    @Test(arguments: ["", "no database at all", String(repeating: "garbage", count: 10_000)])
    func garbageIsCorruptUnlessEmpty(content: String) throws {
        try Data(content.utf8).write(to: URL(fileURLWithPath: path))
        if content.isEmpty {
            try DatabaseStore(path: path).close()
        } else {
            let error = #expect(throws: StoreError.self) { try DatabaseStore(path: path) }
            #expect(error?.isCorrupt == true)
        }
    }

    /// Overwrites pages at random: every call returns or throws, and what is returned is what was committed.
    @Test(arguments: 0..<30) func damagedPagesAreNoticed(seed: Int) throws {
        var random = SeededRandom(seed: UInt64(seed))
        let all = try entries(300, size: 200)
        let store = try DatabaseStore(path: path)
        _ = try store.commit(all.map { try testBundle([$0]) }, heldAfter: farFuture)
        store.close()
        var data = try Data(contentsOf: URL(fileURLWithPath: path))
        for _ in 0..<(1 + random.below(4)) {
            let start = 100 + random.below(data.count - 200)
            for offset in 0..<64 where random.below(2) == 0 {
                data[start + offset] = UInt8(truncatingIfNeeded: random.next())
            }
        }
        try data.write(to: URL(fileURLWithPath: path))
        do {
            let damaged = try DatabaseStore(path: path)
            defer { damaged.close() }
            let known = Set(all)
            for reference in try damaged.allReferences() {
                for bundle in try damaged.bundles(for: [reference]).bundles {
                    for leaf in bundle.leaves { #expect(known.contains(leaf.entry)) }
                }
            }
            for entry in try damaged.liveEntries() { #expect(known.contains(entry)) }
            try damaged.commit(testEntry("app/new", .integer(1), ms: 9999))
        } catch let error as StoreError {
            #expect(
                error.isCorrupt || error.code == .foreign || error.code == .newer || error.code == .other, "\(error)")
        }
    }

    // MARK: Full disk

    /// What fails for want of room has not happened, reads go on, and writes succeed when there is room again.
    @Test func fullDisk() throws {
        let store = try DatabaseStore(path: path)
        try store.commit(testEntry("channels/c/messages/m", .integer(1), ms: 5))
        let digest = try store.digest(of: .root)
        try store.database.execute("PRAGMA max_page_count=\(store.database.integer("PRAGMA page_count") + 3)")
        let large = try entries(50, size: 10_000)
        let bundle = try testBundle(large)
        let error = #expect(throws: StoreError.self) { try store.commit([bundle], heldAfter: farFuture) }
        #expect(error?.isDiskFull == true)
        #expect(try store.digest(of: .root) == digest)
        #expect(try store.liveEntries().count == 1)
        #expect(try store.containers(ofMessage: "m1").isEmpty)
        try store.database.execute("PRAGMA max_page_count=1000000")
        #expect(try store.commit([bundle], heldAfter: farFuture).applied == large)
        #expect(try store.lastArrival(container: testPath("channels/c")) == 51)
        store.close()
    }

    @Test(.enabled(if: SmallDisk.isAvailable)) func fullFileSystem() throws {
        let disk = try SmallDisk(at: folder.path("disk"), bytes: 1 << 20)
        defer { disk.unmount() }
        let store = try DatabaseStore(path: folder.path("disk/workspace.db"))
        var committed: [Entry] = []
        let error = #expect(throws: StoreError.self) {
            for entry in try entries(1000, size: 10_000) {
                try store.commit(entry)
                committed.append(entry)
            }
        }
        #expect(error?.isDiskFull == true)
        #expect(committed.count > 10)
        #expect(try Set(store.liveEntries()) == Set(committed))
        store.close()
        let again = try DatabaseStore(path: folder.path("disk/workspace.db"))
        #expect(try Set(again.liveEntries()) == Set(committed))
        again.close()
    }
}
