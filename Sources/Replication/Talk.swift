internal import Seal
internal import Tree
internal import Wire

/// Whether people write just now: then what is done in bulk for one peer is done in small pieces, so that what they
/// write waits for less than a millisecond of it. Otherwise large pieces get more done.
extension Replicator {
    /// For so long after an entry that nobody had asked for there is likely to be another.
    static let talkMs: UInt64 = 1000

    /// Whether this node, or another peer than this one, has written something a moment ago.
    public func othersTalk(besides link: LinkID, nowMs: UInt64) -> Bool {
        if let ownTalkMs, nowMs &- ownTalkMs < Replicator.talkMs { return true }
        return otherPeersTalk(besides: link, nowMs: nowMs)
    }

    /// Whether another peer than this one has written something a moment ago.
    func otherPeersTalk(besides link: LinkID, nowMs: UInt64) -> Bool {
        links.contains { other, state in
            other != link && state.talkMs.map { nowMs &- $0 < Replicator.talkMs } ?? false
        }
    }
}

/// How many records of soft state of one peer are verified: each costs a tenth of a millisecond, in which nothing else
/// happens.
///
/// What is beyond it is left: who is there says so again every few seconds. It counts for each peer, not for each
/// author, for whose a record really is only verifying tells.
struct SoftQuota: Sendable {
    /// Records that may come at once, as from a neighbour in a large network to a newcomer.
    static let burst: UInt64 = 2048
    /// Records a second after it: the presence of thousands, and the typing of all who can be read at a time.
    static let rate: UInt64 = 500
    /// Of all peers together that were not known a minute ago: otherwise whoever takes another identity for each link
    /// would have a burst with each. To who has just started everybody is new, so this is enough for some thousands.
    static let ofNewcomers: Allowance.Limits = (burst: 8192, rate: 2000)

    /// In thousandths.
    private var left = SoftQuota.burst * 1000
    private var atMs: UInt64 = 0

    /// Takes one record from the quota; false if there is none left.
    mutating func takes(nowMs: UInt64) -> Bool {
        let elapsedMs = min(nowMs &- min(atMs, nowMs), 1 << 32)
        left = min(SoftQuota.burst * 1000, left + elapsedMs * SoftQuota.rate)
        atMs = nowMs
        guard left >= 1000 else { return false }
        left -= 1000
        return true
    }
}
