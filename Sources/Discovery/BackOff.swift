/// How long to wait before the responder is tried again: 1, 2, 4 … 60 s, each ±20 % so that the machines of a network
/// do not act in step after a power cut.
struct BackOff {
    static let firstMs: Int64 = 1_000
    static let lastMs: Int64 = 60_000
    /// Doublings after which `lastMs` is reached.
    private static let doublingsMax = 6

    private var failures = 0

    /// The next delay; the random word decides where in the ±20 %.
    mutating func nextMs(random: UInt64) -> Int64 {
        let middle = min(Self.firstMs << Int64(failures), Self.lastMs)
        failures = min(failures + 1, Self.doublingsMax)
        let spread = middle / 5
        return middle - spread + Int64(random % UInt64(2 * spread + 1))
    }

    mutating func reset() {
        failures = 0
    }
}

/// When to look afresh because nobody is connected: multicast may have been lost, or a switch have forgotten us. After
/// 30 s, 1, 2 and 5 minutes, then every 10 minutes.
struct RescanSchedule {
    static let intervalsMs: [Int64] = [30_000, 60_000, 120_000, 300_000, 600_000]

    private(set) var nextMs: Int64?
    private var step = 0

    /// To be called when the number of connected peers becomes or stops being 0, and at the start.
    mutating func setConnected(_ isConnected: Bool, nowMs: Int64) {
        if isConnected {
            self = RescanSchedule()
        } else if nextMs == nil {
            nextMs = nowMs + Self.intervalsMs[0]
        }
    }

    /// True if it is time; the next time is then set.
    mutating func isDue(nowMs: Int64) -> Bool {
        guard let nextMs, nowMs >= nextMs else {
            return false
        }
        step = min(step + 1, Self.intervalsMs.count - 1)
        self.nextMs = nowMs + Self.intervalsMs[step]
        return true
    }
}
