internal import Seal
internal import Tree
internal import Wire

/// How much of what a peer pushes unasked is taken at once.
///
/// Each author has a quota for each peer. It holds while somebody else writes as well, here or at another link; while
/// nobody else has to wait everything is taken, as fast as this node can, and what it cannot take waits at its author's
/// (``PushBacklog``). What a peer has written himself and is beyond his quota makes his link wait
/// (``Replicator/holdMs(_:nowMs:)``), so that it comes in order and whole, only later. Of what he passes on for others
/// it is left, since the rest of what he has to say must not wait for it, and a comparison finds it again when nothing
/// more urgent is under way. So what is beyond a quota is delayed, never lost.
///
/// Signatures are not looked at yet, so a peer could use up the quota of somebody else, but only as far as he passes
/// his entries on. What was asked for has no quota. Its pace is the puller's own, and a long catch-up is no flood.
struct PushQuota: Sendable {
    /// Bundles of all authors beyond so many share one quota.
    static let authorsMax = 256
    /// Bytes that count as an entry.
    static let entryBytes = 512
    /// After leaving something, roots are compared this much later.
    static let delayMs: UInt64 = 1000

    struct Limits: Sendable {
        /// Entries that may come at once: those of a large paste or a busy bot, a twentieth of a second of work.
        var burst: Int64 = 2048
        /// Entries a second after it: more than a person types or a busy bot sends, and less than half of what a node
        /// verifies and stores on one core.
        var rate: Int64 = 4000
    }

    private struct Credit {
        /// In thousandths; below nothing what was taken and has to be waited for.
        var left: Int64
        var atMs: UInt64
    }

    private var credits: [Bytes32: Credit] = [:]
    /// Entries that were left, or that a link has to wait for.
    private(set) var delayedCount = 0

    /// Whether a bundle is within its author's quota, from which it is taken, or does not depend on it.
    ///
    /// - Parameters:
    ///   - peer: at the other end of the link.
    ///   - isAlone: nobody else has to wait for it.
    mutating func takes(_ bundle: Bundle, from peer: Bytes32, _ limits: Limits, isAlone: Bool, nowMs: UInt64) -> Bool {
        let isKnown = credits[bundle.author] != nil
        if !isKnown, credits.count >= Self.authorsMax { forgetFull(limits, nowMs) }
        let isOwn = bundle.author == peer
        let author = isKnown || isOwn || credits.count < Self.authorsMax ? bundle.author : .zero
        let full = limits.burst * 1000
        var left = left(of: author, limits, nowMs)
        let size = bundle.leaves.reduce(0) { $0 + $1.entry.encoded.count }
        let cost = Int64(clamping: max(bundle.leaves.count, size / Self.entryBytes)) * 1000
        // One that is larger than any quota passes when the quota is full.
        let isWithin = left >= min(cost, full)
        let isTaken = isAlone || isOwn || isWithin
        // A link waits for as long as a whole quota takes to come back at most.
        if isTaken { left = max(left - cost, isOwn && !isAlone ? -full : min(left, 0)) }
        if !isAlone, !isWithin { delayedCount += bundle.leaves.count }
        credits[author] = Credit(left: left, atMs: nowMs)
        return isTaken
    }

    /// How long the link of somebody has to wait until his quota is no longer exceeded, in milliseconds; at most 0 if
    /// it is not.
    func holdMs(of author: Bytes32, _ limits: Limits, nowMs: UInt64) -> Int64 {
        guard credits[author] != nil else { return 0 }
        return -left(of: author, limits, nowMs) / max(1, limits.rate)
    }

    /// Whether an author has pushed more lately than a person or a busy bot does.
    func isMuch(of author: Bytes32, _ limits: Limits, nowMs: UInt64) -> Bool {
        credits[author] != nil && left(of: author, limits, nowMs) < limits.burst * 500
    }

    private func left(of author: Bytes32, _ limits: Limits, _ nowMs: UInt64) -> Int64 {
        guard let credit = credits[author] else { return limits.burst * 1000 }
        let elapsedMs = Int64(min(nowMs &- min(credit.atMs, nowMs), 1 << 32))
        return min(limits.burst * 1000, credit.left + elapsedMs * limits.rate)
    }

    /// Whoever has not sent anything lately needs no memory.
    private mutating func forgetFull(_ limits: Limits, _ nowMs: UInt64) {
        credits = credits.filter { left(of: $0.key, limits, nowMs) < limits.burst * 1000 }
    }
}

extension Replicator {
    /// The bundles of a message that are taken now: those that were asked for, and of others what is within their
    /// authors' quotas.
    mutating func taken(_ bundles: [Bundle], _ link: LinkID, _ nowMs: UInt64) -> [Bundle] {
        guard let state = links[link] else { return bundles }
        let (limits, isAlone) = (pushLimits, !othersTalk(besides: link, nowMs: nowMs))
        let taken = accounts.with(state.peer, nowMs: nowMs) { account in
            bundles.filter { bundle in
                bundle.leaves.contains { state.reconciler.isAsked($0.entry.reference) }
                    || account.pushes.takes(bundle, from: state.peer, limits, isAlone: isAlone, nowMs: nowMs)
            }
        }
        if let first = taken.first?.leaves.first, !state.reconciler.isAsked(first.entry.reference) {
            links[link]?.talkMs = nowMs
        }
        if taken.count < bundles.count {
            let recheckMs = links[link]?.recheckMs ?? .max
            links[link]?.recheckMs = min(recheckMs, nowMs &+ PushQuota.delayMs)
        }
        return taken
    }

    /// How long nothing more is to be read from a link, in milliseconds: its peer has written more than others can put
    /// up with. At most 0 if all is well.
    public func holdMs(_ link: LinkID, nowMs: UInt64) -> Int64 {
        guard let state = links[link] else { return 0 }
        return accounts[state.peer]?.pushes.holdMs(of: state.peer, pushLimits, nowMs: nowMs) ?? 0
    }

    /// Sets what an author may push: entries at once, and a second after it.
    public mutating func setPushLimits(burst: Int64, rate: Int64) {
        pushLimits = PushQuota.Limits(burst: burst, rate: rate)
    }

    /// Entries that were pushed beyond their authors' quotas by those who are linked or were so lately.
    public var delayedCount: Int { accounts.delayedCount }
}
