import Seal
import Store
import Testing
import Tree

/// SplitMix64: the same numbers for the same seed, on every machine.
struct SeededRandom: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    /// A number below `bound`: cheaper than `Int.random` where the debug build runs it a million times.
    mutating func below(_ bound: Int) -> Int { Int(next() >> 33) % bound }

    mutating func element<T>(_ items: [T]) -> T { items[below(items.count)] }
}

/// The stores that have to behave alike.
enum Backend: CaseIterable, Sendable, CustomTestStringConvertible {
    case memory, database

    var testDescription: String { "\(self)" }

    /// A new store, for the time of the body.
    func with<Result>(_ body: (any NodeStore) throws -> Result) throws -> Result {
        switch self {
        case .memory: return try body(MemoryStore())
        case .database:
            let folder = try TemporaryFolder()
            let store = try DatabaseStore(path: folder.path("workspace.db"))
            defer { store.close() }
            return try body(store)
        }
    }
}

extension Grave {
    /// Without its number, which tells nothing but the order.
    var words: String { "\(path) \(value) \(author) \(hlc) \(id) by \(killer) \(diedMs)" }
}

/// Stores do not verify, so tests of what they do with entries can do without signing.
let anySignature = Signature([UInt8](repeating: 7, count: 64))

func testPath(_ text: String) throws -> Path { try Path(parsing: text) }

func testEntry(
    _ path: String, _ value: Value, ms: UInt64, counter: UInt64 = 0, author: Bytes32 = Bytes32(repeating: 1),
    kind: UInt64 = Entry.set
) throws -> Entry {
    try Entry(path: testPath(path), hlc: HLC(ms: ms, counter: counter), author: author, value: value, kind: kind)
}

/// A bundle of entries in stamp order of which only `present` (all when nil) are carried.
func testBundle(_ entries: [Entry], present: [Int]? = nil) throws -> Bundle {
    let sorted = entries.sorted { $0.stamp < $1.stamp }
    let present = present ?? Array(sorted.indices)
    let ids = sorted.map(\.id)
    func hash(_ start: Int, _ count: Int) -> Bytes32? { MerkleTree.root(Array(ids[start..<(start + count)])) }
    let omitted = try #require(MerkleTree.omitted(count: ids.count, wanted: present, hash: hash))
    return Bundle(
        author: try #require(sorted.first?.author), count: sorted.count, signature: try #require(anySignature),
        leaves: present.map { Bundle.Leaf(index: $0, entry: sorted[$0]) }, omitted: omitted)
}

let farFuture = HLC(ms: HLC.msMax)
let everyPath = (lower: PathKey(bytes: [0]), upper: PathKey(bytes: [0xFF]))

extension NodeStore {
    @discardableResult
    func commit(_ entries: Entry..., heldAfter: HLC = farFuture) throws -> CommitResult {
        try commit(entries.map { try testBundle([$0]) }, heldAfter: heldAfter)
    }

    func liveEntries() throws -> [Entry] {
        var entries: [Entry] = []
        try scan(from: everyPath.lower, to: everyPath.upper, descending: false) { entry in
            entries.append(entry)
            return true
        }
        return entries
    }

    func allReferences() throws -> [EntryReference] {
        try references(in: ReferenceRange(.root), newest: .max).reversed()
    }

    /// What others overwrote around a path, the last death first.
    func graves(_ path: String = "", before: Int64? = nil, limit: Int = .max) throws -> [Grave] {
        var found: [Grave] = []
        try graves(around: testPath(path), before: before, limit: limit) { grave in
            found.append(grave)
            return true
        }
        return found
    }

    func value(_ path: String) throws -> Value { try TreeView(self).value(at: testPath(path)) }
}
