internal import Net
internal import Replication
internal import Seal
internal import Wire

/// Who makes this node verify signatures that are none, and so is not listened to for a while.
///
/// A forged signature costs its sender nothing and this node some 40 µs of a core. So each counts against the identity
/// and the address that it came from; either of them that has none left is let in again when a quarter of them is. An
/// honest peer whose disk has spoilt some entries stays below that, for what was refused of somebody is not asked of
/// him again; one with thousands of them is away for half a minute at a time.
///
/// A value without a clock.
struct Distrust {
    /// At once, and a second after it.
    struct Limits {
        var burst: UInt64
        var rate: UInt64
    }

    /// More than an honest peer has ever been seen to spoil, and a hundredth of a second of one core.
    var ofNode = Limits(burst: 256, rate: 2)
    /// Several nodes may have one address.
    var ofAddress = Limits(burst: 1024, rate: 8)
    /// Of each kind; beyond it the one that has done least is forgotten. Identities cost nothing, and on many networks
    /// addresses do not either.
    static let countMax = 256

    private struct Debt {
        /// In thousandths of a signature.
        var spent: UInt64 = 0
        var atMs: UInt64
        var isBarred = false

        /// What has been forgiven meanwhile is taken off.
        mutating func settle(_ limits: Limits, _ nowMs: UInt64) {
            let elapsedMs = min(nowMs &- min(atMs, nowMs), 1 << 32)
            spent -= min(spent, elapsedMs &* limits.rate)
            atMs = max(atMs, nowMs)
            if spent <= limits.burst &* 750 { isBarred = false }
        }

        mutating func add(_ count: Int, _ limits: Limits, _ nowMs: UInt64) {
            settle(limits, nowMs)
            // So that nobody is away for longer than it takes to forgive twice the burst.
            spent = min(spent &+ UInt64(clamping: min(count, 1 << 32)) &* 1000, limits.burst &* 2000)
            if spent >= limits.burst &* 1000 { isBarred = true }
        }
    }

    private var nodes: [Bytes32: Debt] = [:]
    private var addresses: [[UInt8]: Debt] = [:]

    /// Somebody has sent so many signatures that are none.
    mutating func add(_ count: Int, node: Bytes32, address: [UInt8], nowMs: UInt64) {
        Distrust.add(count, node, &nodes, ofNode, nowMs)
        Distrust.add(count, address, &addresses, ofAddress, nowMs)
    }

    private static func add<ID: Hashable>(
        _ count: Int, _ id: ID, _ debts: inout [ID: Debt], _ limits: Limits, _ nowMs: UInt64
    ) {
        debts[id, default: Debt(atMs: nowMs)].add(count, limits, nowMs)
        guard debts.count > countMax else { return }
        for other in debts.keys { debts[other]?.settle(limits, nowMs) }
        if let least = debts.min(by: { $0.value.spent < $1.value.spent }) { debts[least.key] = nil }
    }

    /// Whether an identity is to be left alone.
    mutating func bars(node: Bytes32, nowMs: UInt64) -> Bool {
        nodes[node]?.settle(ofNode, nowMs)
        return nodes[node]?.isBarred ?? false
    }

    /// Whether nobody new is to be let in from an address.
    mutating func bars(address: [UInt8], nowMs: UInt64) -> Bool {
        addresses[address]?.settle(ofAddress, nowMs)
        return addresses[address]?.isBarred ?? false
    }

    /// Identities and addresses that are remembered.
    var count: Int { max(nodes.count, addresses.count) }
}

/// Who has sent something, also when the link it came over is gone.
struct LinkSource {
    let node: Bytes32
    /// Of its address, without the port.
    let address: [UInt8]
}

extension Node {
    func source(of id: LinkID) -> LinkSource? {
        guard let link = links[id], let peer = link.peer else { return nil }
        return LinkSource(node: peer, address: link.socket.peerAddress?.ipBytes ?? [])
    }

    /// Counts what was verified in vain; whoever has sent too much of it is cut off.
    func noteForged(_ vainSignatures: Int, from source: LinkSource?) {
        guard vainSignatures > 0, let source else { return }
        let now = EventLoop.monotonicMs()
        distrust.add(vainSignatures, node: source.node, address: source.address, nowMs: now)
        guard distrust.bars(node: source.node, nowMs: now) || distrust.bars(address: source.address, nowMs: now) else {
            return
        }
        for id in links.keys.sorted() where links[id]?.peer == source.node && links[id]?.isUp == true {
            try? links[id]?.send(.notice(DialFailure.forger))
            closeLink(id, reason: DialFailure.forger)
        }
    }

    /// Whether a link that has just been made to somebody may be used. From an address that has sent too much that was
    /// forged only people with a name here are let in, for identities cost nothing.
    func admits(_ peer: Bytes32, _ link: PeerLink) -> Bool {
        let now = EventLoop.monotonicMs()
        if distrust.bars(node: peer, nowMs: now) { return false }
        guard let address = link.socket.peerAddress?.ipBytes, distrust.bars(address: address, nowMs: now) else {
            return true
        }
        return (try? storedName(peer)) ?? nil != nil
    }

    /// Keeps why somebody has ended a link, for `status` and doctor.
    func noteRefusal(_ link: PeerLink) {
        guard link.noticeText == DialFailure.forger, let peer = link.peer else { return }
        for (address, candidate) in dialer.candidates where candidate.node == peer {
            dialer.candidates[address]?.lastFailure = DialFailure.takenForForger
        }
    }
}
