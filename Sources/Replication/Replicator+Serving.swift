internal import Seal
internal import Tree
internal import Wire

/// The answering side of reconciliation: it keeps nothing but what it owes.
extension Replicator {
    /// Bytes of answers given to one peer before waiting until they have left.
    static let servedBytesMax = (long: 128 * 1024, brief: 16 * 1024)
    /// Entries that one turn of answers looks at, and that it reads to send them, so that chat gets its turn soon: some
    /// ten milliseconds, and less than one while somebody writes.
    static let lookedAtMax = (long: 8192, brief: 512)
    static let readMax = (long: 1024, brief: 64)
    /// Entries that one `tail` is answered with.
    static let tailEntriesMax = 1000

    /// The children of a bucket that differ from the asker's and are not empty here, each with what is below it as far
    /// as it fits: at first glance nobody knows what of it differs, but the asker does.
    func differences(
        _ bucket: TimeBucket, _ children: [ChildDigest], _ replica: any ReplicaReader
    ) throws -> [BucketSummary] {
        // An honest peer does not ask for what would take long to add up.
        guard try bucket.level < TimeBucket.storedLevelMax || replica.digest(of: bucket).count <= Reconciler.scannedMax
        else { return [] }
        var theirs: [UInt64: DigestPrefix] = [:]
        for child in children { theirs[child.index] = child.digest }
        var left = PeerMessage.summariesMax
        let differing = try replica.children(of: bucket).filter { theirs[$0.bucket.index] != DigestPrefix($0.digest) }
        // The oldest of very many are left to a later comparison.
        let told = differing.suffix(left)
        left -= told.count
        var found: [BucketSummary] = []
        for (child, digest) in told.reversed() { found.append(try summary(child, digest, &left, replica)) }
        return found.reversed()
    }

    private func summary(
        _ bucket: TimeBucket, _ digest: BucketDigest, _ left: inout Int, _ replica: any ReplicaReader
    ) throws -> BucketSummary {
        var below: [BucketSummary] = []
        if bucket.level < TimeBucket.storedLevelMax, digest.count > Reconciler.siftMax, left > 0 {
            let children = try replica.children(of: bucket)
            if children.count <= left {
                left -= children.count
                for (index, child) in children.enumerated().reversed() {
                    let isYoungest = index == children.count - 1
                    below.append(
                        isYoungest
                            ? try summary(child.bucket, child.digest, &left, replica)
                            : BucketSummary(index: child.bucket.index, digest: DigestPrefix(child.digest)))
                }
            }
        }
        return BucketSummary(index: bucket.index, digest: DigestPrefix(digest), children: below.reversed())
    }

    /// Notes what a peer asks for; closes the link of one who asks for more than anybody may.
    mutating func owe(
        _ link: LinkID, _ message: PeerMessage, _ replica: any ReplicaReader, _ output: inout Output
    ) throws {
        var isBounded = true
        switch message {
        case .want(let references): isBounded = links[link]?.debt.add(references) ?? true
        case .sift(let sift): isBounded = links[link]?.debt.add(sift) ?? true
        case .tail(let tail):
            guard takesScan(link, ScanQuota.tail, output.nowMs) else { return }
            let found = try replica.tail(of: tail.path, children: tail.count, limit: Replicator.tailEntriesMax)
            let wanted = found.filter { !Fingerprint.contains(tail.known, Fingerprint.of($0, salt: tail.salt)) }
            links[link]?.debt.addFirst(wanted)
        default: return
        }
        guard isBounded else {
            output.effects.append(.close(link, "asks for too many entries at once"))
            return
        }
        links[link]?.askedMs = output.nowMs
        try serve(link, replica, &output)
    }

    /// Answers what a peer asked for, as much as its link takes for now.
    mutating func serve(_ link: LinkID, _ replica: any ReplicaReader, _ output: inout Output) throws {
        guard let state = links[link], !state.isDraining, !state.debt.isEmpty else { return }
        var turn = Turn(isBrief: othersTalk(besides: link, nowMs: output.nowMs))
        do {
            try fill(&turn, link, replica, &output)
        } catch {
            // Nothing of it leaves, so all of it is owed.
            links[link]?.debt = state.debt
            throw error
        }
        // What is asked for is looked up youngest first, but arrives better in the order in which it was written.
        for group in Replicator.packed(turn.bundles.reversed()) { output.send(link, .bundles(group)) }
        for (through, reached) in turn.ends { output.send(link, .sifted(through: through, reached: reached)) }
        awaitDrain(link, &output)
    }

