import Replication
import Seal
import Store
import Testing
import Tree
import Wire

/// What two nodes say to each other until they are equal.
@Suite struct CatchUpTests {
    private func bytes(_ mesh: MachineMesh, _ isCounted: (PeerMessage) -> Bool) -> Int {
        mesh.said.filter { isCounted($0.message) }.reduce(0) { $0 + $1.message.encoded.count }
    }

    private func isBundles(_ message: PeerMessage) -> Bool { if case .bundles = message { true } else { false } }

    private func count(_ mesh: MachineMesh, _ isCounted: (PeerMessage) -> Bool) -> Int {
        mesh.said.count { isCounted($0.message) }
    }

    private func isCompare(_ message: PeerMessage) -> Bool { if case .compare = message { true } else { false } }

    @Test func equalNodesSayHardlyAnything() throws {
        let chatter = Chatter(count: 500, everyMs: 60_000)
        let mesh = MachineMesh([try chatter.store { _ in true }, try chatter.store { _ in true }])
        try mesh.connect(1)
        try mesh.run()
        #expect(count(mesh) { if case .hello = $0 { true } else { false } } == 2)
        #expect(count(mesh, isCompare) == 0 && mesh.entries(to: 0).isEmpty)
        #expect(bytes(mesh) { _ in true } <= 180)
    }

    /// What is missing at the end costs one comparison, and no list of it travels.
    @Test func theNewestCostOneComparison() throws {
        let chatter = Chatter(count: 5000, everyMs: 300_000)
        let mesh = MachineMesh([try chatter.store { $0 < 4000 }, try chatter.store { _ in true }])
        try mesh.connect(1)
        try mesh.run()
        #expect(mesh.isEqual)
        #expect(count(mesh, isCompare) == 1)
        #expect(mesh.entries(to: 0).count == 1000)
        let payload = bytes(mesh, isBundles)
        #expect(bytes(mesh) { !isBundles($0) } * 20 <= payload, "\(bytes(mesh) { !isBundles($0) }) of \(payload)")
    }

    /// Here and there, at any density: a few bytes for each entry in what differs, and each missing one once.
    @Test(arguments: [600_000, 4000, 7] as [UInt64])
    func scatteredOnes(everyMs: UInt64) throws {
        let chatter = Chatter(count: 8000, everyMs: everyMs)
        let mesh = MachineMesh([try chatter.store { $0 % 97 != 5 }, try chatter.store { $0 % 89 != 7 }])
        try mesh.connect(1)
        try mesh.run()
        try mesh.pass(ms: 3000, step: 100)
        #expect(mesh.isEqual)
        #expect(mesh.entries(to: 0).count == Set(mesh.entries(to: 0)).count)
        #expect(bytes(mesh) { !isBundles($0) } <= 2 * 8000 * 7)
    }

    /// The end of the channel that somebody reads comes before anything else.
    @Test func theTailComesFirst() throws {
        let chatter = Chatter(count: 3000, everyMs: 1000)
        let mesh = MachineMesh([try chatter.store { $0 < 100 }, try chatter.store { _ in true }])
        try mesh.feed(0, .focus([try Path(parsing: Chatter.path)]))
        try mesh.connect(1)
        try mesh.run()
        let tail = try (2800..<3000).map { try chatter.entry($0) }
        #expect(mesh.entries(to: 0).prefix(200).elementsEqual(tail))
        #expect(mesh.isEqual)
        // Who has them gets none of them.
        #expect(mesh.entries(to: 1).isEmpty)
    }

    /// What one comparison has missed, as where two entries share a fingerprint, the next one brings, and that comes at
    /// once; but not one after the other without end.
    @Test func whatAComparisonHasMissedComesAtOnce() throws {
        let chatter = Chatter(count: 110, everyMs: 1000)
        let mesh = MachineMesh([try chatter.store { $0 < 50 }, try chatter.store { $0 < 100 }])
        let isAnswered: (MachineMesh.Said) -> Bool = { if case .sifted = $0.message { $0.to == 0 } else { false } }
        /// One more that the answer under way does not have.
        func add(_ number: Int) throws {
            let signature = try #require(Signature([UInt8](repeating: 7, count: 64)))
            let leaf = Bundle.Leaf(index: 0, entry: try chatter.entry(number))
            let bundle = Bundle(author: leaf.entry.author, count: 1, signature: signature, leaves: [leaf], omitted: [])
            _ = try mesh.stores[1].commit([bundle], heldAfter: HLC(ms: HLC.msMax))
        }
        try mesh.connect(1)
        try mesh.run(until: isAnswered)
        try add(100)
        try mesh.run(until: isAnswered)
        try add(101)
        try mesh.run()
        // The second found what the first one has missed, and no third one came at once.
        let lacking = try (0..<102).filter { try !mesh.stores[0].contains(chatter.entry($0).reference) }
        #expect(lacking == [101])
        try mesh.pass(ms: 3000, step: 100)
        #expect(mesh.isEqual)
    }

