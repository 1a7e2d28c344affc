internal import Seal
internal import Tree
internal import Wire

/// What of the entries that a peer pushes unasked is taken at once.
///
/// Each author has a quota for each peer: signatures are not looked at yet, so a peer could use up the quota of
/// somebody else, but only as far as he passes his entries on. What is beyond it is left, and a comparison finds it
/// again when nothing more urgent is under way: it is delayed, never lost. What was asked for has no quota. Its pace is
/// the puller's own, and a long catch-up is no flood.
struct PushQuota: Sendable {
    /// Bundles of all authors beyond so many share one quota.
    static let authorsMax = 256
    /// Bytes that count as an entry.
    static let entryBytes = 512
    /// After leaving something, roots are compared this much later.
    static let delayMs: UInt64 = 1000

    struct Limits: Sendable {
        /// Entries that may come at once: two of the largest bundles.
        var burst: UInt64 = 8192
        /// Entries a second after it: more than a person types or a busy bot sends, and less than half of what a node
        /// verifies and stores on one core.
        var rate: UInt64 = 2000
    }

    private struct Credit {
        /// In thousandths.
        var left: UInt64
        var atMs: UInt64
    }

    private var credits: [Bytes32: Credit] = [:]
    /// Entries that were left.
    private(set) var leftCount = 0

    /// Whether a bundle is within its author's quota, from which it is taken.
    mutating func takes(_ bundle: Bundle, _ limits: Limits, nowMs: UInt64) -> Bool {
        let isKnown = credits[bundle.author] != nil
        if !isKnown, credits.count >= Self.authorsMax { forgetFull(limits, nowMs) }
        let author = isKnown || credits.count < Self.authorsMax ? bundle.author : .zero
        let full = limits.burst &* 1000
        var credit = credits[author] ?? Credit(left: full, atMs: nowMs)
        credit.left = refilled(credit, limits, nowMs)
        credit.atMs = nowMs
        let size = bundle.leaves.reduce(0) { $0 + $1.entry.encoded.count }
        let cost = UInt64(clamping: max(bundle.leaves.count, size / Self.entryBytes)) &* 1000
        // One that is larger than any quota passes when the quota is full.
        let isTaken = credit.left >= min(cost, full)
        if isTaken { credit.left -= min(cost, credit.left) } else { leftCount += bundle.leaves.count }
        credits[author] = credit
        return isTaken
    }

    private func refilled(_ credit: Credit, _ limits: Limits, _ nowMs: UInt64) -> UInt64 {
        let elapsedMs = min(nowMs &- min(credit.atMs, nowMs), 1 << 32)
        return min(limits.burst &* 1000, credit.left &+ elapsedMs &* limits.rate)
    }

    /// Whoever has not sent anything lately needs no memory.
    private mutating func forgetFull(_ limits: Limits, _ nowMs: UInt64) {
        credits = credits.filter { refilled($0.value, limits, nowMs) < limits.burst &* 1000 }
    }
}

extension Replicator {
    /// The bundles of a message that are taken now: those that were asked for, and of others what is within their
    /// authors' quotas.
    mutating func taken(_ bundles: [Bundle], _ link: LinkID, _ nowMs: UInt64) -> [Bundle] {
        guard let peer = links[link]?.peer, let reconciler = links[link]?.reconciler else { return bundles }
        let limits = pushLimits
        let taken = accounts.with(peer, nowMs: nowMs) { account in
            bundles.filter { bundle in
                bundle.leaves.contains { reconciler.isAsked($0.entry.reference) }
                    || account.pushes.takes(bundle, limits, nowMs: nowMs)
            }
        }
        if let first = taken.first?.leaves.first, !reconciler.isAsked(first.entry.reference) {
            links[link]?.talkMs = nowMs
        }
        if taken.count < bundles.count {
            let recheckMs = links[link]?.recheckMs ?? .max
            links[link]?.recheckMs = min(recheckMs, nowMs &+ PushQuota.delayMs)
        }
        return taken
    }

    /// Sets what an author may push: entries at once, and a second after it.
    public mutating func setPushLimits(burst: UInt64, rate: UInt64) {
        pushLimits = PushQuota.Limits(burst: burst, rate: rate)
    }

    /// Entries that were pushed beyond their authors' quotas by those who are linked or were so lately.
    public var delayedCount: Int { accounts.leftCount }
}
