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
        let remembered = remembered
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
            try links[link]?.reconciler.differ(bucket, children, nowMs: nowMs) {
                try Replicator.lacking($0, remembered, replica)
            }
        case .ids(let bucket, let references, let more):
            let next = try links[link]?.reconciler.ids(bucket, references, more: more, nowMs: nowMs) {
                try Replicator.lacking($0, remembered, replica)
            }
            if let next = next ?? nil { output.send(link, next) }
        case .have(let references):
            let missing = try Replicator.lacking(references, remembered, replica)
            links[link]?.reconciler.offer(missing, nowMs: nowMs)
        case .gone(let references):
            settle(link, references, nowMs)
        case .bundles(let bundles):
            settle(link, bundles.flatMap { $0.leaves.map(\.entry.reference) }, nowMs)
            output.effects.append(.commit(link, bundles))
        default: return
        }
        try pump(link, replica, &output)
    }

    private mutating func settle(_ link: LinkID, _ references: [EntryReference], _ nowMs: UInt64) {
        links[link]?.reconciler.settle(references, nowMs: nowMs)
        for reference in references where inFlight[reference] == link { inFlight[reference] = nil }
    }

    /// Of these, the references that are missing here and worth asking for.
    private static func lacking(
        _ references: [EntryReference], _ remembered: BoundedSet<EntryReference>, _ replica: any ReplicaReader
    ) throws -> [EntryReference] {
        try references.filter { try !remembered.contains($0) && !replica.contains($0) }
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
                try Replicator.lacking(batch, remembered, replica).filter { reference in
                    guard flight[reference] == nil else { return false }
                    flight[reference] = link
                    return true
                }
            })
        inFlight = flight
        for message in messages { output.send(link, message) }
        let missing = reconciler.missing
        let ended = reconciler.finish()
        links[link]?.reconciler = reconciler
        if ended { try compared(link, missing, replica, &output) }
    }

    /// A comparison has ended: what was missing here has been asked for and answered.
    private mutating func compared(
        _ link: LinkID, _ missing: Int, _ replica: any ReplicaReader, _ output: inout Output
    ) throws {
        let nowMs = output.nowMs
        if missing > 0 {
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
        links[link]?.owed.removeFirst(batch.count)
        let (bundles, gone) = try replica.bundles(for: batch)
        if !gone.isEmpty { output.send(link, .gone(gone)) }
        for group in Replicator.packed(bundles) { output.send(link, .bundles(group)) }
        links[link]?.isDraining = true
    }

    /// Groups of bundles that fit into messages.
    static func packed(_ bundles: [Bundle]) -> [[Bundle]] {
        var groups: [[Bundle]] = []
        var size = 0
        for bundle in bundles {
            let added = bundle.approximateWireSize
            if groups.isEmpty || size + added > PeerMessage.bundleBytesMax {
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
        for group in Replicator.packed(bundles) {
            for link in orderedLinks { output.send(link, .bundles(group)) }
        }
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
        _ link: LinkID, _ admitted: [Bundle], _ result: CommitResult, _ refused: [EntryReference],
        _ replica: any ReplicaReader, _ output: inout Output
    ) throws {
        for reference in result.dead + refused { remembered.insert(reference) }
        links[link]?.refusals += refused.count
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
