internal import Seal
internal import Store
internal import Tree

/// Chat messages of several authors over a long time, as a workspace has them that many have used.
struct MessageArchive {
    static let authors = 50
    private static let channels = 20
    private static let textBytes = 100
    /// Between two messages, of whomever.
    private static let gapMs: ClosedRange<UInt64> = 1...60_000
    /// The time of the last message.
    private static let endMs: UInt64 = 1_793_491_200_000

    let workspace: Bytes32
    private let keys: [SigningKey]
    private let names: [String]
    private let places: [Path]
    private var ms: UInt64
    private var state: UInt64 = 7

    /// - place: where all of them stand, instead of in several channels.
    init(_ count: Int, workspace: Bytes32, place: Path? = nil) throws {
        self.workspace = workspace
        keys = (0..<Self.authors).map { SigningKey(seed: Bytes32(repeating: UInt8(1 + $0))) }
        names = (0..<Self.authors).map { "Author number \($0)" }
        places =
            try place.map { [$0] }
            ?? (0..<Self.channels).map { number in
                let key = AutoID.nameKey(foldedName: "channel\(number)", workspace: workspace)
                return try Path(parsing: "channels/\(key)/messages")
            }
        ms = Self.endMs - UInt64(count) * (Self.gapMs.upperBound / 2)
    }

    /// The same numbers each time (Knuth's constants for a linear congruential generator).
    private mutating func random(_ bound: UInt64) -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return (state >> 33) % bound
    }

    /// The next messages in the order of time; each of a random author in a random channel.
    mutating func entries(_ count: Int) throws -> [(author: Int, entry: Entry)] {
        var entries: [(author: Int, entry: Entry)] = []
        entries.reserveCapacity(count)
        for number in 0..<count {
            ms += 1 + random(Self.gapMs.upperBound)
            let author = Int(random(UInt64(Self.authors)))
            let place = places[Int(random(UInt64(places.count)))]
            let key = keys[author].publicKey
            let hlc = HLC(ms: ms)
            guard let last = Key(AutoID(hlc: hlc, author: key).text), let path = place.appending(last) else { continue }
            let text = "\(number) of many, said by number \(author): " + String(repeating: "x", count: Self.textBytes)
            let pairs: [(String, Value)] = [
                ("senderId", .string(UID.text(key))), ("senderName", .string(names[author])),
                ("createdAt", .integer(Int64(clamping: ms))), ("text", .string(String(text.prefix(Self.textBytes)))),
            ]
            let value = ObjectValue(pairs.compactMap { name, value in Key(name).map { ($0, value) } })
            entries.append((author, try Entry(path: path, hlc: hlc, author: key, value: .object(value))))
        }
        return entries
    }

    /// Each for itself, in the order of time.
    func signedSingly(_ entries: [(author: Int, entry: Entry)]) -> [Bundle] {
        entries.map { Bundle(signing: [$0.entry], by: keys[$0.author], workspace: workspace) }
    }

    /// Those of each author together.
    func signedTogether(_ entries: [(author: Int, entry: Entry)]) -> [Bundle] {
        keys.indices.flatMap { author in
            let own = entries.filter { $0.author == author }.map(\.entry)
            return stride(from: 0, to: own.count, by: Bundle.countMax).map { first in
                Bundle(
                    signing: Array(own[first..<min(first + Bundle.countMax, own.count)]), by: keys[author],
                    workspace: workspace)
            }
        }
    }

    /// Entries of one round: about as many as fill a bundle of each author.
    static let round = 190_000

    /// Writes so many messages to a database.
    ///
    /// - isIndexed: so that they can be searched, as a node does that has had them for a while.
    mutating func write(_ count: Int, together: Bool, to path: String, isIndexed: Bool = false) throws {
        let store = try DatabaseStore(path: path)
        defer { store.close() }
        var left = count
        while left > 0 {
            try Interruption.check()
            let entries = try entries(min(left, Self.round))
            left -= entries.count
            for first in stride(from: 0, to: entries.count, by: 4096) {
                let part = Array(entries[first..<min(first + 4096, entries.count)])
                _ = try store.commit(signedSingly(part, isSigned: !together), heldAfter: HLC(ms: HLC.msMax))
            }
            guard together else { continue }
            // As the authors do when they are idle.
            for bundle in signedTogether(entries) {
                let stamps = bundle.leaves.map(\.entry.stamp)
                guard let seal = BundleSeal(bundle) else { continue }
                try store.adopt(seal, stamps, slice: stamps.indices)
            }
        }
        while isIndexed, try store.indexMessages(limit: 10_000) { try Interruption.check() }
    }

    /// Without signatures where they are replaced at once: they take most of the time.
    private func signedSingly(_ entries: [(author: Int, entry: Entry)], isSigned: Bool) -> [Bundle] {
        guard !isSigned else { return signedSingly(entries) }
        guard let signature = Signature([UInt8](repeating: 0, count: 64)) else { return [] }
        return entries.map {
            Bundle(
                author: $0.entry.author, count: 1, signature: signature,
                leaves: [Bundle.Leaf(index: 0, entry: $0.entry)], omitted: [])
        }
    }
}

extension BundleSeal {
    /// What announces a bundle that is here whole.
    init?(_ bundle: Bundle) {
        guard let first = bundle.leaves.first, let last = bundle.leaves.last, let root = bundle.root else { return nil }
        self.init(
            first: first.entry.stamp, last: last.entry.stamp, count: bundle.count, root: root,
            signature: bundle.signature)
    }
}
