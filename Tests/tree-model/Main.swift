internal import Glibc
internal import Store
internal import TreeModel

/// Plays the seeds `first ..< first + count` against the model, each once more with writers who do not wait for one
/// another, on all processors; ends with 1 at a difference. With a folder in databases there, which keep orders of
/// children from the first child on.
///
///     tree-model 0 10000 12
///     tree-model 0 1000 60 /dev/shm
@main
struct Main {
    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        let numbers = arguments.prefix(3).compactMap { UInt64($0) }
        guard numbers.count == 3, arguments.count <= 4, numbers[1] > 0, let steps = Int(exactly: numbers[2]) else {
            print("usage: tree-model FIRST COUNT STEPS [FOLDER]")
            exit(2)
        }
        let folder = arguments.count == 4 ? arguments.last : nil
        let (first, count) = (numbers[0], numbers[1])
        let workers = UInt64(max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))))
        let failures = try await withThrowingTaskGroup(of: [String].self) { group in
            for worker in 0..<workers {
                group.addTask {
                    try stride(from: first + worker, to: first + count, by: Int(workers)).compactMap { seed in
                        try failure(seed, steps: steps, folder)
                    }
                }
            }
            var failures: [String] = []
            for try await found in group { failures += found }
            return failures
        }
        for failure in failures { print(failure) }
        print("\(count) seeds, \(failures.count) differences")
        exit(failures.isEmpty ? 0 : 1)
    }

    private static func failure(_ seed: UInt64, steps: Int, _ folder: String?) throws -> String? {
        for isConcurrent in [false, true] {
            func played(isLogging: Bool) throws -> String? {
                try Main.played(seed, steps: steps, folder, isConcurrent: isConcurrent, isLogging: isLogging)
            }
            guard try played(isLogging: false) != nil else { continue }
            let words = "seed \(seed)\(isConcurrent ? ", concurrent" : "")"
            return "\(words): \(try played(isLogging: true) ?? "differs only once")"
        }
        return nil
    }

    private static func played(
        _ seed: UInt64, steps: Int, _ folder: String?, isConcurrent: Bool, isLogging: Bool
    ) throws -> String? {
        guard let folder else {
            return try played(seed, steps: steps, MemoryStore(), isConcurrent: isConcurrent, isLogging: isLogging)
        }
        let path = "\(folder)/tree-model-\(getpid())-\(seed).db"
        let store = try DatabaseStore(path: path)
        defer {
            store.close()
            for suffix in ["", "-wal", "-shm"] { _ = unsafe unlink(path + suffix) }
        }
        store.orderOptions.entriesMin = 0
        store.orderOptions.indexesMax = 3
        return try played(seed, steps: steps, store, isConcurrent: isConcurrent, isLogging: isLogging)
            ?? (store.staleOrders == 0 ? nil : "an index contradicts the tree")
    }

    private static func played(
        _ seed: UInt64, steps: Int, _ store: any NodeStore, isConcurrent: Bool, isLogging: Bool
    ) throws -> String? {
        if isConcurrent {
            var run = ConcurrentRun(seed: seed, reader: store, isLogging: isLogging)
            return try run.run(steps: steps)
        }
        var run = ModelRun(seed: seed, reader: store, isLogging: isLogging)
        return try run.run(steps: steps)
    }
}
