public import Seal
public import Tree

/// What one identity has used up of its quotas, on all its links together.
struct PeerAccount: Sendable {
    /// Of what the peer pushes unasked.
    var pushes = PushQuota()
    var soft = SoftQuota()
    /// Of the bundles that it announces.
    var seals: Allowance
    /// Of what it has this node look at.
    var scans: Allowance
    /// Entries that its authors may not write or that had no valid signature.
    var refusals = 0
    /// Those that came from it without a valid signature. They are not wanted from it again, but from others: who
    /// spoils a copy must not be able to keep the entry from arriving.
    var refused = RememberedReferences(capacity: Replicator.refusalsMax)
    /// When the peer was first heard of.
    let bornMs: UInt64
    fileprivate var linkCount = 0
    /// When its last link ended.
    fileprivate var endedMs: UInt64

    init(nowMs: UInt64) {
        seals = Allowance(SealQuota.ofPeer, nowMs: nowMs)
        scans = Allowance(ScanQuota.ofPeer, nowMs: nowMs)
        bornMs = nowMs
        endedMs = nowMs
    }

    /// A peer is new for so long.
    private static let newMs: UInt64 = 60_000

    func isNew(nowMs: UInt64) -> Bool { nowMs &- min(bornMs, nowMs) < PeerAccount.newMs }

    /// What a peer that comes again was refused is forgotten at this pace, an entry each: nobody is distrusted for ever
    /// because of a disk that has been replaced.
    private static let forgiveMs: UInt64 = 1000

    fileprivate mutating func open(nowMs: UInt64) {
        if linkCount == 0 {
            let elapsedMs = nowMs &- min(endedMs, nowMs)
            refusals -= min(refusals, Int(clamping: elapsedMs / PeerAccount.forgiveMs))
        }
        linkCount += 1
    }
}

/// The accounts of those who are linked, and for a while of those who were: a peer that connects anew has not got a new
/// quota by it.
///
/// Keyed by identity. Whoever makes himself a new identity for each link begins anew here; what he can burn with forged
/// signatures is bounded by his address too, in the shell.
struct PeerAccounts: Sendable {
    /// An account is kept for so long after the last link: every quota is full again by then.
    static let keptMs: UInt64 = 10 * 60_000
    /// Accounts kept without a link; the one that ended first gives way. Each is some kilobytes, and 100 of a peer that
    /// has spoilt a thousand entries.
    static let keptMax = 128

    private var all: [Bytes32: PeerAccount] = [:]

    var count: Int { all.count }

    /// Entries that were pushed beyond their authors' quotas, of the peers that are remembered.
    var delayedCount: Int { all.values.reduce(0) { $0 + $1.pushes.delayedCount } }

    subscript(peer: Bytes32) -> PeerAccount? { all[peer] }

    /// Whether what the peer has is worth asking for.
    func trusts(_ peer: Bytes32) -> Bool { (all[peer]?.refusals ?? 0) < Replicator.refusalsMax }

    /// A link to the peer is up.
    mutating func open(_ peer: Bytes32, nowMs: UInt64) {
        all[peer, default: PeerAccount(nowMs: nowMs)].open(nowMs: nowMs)
    }

    /// One of its links has ended.
    mutating func close(_ peer: Bytes32, nowMs: UInt64) {
        guard let count = all[peer]?.linkCount, count > 0 else { return }
        all[peer]?.linkCount = count - 1
        all[peer]?.endedMs = nowMs
        if count == 1 { forget(nowMs) }
    }

    /// Charges an account; one that is not known is opened, without a link.
    mutating func with<Result>(_ peer: Bytes32, nowMs: UInt64, _ body: (inout PeerAccount) -> Result) -> Result {
        defer { if all[peer]?.linkCount == 0 { forget(nowMs) } }
        return body(&all[peer, default: PeerAccount(nowMs: nowMs)])
    }

    private mutating func forget(_ nowMs: UInt64) {
        let ended = all.filter { $0.value.linkCount == 0 }
        for (peer, account) in ended where nowMs &- min(account.endedMs, nowMs) > PeerAccounts.keptMs {
            all[peer] = nil
        }
        guard ended.count > PeerAccounts.keptMax else { return }
        let oldest = ended.sorted { ($0.value.endedMs, $0.key) < ($1.value.endedMs, $1.key) }
        for (peer, _) in oldest.prefix(ended.count - PeerAccounts.keptMax) { all[peer] = nil }
    }
}

extension Replicator {
    /// Whether what the peer has is worth asking for.
    func trusts(_ link: LinkID) -> Bool { links[link].map { accounts.trusts($0.peer) } ?? false }

    /// What is not wanted from the peer again.
    func refused(by link: LinkID) -> RememberedReferences? { links[link].flatMap { accounts[$0.peer]?.refused } }

    /// Notes what the peer should not have sent.
    mutating func noteRefusals(_ count: Int, unsigned: [EntryReference] = [], _ link: LinkID, _ nowMs: UInt64) {
        guard count > 0, let peer = links[link]?.peer else { return }
        accounts.with(peer, nowMs: nowMs) { account in
            account.refusals += count
            for reference in unsigned { account.refused.insert(reference) }
        }
    }

    /// Takes one record of soft state from the peer's quota; false if there is none left.
    mutating func takesSoft(_ link: LinkID, _ nowMs: UInt64) -> Bool {
        guard let peer = links[link]?.peer else { return true }
        let isNew = accounts[peer]?.isNew(nowMs: nowMs) ?? true
        guard !isNew || newcomersSoft.hasRoom(nowMs: nowMs) else { return false }
        guard accounts.with(peer, nowMs: nowMs, { $0.soft.takes(nowMs: nowMs) }) else { return false }
        if isNew { newcomersSoft.spend(1) }
        return true
    }

    /// Of what somebody has sent before his link ended, the bundles within their authors' quotas: whoever hangs up
    /// before he is heard shall not have a quota more. What is left a comparison finds.
    ///
    /// - `link`: the one that has ended.
    /// - `nowMs`: monotonic milliseconds.
    public mutating func takenLast(
        _ bundles: [Bundle], of peer: Bytes32, on link: LinkID, nowMs: UInt64
    ) -> [Bundle] {
        let (limits, isAlone) = (pushLimits, !othersTalk(besides: link, nowMs: nowMs))
        return accounts.with(peer, nowMs: nowMs) { account in
            bundles.filter { account.pushes.takes($0, from: peer, limits, isAlone: isAlone, nowMs: nowMs) }
        }
    }
}
