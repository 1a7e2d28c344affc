/// How many announced bundles are looked at. To look at one takes a signature and the stamps of thousands of entries;
/// what is let pass does no harm, for its entries stay signed singly here.
struct SealQuota: Sendable {
    /// Announcements that may come at once, and in a second after it: an author who signs a million old entries
    /// together announces two or three a second.
    static let ofLink = (burst: UInt64(64), rate: UInt64(4))
    /// One that was in vain counts as so many.
    static let vain: UInt64 = 4
    /// Those in vain of all links together: whoever connects anew has a new link.
    static let vainOfAll = (burst: UInt64(64), rate: UInt64(8))

    /// In thousandths.
    private var left: UInt64
    private var atMs: UInt64
    private let limits: (burst: UInt64, rate: UInt64)

    init(_ limits: (burst: UInt64, rate: UInt64), nowMs: UInt64) {
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
