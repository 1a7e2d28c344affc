internal import Seal
internal import Tree

/// Applies the merge rule to stored rows; one merger is the work of one transaction.
///
/// An entry is dead if and only if an entry with a greater stamp stands at the same path or at an ancestor of it.
/// Changes to digests and proofs are gathered and written once, by ``finish()``.
struct Merger {
    let storage: any Tables
    private(set) var result = CommitResult()
    private var sums = ChangedSums()
    var touched: [Int64: TouchedBundle] = [:]
    /// Entries below written paths that may still be looked at in this transaction.
    private var killBudget: Int
    /// Bytes that may still be copied to the graveyard before killing is left to `sweep`.
    private var buryBudget = Graveyard.sliceBytes
    private var hasBuried = false
    /// What stands at some paths and above them, nearest to the root first: many entries have one parent. And all those
    /// paths: a change at one of them makes it forgotten.
    private var ancestors: [PathKey: Above] = [:]
    private var ancestorPaths: Set<PathKey> = []
    /// Those asked for last: mostly they are asked for again.
    private var lastAncestors: (parent: PathKey, above: Above)?
    /// What stands in the stretch of paths that a bundle is about to write to.
    private var stretch: Stretch?
    /// Nil until it is asked for.
    private var hasHeld: Bool?

    /// An object, because it is asked for with every entry and holds much.
    private final class Above {
        let records: [Record]
        /// What has ended below.
        let retention: Retention?

        init(_ records: [Record], _ retention: Retention?) { (self.records, self.retention) = (records, retention) }
    }

    init(_ storage: any Tables, killsMax: Int) {
        self.storage = storage
        killBudget = killsMax
    }

    /// Writes what was gathered. Nothing may follow.
    mutating func finish() throws {
        try sums.write(to: storage)
        for id in touched.keys.sorted() {
            guard var bundle = touched[id] else { continue }
            if try storage.hasLeaves(bundle: id) {
                // What is remembered of its tree may not go down to where they are.
                if !bundle.came.isEmpty { storage.trees[id] = nil }
                // First what has come, by the subtrees that were left out until now.
                bundle.proofs.leavesCame(bundle.came.sorted(), gained: bundle.gained, isNew: bundle.isNew)
                for (leaf, id) in bundle.died { bundle.proofs.leafDied(leaf, id: id) }
                try storage.replaceProofs(ofBundle: id, bundle.stored, by: bundle.proofs.hashes)
            } else {
                try storage.removeBundle(id)
            }
        }
        sums = ChangedSums()
        touched = [:]
        if hasBuried { try storage.trimGraveyard() }
    }

    // MARK: Arrival

    mutating func commit(_ bundle: Bundle, heldAfter: HLC) throws {
        if bundle.count == 1 {
            guard bundle.isSingle, let leaf = bundle.leaves.first else { throw StoreError(.unverifiedBundle) }
            storage.remember(leaf.entry)
            _ = try commit(leaf.entry, PathKey.withParent(leaf.entry.path), heldAfter: heldAfter) { _ in
                .single(bundle.signature)
            }
            return
        }
        var known: [Span: Bytes32] = [:]
        let leaves = bundle.leaves.map { (index: $0.index, id: $0.entry.id) }
        let root = MerkleTree.root(count: bundle.count, leaves: leaves, omitted: bundle.omitted) { start, count, hash in
            known[Span(start: start, count: count)] = hash
        }
        guard let root else { throw StoreError(.unverifiedBundle) }
        let head = BundleHead(root: root, author: bundle.author, count: bundle.count, signature: bundle.signature)
        var stored: Int64?
        var places: [(key: PathKey, parent: PathKey)] = []
        places.reserveCapacity(bundle.leaves.count)
        for leaf in bundle.leaves {
            places.append(PathKey.withParent(leaf.entry.path, known: places.last?.parent))
        }
        for leaf in bundle.leaves.suffix(storage.rememberedOfBundle) { storage.remember(leaf.entry) }
        stretch = try Stretch(of: places, in: storage)
        defer { stretch = nil }
        for (leaf, place) in zip(bundle.leaves, places) {
            let isStored = try commit(leaf.entry, place, heldAfter: heldAfter) { merger in
                let id = try stored ?? merger.open(head)
                stored = id
                merger.touched[id]?.came.append(leaf.index)
                return .leaf(bundle: id, index: leaf.index)
            }
            if !isStored { known[Span(start: leaf.index, count: 1)] = MerkleTree.leaf(leaf.entry.id) }
        }
        guard let stored else { return }
        touched[stored]?.gained.merge(known) { first, _ in first }
    }

