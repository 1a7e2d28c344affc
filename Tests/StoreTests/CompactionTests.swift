import Chat
import Foundation
import Seal
import Testing
import Tree

@testable import Store

/// Rows leave out what is known already; databases from before that are made anew when they are opened.
@Suite struct CompactionTests {
    private static let ann = Bytes32(repeating: 1)
    private static let bob = Bytes32(repeating: 2)

    private static func message(
        _ text: Value, ms: UInt64, by author: Bytes32, sender: Bytes32? = nil, name: String = "Ann",
        more: [(Key, Value)] = []
    ) throws -> Value {
        func key(_ text: String) throws -> Key { try #require(Key(text)) }
        return .object(
            ObjectValue(
                [
                    (try key("text"), text), (try key("senderId"), .string(UID.text(sender ?? author))),
                    (try key("senderName"), .string(name)), (try key("createdAt"), .integer(Int64(ms))),
                ] + more))
    }

    /// Entries of every kind of row: messages whole and not, in containers of each sort, with keys of each sort, held,
    /// of unknown kinds, tombstones, priorities, on both sides of and between containers.
    private static func entries() throws -> [Entry] {
        let extra = [(try #require(Key("reply")), Value.string("x"))]
        var entries: [Entry] = []
        func add(
            _ path: String, _ value: Value, author: Bytes32 = ann, ms: UInt64? = nil, kind: UInt64 = 0
        ) throws {
            let ms = ms ?? UInt64(1000 + entries.count)
            entries.append(try testEntry(path, value, ms: ms, author: author, kind: kind))
        }
        for container in ["channels/a", "channels/b", "channels/7", "dms/x", "rooms/r", "channels/a/messages"] {
            try add("\(container)/name", .string("name"))
            for number in 0..<4 {
                let ms = UInt64(2000 + 10 * entries.count)
                let author = number.isMultiple(of: 2) ? ann : bob
                let key = AutoID(hlc: HLC(ms: ms), author: author).text
                try add(
                    "\(container)/messages/\(key)", message(.string("n \(number)"), ms: ms, by: author),
                    author: author, ms: ms)
                try add("\(container)/messages/\(key)/text", .string("edited \(number)"), author: author, ms: ms + 1)
            }
            try add("\(container)/messages/5", .integer(1))
            try add("\(container)/messages/\(container.count)", .null)
            try add("\(container)/messages/é", .string("key"))
            try add("\(container)/messages/kind", .string("x"), kind: 7)
            let ms = UInt64(4000 + entries.count)
            try add("\(container)/messages/m1", message(.integer(5), ms: ms, by: ann), ms: ms)
            try add("\(container)/messages/m2", message(.string("t"), ms: ms, by: ann, more: extra), ms: ms)
            try add("\(container)/messages/m3", message(.string("t"), ms: ms + 1, by: ann), ms: ms)
            try add("\(container)/messages/m4", message(.string("t"), ms: ms, by: ann, sender: bob), ms: ms)
            try add("\(container)/messages/m5", message(.string(""), ms: ms, by: ann, name: ""), ms: ms)
            try add("\(container)/messages", .string("whole"), author: bob, ms: 10)
        }
        for path in ["channels", "dms", "apps/x/messages/m1", "channels/only/messages/deep/er", "users/u/name", "zoo"] {
            try add(path, .integer(3), ms: 5)
        }
        try add("channels/a/messages/held", message(.string("later"), ms: 1 << 41, by: bob), author: bob, ms: 1 << 41)
        return entries
    }

    private struct Contents: Equatable {
        var live: [Entry]
        var backwards: [Entry]
        var references: [EntryReference]
        var root: BucketDigest
        var tally: Tally
        var held: Int
        var unread: [Int]
        var found: [[Path]]

        init(_ store: DatabaseStore) throws {
            live = try store.liveEntries()
            var last: [Entry] = []
            try store.scan(from: everyPath.lower, to: everyPath.upper, descending: true) { entry in
                last.append(entry)
                return true
            }
            backwards = last
            references = try store.allReferences()
            root = try store.digest(of: .root)
            tally = try store.tally
            held = try store.heldCount
            let containers = try ["channels/a", "channels/b", "channels/7", "dms/x", "rooms/r"].map(testPath)
            unread = try containers.flatMap { container in
                let all = try store.unread(container: container, afterArrival: 0, notBy: ann)
                let last = try store.lastArrival(container: container)
                return [all, try store.unread(container: container, afterArrival: last, notBy: ann), last == 0 ? 0 : 1]
            }
            found = try ["m1", "5", "é", "kind"].map { try store.containers(ofMessage: $0) }
        }
    }

    /// Writes the entries of a store as the versions before did.
    private func makeBefore(_ path: String, of store: DatabaseStore, held: Set<Bytes32>) throws {
        let old = try Database(path: path, busyTimeoutMs: 0)
        defer { old.close() }
        for migration in Schema.migrations { try old.execute(migration) }
        try old.execute("PRAGMA application_id=\(0x5374_6172); PRAGMA user_version=\(Schema.migrations.count)")
        var row = 0
        var containers: [PathKey: Int] = [:]
        for reference in try store.allReferences() {
            for (entry, proof) in try store.stored(reference) {
                row += 1
                let author = entry.author == Self.ann ? 1 : 2
                try old.execute(
                    "INSERT OR IGNORE INTO author(id, key) VALUES(\(author), x'\(entry.author.hex)')")
                guard case .single(let signature) = proof else { continue }
                func hex(_ bytes: some Sequence<UInt8>) -> String { bytes.map { String(format: "%02x", $0) }.joined() }
                let isHeld = held.contains(entry.id)
                let hlc = Int64(bitPattern: entry.hlc.rawValue ^ 1 << 63)
                try old.execute(
                    """
                    INSERT INTO entry(row, path, hlc, author, id, kind, held, signature, value) VALUES(\(row),
                    x'\(hex(PathKey(entry.path).bytes))', \(hlc), \(author), x'\(entry.id.hex)', \(entry.kind),
                    \(isHeld ? 1 : 0), x'\(hex(signature.bytes))', x'\(hex(entry.encodedValue))')
                    """)
                guard !isHeld, let place = MessagePlace(of: entry) else { continue }
                let number = containers[place.container] ?? containers.count + 1
                if containers[place.container] == nil {
                    containers[place.container] = number
                    try old.execute(
                        "INSERT INTO container(id, path) VALUES(\(number), x'\(hex(place.container.bytes))')")
                }
                try old.execute(
                    "INSERT INTO message VALUES(\(number), \(row), '\(place.mid)', \(author))")
            }
        }
        for level in 0...TimeBucket.storedLevelMax {
            for child in try store.database.rows("SELECT bucket, count, hex(sum) FROM digest WHERE level = \(level)") {
                try old.execute("INSERT INTO digest VALUES(\(level), \(child[0]), \(child[1]), x'\(child[2])')")
            }
        }
        try old.execute(Schema.tally)
    }

    @Test func olderDatabasesAreMadeAnew() throws {
        let folder = try TemporaryFolder()
        let limit = HLC(ms: 1 << 40)
        let new = try DatabaseStore(path: folder.path("new.db"))
        defer { new.close() }
        for entry in try Self.entries() { try new.commit(entry, heldAfter: limit) }
        let contents = try Contents(new)
        #expect(contents.held == 1 && contents.live.count > 60)
        #expect(contents.live == contents.backwards.reversed())
        #expect(contents.live.map { PathKey($0.path) } == contents.live.map { PathKey($0.path) }.sorted())
        let held = try Set(Self.entries().filter { $0.hlc > limit }.map(\.id))
        try makeBefore(folder.path("old.db"), of: new, held: held)
        for _ in 0..<2 {
            let old = try DatabaseStore(path: folder.path("old.db"))
            #expect(try Contents(old) == contents)
            old.close()
        }
        let old = try DatabaseStore(path: folder.path("old.db"))
        defer { old.close() }
        #expect(try old.release(heldAfter: farFuture).applied == new.release(heldAfter: farFuture).applied)
        #expect(try Contents(old) == Contents(new))
        try old.follow()
        try new.follow()
        let edited = try new.found(MessageSearch(SearchQuery("edited")))
        #expect(try edited.count == 12 && old.found(MessageSearch(SearchQuery("edited"))) == edited)
    }

    /// A message takes about what is new in it.
    @Test func messagesTakeLittle() throws {
        let entry = try testEntry(
            "channels/a/messages/m", Self.message(.string("hello"), ms: 1000, by: Self.ann), ms: 1000,
            author: Self.ann)
        #expect(StoredValue.bytes(of: entry).count == 1 + 4 + 6)
        for entry in try Self.entries() {
            let bytes = Array(StoredValue.bytes(of: entry))
            #expect(try StoredValue(bytes, entry.hlc, entry.author).value == entry.value)
        }
        for bytes in [[], [0xFF], [0xFF, 0x61], [0xFF, 0x60, 0xA0], [0xFF, 0x60, 0x60, 0x60], [0x18, 0x01]] as [[UInt8]]
        {
            #expect(throws: StoreError.self) { try StoredValue(bytes, .zero, Self.ann) }
        }
    }

    /// Whatever range of paths is asked for, a store with containers gives what is in it, both ways.
    @Test(arguments: 0..<8) func rangesOfPathsAreRangesOfRows(seed: UInt64) throws {
        let folder = try TemporaryFolder()
        let store = try DatabaseStore(path: folder.path("workspace.db"))
        defer { store.close() }
        for entry in try Self.entries() { try store.commit(entry, heldAfter: HLC(ms: 1 << 40)) }
        let all = try store.liveEntries().map { PathKey($0.path) }
        var random = SeededRandom(seed: seed)
        for _ in 0..<150 {
            func bound(_ random: inout SeededRandom) -> PathKey {
                let path = random.element(all)
                let prefix = random.element(path.prefixes)
                return random.element([path, prefix, prefix.subtreeEnd, prefix.firstBelow, prefix.firstChild])
            }
            let (lower, upper) = (bound(&random), bound(&random))
            let expected = all.filter { !($0 < lower) && $0 < upper }
            for descending in [false, true] {
                var found: [PathKey] = []
                try store.scan(from: lower, to: upper, descending: descending) { entry in
                    found.append(PathKey(entry.path))
                    return true
                }
                #expect(found == (descending ? expected.reversed() : expected), "seed \(seed): \(lower) to \(upper)")
            }
            let limit = 1 + random.below(5)
            #expect(try store.live(from: lower, to: upper, limit: limit).map(\.path) == Array(expected.prefix(limit)))
        }
    }
}

extension Database {
    /// Columns of all rows as text.
    fileprivate func rows(_ sql: String) throws -> [[String]] {
        let statement = Statement(self, sql)
        defer { statement.finalize() }
        return try statement.all { row in (0..<3 as Range<Int32>).map { row.text($0) } }
    }
}
