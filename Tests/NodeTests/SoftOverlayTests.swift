@testable import Node
@testable import Replication
import Seal
import Store
import Testing
import Tree
import TreeModel
import Wire

/// Soft state as entries among the stored ones.
@Suite struct SoftOverlayTests {
    private let authors = (0..<6).map { Bytes32(repeating: UInt8($0 + 1)) }

    private func place(_ text: String, _ author: Bytes32) throws -> SoftState.Place {
        SoftState.Place(author: author, path: try Path(parsing: text))
    }

    /// Signatures are not looked at here.
    private func record(_ place: SoftState.Place, _ value: Value, ms: UInt64, ttlMs: UInt64) throws -> SoftRecord {
        SoftRecord(
            author: place.author, instance: 1, path: place.path, hlc: HLC(ms: ms), ttlMs: ttlMs, value: value,
            signature: try #require(Signature([UInt8](repeating: 0, count: 64))))
    }

    private func paths(
        _ reader: some EntryReader, _ lower: PathKey, _ upper: PathKey, descending: Bool, limit: Int
    ) throws -> [PathKey] {
        var found: [PathKey] = []
        try reader.scan(from: lower, to: upper, descending: descending) { entry in
            found.append(PathKey(entry.path))
            return found.count < limit
        }
        return found
    }

    /// Random records come, change and go, few and many at once; scans of random ranges agree with a sorted list.
    @Test(arguments: 0..<6) func scansAgreeWithASortedList(seed: Int) throws {
        var random = SeededRandom(seed: UInt64(seed))
        let store = MemoryStore()
        let soft = SoftEntries()
        var state = SoftState()
        var places: [SoftState.Place] = []
        for author in authors {
            places.append(try place("presence/\(UID.text(author))", author))
            for channel in 0..<7 {
                places.append(try place("channels/c\(channel)/typingIndicator/\(UID.text(author))", author))
            }
        }
        var bounds =
            try places.map { PathKey($0.path) }
            + ["channels", "channels/c3", "presence", "q"].map {
                PathKey(try Path(parsing: $0))
            }
        for number in 0..<30 {
            let path = try Path(parsing: number < 15 ? "channels/c\(number / 2)/name\(number)" : "p\(number)/x")
            let entry = try Entry(path: path, hlc: HLC(ms: 5), author: authors[0], value: .integer(1))
            let bundle = Bundle(
                author: entry.author, count: 1, signature: try #require(Signature([UInt8](repeating: 0, count: 64))),
                leaves: [.init(index: 0, entry: entry)], omitted: [])
            _ = try store.commit([bundle], heldAfter: HLC(ms: HLC.msMax))
            bounds.append(PathKey(path))
        }
        bounds += bounds.map(\.subtreeEnd)
        for round in 1..<60 {
            let touched = places.shuffled(using: &random).prefix(round % 10 == 0 ? 40 : 3)
            for place in touched {
                let record = try record(
                    place, .integer(Int64(random.next() % 3)), ms: UInt64(round), ttlMs: random.next() % 2 * 60_000)
                _ = state.insert(record, nowMs: UInt64(round) * 1000, workspaceMs: UInt64(round))
            }
            let before = Dictionary(uniqueKeysWithValues: places.map { ($0.path, soft.entry(at: PathKey($0.path))) })
            let changed = soft.update(Array(touched), state)
            for place in places {
                let now = soft.entry(at: PathKey(place.path))
                #expect(now?.value == state.record(author: place.author, path: place.path)?.value)
                #expect(changed.contains(place.path) == (now != before[place.path]), "seed \(seed)")
            }
            let all = try
                (state.live.map { PathKey($0.path) }
                + paths(store, PathKey(bytes: [0]), PathKey(bytes: [0xFF]), descending: false, limit: .max)).sorted()
            let overlay = SoftOverlay(stored: store, soft: soft)
            for _ in 0..<10 {
                let (a, b) = (bounds.randomElement(using: &random), bounds.randomElement(using: &random))
                guard let lower = a, let upper = b else { continue }
                let limit = Int(random.next() % 20) + 1
                let within = all.filter { !($0 < lower) && $0 < upper }
                #expect(
                    try paths(overlay, lower, upper, descending: false, limit: limit) == Array(within.prefix(limit)))
                #expect(
                    try paths(overlay, lower, upper, descending: true, limit: limit)
                        == Array(within.reversed().prefix(limit)), "seed \(seed)")
            }
        }
    }

    /// A value that its author has made too deep for its place is not shown, and does not hide others.
    @Test func whatIsTooDeepIsNotShown() throws {
        let soft = SoftEntries()
        var state = SoftState()
        var deep = Value.bool(true)
        for _ in 0..<31 { deep = .object(ObjectValue([(try #require(Key("a")), deep)])) }
        let (bad, good) = (
            try place("presence/\(UID.text(authors[0]))", authors[0]),
            try place("presence/\(UID.text(authors[1]))", authors[1])
        )
        for (place, value) in [(bad, deep), (good, .bool(true))] {
            _ = state.insert(try record(place, value, ms: 1, ttlMs: 1000), nowMs: 1, workspaceMs: 1)
        }
        #expect(soft.update([bad, good], state) == [good.path])
        let view = TreeView(SoftOverlay(stored: MemoryStore(), soft: soft))
        #expect(try view.childKeys(of: Path(parsing: "presence")).map(\.text) == [UID.text(authors[1])])
    }
}
