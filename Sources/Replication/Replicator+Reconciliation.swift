internal import Seal
internal import Tree
internal import Wire

extension Replicator {
    mutating func receivedReconciliation(
        _ link: LinkID, _ message: PeerMessage, _ replica: any ReplicaReader, _ output: inout Output
    ) throws {
        guard !putOff(message, link) else { return }
        let nowMs = output.nowMs
        switch message {
        case .compare(let bucket, let children):
            links[link]?.askedMs = nowMs
            // Who has asked for far too much hears of no difference: a later comparison finds it.
            let isTaken = takesScan(link, try readings(of: bucket, replica), nowMs)
            output.send(link, .differ(bucket, isTaken ? try differences(bucket, children, replica) : []))
            return
        case .want, .sift, .tail:
            try owe(link, message, replica, &output)
            return
        case .differ(let bucket, let summaries):
            let isHonest = try links[link]?.reconciler.differ(bucket, summaries, nowMs: nowMs) {
                try ChildDigest.children(of: $0, replica)
            }
            guard isHonest != false else { return refuseAnswer(link, &output) }
        case .sifted(let through, let reached):
            let isHonest = links[link]?.reconciler.sifted(through: through, reached: reached, nowMs: nowMs)
            guard isHonest != false else { return refuseAnswer(link, &output) }
        case .have(let references):
            guard let state = links[link], state.reconciler.takesOffers, nowMs >= state.offersAtMs, trusts(link)
            else { return }
            let lacking = try lacking(references, link, replica)
            guard overlay.hasEverybody else { return dissemination.announced(lacking, by: link, nowMs: nowMs) }
            links[link]?.reconciler.offer(lacking, nowMs: nowMs)
        case .gone(let references):
            settle(link, references, nowMs)
            suspectGap(nowMs)
        case .bundles(let pushed):
            let bundles = taken(pushed, link, nowMs)
            guard try !bundles.isEmpty && takes(bundles, link, replica, &output) else { return }
            settle(link, bundles.flatMap { $0.leaves.map(\.entry.reference) }, nowMs)
            links[link]?.reconciler.arrive(bundles, nowMs: nowMs)
            output.effects.append(.commit(link, bundles))
        default: return
        }
        try pump(link, replica, &output)
    }

    private func refuseAnswer(_ link: LinkID, _ output: inout Output) {
        output.effects.append(.close(link, "answers a comparison with nonsense"))
    }

    private mutating func settle(_ link: LinkID, _ references: [EntryReference], _ nowMs: UInt64) {
        links[link]?.reconciler.settle(references, nowMs: nowMs)
        for reference in references where inFlight[reference]?.link == link { inFlight[reference] = nil }
    }

    /// Of these, the references that are missing here and worth asking this peer for.
    private func lacking(
        _ references: [EntryReference], _ link: LinkID, _ replica: any ReplicaReader
    ) throws -> [EntryReference] {
        let refused = refused(by: link)
        return try references.filter { reference in
            try !remembered.contains(reference) && refused?.contains(reference) != true && !replica.contains(reference)
        }
    }

    mutating func pump(_ link: LinkID, _ replica: any ReplicaReader, _ output: inout Output) throws {
        guard var reconciler = links[link]?.reconciler else { return }
        // Not in two places at once, or every change would copy what may be thousands of tasks.
        links[link]?.reconciler = Reconciler()
        var flight = inFlight
        inFlight = [:]
        defer { inFlight = flight }
        let messages: [PeerMessage]
        do {
            messages = try reconciler.pump(nowMs: output.nowMs, pull(link, replica, output.nowMs)) { batch in
                try lacking(batch, link, replica).filter { reference in
                    if let claim = flight[reference], output.nowMs &- claim.sinceMs < Replicator.claimMs {
                        return false
                    }
                    flight[reference] = (link, output.nowMs)
                    return true
                }
            }
        } catch {
            links[link]?.reconciler = reconciler
            // What was to be asked is lost, so it would be waited for.
            inFlight = flight
            noticeFailure(link, output.nowMs)
            flight = inFlight
            throw error
        }
        for message in messages { output.send(link, message) }
        let received = reconciler.received
        let ended = reconciler.finish()
        let hasLeft = reconciler.hasLeft
        links[link]?.reconciler = reconciler
        if ended { try compared(link, received, hasLeft, replica, &output) }
    }

    private func pull(_ link: LinkID, _ replica: any ReplicaReader, _ nowMs: UInt64) -> PeerPull {
        PeerPull(
            replica: replica, remembered: remembered, refused: refused(by: link),
            others: orderedLinks.filter { $0 != link }.compactMap { links[$0]?.reconciler }.filter { $0.isActive },
            nowMs: nowMs)
    }

