internal import Seal
internal import Tree
internal import Wire

extension Replicator {
    /// A differing bucket with this many entries or fewer is answered with their references at once.
    static let inlineMax = 64
    /// Bytes of answers given to one peer before waiting until they have left.
    static let servedBytesMax = 256 * 1024
    /// References a peer may ask for before it has got them; an honest one keeps to ``Reconciler/wantsMax``.
    static let owedMax = 8192

    mutating func receivedReconciliation(
        _ link: LinkID, _ message: PeerMessage, _ replica: any ReplicaReader, _ output: inout Output
    ) throws {
        let nowMs = output.nowMs
        switch message {
        case .compare(let bucket, let children):
            output.send(link, .differ(bucket, try differences(bucket, children, replica)))
            return
        case .list(let bucket, let after):
            let found = try replica.references(in: bucket, after: after, limit: Reconciler.listMax)
            output.send(link, .ids(bucket, found, more: found.count == Reconciler.listMax))
            return
        case .want(let references):
            guard let owed = links[link]?.owed.count, owed + references.count <= Replicator.owedMax else {
                output.effects.append(.close(link, "asks for too many entries at once"))
                return
            }
            links[link]?.owed += references
            try serve(link, replica, &output)
            return
        case .differ(let bucket, let children):
            let isHonest = try reconcile(link) { machine, replicator in
                try machine.differ(bucket, children, nowMs: nowMs) { try replicator.lacking($0, link, replica) }
            }
            guard isHonest else { return refuseAnswer(link, &output) }
        case .ids(let bucket, let references, let more):
            let isHonest = try reconcile(link) { machine, replicator in
                try machine.ids(bucket, references, more: more, nowMs: nowMs) {
                    try replicator.lacking($0, link, replica)
                }
            }
            guard isHonest else { return refuseAnswer(link, &output) }
        case .have(let references):
            guard let state = links[link], state.reconciler.takesOffers, nowMs >= state.offersAtMs,
                state.refusals < Replicator.refusalsMax
            else { return }
            let lacking = try lacking(references, link, replica)
            links[link]?.reconciler.offer(lacking, nowMs: nowMs)
        case .gone(let references):
            settle(link, references, delivered: false, nowMs)
        case .bundles(let bundles):
            settle(link, bundles.flatMap { $0.leaves.map(\.entry.reference) }, delivered: true, nowMs)
            output.effects.append(.commit(link, bundles))
        default: return
        }
        try pump(link, replica, &output)
    }

    /// Lets the link's puller take an answer; false if no honest peer gives it.
    private mutating func reconcile(
        _ link: LinkID, _ body: (inout Reconciler, Replicator) throws -> Bool
    ) rethrows -> Bool {
        guard var machine = links[link]?.reconciler else { return true }
        let isHonest = try body(&machine, self)
        links[link]?.reconciler = machine
        return isHonest
    }

    private func refuseAnswer(_ link: LinkID, _ output: inout Output) {
        output.effects.append(.close(link, "answers a comparison with nonsense"))
    }

    private mutating func settle(_ link: LinkID, _ references: [EntryReference], delivered: Bool, _ nowMs: UInt64) {
        links[link]?.reconciler.settle(references, delivered: delivered, nowMs: nowMs)
        for reference in references where inFlight[reference]?.link == link { inFlight[reference] = nil }
    }

    /// Of these, the references that are missing here and worth asking this peer for.
    private func lacking(
        _ references: [EntryReference], _ link: LinkID, _ replica: any ReplicaReader
    ) throws -> [EntryReference] {
        let refused = links[link]?.refused
        return try references.filter { reference in
            try !remembered.contains(reference) && refused?.contains(reference) != true && !replica.contains(reference)
        }
    }

    private func childDigests(_ bucket: TimeBucket, _ replica: any ReplicaReader) throws -> [ChildDigest] {
        try replica.children(of: bucket).map { ChildDigest(index: $0.bucket.index, digest: DigestPrefix($0.digest)) }
    }

    /// The children of a bucket that differ from the asker's and are not empty here; references go with the few of them
    /// that are small, youngest first, as far as one message may carry.
    private func differences(
        _ bucket: TimeBucket, _ children: [ChildDigest], _ replica: any ReplicaReader
    ) throws -> [ChildDifference] {
        var theirs: [UInt64: DigestPrefix] = [:]
        for child in children { theirs[child.index] = child.digest }
        var budget = PeerMessage.referencesMax
        var found: [ChildDifference] = []
        for (child, digest) in try replica.children(of: bucket).reversed()
        where theirs[child.index] != DigestPrefix(digest) {
            var references: [EntryReference]?
            if digest.count <= Replicator.inlineMax, digest.count <= budget {
                let all = try replica.references(in: child, after: nil, limit: Replicator.inlineMax)
                budget -= all.count
                references = all
            }
            found.append(ChildDifference(index: child.index, count: digest.count, references: references))
        }
        return found.reversed()
    }

