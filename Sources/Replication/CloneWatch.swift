internal import Seal

/// Finds out when two live nodes have one key: a copied disk, or a restored backup beside its original.
///
/// A node that was started anew also has another instance nonce than the link to its predecessor, which may take a
/// while to die. So two instances count as clones only when both answer a PING that was sent after both were there.
struct CloneWatch: Sendable {
    /// A key whose second instance was lost is still called cloned for so long: links break and come back.
    static let lingerMs: UInt64 = 30_000

    private struct Link {
        let peer: Bytes32
        let instance: UInt64
        /// Answers come in the order of the questions, so counting tells which PING was answered.
        var sent: UInt64 = 0
        var answered: UInt64 = 0
        /// The answer that proves that the instance lives; nil while nobody doubts it.
        var proof: UInt64?

        var isProven: Bool { proof.map { answered >= $0 } ?? false }
    }

    private let own: Bytes32
    private let instance: UInt64
    private var links: [LinkID: Link] = [:]
    /// Keys that are called cloned, and until when if no second instance is there any more.
    private var cloned: [Bytes32: UInt64?] = [:]

    init(own: Bytes32, instance: UInt64) {
        self.own = own
        self.instance = instance
    }

    /// The keys that two live nodes have, in order.
    var clones: [Bytes32] { cloned.keys.sorted() }

    func isCloned(_ key: Bytes32) -> Bool { !cloned.isEmpty && cloned[key] != nil }

    var nextDeadlineMs: UInt64? { cloned.values.compactMap { $0 }.min() }

    /// A link is up. Returns those on which a PING is to be sent.
    mutating func up(_ link: LinkID, peer: Bytes32, instance: UInt64) -> [LinkID] {
        links[link] = Link(peer: peer, instance: instance)
        let ofPeer = links.filter { $0.value.peer == peer }
        let others = Set(ofPeer.values.map(\.instance)).union(peer == own ? [self.instance] : [])
        guard others.count > 1 else { return [] }
        // Also those that have answered before: whoever is new may be one of them, started anew.
        for (link, state) in ofPeer { links[link]?.proof = state.sent + 1 }
        return ofPeer.keys.sorted()
    }

    mutating func sentPing(_ link: LinkID) { links[link]?.sent += 1 }

    mutating func answered(_ link: LinkID) {
        links[link]?.answered += 1
        guard let state = links[link], state.isProven, proven(state.peer) > 1 else { return }
        cloned[state.peer] = .some(nil)
    }

    /// A link has ended.
    ///
    /// - `isOrderly`: the other side said goodbye, so that its end is no mere break.
    mutating func down(_ link: LinkID, isOrderly: Bool, nowMs: UInt64) {
        guard let peer = links.removeValue(forKey: link)?.peer, isCloned(peer), proven(peer) < 2 else { return }
        cloned[peer] = isOrderly ? nil : .some(nowMs &+ CloneWatch.lingerMs)
    }

    /// Forgets the clones that have been away for long enough.
    mutating func expire(nowMs: UInt64) {
        guard !cloned.isEmpty else { return }
        cloned = cloned.filter { _, untilMs in untilMs.map { $0 > nowMs } ?? true }
    }

    /// Instances of a key that are known to live.
    private func proven(_ key: Bytes32) -> Int {
        var instances: Set<UInt64> = key == own ? [instance] : []
        for link in links.values where link.peer == key && link.isProven { instances.insert(link.instance) }
        return instances.count
    }
}