    /// A comparison has ended: what was missing here has been asked for and answered.
    private mutating func compared(
        _ link: LinkID, _ received: Int, _ hasLeft: Bool, _ replica: any ReplicaReader, _ output: inout Output
    ) throws {
        let nowMs = output.nowMs
        // A fingerprint that two entries share hides one of them, and the next salt shows it. Not time and again: what
        // is pushed meanwhile counts as received.
        let isFollowUp = links[link]?.isFollowUp ?? false
        links[link]?.followsUp = received > 0 && !hasLeft && !isFollowUp
        links[link]?.isFollowUp = false
        if received == 0, hasLeft {
            // Nothing was wrong with this peer, but it was not asked.
            links[link]?.compareAtMs = nowMs &+ Replicator.leftMs
        } else if received > 0 {
            links[link]?.compareDelayMs = LinkState.compareDelayMs
            links[link]?.compareAtMs = nowMs &+ LinkState.compareDelayMs
        } else {
            backOff(link, nowMs)
        }
        if let theirs = links[link]?.vitals?.received.root.count {
            let ours = try replica.digest(of: .root).count
            // Both sides hold what is common; the peer lacks what we have beyond that.
            links[link]?.compared = (lacks: max(0, ours - theirs), ahead: 0)
        }
        try ping(link, replica, &output)
    }

    // MARK: Live dissemination

    /// The author pushes to everybody he is connected to.
    mutating func localCommit(_ bundles: [Bundle], _ output: inout Output) {
        observe(bundles.flatMap { $0.leaves.map(\.entry) }, &output)
        guard !links.isEmpty else { return }
        guard isOpen else {
            for link in orderedLinks { links[link]?.hasMissed = true }
            return
        }
        overlay.hasEverybody ? pushOwn(bundles, to: orderedLinks, &output) : pushOwn(bundles, &output)
    }

    /// A bundle as it is unless no message can carry it; then in parts that each prove what they carry.
    static func transferable(_ bundle: Bundle) -> [Bundle] {
        guard bundle.wireSizeMax > PeerMessage.pushBytesMax, bundle.leaves.count > 1 else { return [bundle] }
        var parts: [Bundle] = []
        var indices: [Int] = []
        var size = 0
        for leaf in bundle.leaves {
            let added = Bundle.approximateWireSize(leaf.entry)
            if size + added > PeerMessage.bundleBytesMax, !indices.isEmpty {
                if let part = bundle.keeping(indices) { parts.append(part) }
                indices = []
                size = 0
            }
            indices.append(leaf.index)
            size += added
        }
        if let part = bundle.keeping(indices) { parts.append(part) }
        return parts
    }

    /// Follows entries that became live: the clock's high-water mark, and typing that a message ends.
    mutating func observe(_ entries: [Entry], _ output: inout Output) {
        var ended: [SoftState.Place] = []
        for entry in entries {
            highWater = max(highWater, entry.hlc)
            let keys = entry.path.keys
            // Hardly ever anybody types who is heard of only because somebody catches up.
            guard keys.count == 4, soft.knows(entry.author) || entry.author == key.publicKey,
                keys[0].text == "channels", keys[2].text == "messages", !entry.value.isNull,
                let author = Key(UID.text(entry.author)), let indicator = Key("typingIndicator"),
                let place = Path([keys[0], keys[1], indicator, author])
            else { continue }
            if soft.end(author: entry.author, path: place, notAfter: entry.hlc, nowMs: output.nowMs) {
                ended.append(SoftState.Place(author: entry.author, path: place))
            }
            if entry.author == key.publicKey { localSoft[place] = nil }
        }
        if !ended.isEmpty { output.effects.append(.softChanged(ended)) }
    }

    mutating func committed(
        _ link: LinkID, _ result: CommitResult, _ denied: [EntryReference], _ unsigned: [EntryReference],
        _ replica: any ReplicaReader, _ output: inout Output
    ) throws {
        links[link]?.reconciler.store(new: result.applied.count + result.held.count, nowMs: output.nowMs)
        for reference in result.dead + denied { remembered.insert(reference) }
        noteRefusals(denied.count + unsigned.count, unsigned: unsigned, link, output.nowMs)
        // They are good elsewhere, maybe: ask there soon.
        if !unsigned.isEmpty { compareSoon(except: link, output.nowMs) }
        observe(result.applied, &output)
        for entry in overlay.hasEverybody ? result.applied + result.held : [] {
            offers.append((entry.reference, entry.author, links[link] == nil ? nil : link))
        }
        if !offers.isEmpty, offersDueMs == nil { offersDueMs = output.nowMs &+ Replicator.offerDelayMs }
        try pump(link, replica, &output)
    }

    /// Offers what arrived lately to those peers that its author is not connected to.
    mutating func sendOffers(_ replica: any ReplicaReader, _ output: inout Output) throws {
        let due = offers
        offers = []
        offersDueMs = nil
        if due.count > Replicator.offersMax {
            for link in orderedLinks { output.send(link, .ping(try vitals(link, output.moment, replica))) }
            return
        }
        for link in orderedLinks {
            guard let state = links[link] else { continue }
            let wanted = due.filter { offer in
                guard offer.source != link else { return false }
                // Whoever is connected to one of two clones need not have what the other has written.
                if clones.isCloned(offer.author) { return true }
                return offer.author != state.peer && !state.connected.contains(offer.author)
            }
            if !wanted.isEmpty { output.send(link, .have(wanted.map(\.reference))) }
        }
    }
}
