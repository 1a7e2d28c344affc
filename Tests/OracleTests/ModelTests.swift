import Foundation
import Store
import Testing
import TreeModel

/// The engine against a naive model: whatever is written, what observers are told adds up to what is there.
///
/// The gate plays ten thousand seeds more with `tree-model`, in a release build.
@Suite struct ModelTests {
    @Test(arguments: 0..<UInt64(8)) func eventsAddUpToTheModel(_ number: UInt64) throws {
        try play(number * 50..<(number + 1) * 50) { seed, isLogging in
            var run = ModelRun(seed: seed, reader: MemoryStore(), isLogging: isLogging)
            return try run.run(steps: 12)
        }
    }

    /// Whoever writes meanwhile, and in whatever order it arrives.
    @Test(arguments: 0..<UInt64(8)) func writersDoNotWait(_ number: UInt64) throws {
        try play(number * 12..<(number + 1) * 12) { seed, isLogging in
            var run = ConcurrentRun(seed: seed, reader: MemoryStore(), isLogging: isLogging)
            return try run.run(steps: 12)
        }
    }

    /// A difference is played again to tell what led to it.
    private func play(_ seeds: Range<UInt64>, _ difference: (UInt64, _ isLogging: Bool) throws -> String?) throws {
        for seed in seeds where try difference(seed, false) != nil {
            Issue.record("seed \(seed): \(try difference(seed, true) ?? "differs only once")")
        }
    }

    /// The database answers from its own indexes, and keeps those of orders from the first child on.
    @Test(arguments: 0..<UInt64(6)) func soInTheDatabase(_ seed: UInt64) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "starling-model-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let store = try DatabaseStore(path: folder.appending(path: "workspace.db").path)
        defer { store.close() }
        store.orderOptions.entriesMin = 0
        var run = ModelRun(seed: 1_000_000 + seed, reader: store, isLogging: true)
        let failure = try run.run(steps: 120)
        #expect(failure == nil, "seed \(seed): \(failure ?? "")")
        #expect(store.staleOrders == 0, "seed \(seed)")
        let other = try DatabaseStore(path: folder.appending(path: "other.db").path)
        defer { other.close() }
        other.orderOptions.entriesMin = 0
        var concurrent = ConcurrentRun(seed: 1_000_000 + seed, reader: other, isLogging: true)
        let difference = try concurrent.run(steps: 40)
        #expect(difference == nil, "seed \(seed): \(difference ?? "")")
        #expect(other.staleOrders == 0, "seed \(seed)")
    }
}
