internal import Seal
internal import Tree
internal import Wire

extension Replicator.Event {
    /// Whether it is soft state and its tree, most of what a node in a large network hears. A link that it came by has
    /// been heard, so its deadlines only move away.
    var isSoft: Bool {
        guard case .received(_, let message) = self else { return false }
        switch message {
        case .soft, .haveSoft, .graft, .prune: return true
        default: return false
        }
    }
}

/// The overlay and what travels over it; see ``Overlay`` and ``Dissemination``.
extension Replicator {
    /// A pinged neighbour that has been silent for this long is taken for gone: its place is filled while it has time
    /// left to answer.
    static let suspectMs: UInt64 = 7000
    /// Up to so many nodes presence is refreshed as fast as it is given; above that ever more slowly, so that what a
    /// node hears stays the same.
    static let presenceNodes = 500
    /// But at most this many times: a person who vanishes is taken for online for 5 minutes at most.
    static let presenceStretchMax: UInt64 = 10

    /// How many nodes there seem to be: authors of live soft state, and peers that have none.
    var networkSize: Int {
        var others: Set<Bytes32> = []
        for link in links.values where !soft.isLive(link.peer) { others.insert(link.peer) }
        return soft.liveAuthorCount + others.count + (soft.isLive(key.publicKey) ? 0 : 1)
    }

    /// A record's life at the present size of the network.
    func stretched(_ ttlMs: UInt64, _ path: Path) -> UInt64 {
        let size = networkSize
        guard size > Replicator.presenceNodes, path.keys.first?.text == "presence" else { return ttlMs }
        let most = ttlMs &* Replicator.presenceStretchMax
        return min(ttlMs &* UInt64(size) / UInt64(Replicator.presenceNodes), most, SoftRecord.ttlMsMax)
    }

    // MARK: Views

    mutating func overlayUp(_ link: LinkID, _ peer: Bytes32, _ output: inout Output) {
        let priority = overlay.up(link, peer, nowMs: output.nowMs)
        output.send(link, .neighbour(priority, soft: soft.liveAuthorCount))
    }

    mutating func receivedOverlay(_ link: LinkID, _ message: PeerMessage, _ output: inout Output) {
        switch message {
        case .graft(let names):
            overlay.brought(link)
            sendSoft(names.isEmpty ? [] : soft.records(named: Set(names)), link, &output)
        case .prune: overlay.neighbours[link]?.isEager = false
        case .haveSoft(let names): dissemination.softAnnounced(names, by: link, nowMs: output.nowMs)
        case .neighbour(_, let theirs):
            // Whoever knows nearly everybody hears the rest with the next refresh.
            if !overlay.hasEverybody, theirs < soft.liveAuthorCount / 2, overlay.neighbours[link]?.isFilled == false {
                overlay.neighbours[link]?.isFilled = true
                sendSoft(soft.live, link, &output)
            }
            perform(overlay.received(link, message, nowMs: output.nowMs), &output)
        default: perform(overlay.received(link, message, nowMs: output.nowMs), &output)
        }
    }

    private func sendSoft(_ records: [SoftRecord], _ link: LinkID, _ output: inout Output) {
        for chunk in stride(from: 0, to: records.count, by: 64) {
            output.send(link, .soft(Array(records[chunk..<min(chunk + 64, records.count)])))
        }
    }

    private func perform(_ actions: [Overlay.Action], _ output: inout Output) {
        for action in actions {
            switch action {
            case .send(let link, let message): output.send(link, message)
            case .sendNeighbour(let link, let priority):
                output.send(link, .neighbour(priority, soft: soft.liveAuthorCount))
            case .connect(let address): output.effects.append(.connect(address))
            case .connectAny(let count): output.effects.append(.connectAny(count))
            case .demote(let link): output.effects.append(.demote(link))
            case .dialEverybody(let isOn): output.effects.append(.dialEverybody(isOn))
            case .learned(let addresses): output.effects.append(.learned(addresses))
            }
        }
    }

    /// Links that messages are pushed to.
    var eagerLinks: [LinkID] { overlay.orderedLinks.filter { overlay.neighbours[$0]?.isEager == true } }

    var overlayDeadlineMs: UInt64 { min(overlayDueMs ?? .max, dissemination.nextDeadlineMs ?? .max) }

