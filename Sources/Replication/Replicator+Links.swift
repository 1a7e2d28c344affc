internal import Seal
internal import Tree
internal import Wire

extension Replicator {
    /// Roots that differ are looked at again after this long at the earliest.
    static let recheckDelayMs: UInt64 = 200

    mutating func up(
        _ link: LinkID, _ peer: Bytes32, _ instance: UInt64, _ replica: any ReplicaReader, _ output: inout Output
    ) throws {
        links[link] = LinkState(peer: peer, instance: instance, nowMs: output.nowMs)
        output.send(link, .hello(try vitals(output.moment, replica), peers: connectedPeers))
        schedulePeers(output.nowMs)
        let records = soft.live.filter { $0.author != peer }
        for chunk in stride(from: 0, to: records.count, by: 64) {
            output.send(link, .soft(Array(records[chunk..<min(chunk + 64, records.count)])))
        }
    }

    mutating func down(_ link: LinkID, _ output: inout Output) {
        guard links.removeValue(forKey: link) != nil else { return }
        inFlight = inFlight.filter { $0.value.link != link }
        refreshClock(output.moment)
        schedulePeers(output.nowMs)
        // What was asked for there may be had elsewhere: compare soon.
        for other in orderedLinks {
            links[other]?.compareAtMs = 0
            links[other]?.recheckMs = output.nowMs &+ Replicator.recheckDelayMs
        }
    }

    private mutating func schedulePeers(_ nowMs: UInt64) {
        peersDueMs = min(peersDueMs ?? .max, nowMs &+ Replicator.peersDelayMs)
    }

    var connectedPeers: [Bytes32] { Array(Set(links.values.map(\.peer)).sorted().prefix(PeerMessage.peersMax)) }

    mutating func received(
        _ link: LinkID, _ message: PeerMessage, _ replica: any ReplicaReader, _ output: inout Output
    ) throws {
        guard links[link] != nil else { return }
        links[link]?.heardMs = output.nowMs
        switch message {
        case .hello(let vitals, let peers):
            links[link]?.connected = Set(peers)
            try take(vitals, link, replica, &output)
        case .ping(let vitals):
            output.send(link, .pong(try self.vitals(output.moment, replica)))
            try take(vitals, link, replica, &output)
        case .pong(let vitals):
            if let sent = links[link]?.pingSentMs { links[link]?.rttMs = output.nowMs &- sent }
            links[link]?.pingSentMs = nil
            try take(vitals, link, replica, &output)
        case .peers(let connected, let addresses):
            links[link]?.connected = Set(connected)
            links[link]?.told = addresses
        case .soft(let records): try receivedSoft(link, records, &output)
        case .verify(let nonce): output.effects.append(.answerVerify(link, nonce: nonce))
        case .verified(let nonce, let answer, let count, let sum):
            output.effects.append(.verified(link, nonce: nonce, answer: answer, count: count, sum: sum))
        case .notice(let text): output.effects.append(.notice(link, text))
        case .goodbye(let reason): output.effects.append(.close(link, reason))
        case .compare, .differ, .list, .ids, .want, .bundles, .gone, .have:
            try receivedReconciliation(link, message, replica, &output)
        }
    }

    private mutating func take(
        _ vitals: Vitals, _ link: LinkID, _ replica: any ReplicaReader, _ output: inout Output
    ) throws {
        links[link]?.vitals = (vitals, output.nowMs)
        refreshClock(output.moment)
        try compareIfDifferent(link, replica, &output)
    }

    func compareIsDue(_ state: LinkState, _ replica: any ReplicaReader, _ nowMs: UInt64) throws -> Bool {
        guard let vitals = state.vitals?.received, !state.reconciler.isActive, state.refusals < Replicator.refusalsMax,
            nowMs >= state.compareAtMs
        else { return false }
        return vitals.root != DigestPrefix(try replica.digest(of: .root))
    }

    private mutating func compareIfDifferent(
        _ link: LinkID, _ replica: any ReplicaReader, _ output: inout Output
    ) throws {
        guard let state = links[link] else { return }
        if try compareIsDue(state, replica, output.nowMs) {
            links[link]?.reconciler.start(nowMs: output.nowMs)
            try pump(link, replica, &output)
        } else if !state.reconciler.isActive, let root = state.vitals?.received.root {
            if root == DigestPrefix(try replica.digest(of: .root)) {
                links[link]?.compared = (0, 0)
                links[link]?.compareDelayMs = LinkState.compareDelayMs
                links[link]?.recheckMs = nil
            } else {
                links[link]?.recheckMs = max(state.compareAtMs, output.nowMs &+ Replicator.recheckDelayMs)
            }
        }
    }

    /// Everything that is due by the clock.
    mutating func timers(_ replica: any ReplicaReader, _ output: inout Output) throws {
        let nowMs = output.nowMs
        let over = soft.expire(nowMs: nowMs)
        if !over.isEmpty {
            output.effects.append(.softChanged(over.map { SoftState.Place(author: $0.author, path: $0.path) }))
        }
        refreshLocalSoft(&output)
        for link in orderedLinks {
            guard let state = links[link] else { continue }
            if nowMs >= state.heardMs &+ LinkState.deadMs {
                output.effects.append(.close(link, "no answer for \(LinkState.deadMs / 1000) s"))
                continue
            }
            let isSilent = state.pingSentMs == nil && nowMs >= state.heardMs &+ LinkState.silenceMs
            let isRecheck = state.recheckMs.map { nowMs >= $0 } ?? false
            if isSilent || isRecheck || nowMs >= state.lastPingMs &+ LinkState.pingMs {
                links[link]?.recheckMs = nil
                links[link]?.pingSentMs = nowMs
                links[link]?.lastPingMs = nowMs
                output.send(link, .ping(try vitals(output.moment, replica)))
            }
            if links[link]?.reconciler.abandonIfStalled(nowMs: nowMs) == true {
                inFlight = inFlight.filter { $0.value.link != link }
                backOff(link, nowMs)
                if let compareAtMs = links[link]?.compareAtMs { links[link]?.offersAtMs = compareAtMs }
            }
            if let told = state.told, nowMs >= state.learnAtMs {
                links[link]?.told = nil
                links[link]?.learnAtMs = nowMs &+ Replicator.learnMs
                output.effects.append(.learned(told))
            }
        }
        if let due = offersDueMs, nowMs >= due { try sendOffers(replica, &output) }
        if let due = peersDueMs, nowMs >= due {
            peersDueMs = nil
            let connected = connectedPeers
            for link in orderedLinks {
                let others = addresses.filter { $0.node != links[link]?.peer }
                output.send(link, .peers(connected: connected, addresses: Array(others.prefix(64))))
            }
        }
    }

    /// Comparing did not make the difference smaller: the next try waits twice as long.
    mutating func backOff(_ link: LinkID, _ nowMs: UInt64) {
        guard let delay = links[link]?.compareDelayMs else { return }
        links[link]?.compareAtMs = nowMs &+ delay
        links[link]?.compareDelayMs = min(delay * 2, LinkState.compareDelayMsMax)
    }

    mutating func shutdown(_ output: inout Output) {
        for path in localSoft.keys.sorted(by: { PathKey($0) < PathKey($1) }) {
            setSoft(path, nil, 0, false, &output)
        }
        for link in orderedLinks { output.send(link, .goodbye("the program ends")) }
    }
}
