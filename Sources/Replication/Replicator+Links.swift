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
        accounts.open(peer, nowMs: output.nowMs)
        links[link]?.keyedAtMs =
            output.nowMs &+ Replicator.firstKeyedMs &+ random.next() % Replicator.firstKeyedMs
        hear()
        output.send(link, .hello(try vitals(link, output.moment, replica), peers: connectedPeers))
        schedulePeers(output.nowMs)
        try doubt(link, peer, instance, replica, &output)
        overlayUp(link, peer, &output)
        let records = overlay.hasEverybody ? soft.live.filter { $0.author != peer } : []
        for chunk in stride(from: 0, to: records.count, by: 64) {
            output.send(link, .soft(Array(records[chunk..<min(chunk + 64, records.count)])))
        }
    }

    mutating func down(_ link: LinkID, _ output: inout Output) {
        guard let ended = links.removeValue(forKey: link) else { return }
        accounts.close(ended.peer, nowMs: output.nowMs)
        clones.down(link, isOrderly: ended.saidGoodbye, nowMs: output.nowMs)
        overlay.down(link, nowMs: output.nowMs)
        inFlight = inFlight.filter { $0.value.link != link }
        refreshClock(output.moment)
        part(&output)
        schedulePeers(output.nowMs)
        // What was asked for there may be had elsewhere.
        compareSoon(except: link, output.nowMs)
    }

    mutating func compareSoon(except link: LinkID, _ nowMs: UInt64) {
        for other in orderedLinks where other != link {
            links[other]?.compareAtMs = 0
            links[other]?.recheckMs = nowMs &+ Replicator.recheckDelayMs
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
        links[link]?.probedUntilMs = nil
        overlay.setSuspect(link, false)
        switch message {
        case .hello(let vitals, let peers):
            links[link]?.connected = Set(peers)
            try take(vitals, link, replica, &output)
        case .ping(let vitals):
            output.send(link, .pong(try self.vitals(link, output.moment, replica)))
            // Who pulls says so when that has ended.
            if links[link]?.debt.isEmpty == true { links[link]?.askedMs = 0 }
            try take(vitals, link, replica, &output)
        case .pong(let vitals):
            if let sent = links[link]?.pingSentMs { links[link]?.rttMs = output.nowMs &- sent }
            links[link]?.pingSentMs = nil
            clones.answered(link)
            try take(vitals, link, replica, &output)
        case .peers(let connected, let addresses):
            links[link]?.connected = Set(connected)
            links[link]?.told = addresses
            overlay.learn(addresses)
        case .rebundle(let seal): received(link, seal, &output)
        case .soft(let records): try receivedSoft(link, records, &output)
        case .verify, .verified, .keyed, .keyedSums: try receivedKeyed(link, message, replica, &output)
        case .notice(let text): output.effects.append(.notice(link, text))
        case .goodbye(let reason):
            links[link]?.saidGoodbye = true
            output.effects.append(.close(link, reason))
        case .compare, .differ, .sift, .sifted, .tail, .want, .bundles, .gone, .have:
            try receivedReconciliation(link, message, replica, &output)
        case .neighbour, .disconnect, .forwardJoin, .shuffle, .graft, .prune, .haveSoft:
            receivedOverlay(link, message, &output)
        case .epoch, .outdated: output.effects.append(.aboutKey(link, message))
        }
    }

    private mutating func take(
        _ vitals: Vitals, _ link: LinkID, _ replica: any ReplicaReader, _ output: inout Output
    ) throws {
        links[link]?.vitals = (vitals, output.moment.elapsedMs)
        if let peer = links[link]?.peer { held.heard(vitals.root, from: peer) }
        refreshClock(output.moment)
        meet(&output)
        endPatience(link, nowMs: output.nowMs)
        try compareIfDifferent(link, replica, &output)
    }

    private mutating func compareIfDifferent(
        _ link: LinkID, _ replica: any ReplicaReader, _ output: inout Output
    ) throws {
        guard let state = links[link] else { return }
        if try compareIsDue(link, replica, output.nowMs) {
            try startComparison(link, replica, &output)
        } else if !state.reconciler.isActive, let root = state.vitals?.received.root {
            if root == DigestPrefix(try replica.digest(of: .root)) {
                links[link]?.compared = (0, 0)
                links[link]?.backlog.patientSinceMs = nil
                links[link]?.followsUp = false
                links[link]?.compareDelayMs = LinkState.compareDelayMs
                links[link]?.recheckMs = nil
            } else if root.count > 0 {
                if links[link]?.backlog.patientSinceMs == nil { try askForTails(link, replica, &output) }
                links[link]?.recheckMs = max(
                    state.compareAtMs, state.askedMs &+ Replicator.turnMs, output.nowMs &+ Replicator.recheckDelayMs)
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
        // What only now became due is done at the next tick, which then is due at once.
        for link in isDue(nowMs) ? orderedLinks : [] {
            guard let state = links[link] else { continue }
            if nowMs >= state.heardMs &+ LinkState.deadMs {
                output.effects.append(.close(link, "no answer for \(LinkState.deadMs / 1000) s"))
                continue
            }
            if let untilMs = state.probedUntilMs, nowMs >= untilMs {
                output.effects.append(.close(link, "no answer after the network changed"))
                continue
            }
            let isSilent = state.pingSentMs == nil && nowMs >= state.heardMs &+ LinkState.silenceMs
            let isRecheck = state.recheckMs.map { nowMs >= $0 } ?? false
            if isSilent || isRecheck || nowMs >= state.lastPingMs &+ LinkState.pingMs {
                try ping(link, replica, &output)
                links[link]?.recheckMs = nil
            }
            if let againMs = state.drainAgainMs, nowMs >= againMs {
                links[link]?.drainAgainMs = nil
                links[link]?.isDraining = false
                awaitDrain(link, &output)
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
        try overlayTimers(replica, &output)
        if let due = offersDueMs, nowMs >= due { try sendOffers(replica, &output) }
        if let due = peersDueMs, nowMs >= due {
            peersDueMs = nil
            let connected = connectedPeers
            for link in orderedLinks {
                let others = addresses.filter { $0.node != links[link]?.peer || clones.isCloned($0.node) }
                output.send(link, .peers(connected: connected, addresses: Array(others.prefix(64))))
                if links[link]?.owesSeals == true {
                    links[link]?.owesSeals = false
                    announceAgain(link, &output)
                }
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