    mutating func overlayTimers(_ replica: any ReplicaReader, _ output: inout Output) throws {
        let nowMs = output.nowMs
        let seen = OverlayView(authors: soft.liveAuthorCount, links: links.count, changes: overlay.changes)
        if seen != overlaySeen || nowMs >= overlayDueMs ?? .max {
            for link in overlay.orderedLinks {
                guard let state = links[link] else { continue }
                overlay.setSuspect(link, state.pingSentMs != nil && nowMs >= state.heardMs &+ Replicator.suspectMs)
                overlay.neighbours[link]?.links = state.connected.isEmpty ? nil : state.connected.count
            }
            perform(overlay.tick(size: networkSize, nowMs: nowMs), &output)
            overlaySeen = OverlayView(authors: seen.authors, links: seen.links, changes: overlay.changes)
        }
        overlayDueMs = overlay.nextDeadlineMs
        if !overlay.hasEverybody {
            for (link, neighbour) in overlay.neighbours where !neighbour.isSuspect {
                guard let heardMs = links[link]?.unansweredSinceMs else { continue }
                overlayDueMs = min(overlayDueMs ?? .max, heardMs &+ Replicator.suspectMs)
            }
        }
        guard nowMs >= dissemination.nextDeadlineMs ?? .max else { return }
        try graftDue(replica, &output)
        try announceDue(replica, &output)
        softDue(&output)
    }

    /// What the overlay depends on, as it was looked at last.
    struct OverlayView: Sendable, Equatable {
        var authors = 0
        var links = 0
        var changes = 0
    }

    // MARK: Entries

    /// Whether bundles are worth looking at: what is here already and comes again shows that a link is not needed in
    /// the tree.
    mutating func takes(
        _ bundles: [Bundle], _ link: LinkID, _ replica: any ReplicaReader, _ output: inout Output
    ) throws -> Bool {
        guard !overlay.hasEverybody, let reconciler = links[link]?.reconciler else { return true }
        let references = bundles.flatMap { $0.leaves.map(\.entry.reference) }
        let asked = reconciler.outstanding.isEmpty ? [] : reconciler.outstanding.intersection(references)
        guard dissemination.arrived(references, asked: asked, isSifting: reconciler.isSifting) else { return true }
        guard try !references.allSatisfy({ try isSettled($0, replica) }) else {
            broughtInVain(link, &output)
            return false
        }
        overlay.brought(link)
        return true
    }

    private func isSettled(_ reference: EntryReference, _ replica: any ReplicaReader) throws -> Bool {
        try remembered.contains(reference) || replica.contains(reference)
    }

    private mutating func broughtInVain(_ link: LinkID, _ output: inout Output) {
        if overlay.broughtInVain(link) { output.send(link, .prune) }
    }

    /// Passes on what has just been stored.
    mutating func relay(
        _ link: LinkID, _ admitted: [Bundle], _ result: CommitResult, refused: [EntryReference],
        _ output: inout Output
    ) {
        guard !overlay.hasEverybody else { return }
        var pushed: Set<EntryReference> = []
        for reference in admitted.flatMap({ $0.leaves.map(\.entry.reference) })
        where dissemination.settled(reference) { pushed.insert(reference) }
        for reference in refused + result.dead { _ = dissemination.settled(reference) }
        let fresh = (result.applied + result.held).map(\.reference)
        guard !fresh.isEmpty else {
            // Two copies that were checked at the same time.
            if !admitted.isEmpty, refused.isEmpty, result.dead.isEmpty, result.known > 0, !pushed.isEmpty {
                broughtInVain(link, &output)
            }
            return
        }
        let onward = admitted.filter { $0.leaves.contains { pushed.contains($0.entry.reference) } }
        // Who does not take it as fast as it comes hears of it, and asks.
        let targets = eagerLinks.filter { $0 != link && links[$0]?.backlog.isFull == false }
        if !onward.isEmpty {
            let groups = Replicator.packed(onward.flatMap(Replicator.transferable))
            for target in targets { push(groups, to: target, &output) }
        }
        for reference in fresh {
            let holders = pushed.contains(reference) ? Set(targets + [link]) : [link]
            dissemination.announce(.init(reference: reference, holders: holders), nowMs: output.nowMs)
        }
    }

    /// What this node has written itself.
    mutating func pushOwn(_ bundles: [Bundle], _ output: inout Output) {
        let targets = eagerLinks
        pushOwn(bundles, to: targets, &output)
        for reference in bundles.flatMap({ $0.leaves.map(\.entry.reference) }) {
            dissemination.announce(.init(reference: reference, holders: Set(targets)), nowMs: output.nowMs)
        }
    }