    /// Judges one entry and stores it unless it is dead or known; returns whether it was stored.
    private mutating func commit(
        _ entry: Entry, _ at: (key: PathKey, parent: PathKey), heldAfter: HLC, proof: (inout Merger) throws -> Proof
    ) throws -> Bool {
        let (path, parent) = at
        let place = try judge(entry.stamp, at: path, below: parent)
        // A live one stands at its path; a held one may be anywhere.
        let isHere = try place.same?.stamp.id == entry.id || (isAnyHeld() && storage.contains(entry.stamp))
        guard !isHere else {
            result.known += 1
            return false
        }
        guard !place.isDead else {
            result.dead.append(entry.reference)
            guard !place.hasEnded else { return false }
            // Of two who set one thing at the same time, the one who lost wants to see his.
            let storage = storage
            try bury(entry.stamp, path, place.killers) { try storage.bury(entry, path: path, killer: $0) }
            return false
        }
        let isHeld = entry.hlc > heldAfter
        if !isHeld, let replaced = place.same {
            try die(replaced, place.killers + [Killer(entry.stamp)], isReplaced: true)
        }
        try insert(entry, path, isHeld: isHeld, proof: proof(&self))
        if isHeld {
            hasHeld = true
            result.held.append(entry)
        } else {
            try settle(entry, at: path, place)
        }
        sums.count(entry.hlc) { change in
            change.count += 1
            change.sum &+= entry.id
        }
        return true
    }

    private mutating func insert(_ entry: Entry, _ path: PathKey, isHeld: Bool, proof: Proof) throws {
        let valueBytes = try storage.insert(entry, path: path, held: isHeld, proof: proof)
        sums.tally(entry.author) { tally in
            tally.add(1, isTombstone: entry.value.isNull, isHeld: isHeld, bytes: path.bytes.count + valueBytes)
        }
    }

    /// Makes held entries live that are due, as if they had just arrived.
    mutating func release(heldAfter: HLC, limit: Int) throws {
        for (record, entry) in try storage.held(notAfter: heldAfter, count: limit) {
            let place = try judge(record.stamp, at: record.path, below: record.path.parent)
            if place.isDead {
                try die(record, place.hasEnded ? [] : place.killers)
                result.dead.append(entry.reference)
            } else {
                if let replaced = place.same {
                    try die(replaced, place.killers + [Killer(record.stamp)], isReplaced: true)
                }
                try storage.makeLive(record, entry)
                sums.tally(record.stamp.author) { $0.held -= 1 }
                try settle(entry, at: record.path, place)
            }
        }
    }

    /// Puts an entry in the place of another of the same author that nobody has seen, as if it had never been.
    ///
    /// - Returns: false where the new one would be dead: then the old one stays.
    mutating func replace(_ old: Record, by entry: Entry, proof: Proof) throws -> Bool {
        let path = PathKey(entry.path)
        let place = try judge(entry.stamp, at: path, below: path.parent)
        if place.hasEnded { return false }
        for above in try ancestors(at: path.parent).records + [place.same].compactMap({ $0 })
        where above.stamp != old.stamp && entry.stamp < above.stamp {
            return false
        }
        try remove(old)
        let now = try judge(entry.stamp, at: path, below: path.parent)
        if let replaced = now.same { try die(replaced, now.killers + [Killer(entry.stamp)], isReplaced: true) }
        try insert(entry, path, isHeld: false, proof: proof)
        try settle(entry, at: path, now)
        sums.count(entry.hlc) { change in
            change.count += 1
            change.sum &+= entry.id
        }
        return true
    }

    /// What stands at a path and above it.
    private struct Place {
        /// Whether one of them has killed what is judged.
        var isDead = false
        /// A retention has, which is meant to leave nothing.
        var hasEnded = false
        /// All of them, nearest to the root first.
        var killers: [Killer] = []
        /// What stands at the path itself; it dies if what is judged lives.
        var same: Record?
        /// What stands below the path, as much as may be looked at in this transaction and one more.
        var below: ArraySlice<Record> = []
    }

    private mutating func judge(_ stamp: Stamp, at path: PathKey, below parent: PathKey) throws -> Place {
        var place = Place()
        place.below =
            try stretch?.records(at: path, below: parent, limit: killBudget + 2)
            ?? storage.live(from: path, to: path.subtreeEnd, limit: killBudget + 2)[...]
        let ancestors = try ancestors(at: parent)
        place.hasEnded = try ancestors.retention?.covers(path) ?? isLesserRule(path)
        place.isDead = place.hasEnded
        var above = ancestors.records
        if let first = place.below.first, first.path == path {
            place.same = first
            place.below.removeFirst()
            above.append(first)
        }
        for record in above {
            if stamp < record.stamp { place.isDead = true }
            place.killers.append(Killer(record.stamp))
        }
        return place
    }

    private mutating func ancestors(at parent: PathKey) throws -> Above {
        if let lastAncestors, lastAncestors.parent == parent { return lastAncestors.above }
        if let known = ancestors[parent] {
            lastAncestors = (parent, known)
            return known
        }
        let prefixes = parent.prefixes
        let found = Above(
            try prefixes.compactMap { try storage.live(at: $0) },
            try Retention.rules(below: prefixes).flatMap { try storage.retention($0) })
        ancestors[parent] = found
        ancestorPaths.formUnion(prefixes)
        return found
    }

