internal import Net
internal import Seal

/// Decides which address to dial when. Addresses come from discovery, from the user, from other peers, from inbound
/// links and from memory; only the handshake tells who is there.
///
/// A value without clock or randomness: the time and the jitter are given.
struct Dialer {
    enum Source: Int, Comparable {
        case remembered, gossiped, inbound, discovered, named

        static func < (a: Source, b: Source) -> Bool { a.rawValue < b.rawValue }
    }

    enum State: Equatable {
        case waiting
        case dialling
        case connected
    }

    struct Candidate {
        let address: SocketAddress
        var source: Source
        /// Who answered there last; nil before anybody did.
        var node: Bytes32?
        /// The discovered instance that advertises it.
        var instance: String?
        var state: State = .waiting
        var nextMs: UInt64
        var failures: UInt64 = 0
        var lastFailure: String?
        /// When an address that nobody vouches for any more is forgotten.
        var offeredMs: UInt64
    }

    /// First and longest wait after a failure.
    static let backOffMs: UInt64 = 1000
    static let backOffMsMax: UInt64 = 300_000
    /// Addresses the user named are tried at least this often.
    static let namedBackOffMsMax: UInt64 = 30_000
    /// Addresses of one node are tried this far apart, best first.
    static let staggerMs: UInt64 = 250
    /// Dials under way at once.
    static let dialsMax = 16
    /// Addresses kept; beyond that those that fail most are forgotten.
    static let candidatesMax = 1024
    /// A link that ends sooner after its handshake counts as a failure.
    static let steadyMs: UInt64 = 10_000
    /// Failures after which an address that was only heard of is forgotten.
    static let failuresMax: UInt64 = 12

    private(set) var candidates: [SocketAddress: Candidate] = [:]
    /// Addresses at which this node found itself.
    private var own: Set<SocketAddress> = []

    /// The addresses whose time has come, the best ones first: what was never tried comes before what has failed.
    private func waiting(nowMs: UInt64) -> [Candidate] {
        candidates.values.filter { $0.state == .waiting && $0.nextMs <= nowMs }.sorted { a, b in
            if a.source != b.source { return a.source > b.source }
            if a.failures != b.failures { return a.failures < b.failures }
            if a.nextMs != b.nextMs { return a.nextMs < b.nextMs }
            return a.address.description < b.address.description
        }
    }

    private var diallingCount: Int { candidates.values.count { $0.state == .dialling } }

    /// Takes an address that somebody suggests. A discovered or named one is tried at once, whatever failed before.
    mutating func offer(
        _ address: SocketAddress, _ source: Source, node: Bytes32? = nil, instance: String? = nil, delayMs: UInt64 = 0,
        nowMs: UInt64
    ) {
        guard !own.contains(address) else { return }
        if var known = candidates[address] {
            // Another program announces itself there, so it may be another node.
            if let instance, let before = known.instance, instance != before { known.node = nil }
            // Who is there is for a handshake to say: hearsay never replaces what is known.
            if known.node == nil, source >= known.source { known.node = node }
            known.source = max(known.source, source)
            known.instance = instance ?? known.instance
            known.offeredMs = nowMs
            if source == .discovered || source == .named, known.state == .waiting {
                known.failures = 0
                known.nextMs = min(known.nextMs, nowMs &+ delayMs)
            }
            candidates[address] = known
            return
        }
        if source == .inbound, let node { forgetInbound(node) }
        guard makeRoom(for: source) else { return }
        candidates[address] = Candidate(
            address: address, source: source, node: node, instance: instance, nextMs: nowMs &+ delayMs,
            offeredMs: nowMs)
    }

    /// A node listens at one port: that it has named others before is no reason to try them.
    private mutating func forgetInbound(_ node: Bytes32) {
        for candidate in candidates.values
        where candidate.source == .inbound && candidate.node == node && candidate.state == .waiting {
            candidates[candidate.address] = nil
        }
    }

    /// Forgets an address of no better source, if need be; false if there is none. Gossip never displaces what was
    /// discovered.
    private mutating func makeRoom(for source: Source) -> Bool {
        guard candidates.count >= Dialer.candidatesMax else { return true }
        let worst = candidates.values.filter { $0.state == .waiting && $0.source <= source && $0.source != .named }
            .max { a, b in
                if a.source != b.source { return a.source > b.source }
                return a.failures != b.failures ? a.failures < b.failures : a.offeredMs > b.offeredMs
            }
        guard let worst else { return false }
        candidates[worst.address] = nil
        return true
    }

    mutating func remove(_ address: SocketAddress) { candidates[address] = nil }