    mutating func pump(_ link: LinkID, _ replica: any ReplicaReader, _ output: inout Output) throws {
        guard var reconciler = links[link]?.reconciler else { return }
        var flight = inFlight
        inFlight = [:]
        let messages = try reconciler.pump(
            nowMs: output.nowMs, children: { try childDigests($0, replica) },
            claim: { batch in
                try lacking(batch, link, replica).filter { reference in
                    if let claim = flight[reference], output.nowMs &- claim.sinceMs < Replicator.claimMs {
                        return false
                    }
                    flight[reference] = (link, output.nowMs)
                    return true
                }
            })
        inFlight = flight
        for message in messages { output.send(link, message) }
        let received = reconciler.received
        let ended = reconciler.finish()
        links[link]?.reconciler = reconciler
        if ended { try compared(link, received, replica, &output) }
    }

    /// A comparison has ended: what was missing here has been asked for and answered.
    private mutating func compared(
        _ link: LinkID, _ received: Int, _ replica: any ReplicaReader, _ output: inout Output
    ) throws {
        let nowMs = output.nowMs
        if received > 0 {
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
        output.send(link, .ping(try vitals(output.moment, replica)))
        links[link]?.pingSentMs = nowMs
        links[link]?.lastPingMs = nowMs
    }

    /// Answers what a peer asked for, as much as its link takes for now.
    mutating func serve(_ link: LinkID, _ replica: any ReplicaReader, _ output: inout Output) throws {
        guard let state = links[link], !state.isDraining, !state.owed.isEmpty else { return }
        let batch = Array(state.owed.prefix(Reconciler.wantBatch))
        let (bundles, gone, taken) = try replica.bundles(for: batch, bytesMax: Replicator.servedBytesMax)
        links[link]?.owed.removeFirst(min(taken, batch.count))
        if !gone.isEmpty { output.send(link, .gone(gone)) }
        for group in Replicator.packed(bundles) { output.send(link, .bundles(group)) }
        links[link]?.isDraining = true
        output.effects.append(.awaitDrain(link))
    }

    /// Groups of bundles that fit into messages.
    static func packed(_ bundles: [Bundle]) -> [[Bundle]] {
        var groups: [[Bundle]] = []
        var size = 0
        for bundle in bundles {
            let added = bundle.approximateWireSize
            let isFull = size + added > PeerMessage.bundleBytesMax || groups.last?.count == PeerMessage.bundlesMax
            if groups.isEmpty || isFull {
                groups.append([])
                size = 0
            }
            groups[groups.count - 1].append(bundle)
            size += added
        }
        return groups
    }

    // MARK: Live dissemination

    /// The author pushes to everybody he is connected to.
    mutating func localCommit(_ bundles: [Bundle], _ output: inout Output) {
        observe(bundles.flatMap { $0.leaves.map(\.entry) }, &output)
        guard !links.isEmpty else { return }
        for group in Replicator.packed(bundles.flatMap(Replicator.transferable)) {
            for link in orderedLinks { output.send(link, .bundles(group)) }
        }
    }

    /// A bundle as it is unless no message can carry it; then in parts that each prove what they carry.
    static func transferable(_ bundle: Bundle) -> [Bundle] {
        guard bundle.approximateWireSize > PeerMessage.pushBytesMax, bundle.leaves.count > 1 else { return [bundle] }
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
            guard keys.count == 4, keys[0].text == "channels", keys[2].text == "messages", !entry.value.isNull,
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
        for reference in result.dead + denied { remembered.insert(reference) }
        for reference in unsigned { links[link]?.refused.insert(reference) }
        links[link]?.refusals += denied.count + unsigned.count
        observe(result.applied, &output)
        for entry in result.applied + result.held {
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
            for link in orderedLinks { output.send(link, .ping(try vitals(output.moment, replica))) }
            return
        }
        for link in orderedLinks {
            guard let state = links[link] else { continue }
            let wanted = due.filter { offer in
                offer.source != link && offer.author != state.peer && !state.connected.contains(offer.author)
            }
            if !wanted.isEmpty { output.send(link, .have(wanted.map(\.reference))) }
        }
    }
}