    /// After a cut what has come stays, and only the rest is sent.
    @Test func aCutLosesLittle() throws {
        let chatter = Chatter(count: 9000, everyMs: 5000)
        let mesh = MachineMesh([MemoryStore(), try chatter.store { _ in true }])
        for _ in 0..<4 {
            try mesh.connect(1)
            try mesh.run(16)
            try mesh.cut(1)
        }
        #expect(mesh.stores[0].entryCount > 0 && !mesh.isEqual)
        try mesh.connect(1)
        try mesh.run()
        #expect(mesh.isEqual)
        let sent = mesh.entries(to: 0).count
        #expect(sent < 9000 + 4 * 3000, "\(sent)")
        #expect(mesh.stores[0].entryCount == 9000)
    }

    /// A large difference is pulled from three peers, each part from one of them.
    @Test func partsComeFromSeveral() throws {
        let chatter = Chatter(count: 6000, everyMs: 60_000)
        let whole = try (0..<4).map { _ in try chatter.store { _ in true } }
        let mesh = MachineMesh([MemoryStore()] + whole)
        for other in 1...4 { try mesh.connect(other) }
        try mesh.run()
        try mesh.pass(ms: 5000, step: 100)
        #expect(mesh.isEqual)
        let sent = mesh.entries(to: 0)
        #expect(sent.count < 6000 * 5 / 4, "\(sent.count)")
        let parts = (1...4).map { from in
            mesh.said.count { said in said.from == from && isBundles(said.message) }
        }
        #expect(parts.count { $0 > 2 } == 3, "\(parts)")
    }

    /// A wanted entry that is gone may mean that more is missing: roots are compared soon.
    @Test func whatIsGoneIsSuspicious() throws {
        let mesh = MachineMesh([MemoryStore(), MemoryStore()])
        try mesh.connect(1)
        try mesh.run()
        try mesh.feed(0, .received(LinkID(1), .have([EntryReference(hlc: HLC(ms: 5), idPrefix: 5)])))
        try mesh.run()
        let before = mesh.said.count
        try mesh.pass(ms: 400)
        #expect(mesh.said.dropFirst(before).contains { if case .ping = $0.message { $0.from == 0 } else { false } })
    }
}

/// Digests of which only so many bits are looked at, so that they can be forged in no time.
private struct ShortDigests: ReplicaReader {
    let store: MemoryStore
    let bits: Int

    var lastChange: Int64 { store.lastChange }

    /// The last bits of a sum depend on nothing but the last bits of what was added.
    private func short(_ digest: BucketDigest) -> BucketDigest {
        let last = digest.sum.bytes.suffix(2).reduce(0) { $0 << 8 | Int($1) } % (1 << bits)
        let bytes = [UInt8(last >> 8), UInt8(last % 256)] + [UInt8](repeating: 0, count: 30)
        return BucketDigest(count: digest.count, sum: Bytes32(bytes) ?? .zero)
    }

    func digest(of bucket: TimeBucket) -> BucketDigest { short(store.digest(of: bucket)) }

    func children(of bucket: TimeBucket) -> [(bucket: TimeBucket, digest: BucketDigest)] {
        store.children(of: bucket).map { ($0.bucket, short($0.digest)) }
    }

    func references(in range: ReferenceRange, newest limit: Int) -> [EntryReference] {
        store.references(in: range, newest: limit)
    }

    func references(in range: ReferenceRange, oldest limit: Int) -> [EntryReference] {
        store.references(in: range, oldest: limit)
    }

    func ids(in range: ReferenceRange, newest limit: Int) -> [(hlc: HLC, id: Bytes32)] {
        store.ids(in: range, newest: limit)
    }

    func tail(of path: Path, children: Int, limit: Int) throws -> [EntryReference] {
        try store.tail(of: path, children: children, limit: limit)
    }

    func contains(_ reference: EntryReference) -> Bool { store.contains(reference) }

    func bundles(
        for references: [EntryReference], bytesMax: Int
    ) throws -> (bundles: [Bundle], gone: [EntryReference], taken: Int) {
        try store.bundles(for: references, bytesMax: bytesMax)
    }
}

@Suite struct KeyedComparisonTests {
    private static let bits = 12

