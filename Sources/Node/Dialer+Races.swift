internal import Net
internal import Seal

/// The dials under way to each peer, as far as it is known which addresses are of one.
struct DialRaces {
    private enum Peer: Hashable {
        case instance(String)
        case node(Bytes32)
    }

    private var races: [Peer: (count: Int, lastMs: UInt64)] = [:]

    init(_ candidates: some Sequence<Dialer.Candidate>) {
        for candidate in candidates where candidate.state == .dialling {
            begin(candidate, nowMs: candidate.startedMs)
        }
    }

    private static func names(_ candidate: Dialer.Candidate) -> [Peer] {
        [candidate.instance.map(Peer.instance), candidate.node.map(Peer.node)].compactMap { $0 }
    }

    mutating func begin(_ candidate: Dialer.Candidate, nowMs: UInt64) {
        for name in DialRaces.names(candidate) {
            let race = races[name] ?? (0, 0)
            races[name] = (race.count + 1, max(race.lastMs, nowMs))
        }
    }

    /// When to look at a candidate again, if another address of its peer has just been dialled or enough of them are
    /// being; nil if it may be dialled.
    func waitUntilMs(_ candidate: Dialer.Candidate, nowMs: UInt64) -> UInt64? {
        var untilMs = nowMs
        for case let race? in DialRaces.names(candidate).map({ races[$0] }) {
            let nextMs = race.lastMs &+ Dialer.staggerMs
            untilMs = max(untilMs, nextMs)
            if race.count >= Dialer.dialsPerPeerMax { untilMs = max(untilMs, nowMs &+ Dialer.staggerMs) }
        }
        return untilMs > nowMs ? untilMs : nil
    }
}

extension Dialer {
    /// Other addresses of the program that has answered at this one which are still being dialled.
    func rivals(of address: SocketAddress) -> [SocketAddress] {
        guard let winner = candidates[address] else { return [] }
        return candidates.values.filter { other in
            guard other.address != address, other.state == .dialling else { return false }
            if let instance = other.instance, instance == winner.instance { return true }
            // A copied disk has the same key, and is another program.
            return other.node != nil && other.node == winner.node && (other.nonce ?? winner.nonce) == winner.nonce
        }.map(\.address)
    }

    /// Whether discovery is to be asked if an address that has failed is still right; then not again for a while.
    mutating func doubts(_ address: SocketAddress, nowMs: UInt64) -> Bool {
        if let doubtedMs = candidates[address]?.doubtedMs, nowMs &- doubtedMs < Dialer.doubtMs { return false }
        candidates[address]?.doubtedMs = nowMs
        return true
    }

    /// Whether dialling a node has failed lately.
    func hasFailed(_ node: Bytes32) -> Bool {
        candidates.values.contains { $0.node == node && $0.state == .waiting && $0.failures > 0 }
    }

    /// Somebody who could not be reached is there again: so may be the others.
    mutating func takeNews(nowMs: UInt64) {
        guard nowMs >= newsAfterMs else { return }
        newsAfterMs = nowMs &+ Dialer.newsMs
        for candidate in candidates.values where candidate.state == .waiting && candidate.failures > 0 {
            candidates[candidate.address]?.failures = 1
            candidates[candidate.address]?.nextMs = min(candidate.nextMs, nowMs)
        }
    }

    /// One address of each peer, the one that says most of it: that is being dialled, else the one with the fewest
    /// failures.
    var peers: [Candidate] {
        var best: [String: Candidate] = [:]
        for candidate in candidates.values.sorted(by: { "\($0.address)" < "\($1.address)" }) {
            let name = candidate.node.map { "\($0)" } ?? candidate.instance ?? "\(candidate.address)"
            guard let known = best[name] else {
                best[name] = candidate
                continue
            }
            let isDialled = (candidate.state == .dialling, known.state == .dialling)
            if isDialled.0 != isDialled.1 ? isDialled.0 : candidate.failures < known.failures { best[name] = candidate }
        }
        return best.values.sorted { "\($0.address)" < "\($1.address)" }
    }
}
