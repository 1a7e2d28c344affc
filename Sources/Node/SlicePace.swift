internal import Net

/// How much of something long is done in one go: what takes about so long on this machine as it is now, so that whoever
/// waits for an answer meanwhile hardly notices.
struct SlicePace {
    /// Half of what a transaction may take: one slice is like another, but not quite.
    private static let aimNs: UInt64 = 25_000_000
    let range: ClosedRange<Int>
    /// Pieces of the next slice.
    private(set) var count: Int

    init(_ range: ClosedRange<Int>) {
        self.range = range
        count = range.upperBound
    }

    /// A slice has taken so long. The next one is at most twice as large, and at least half as large: one that was
    /// interrupted says little.
    mutating func took(ns: UInt64) {
        let fitting = Double(count) * Double(SlicePace.aimNs) / Double(max(ns, 1))
        let next = min(max(fitting, Double(count) / 2), Double(count) * 2)
        count = min(max(Int(next), range.lowerBound), range.upperBound)
    }

    /// Runs a slice, and sets the pace by how long that took; returns the nanoseconds if they were too many.
    mutating func run(_ body: () throws -> Void) rethrows -> UInt64? {
        let start = EventLoop.monotonicNs()
        defer { took(ns: EventLoop.monotonicNs() &- start) }
        try body()
        let ns = EventLoop.monotonicNs() &- start
        return ns > Node.longNs ? ns : nil
    }
}

extension Node {
    /// A transaction that takes longer is worth a line in the log.
    static let longNs: UInt64 = 50_000_000

    /// Nobody could be answered for that long.
    func noteLong(_ ns: UInt64?, _ what: @autoclosure () -> String) {
        guard let ns, log.level == .debug else { return }
        log.write(.debug, "\(what()) took \(ns / 1_000_000) ms")
    }
}