    private func bundle(_ entry: Entry) throws -> Bundle {
        Bundle(
            author: entry.author, count: 1, signature: try #require(Signature([UInt8](repeating: 7, count: 64))),
            leaves: [Bundle.Leaf(index: 0, entry: entry)], omitted: [])
    }

    private func entry(_ number: Int) throws -> Entry {
        try Entry(
            path: Path(parsing: "apps/forged/\(number)"), hlc: HLC(ms: MachineMesh.wallMs - 5000),
            author: Bytes32(repeating: 2), value: .integer(Int64(number)))
    }

    /// Two entries with the same time whose ids end with the same bits: no sum tells one from the other.
    private func forgedPair() throws -> (Entry, Entry) {
        var seen: [Int: Entry] = [:]
        for number in 0..<100_000 {
            let entry = try entry(number)
            let end = entry.id.bytes.suffix(2).reduce(0) { $0 << 8 | Int($1) } % (1 << KeyedComparisonTests.bits)
            if let other = seen[end] { return (other, entry) }
            seen[end] = entry
        }
        throw MachineMesh.MeshError.closed("no pair")
    }

    /// One node has one of two forged entries, the other one the other: plain sums cannot tell, keyed ones can, and
    /// what differs is pulled by both.
    @Test func forgedSumsAreFoundAndMended() throws {
        let chatter = Chatter(count: 3000, everyMs: 60_000)
        let stores = try [chatter.store { _ in true }, chatter.store { _ in true }]
        let (first, second) = try forgedPair()
        _ = try stores[0].commit([bundle(first)], heldAfter: HLC(ms: HLC.msMax))
        _ = try stores[1].commit([bundle(second)], heldAfter: HLC(ms: HLC.msMax))
        let mesh = MachineMesh(stores) { ShortDigests(store: $0, bits: KeyedComparisonTests.bits) }
        try mesh.connect(1)
        try mesh.run()
        try mesh.pass(ms: 60_000, step: 500)
        let views = mesh.stores.map { ShortDigests(store: $0, bits: KeyedComparisonTests.bits).digest(of: .root) }
        #expect(views[0] == views[1] && !mesh.isEqual, "plain comparison is fooled")
        #expect(mesh.entries(to: 0).isEmpty && mesh.entries(to: 1).isEmpty)

        try mesh.verify(1)
        try mesh.pass(ms: 2000)
        #expect(mesh.outcomes.map(\.isEqual) == [false])
        #expect(mesh.outcomes.first?.ours == 3001 && mesh.outcomes.first?.theirs == 3001)
        #expect(mesh.stores[0].contains(second.reference))
        try mesh.pass(ms: 3000, step: 100)
        #expect(mesh.isEqual)
        #expect(mesh.entries(to: 0) == [second] && mesh.entries(to: 1) == [first])
        try mesh.verify(1)
        try mesh.pass(ms: 2000)
        #expect(
            mesh.outcomes.last
                == mesh.outcomes.last.map { outcome in
                    var equal = outcome
                    equal.isEqual = true
                    return equal
                })
    }

    /// Entries at times all over, more than one message tells of: they are compared all the same, and what is equal is
    /// not called different for ever. Of exactly as many as one message carries another one says that they were all.
    @Test(arguments: [4096, 9000]) func manyChildrenAreComparedToo(count: Int) throws {
        let bundles = try (0..<count).map { number in
            try bundle(
                Entry(
                    path: Path(parsing: "apps/far/\(number)"), hlc: HLC(ms: UInt64(number) << 32),
                    author: Bytes32(repeating: 2), value: .bool(true)))
        }
        let stores = [MemoryStore(), MemoryStore()]
        for store in stores { _ = try store.commit(bundles, heldAfter: HLC(ms: HLC.msMax)) }
        let mesh = MachineMesh(stores)
        try mesh.connect(1)
        try mesh.run()
        try mesh.verify(1)
        try mesh.pass(ms: 2000)
        var equal = KeyedOutcome()
        (equal.ours, equal.theirs) = (count, count)
        #expect(mesh.outcomes == [equal])
    }

    /// Without anybody asking, each pair does it once a day.
    @Test func aPairComparesByItselfOnceADay() throws {
        let chatter = Chatter(count: 50, everyMs: 60_000)
        let mesh = MachineMesh([try chatter.store { _ in true }, try chatter.store { _ in true }])
        try mesh.connect(1)
        try mesh.pass(ms: 3 * 3_600_000, step: 4000)
        let keyed = mesh.said.count { if case .verify = $0.message { true } else { false } }
        #expect(keyed == 1)
        // Roots were compared all the time.
        #expect(mesh.said.count > 300)
    }
}
