import Seal
import Store
import Testing
import Tree
import Wire

@testable import Replication

/// Says when a store cannot be read.
private final class Trouble {
    enum Failure: Error { case cannotRead }

    /// How many readings in a hundred fail.
    var percent = 0
    /// Readings of entries to be sent that fail.
    var bundleCount = 0
    private var random: SmallGenerator

    init(seed: UInt64) { random = SmallGenerator(seed: seed) }

    func strike() throws {
        if percent > 0, Int.random(in: 0..<100, using: &random) < percent { throw Failure.cannotRead }
    }

    func strikeBundles() throws {
        try strike()
        guard bundleCount > 0 else { return }
        bundleCount -= 1
        throw Failure.cannotRead
    }
}

/// A store that now and then cannot be read.
private struct FailingStore: ReplicaReader {
    let store: MemoryStore
    let trouble: Trouble

    /// Read in every step, before anything else.
    var lastChange: Int64 {
        get throws {
            try trouble.strike()
            return store.lastChange
        }
    }

    func digest(of bucket: TimeBucket) throws -> BucketDigest {
        try trouble.strike()
        return store.digest(of: bucket)
    }

    func children(of bucket: TimeBucket) throws -> [(bucket: TimeBucket, digest: BucketDigest)] {
        try trouble.strike()
        return store.children(of: bucket)
    }

    func references(in range: ReferenceRange, newest limit: Int) throws -> [EntryReference] {
        try trouble.strike()
        return store.references(in: range, newest: limit)
    }

    func references(in range: ReferenceRange, oldest limit: Int) throws -> [EntryReference] {
        try trouble.strike()
        return store.references(in: range, oldest: limit)
    }

    func ids(in range: ReferenceRange, newest limit: Int) throws -> [(hlc: HLC, id: Bytes32)] {
        try trouble.strike()
        return store.ids(in: range, newest: limit)
    }

    func tail(of path: Path, children: Int, limit: Int) throws -> [EntryReference] {
        try trouble.strike()
        return try store.tail(of: path, children: children, limit: limit)
    }

    func contains(_ reference: EntryReference) throws -> Bool {
        try trouble.strike()
        return store.contains(reference)
    }

    func bundles(
        for references: [EntryReference], bytesMax: Int
    ) throws -> (bundles: [Bundle], gone: [EntryReference], taken: Int) {
        try trouble.strikeBundles()
        return try store.bundles(for: references, bytesMax: bytesMax)
    }
}

/// A store that cannot be read for a moment costs a moment, and no link.
@Suite struct FailingStoreTests {
    /// What could not be answered is answered a second later.
    @Test func anAnswerThatFailsComesLater() throws {
        let chatter = Chatter(count: 3000, everyMs: 1000)
        let trouble = Trouble(seed: 1)
        let stores = try [chatter.store { $0 < 100 }, chatter.store { _ in true }]
        let mesh = MachineMesh(stores) { FailingStore(store: $0, trouble: trouble) }
        try mesh.connect(1)
        try mesh.run(until: { if case .sift = $0.message { true } else { false } })
        trouble.bundleCount = 1
        try mesh.run()
        #expect(mesh.failures == 1 && !mesh.isEqual)
        try mesh.pass(ms: 5000, step: 100)
        #expect(mesh.isEqual)
    }

    /// Own entries that wait to be pushed wait no longer than the trouble lasts.
    @Test func whatWaitsToBePushedGoesOn() throws {
        let trouble = Trouble(seed: 2)
        let mesh = MachineMesh([MemoryStore(), MemoryStore()]) { FailingStore(store: $0, trouble: trouble) }
        try mesh.connect(1)
        try mesh.run()
        let text = String(repeating: "x", count: 1000)
        for start in stride(from: 0, to: 3000, by: 50) {
            try mesh.write(0) { author in
                try (start..<(start + 50)).map { number in
                    try Entry(
                        path: Path(parsing: "apps/burst/\(number)"), hlc: HLC(ms: MachineMesh.wallMs + UInt64(number)),
                        author: author, value: .string(text))
                }
            }
        }
        trouble.bundleCount = 1
        try mesh.run()
        #expect(mesh.failures == 1 && !mesh.isEqual)
        try mesh.pass(ms: 5000, step: 100)
        #expect(mesh.isEqual)
    }

    /// Wherever it fails, nothing is stuck once it has ended.
    @Test(arguments: 0..<30 as Range<UInt64>) func nothingIsStuckAfterIt(seed: UInt64) throws {
        let chatter = Chatter(count: 4000, everyMs: seed % 2 == 0 ? 60_000 : 20)
        let trouble = Trouble(seed: seed)
        let stores = try [
            chatter.store { $0 % 7 != 1 && $0 < 3000 }, chatter.store { $0 % 5 != 2 }, chatter.store { $0 % 11 != 3 },
        ]
        let mesh = MachineMesh(stores) { FailingStore(store: $0, trouble: trouble) }
        try mesh.feed(0, .focus([try Path(parsing: Chatter.path)]))
        trouble.percent = 5
        for node in 1...2 { try mesh.connect(node) }
        try mesh.run()
        try mesh.pass(ms: 3000, step: 50)
        #expect(mesh.failures > 0, "seed \(seed)")
        trouble.percent = 0
        // Twice the pause after a failure, a ping, and what is asked for in turns.
        try mesh.pass(ms: 45_000, step: 100)
        #expect(mesh.isEqual, "seed \(seed)")
    }
}
