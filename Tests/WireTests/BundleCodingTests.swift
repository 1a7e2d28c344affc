import CBOR
import Seal
import Testing
import Tree
import Wire

/// What is left out on the wire is put back exactly.
@Suite struct BundleCodingTests {
    private static let workspace = Bytes32(repeating: 9)
    private let keys = (1...4).map { SigningKey(seed: Bytes32(repeating: $0)) }

    /// A message of the chat, or something that is nearly one.
    private func value(_ author: Bytes32, _ hlc: HLC, _ random: inout SystemRandomNumberGenerator) -> Value {
        func pick<T>(_ items: [T]) -> T { items[Int.random(in: 0..<items.count, using: &random)] }
        let ms = Int64(clamping: hlc.ms)
        let names = ["anna", "bob", "", String(repeating: "n", count: 256), String(repeating: "n", count: 257)]
        var pairs: [(String, Value)] = [
            ("senderId", pick([.string(UID.text(author)), .string(UID.text(author)), .string("x"), .integer(1)])),
            ("senderName", pick([.string(pick(names)), .string("anna"), .bool(true)])),
            ("createdAt", pick([.integer(ms), .integer(ms), .integer(ms + 1), .double(0.5)])),
            ("text", pick([.string("hello"), .string(""), .integer(5)])),
        ]
        for _ in 0..<pick([0, 0, 0, 1, 2]) { pairs.remove(at: Int.random(in: 0..<pairs.count, using: &random)) }
        for index in 0..<pick([0, 0, 1, 14]) { pairs.append(("extra\(index)", .bool(true))) }
        let object = ObjectValue(pairs.compactMap { name, value in Key(name).map { ($0, value) } })
        return pick([.object(object), .object(object), .object(object), .null, .string("text"), .integer(-7)])
    }

