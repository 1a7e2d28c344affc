/// So much at once, and so much a second after it.
struct Allowance: Sendable {
    /// At once, and in a second.
    typealias Limits = (burst: UInt64, rate: UInt64)

    /// In thousandths.
    private var left: UInt64
    private var atMs: UInt64
    private let limits: Limits

    init(_ limits: Limits, nowMs: UInt64) {
        self.limits = limits
        left = limits.burst &* 1000
        atMs = nowMs
    }

    /// Whether there is room for one more.
    mutating func hasRoom(nowMs: UInt64) -> Bool {
        let elapsedMs = min(nowMs &- min(atMs, nowMs), 1 << 32)
        left = min(limits.burst &* 1000, left &+ elapsedMs &* limits.rate)
        atMs = nowMs
        return left >= 1000
    }

    mutating func spend(_ count: UInt64) { left -= min(left, count &* 1000) }
}