    /// Takes what is owed into a turn, as much of it as there is room for.
    private mutating func fill(
        _ turn: inout Turn, _ link: LinkID, _ replica: any ReplicaReader, _ output: inout Output
    ) throws {
        while turn.bytes > 0, let batch = links[link]?.debt.references.prefix(turn.entries), !batch.isEmpty {
            // Many at once: of the bundles of all authors a stretch of time takes a part, and each part its proof.
            let (found, gone, taken) = try replica.bundles(for: Array(batch), bytesMax: turn.bytes)
            links[link]?.debt.pay(references: taken)
            if !gone.isEmpty { output.send(link, .gone(gone)) }
            turn.entries -= taken
            turn.take(found)
        }
        while turn.bytes > 0, turn.looks > 0, turn.entries > 0, let owed = links[link]?.debt.sifts.first {
            try answer(owed, link, replica, &turn)
        }
    }

    /// What is sent before others have their turn.
    private struct Turn {
        var bytes: Int
        var looks: Int
        var entries: Int
        var bundles: [Bundle] = []
        var ends: [(through: EntryReference, reached: EntryReference)] = []

        init(isBrief: Bool) {
            bytes = isBrief ? Replicator.servedBytesMax.brief : Replicator.servedBytesMax.long
            looks = isBrief ? Replicator.lookedAtMax.brief : Replicator.lookedAtMax.long
            entries = isBrief ? Replicator.readMax.brief : Replicator.readMax.long
        }

        /// Returns how many bytes they have.
        @discardableResult
        mutating func take(_ found: [Bundle]) -> Int {
            let size = found.reduce(0) { $0 + $1.approximateWireSize }
            bytes -= size
            bundles += found
            return size
        }
    }

    /// Answers a range, or as much of it as the turn has room for.
    private mutating func answer(
        _ owed: Debt.Owed, _ link: LinkID, _ replica: any ReplicaReader, _ turn: inout Turn
    ) throws {
        let sift = owed.sift
        let looks = turn.looks
        let range = ReferenceRange(after: sift.range.after, through: owed.through)
        let held = try Fingerprinted.entries(of: range, salt: sift.salt, newest: looks, replica)
        turn.looks -= held.count + 1
        let missing = held.filter { !Fingerprint.contains(sift.known, $0.fingerprint) }.map(\.reference)
        let part = Array(missing.prefix(turn.entries))
        let isLast = owed.bytes <= turn.bytes
        var taken = 0
        var given = 0
        if !part.isEmpty, owed.bytes > 0 {
            let found = try replica.bundles(for: part, bytesMax: min(turn.bytes, owed.bytes))
            taken = found.taken
            turn.entries -= taken
            given = turn.take(found.bundles)
        }
        if taken < missing.count, !isLast || (taken == part.count && given < owed.bytes) {
            links[link]?.debt.pay(downTo: missing[taken], bytes: given)
        } else if taken == missing.count, held.count == looks, let last = held.last {
            links[link]?.debt.pay(downTo: last.reference.predecessor, bytes: given)
        } else {
            let reached = taken < missing.count ? missing[taken] : sift.range.after
            turn.ends.append((sift.range.through, reached))
            links[link]?.debt.finishSift()
        }
    }

    /// Groups of bundles that fit into messages: they have about the bytes that a message is to have, and whatever they
    /// are, never more than one may.
    static func packed(_ bundles: [Bundle]) -> [[Bundle]] {
        var groups: [[Bundle]] = []
        var (size, sizeMax) = (0, 0)
        for bundle in bundles {
            let (added, addedMax) = (bundle.approximateWireSize, bundle.wireSizeMax)
            let isFull =
                size + added > PeerMessage.bundleBytesMax || sizeMax + addedMax > PeerMessage.pushBytesMax
                || groups.last?.count == PeerMessage.bundlesMax
            if groups.isEmpty || isFull {
                groups.append([])
                (size, sizeMax) = (0, 0)
            }
            groups[groups.count - 1].append(bundle)
            size += added
            sizeMax += addedMax
        }
        return groups
    }
}