    private func entry(_ author: Bytes32, _ ms: UInt64, _ random: inout SystemRandomNumberGenerator) throws -> Entry {
        func pick<T>(_ items: [T]) -> T { items[Int.random(in: 0..<items.count, using: &random)] }
        let hlc = HLC(ms: ms, counter: pick([0, 0, 1, 63]))
        let own = AutoID(hlc: hlc, author: author).text
        let other = AutoID(hlc: hlc, author: pick(keys).publicKey).text
        let key = pick([own, own, own, other, AutoID(hlc: HLC(ms: ms + 1), author: author).text, "a"])
        let parent = pick(["channels/c1/messages", "channels/c2/messages", "apps", "apps/x/y", "channels/c1"])
        var path = try Path(parsing: "\(parent)/\(key)")
        let isPriority = pick([true, false, false, false, false])
        if isPriority { path = try #require(path.appending(.priority)) }
        return try Entry(
            path: path, hlc: hlc, author: author,
            value: isPriority ? .integer(3) : value(author, hlc, &random), kind: pick([0, 0, 0, 1, 1 << 40]))
    }

    @Test(arguments: 0..<40) func anythingComesBackAsItWas(run: Int) throws {
        var random = SystemRandomNumberGenerator()
        var bundles: [Bundle] = []
        for _ in 0..<Int.random(in: 1...6, using: &random) {
            let key = keys[Int.random(in: 0..<keys.count, using: &random)]
            var ms = UInt64.random(in: 0...(1 << 47), using: &random)
            var entries: [Entry] = []
            for _ in 0..<Int.random(in: 1...12, using: &random) {
                ms += UInt64.random(in: 0...100_000, using: &random)
                entries.append(try entry(key.publicKey, ms, &random))
            }
            entries.sort { $0.stamp < $1.stamp }
            let whole = Bundle(signing: entries, by: key, workspace: Self.workspace)
            let some = entries.indices.filter { _ in Bool.random(using: &random) }
            bundles.append(whole.keeping(some) ?? whole)
        }
        let bytes = PeerMessage.bundles(bundles).encoded
        guard case .bundles(let decoded)? = try PeerMessage.decode(bytes) else {
            Issue.record("no bundles: \(bytes)")
            return
        }
        #expect(decoded == bundles, "\(bytes)")
        // Entries are compared by their ids; these follow from their bytes.
        let ids = decoded.flatMap { $0.leaves.map { BLAKE2b.hash($0.entry.encoded) } }
        #expect(ids == bundles.flatMap { $0.leaves.map(\.entry.id) }, "\(bytes)")
        let (_, rest) = (try PeerMessage.decode(bytes), PeerMessage.bundles(decoded).encoded)
        #expect(rest == bytes)
    }

    /// An entry of about 310 bytes whose path, author and time say most of it.
    @Test func aMessageTakesLittleMoreThanItsText() throws {
        let key = keys[0]
        let entries = try (0..<100).map { index in
            let hlc = HLC(ms: 1_800_000_000_000 + UInt64(index) * 30_000)
            let id = AutoID(hlc: hlc, author: key.publicKey).text
            let pairs: [(String, Value)] = [
                ("senderId", .string(UID.text(key.publicKey))), ("senderName", .string("Anna Example")),
                ("createdAt", .integer(Int64(hlc.ms))), ("text", .string(String(repeating: "t", count: 100))),
            ]
            let value = ObjectValue(pairs.compactMap { pair in Key(pair.0).map { ($0, pair.1) } })
            return try Entry(
                path: try Path(parsing: "channels/---------lunchlunchlun/messages/\(id)"), hlc: hlc,
                author: key.publicKey, value: .object(value))
        }
        #expect(entries[0].encoded.count > 280)
        let bundle = Bundle(signing: entries, by: key, workspace: Self.workspace)
        let size = PeerMessage.bundles([bundle]).encoded.count
        #expect(size < 100 * 115 + 300)
        #expect(abs(size - bundle.approximateWireSize) < size / 4)
    }

    /// Whatever an entry looks like, a message of many of them has about the bytes that it was filled for: whoever
    /// could make one too long for a link would keep all who hold it from ever passing it on.
    @Test(arguments: 0..<100) func nothingIsTakenForMuchLessThanItIs(seed: UInt64) throws {
        var random = SeededNumbers(seed: seed)
        let key = keys[0]
        func letters(_ counts: [Int]) -> String {
            String(repeating: "l", count: counts[Int.random(in: 0..<counts.count, using: &random)])
        }
        for _ in 0..<20 {
            let hlc = HLC(ms: 1_800_000_000_000 + UInt64.random(in: 0..<1_000_000, using: &random))
            let id = AutoID(hlc: hlc, author: Bool.random(using: &random) ? key.publicKey : keys[1].publicKey).text
            let parent = "apps/\(letters([1, 22, 300]))/\(letters([1, 8, 200]))"
            let other = letters([1, 43, 20_000])
            var pairs: [(String, Value)] = [
                ("text", .string(letters([0, 1, 100, 3000]))),
                ("senderName", .string(letters([0, 12, 256, 257, 50_000]))),
            ]
            pairs.append(
                Bool.random(using: &random)
                    ? ("senderId", .string(UID.text(key.publicKey)))
                    : (["senderId", "image"][Int.random(in: 0..<2, using: &random)], .string(other)))
            pairs.append(
                Bool.random(using: &random)
                    ? ("createdAt", .integer(Int64(hlc.ms)))
                    : (["createdAt", "a"][Int.random(in: 0..<2, using: &random)], .string(letters([1, 10_000]))))
            let value = ObjectValue(pairs.compactMap { pair in Key(pair.0).map { ($0, pair.1) } })
            let entry = try Entry(
                path: try Path(parsing: "\(parent)/\(id)"), hlc: hlc, author: key.publicKey, value: .object(value))
            let bundle = Bundle(signing: [entry], by: key, workspace: Self.workspace)
            let size = PeerMessage.bundles([bundle]).encoded.count
            #expect(size <= bundle.approximateWireSize + 300, "seed \(seed): \(size) bytes")
            #expect(size <= bundle.wireSizeMax && bundle.approximateWireSize <= bundle.wireSizeMax, "seed \(seed)")
        }
    }

    /// A name of a megabyte and four thousand leaves that imply it would be gigabytes of entries.
    @Test func longNamesAreNotImplied() throws {
        let key = keys[0]
        let name = String(repeating: "n", count: 300)
        let entries = try (0..<3).map { index in
            let hlc = HLC(ms: 1000 + UInt64(index))
            let pairs: [(String, Value)] = [
                ("senderId", .string(UID.text(key.publicKey))), ("senderName", .string(name)),
                ("createdAt", .integer(Int64(hlc.ms))), ("text", .string("t")),
            ]
            return try Entry(
                path: try Path(parsing: "apps/\(index)"), hlc: hlc, author: key.publicKey,
                value: .object(ObjectValue(pairs.compactMap { pair in Key(pair.0).map { ($0, pair.1) } })))
        }
        let size = PeerMessage.bundles([Bundle(signing: entries, by: key, workspace: Self.workspace)]).encoded.count
        #expect(size > 900)
    }

    @Test func bundlesAreKnownByTheirFirstBytes() throws {
        for message in try PeerMessageTests.all() {
            let isBundles = if case .bundles = message { true } else { false }
            #expect(PeerMessage.isBundles(message.encoded) == isBundles)
        }
        #expect(!PeerMessage.isBundles([0x82]))
    }
}

/// Numbers that are the same for the same seed.
private struct SeededNumbers: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
