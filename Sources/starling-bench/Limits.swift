internal import CLimit
internal import Glibc

/// What the machine can do at most, measured in the same run.
enum Limits {
    /// Of one rate. Long enough that a clock that still rises does not matter.
    private static let rateMs: Int32 = 250
    private static let messages = 2000

    /// A first look, for the report; measurements take their own turns with a chain.
    static func measure(in scratch: ScratchFolder, _ report: Report) throws(BenchError) {
        report.heading("limits of this machine")
        for isHonest in [false, true] {
            let chain = try LimitChain(in: scratch, isHonest: isHonest)
            var times = Samples()
            for count in 0..<messages {
                if count % 100 == 0 { try Interruption.check() }
                times.add(ns: try chain.send(1))
            }
            let name = isHonest ? "honest" : "bare"
            let label = "one message, \(name) chain"
            report.add(
                Figure(key: "limit.\(name).p50", name: label + ", p50", value: times.us(50), unit: .microseconds))
            report.add(
                Figure(key: "limit.\(name).p99", name: label + ", p99", value: times.us(99), unit: .microseconds))
        }
        try add("sign", "Ed25519 sign", LIMIT_SIGN, scratch, report)
        try add("verify", "Ed25519 verify", LIMIT_VERIFY, scratch, report)
        try add("hash", "BLAKE2b of 200 bytes", LIMIT_HASH, scratch, report)
        try add("hashBulk", "BLAKE2b", LIMIT_HASH_BULK, scratch, report, isBulk: true)
        try add("sealBulk", "ChaCha20-Poly1305", LIMIT_SEAL_BULK, scratch, report, isBulk: true)
        try add("rows", "SQLite rows, 1,000 a transaction", LIMIT_ROWS, scratch, report)
    }

    private static func add(
        _ key: String, _ name: String, _ work: limit_work, _ scratch: ScratchFolder, _ report: Report,
        isBulk: Bool = false
    ) throws(BenchError) {
        try Interruption.check()
        let rate = unsafe limit_rate(work, rateMs, scratch.path)
        guard rate > 0 else { throw .unexpected("the limit \(name) cannot be measured") }
        report.add(
            Figure(
                key: "limit.\(key)", name: name, value: isBulk ? rate / 1e6 : rate,
                unit: isBulk ? .megabytesPerSecond : .perSecond))
    }
}

/// The floor of one message from client to client; see `limit_chain_open`.
@safe
final class LimitChain {
    private let chain: OpaquePointer

    init(in scratch: ScratchFolder, isHonest: Bool) throws(BenchError) {
        var opened: OpaquePointer?
        let error = unsafe limit_chain_open(scratch.path, isHonest, &opened)
        guard error == 0, let opened = unsafe opened else { throw .system(doing: "opening a chain", errno: error) }
        unsafe chain = opened
    }

    deinit { unsafe limit_chain_close(chain) }

    /// Sends messages in one go and waits until all are across; returns nanoseconds.
    func send(_ count: Int32) throws(BenchError) -> Int64 {
        let ns = unsafe limit_chain_send(chain, count)
        guard ns > 0 else { throw .unexpected("the limit's chain broke") }
        return ns
    }

    /// Processor time of both relays so far.
    func cpuNs() throws(BenchError) -> Int64 {
        let ns = unsafe limit_chain_cpu_ns(chain)
        guard ns >= 0 else { throw .unexpected("the limit's processor time cannot be told") }
        return ns
    }
}

/// Times of one kind.
struct Samples {
    private(set) var ns: [Int64] = []

    mutating func add(ns value: Int64) { ns.append(value) }

    /// The time that so many percent do not exceed, in microseconds; 0 without samples.
    func us(_ percent: Int) -> Double {
        guard !ns.isEmpty else { return 0 }
        let sorted = ns.sorted()
        return Double(sorted[min(sorted.count - 1, sorted.count * percent / 100)]) / 1000
    }

    func ms(_ percent: Int) -> Double { us(percent) / 1000 }

    /// How often a second something happens that takes each of these times for `count` of it: the median run, and the
    /// slowest and the fastest.
    func rates(of count: Int) -> (median: Double, range: ClosedRange<Double>) {
        func rate(_ us: Double) -> Double { us > 0 ? Double(count) * 1e6 / us : 0 }
        let (slowest, fastest) = (rate(us(100)), rate(us(0)))
        return (rate(us(50)), min(slowest, fastest)...max(slowest, fastest))
    }
}