    /// The addresses to dial now; they count as being dialled from here on.
    mutating func due(nowMs: UInt64, connected: Set<Bytes32>) -> [SocketAddress] {
        var dialling = diallingCount
        var busy = Set(candidates.values.filter { $0.state != .waiting }.compactMap(\.instance))
        var result: [SocketAddress] = []
        for candidate in waiting(nowMs: nowMs) {
            guard dialling < Dialer.dialsMax else { break }
            if let node = candidate.node, connected.contains(node) {
                // Looked at again later: the link may end.
                candidates[candidate.address]?.nextMs = nowMs &+ Dialer.backOffMsMax
                continue
            }
            if let instance = candidate.instance {
                if busy.contains(instance) {
                    candidates[candidate.address]?.nextMs = nowMs &+ Dialer.staggerMs
                    continue
                }
                busy.insert(instance)
            }
            candidates[candidate.address]?.state = .dialling
            dialling += 1
            result.append(candidate.address)
        }
        return result
    }

    /// When to look again; nil if nothing waits, or if nothing more may be dialled before a dial under way ends.
    var nextDeadlineMs: UInt64? {
        guard diallingCount < Dialer.dialsMax else { return nil }
        return candidates.values.filter { $0.state == .waiting }.map(\.nextMs).min()
    }

    /// A dial failed, or the link ended before a handshake.
    ///
    /// - Parameter jitter: 0…99, spreads retries over ±20 %.
    mutating func failed(_ address: SocketAddress, reason: String, nowMs: UInt64, jitter: UInt64) {
        guard var candidate = candidates[address] else { return }
        candidate.state = .waiting
        candidate.failures &+= 1
        candidate.lastFailure = reason
        if candidate.source < .discovered, candidate.failures > Dialer.failuresMax {
            candidates[address] = nil
            return
        }
        let delay = Dialer.backOff(candidate.failures, candidate.source)
        candidate.nextMs = nowMs &+ delay * (80 + jitter % 41) / 100
        candidates[address] = candidate
    }

    /// A handshake told who is at an address.
    mutating func connected(_ address: SocketAddress, node: Bytes32) {
        candidates[address]?.state = .connected
        candidates[address]?.node = node
        candidates[address]?.lastFailure = nil
        guard let instance = candidates[address]?.instance else { return }
        for other in candidates.values where other.instance == instance { candidates[other.address]?.node = node }
    }

    mutating func foundSelf(_ address: SocketAddress) {
        own.insert(address)
        candidates[address] = nil
    }

    /// Another node answered than the one that was expected: the next dial takes whoever is there.
    mutating func expectAnybody(_ address: SocketAddress) { candidates[address]?.node = nil }

    /// The node at an address is connected by another link, so this one is not needed.
    mutating func spare(_ address: SocketAddress, nowMs: UInt64) {
        candidates[address]?.state = .waiting
        candidates[address]?.nextMs = nowMs &+ Dialer.backOffMsMax
    }

    /// A link to a node ended: its addresses are tried again, the one that worked first. Where links do not last, ever
    /// more slowly.
    mutating func disconnected(_ node: Bytes32, lastedMs: UInt64, nowMs: UInt64) {
        let isSteady = lastedMs >= Dialer.steadyMs
        for candidate in candidates.values where candidate.node == node && candidate.state != .dialling {
            let wasConnected = candidate.state == .connected
            let failures = isSteady ? 0 : candidate.failures &+ 1
            let delay = wasConnected ? Dialer.staggerMs : Dialer.staggerMs * 2
            candidates[candidate.address]?.state = .waiting
            candidates[candidate.address]?.failures = failures
            candidates[candidate.address]?.nextMs =
                nowMs &+ (isSteady ? delay : Dialer.backOff(failures, candidate.source))
        }
    }

    private static func backOff(_ failures: UInt64, _ source: Source) -> UInt64 {
        min(backOffMs << min(max(failures, 1) - 1, 16), source == .named ? namedBackOffMsMax : backOffMsMax)
    }

    /// The network changed: everything is worth another try.
    mutating func reset(nowMs: UInt64) {
        for candidate in candidates.values where candidate.state == .waiting {
            candidates[candidate.address]?.nextMs = nowMs
            candidates[candidate.address]?.failures = 0
        }
        own = []
    }

    /// The instances of which an address failed: their records may be old.
    mutating func lost(instance: String) {
        for candidate in candidates.values where candidate.instance == instance && candidate.state == .waiting {
            candidates[candidate.address]?.source = .remembered
        }
    }
}