    private mutating func noteChange(at path: PathKey) {
        if stretch?.note(changeAt: path) == false { stretch = nil }
        guard ancestorPaths.contains(path) || Retention(path) != nil else { return }
        ancestors = [:]
        ancestorPaths = []
        lastAncestors = nil
    }

    private mutating func isAnyHeld() throws -> Bool {
        if let hasHeld { return hasHeld }
        let found = try storage.hasHeld
        hasHeld = found
        return found
    }

    /// What follows from an entry that has become live.
    private mutating func settle(_ entry: Entry, at path: PathKey, _ place: Place) throws {
        result.applied.append(entry)
        noteChange(at: path)
        if let rule = Retention(path) { return try end(rule) }
        let below = place.below
        guard !below.isEmpty else { return }
        let killers = place.killers + [Killer(entry.stamp)]
        let count = try kill(below.prefix(killBudget), before: entry.stamp, killers)
        killBudget -= count
        if count < below.count {
            let killer = try storage.sweep(at: path)?.killer ?? Killer(entry.stamp)
            try storage.setSweep(Sweep(path: path, next: below[below.startIndex + count].path, killer: killer))
        }
    }

    // MARK: Death

    /// Looks at up to `limit` entries that an ancestor may have killed; returns whether more are left.
    mutating func sweep(limit: Int) throws -> Bool {
        var budget = limit
        while budget > 0, buryBudget > 0, let sweep = try storage.firstSweep() {
            // Without an entry here something above, or a later retention, has killed it, and sweeps for itself.
            guard let top = try storage.live(at: sweep.path) else {
                try storage.removeSweep(sweep.path)
                continue
            }
            if let rule = Retention(sweep.path) {
                budget -= try goOn(with: rule, from: sweep.next, limit: budget)
                continue
            }
            let killer = sweep.killer ?? Killer(top.stamp)
            let records = try storage.live(from: sweep.next, to: sweep.path.subtreeEnd, limit: budget + 1)
            let count = try kill(records.prefix(budget), before: top.stamp, [killer, Killer(top.stamp)])
            if count < records.count {
                try storage.setSweep(Sweep(path: sweep.path, next: records[count].path, killer: killer))
                return true
            }
            try storage.removeSweep(sweep.path)
            budget -= records.count
        }
        return try storage.firstSweep() != nil
    }

    /// Removes the entries that something above them has killed. Returns how many of the records it has looked at: what
    /// takes too long to bury is left for later.
    private mutating func kill(_ records: ArraySlice<Record>, before stamp: Stamp, _ killers: [Killer]) throws -> Int {
        for (index, record) in records.enumerated() where record.stamp < stamp {
            guard buryBudget > 0 else { return index }
            try die(record, killers)
        }
        return records.count
    }

    /// Removes an entry, and keeps it in the graveyard if another author has overwritten it in an open place.
    private mutating func die(_ record: Record, _ killers: [Killer], isReplaced: Bool = false) throws {
        let storage = storage
        try bury(record.stamp, record.path, killers) { try storage.bury(record, killer: $0) }
        try remove(record, isReplaced: isReplaced)
    }

    /// Of those who may have killed an entry, the first who did and is another author counts.
    private mutating func bury(
        _ stamp: Stamp, _ path: PathKey, _ killers: [Killer], _ bury: (Killer) throws -> Int
    ) throws {
        guard let killer = killers.first(where: { $0.overwrote(stamp) }), let path = path.path, Ownership.isOpen(path)
        else { return }
        buryBudget -= try bury(killer)
        hasBuried = true
    }

    /// Removes an entry that stands in nobody's way any more.
    mutating func end(_ record: Record) throws { try die(record, []) }

    /// Entries that this transaction may still end.
    var killsLeft: Int { killBudget }
    mutating func spendKills(_ count: Int) { killBudget -= count }

    private mutating func remove(_ record: Record, isReplaced: Bool = false) throws {
        try storage.remove(record, isReplaced: isReplaced)
        noteChange(at: record.path)
        sums.tally(record.stamp.author) { tally in
            tally.add(
                -1, isTombstone: record.size.isTombstone, isHeld: record.size.isHeld,
                bytes: record.path.bytes.count + record.size.valueBytes)
        }
        sums.count(record.stamp.hlc) { change in
            change.count -= 1
            change.sum &-= record.stamp.id
        }
        guard let (bundle, leaf) = record.bundle else { return }
        try touch(bundle)
        if let index = touched[bundle]?.came.lastIndex(of: leaf) {
            touched[bundle]?.came.remove(at: index)
            touched[bundle]?.gained[Span(start: leaf, count: 1)] = MerkleTree.leaf(record.stamp.id)
        } else {
            touched[bundle]?.died.append((leaf, record.stamp.id))
        }
    }
}

extension Bundle {
    /// Whether it is what a bundle of one entry has to be.
    var isSingle: Bool { count == 1 && leaves.count == 1 && leaves[0].index == 0 && omitted.isEmpty }
}