    private mutating func graftDue(_ replica: any ReplicaReader, _ output: inout Output) throws {
        let nowMs = output.nowMs
        let (links, accounts, flight, remembered) = (links, accounts, inFlight, remembered)
        let asks = try dissemination.grafts(
            nowMs: nowMs,
            isUp: { link in
                links[link].map { accounts.trusts($0.peer) && nowMs >= $0.offersAtMs } ?? false
            },
            waitMs: { (links[$0]?.rttMs ?? 0) * 2 },
            claimedUntilMs: { reference in flight[reference].map { $0.sinceMs &+ Replicator.claimMs } ?? 0 },
            isHere: { try remembered.contains($0) || replica.contains($0) })
        for (link, references) in asks {
            for reference in references { inFlight[reference] = nil }
            overlay.brought(link)
            output.send(link, .graft(soft: []))
            self.links[link]?.reconciler.offer(references, nowMs: nowMs)
            try pump(link, replica, &output)
        }
    }

    private mutating func announceDue(_ replica: any ReplicaReader, _ output: inout Output) throws {
        let news = dissemination.takeNews(nowMs: output.nowMs)
        guard !news.isEmpty else { return }
        if news.count > Replicator.offersMax {
            for link in orderedLinks { output.send(link, .ping(try vitals(link, output.moment, replica))) }
            return
        }
        for link in overlay.orderedLinks {
            let wanted = news.filter { !$0.holders.contains(link) }.map(\.reference)
            if !wanted.isEmpty { output.send(link, .have(wanted)) }
        }
    }

    // MARK: Soft state

    /// Passes on records that are news here, and notes what came in vain.
    mutating func relaySoft(_ fresh: [SoftRecord], of all: [SoftRecord], _ link: LinkID, _ output: inout Output) {
        var repeated = 0
        var isRootRepeated = false
        for record in all where dissemination.knowsSoft(record.name) {
            repeated += 1
            dissemination.softHas(record.name, link)
            isRootRepeated = isRootRepeated || isOfRoot(record)
        }
        guard !overlay.hasEverybody, let neighbour = overlay.neighbours[link] else {
            for record in fresh { dissemination.softArrived(record.name, holders: nil, nowMs: output.nowMs) }
            return
        }
        if fresh.isEmpty, repeated == all.count, output.nowMs >= neighbour.upMs &+ Dissemination.settleMs {
            if isRootRepeated {
                overlay.neighbours[link]?.isEager = false
                output.send(link, .prune)
            } else {
                broughtInVain(link, &output)
            }
        }
        guard !fresh.isEmpty else { return }
        overlay.brought(link)
        let ofRoot = fresh.filter(isOfRoot)
        if !ofRoot.isEmpty, all.count == 1 {
            output.send(link, .graft(soft: []))
            for other in overlay.orderedLinks where other != link { output.send(other, .soft(ofRoot)) }
            return dissemination.softArrived(ofRoot[0].name, holders: nil, nowMs: output.nowMs)
        }
        let targets = eagerLinks.filter { $0 != link }
        for target in targets {
            let wanted = fresh.filter { $0.author != links[target]?.peer }
            if !wanted.isEmpty { output.send(target, .soft(wanted)) }
        }
        let holders = Set(targets + [link])
        for record in fresh { dissemination.softArrived(record.name, holders: holders, nowMs: output.nowMs) }
    }

    /// The presence of one node, the least of those that are there, goes over all links and shapes the tree: whoever
    /// hears it keeps the link by which it came first, and prunes those by which it comes again. So the tree is that of
    /// the shortest ways from there, and made anew with each refresh.
    private func isOfRoot(_ record: SoftRecord) -> Bool {
        record.author == soft.firstLiveAuthor && record.path.keys.first?.text == "presence"
    }

    /// Sends a record of this node.
    mutating func pushSoft(_ record: SoftRecord, _ output: inout Output) {
        let targets = overlay.hasEverybody || isOfRoot(record) ? orderedLinks : eagerLinks
        for link in targets { output.send(link, .soft([record])) }
        dissemination.softArrived(
            record.name, holders: overlay.hasEverybody ? nil : Set(targets), nowMs: output.nowMs)
    }

    private mutating func softDue(_ output: inout Output) {
        let news = dissemination.takeSoftNews(nowMs: output.nowMs)
        if !news.isEmpty {
            for link in overlay.orderedLinks {
                let names = news.filter { !$0.holders.contains(link) }.map(\.name)
                if !names.isEmpty { output.send(link, .haveSoft(Array(names.prefix(PeerMessage.softNamesMax)))) }
            }
        }
        let links = links
        for (link, names) in dissemination.softGrafts(nowMs: output.nowMs, isUp: { links[$0] != nil }) {
            overlay.brought(link)
            output.send(link, .graft(soft: Array(names.prefix(PeerMessage.softNamesMax))))
        }
    }
}
