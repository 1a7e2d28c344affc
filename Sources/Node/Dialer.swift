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
        /// The program that answered there last; nil before one did. A copied disk is another.
        var nonce: UInt64?
        /// The discovered instance that advertises it.
        var instance: String?
        var state: State = .waiting
        /// Another program has announced itself there since it is connected.
        var isAnother = false
        var nextMs: UInt64
        var failures: UInt64 = 0
        var lastFailure: String?
        /// When an address that nobody vouches for any more is forgotten.
        var offeredMs: UInt64
        /// Of the addresses of one peer those with the least number come first; 0 is the one that led there last.
        var preference = Dialer.preferenceMax
        /// When the last dial began.
        var startedMs: UInt64 = 0
        /// Since when it is expected to answer: it was found then, or a link to it was lost.
        var eagerSinceMs: UInt64?
        /// When discovery was asked last whether it is still right.
        var doubtedMs: UInt64?
    }

    /// First and longest wait after a failure.
    static let backOffMs: UInt64 = 1000
    static let backOffMsMax: UInt64 = 300_000
    /// Addresses the user named are tried at least this often.
    static let namedBackOffMsMax: UInt64 = 30_000
    /// Addresses of one peer are tried this far apart, best first, without waiting for the end of the one before (RFC
    /// 8305 section 5). Once one has led to the peer the others are given up.
    static let staggerMs: UInt64 = 250
    /// Dials under way to one peer: so many of its addresses may be dead without holding up a good one.
    static let dialsPerPeerMax = 4
    /// For so long after an address was found, or a link to it lost, it is tried every second: most cuts are short, and
    /// nothing tells when one in the middle of a network ends.
    static let eagerMs: UInt64 = 60_000
    /// Discovery is asked about an address that fails this often at most.
    static let doubtMs: UInt64 = 5_000
    /// What a success says about other addresses counts once in this time, or one peer that comes and goes could make
    /// this node dial without end.
    static let newsMs: UInt64 = 10_000
    /// Of addresses that nothing is known about.
    static let preferenceMax = 9
    /// Dials under way at once.
    static let dialsMax = 16
    /// Addresses kept; beyond that those that fail most are forgotten.
    static let candidatesMax = 1024
    /// A link that ends sooner after its handshake counts as a failure.
    static let steadyMs: UInt64 = 10_000
    /// Failures after which an address that was only heard of is forgotten.
    static let failuresMax: UInt64 = 12

    /// Who was let go, or let this node go, is not dialled again before this, unless somebody asks for it.
    static let demotedMs: UInt64 = 300_000

    /// Whether everything that is heard of is dialled. Otherwise addresses are kept, and only those dialled that the
    /// user named or that ``ask(_:nowMs:)`` and ``askAny(_:nowMs:connected:random:)`` choose.
    private(set) var dialsEverybody = true
    var candidates: [SocketAddress: Candidate] = [:]
    /// News is taken again from then on.
    var newsAfterMs: UInt64 = 0
    /// Addresses at which this node found itself.
    private var own: Set<SocketAddress> = []

    /// The addresses whose time has come, the best ones first: what was never tried comes before what has failed.
    private func waiting(nowMs: UInt64) -> [Candidate] {
        candidates.values.filter { isWanted($0) && $0.nextMs <= nowMs }.sorted { a, b in
            if a.source != b.source { return a.source > b.source }
            if a.failures != b.failures { return a.failures < b.failures }
            if a.preference != b.preference { return a.preference < b.preference }
            if a.nextMs != b.nextMs { return a.nextMs < b.nextMs }
            return a.address.description < b.address.description
        }
    }

    private var diallingCount: Int { candidates.values.count { $0.state == .dialling } }

    /// Takes an address that somebody suggests. One that is named, or is found where nobody was seen before, is tried
    /// at once, whatever failed before. That it is still announced is no news: records outlive programs by an hour.
    mutating func offer(
        _ address: SocketAddress, _ source: Source, node: Bytes32? = nil, instance: String? = nil,
        preference: Int = Dialer.preferenceMax, delayMs: UInt64 = 0, nowMs: UInt64
    ) {
        guard !own.contains(address) else { return }
        if var known = candidates[address] {
            let isNews =
                source == .named || source == .discovered && (known.source < source || known.instance != instance)
            // Another program announces itself there, so it may be another node. Who has the link is known until that
            // ends.
            if let instance, let before = known.instance, instance != before {
                if known.state == .connected { known.isAnother = true } else { known.node = nil }
            }
            // Who is there is for a handshake to say: hearsay never replaces what is known.
            if known.node == nil, source >= known.source { known.node = node }
            known.source = max(known.source, source)
            known.instance = instance ?? known.instance
            known.offeredMs = nowMs
            if known.preference > 0 { known.preference = min(known.preference, preference) }
            if isNews, known.state == .waiting {
                known.failures = 0
                known.eagerSinceMs = nowMs
                known.nextMs = min(known.nextMs, nowMs &+ delayMs)
            }
            candidates[address] = known
            return
        }
        if source == .inbound, let node { forgetInbound(node) }
        guard makeRoom(for: source) else { return }
        // One more address of a program that has answered elsewhere.
        let known = instance.flatMap { instance in
            candidates.values.first { $0.instance == instance && $0.node != nil }?.node
        }
        candidates[address] = Candidate(
            address: address, source: source, node: node ?? known, instance: instance, nextMs: nowMs &+ delayMs,
            offeredMs: nowMs, preference: preference, eagerSinceMs: source >= .discovered ? nowMs : nil)
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

    /// Whether an address was tried in vain since a link to it ended.
    func isFailing(_ address: SocketAddress) -> Bool {
        guard let candidate = candidates[address] else { return true }
        return candidate.state != .connected && candidate.failures > 0
    }

    /// The name that an address was given by leads elsewhere now: from here on it is one like others that were only
    /// heard of.
    mutating func forgetName(_ address: SocketAddress) {
        guard candidates[address]?.source == .named else { return }
        candidates[address]?.source = .remembered
    }

    /// The addresses to dial now; they count as being dialled from here on.
    ///
    /// - `nonces`: of the programs that are connected.
    mutating func due(nowMs: UInt64, connected: Set<Bytes32>, nonces: Set<UInt64> = []) -> [SocketAddress] {
        var dialling = diallingCount
        var races = DialRaces(candidates.values)
        var result: [SocketAddress] = []
        for candidate in waiting(nowMs: nowMs) {
            guard dialling < Dialer.dialsMax else { break }
            let mayBeAnother = candidate.nonce.map { !nonces.contains($0) } ?? false
            if let node = candidate.node, connected.contains(node), !mayBeAnother {
                // Looked at again later: the link may end.
                candidates[candidate.address]?.nextMs = nowMs &+ Dialer.backOffMsMax
                continue
            }
            if let laterMs = races.waitUntilMs(candidate, nowMs: nowMs) {
                candidates[candidate.address]?.nextMs = laterMs
                continue
            }
            races.begin(candidate, nowMs: nowMs)
            begin(candidate.address, nowMs: nowMs)
            dialling += 1
            result.append(candidate.address)
        }
        return result
    }

    private mutating func begin(_ address: SocketAddress, nowMs: UInt64) {
        candidates[address]?.state = .dialling
        candidates[address]?.startedMs = nowMs
    }

    /// When to look again; nil if nothing waits, or if nothing more may be dialled before a dial under way ends.
    var nextDeadlineMs: UInt64? {
        guard diallingCount < Dialer.dialsMax else { return nil }
        return candidates.values.filter(isWanted).map(\.nextMs).min()
    }

    /// Whether a candidate is dialled when its time comes.
    private func isWanted(_ candidate: Candidate) -> Bool {
        candidate.state == .waiting && (dialsEverybody || candidate.source == .named)
    }

    // MARK: Views of the network

    mutating func setDialsEverybody(_ isOn: Bool, nowMs: UInt64) {
        guard isOn != dialsEverybody else { return }
        dialsEverybody = isOn
        guard isOn else { return }
        for candidate in candidates.values where candidate.state == .waiting && candidate.failures == 0 {
            candidates[candidate.address]?.nextMs = nowMs
        }
    }

    /// Dials an address that was asked for; false if it is in use, or failed so lately that it is no use.
    mutating func ask(_ address: SocketAddress, nowMs: UInt64) -> Bool {
        guard let candidate = candidates[address], candidate.state == .waiting,
            candidate.failures == 0 || candidate.nextMs <= nowMs, diallingCount < Dialer.dialsMax
        else { return false }
        begin(address, nowMs: nowMs)
        return true
    }

    /// Dials some addresses, of which `random` chooses: what has never failed comes first, and nobody who is connected.
    mutating func askAny(
        _ count: Int, nowMs: UInt64, connected: Set<Bytes32>, random: () -> UInt64
    ) -> [SocketAddress] {
        let ready = candidates.values.filter { candidate in
            candidate.state == .waiting && (candidate.failures == 0 || candidate.nextMs <= nowMs)
                && candidate.node.map { !connected.contains($0) } ?? true
        }
        let drawn = ready.map { (candidate: $0, lot: random()) }
        let chosen = drawn.sorted { a, b in
            a.candidate.failures != b.candidate.failures ? a.candidate.failures < b.candidate.failures : a.lot < b.lot
        }
        var result: [SocketAddress] = []
        for (candidate, _) in chosen where result.count < count && diallingCount < Dialer.dialsMax {
            begin(candidate.address, nowMs: nowMs)
            result.append(candidate.address)
        }
        return result
    }

    /// A link to a node was let go by one of the two: nothing is wrong with its addresses.
    mutating func demoted(_ node: Bytes32, nowMs: UInt64) {
        for candidate in candidates.values where candidate.node == node && candidate.state != .dialling {
            candidates[candidate.address]?.state = .waiting
            if candidate.isAnother { candidates[candidate.address]?.node = nil }
            candidates[candidate.address]?.failures = 0
            candidates[candidate.address]?.nextMs = nowMs &+ Dialer.demotedMs
        }
    }

    /// A dial failed, or the link ended before a handshake.
    ///
    /// - Parameter jitter: 0…99, spreads retries over ±20 %.
    mutating func failed(_ address: SocketAddress, reason: String, nowMs: UInt64, jitter: UInt64) {
        guard var candidate = candidates[address] else { return }
        candidate.state = .waiting
        candidate.lastFailure = reason
        if let eagerMs = candidate.eagerSinceMs, nowMs &- eagerMs < Dialer.eagerMs {
            candidate.failures = max(candidate.failures, 1)
            candidate.nextMs = nowMs &+ Dialer.spread(Dialer.backOffMs, jitter)
            candidates[address] = candidate
            return
        }
        candidate.failures &+= 1
        if candidate.source < .discovered, candidate.failures > Dialer.failuresMax {
            candidates[address] = nil
            return
        }
        candidate.nextMs = nowMs &+ Dialer.spread(Dialer.backOff(candidate.failures, candidate.source), jitter)
        candidates[address] = candidate
    }

    private static func spread(_ delayMs: UInt64, _ jitter: UInt64) -> UInt64 { delayMs * (80 + jitter % 41) / 100 }

    /// A handshake told who is at an address.
    mutating func connected(_ address: SocketAddress, node: Bytes32, nonce: UInt64? = nil) {
        candidates[address]?.state = .connected
        candidates[address]?.isAnother = false
        candidates[address]?.node = node
        candidates[address]?.nonce = nonce
        candidates[address]?.lastFailure = nil
        if let instance = candidates[address]?.instance {
            for other in candidates.values where other.instance == instance { candidates[other.address]?.node = node }
        }
        for other in candidates.values where other.node == node {
            candidates[other.address]?.eagerSinceMs = nil
            // The one that led there last comes first the next time.
            if other.preference == 0 { candidates[other.address]?.preference = 1 }
        }
        candidates[address]?.preference = 0
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
        if candidates[address]?.isAnother == true { candidates[address]?.node = nil }
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
            if candidate.isAnother { candidates[candidate.address]?.node = nil }
            candidates[candidate.address]?.failures = failures
            candidates[candidate.address]?.eagerSinceMs = isSteady ? nowMs : nil
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
            // Of the others there may be hundreds, of all the networks that this machine was in.
            if candidate.source >= .discovered || candidate.nonce != nil {
                candidates[candidate.address]?.eagerSinceMs = nowMs
            }
        }
        own = []
    }

    /// The instances of which an address failed: their records may be old.
    mutating func lost(instance: String) {
        for candidate in candidates.values where candidate.instance == instance && candidate.source == .discovered {
            candidates[candidate.address]?.source = .remembered
        }
    }
}
