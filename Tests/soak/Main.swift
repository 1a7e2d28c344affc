internal import Glibc
internal import Scenarios
internal import Synchronization

private let isToldToStop = Atomic<Bool>(false)

/// Plays scenarios of the simulator, a seed each, on all processors: `count` of them from `first` on, or until told to
/// stop. Ends with 1 at a violation, and says how to play it again.
///
///     soak 0 10000
///     soak 4711 1
///     soak 0 10 1000
@main
struct Main {
    private static let saysEveryS = 10.0

    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        let numbers = arguments.compactMap { UInt64($0) }
        guard numbers.count == arguments.count, numbers.count <= 4 else {
            print("usage: soak [FIRST [COUNT [NODES [JOBS]]]]: NODES 0 for as many as each seed says")
            exit(2)
        }
        func number(_ index: Int) -> UInt64 { index < numbers.count ? numbers[index] : 0 }
        let (first, count) = (number(0), number(1))
        let nodes = number(2) > 1 ? Int(clamping: number(2)) : nil
        let jobs = number(3) > 0 ? number(3) : UInt64(max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))))
        if count == 1 { exit(try replay(first, nodes) ? 0 : 1) }
        watchSignals()
        exit(try await soak(first, count, nodes, jobs: jobs) ? 0 : 1)
    }

    /// Plays one seed and tells what happens in it.
    private static func replay(_ seed: UInt64, _ nodes: Int?) throws -> Bool {
        let outcome = try Scenario(seed: seed, nodes: nodes, isLogging: true).run()
        for line in outcome.log { print(line) }
        print(
            "seed \(seed): trace \(hex(outcome.traceHash)), \(outcome.eventCount) events, "
                + "\(outcome.entryCount) entries, equal after \(outcome.healedAfterMs) ms")
        for violation in outcome.violations { print("VIOLATION: \(violation)") }
        return outcome.violations.isEmpty
    }

    private static func hex(_ number: UInt64) -> String { String(number, radix: 16) }

    private static func soak(_ first: UInt64, _ count: UInt64, _ nodes: Int?, jobs: UInt64) async throws -> Bool {
        let clock = ContinuousClock()
        let start = clock.now
        func seconds() -> Double { (clock.now - start) / .seconds(1) }
        let end = count == 0 ? UInt64.max : first + count
        // One large network takes as long as hundreds of small ones: whoever is done takes the next seed.
        let sum = try await withThrowingTaskGroup(of: Sum.self) { group in
            var (sum, next, saidS) = (Sum(), first, 0.0)
            func playNext() {
                guard next < end, !isToldToStop.load(ordering: .relaxed) else { return }
                let seed = next
                next += 1
                group.addTask { try play(seed, nodes) }
            }
            for _ in 0..<jobs { playNext() }
            while let part = try await group.next() {
                sum.add(part)
                playNext()
                guard seconds() - saidS >= saysEveryS else { continue }
                saidS = seconds()
                print(sum.words(saidS))
                fflush(nil)
            }
            return sum
        }
        print(sum.words(seconds()))
        return sum.failures == 0
    }

    private struct Sum {
        var seeds: UInt64 = 0
        var failures = 0
        var eventCount = 0
        /// The seed whose nodes took longest to become equal, and how long that was.
        var slowest: (seed: UInt64, ms: UInt64) = (0, 0)

        mutating func add(_ other: Sum) {
            seeds += other.seeds
            failures += other.failures
            eventCount += other.eventCount
            if other.slowest.ms > slowest.ms { slowest = other.slowest }
        }

        func words(_ seconds: Double) -> String {
            let rate = Int(Double(seeds) * 60 / max(seconds, 0.001))
            return "\(seeds) seeds, \(failures) violations, \(rate) seeds a minute, \(eventCount) events, "
                + "equal after \(slowest.ms) ms at most (seed \(slowest.seed))"
        }
    }

    private static func play(_ seed: UInt64, _ nodes: Int?) throws -> Sum {
        let scenario = try Scenario(seed: seed, nodes: nodes) { !isToldToStop.load(ordering: .relaxed) }
        let outcome = scenario.run()
        guard outcome.isComplete || !outcome.violations.isEmpty else { return Sum(eventCount: outcome.eventCount) }
        let isGood = outcome.violations.isEmpty
        if !isGood {
            print("seed \(seed) (\(scenario.profile.words)):")
            for violation in outcome.violations.prefix(5) { print("  \(violation)") }
            print("  to play it again: make soak FIRST=\(seed) COUNT=1\(nodes.map { " NODES=\($0)" } ?? "")")
        }
        return Sum(
            seeds: 1, failures: isGood ? 0 : 1, eventCount: outcome.eventCount,
            slowest: (seed, outcome.healedAfterMs))
    }

    // MARK: Signals

    /// Ctrl-C ends the run with its sum, in which seeds under way do not count. It needs a handler: the main thread
    /// waits with no signal blocked.
    private static func watchSignals() {
        _ = isToldToStop.load(ordering: .relaxed)
        for number in [SIGINT, SIGTERM] {
            signal(number) { _ in isToldToStop.store(true, ordering: .relaxed) }
        }
    }
}
