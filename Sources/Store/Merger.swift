internal import Seal
internal import Tree

/// Applies the merge rule to stored rows; one merger is the work of one transaction.
///
/// An entry is dead if and only if an entry with a greater stamp stands at the same path or at an ancestor of it.
/// Changes to digests and proofs are gathered and written once, by ``finish()``.
struct Merger {
    let storage: any Tables
    private(set) var result = CommitResult()
    private var digests: [TimeBucket: DigestChange] = [:]
    private var touched: [Int64: TouchedBundle] = [:]
    /// Entries below written paths that may still be looked at in this transaction.
    private var killBudget: Int

    private struct TouchedBundle {
        let stored: [Span: Bytes32]
        var proofs: ProofSet
        /// Hashes that came with transfers and deaths since the first transfer; nil while entries have only died. Until
        /// the end the proofs may cover leaves that have just arrived, so nothing is joined before.
        var gained: [Span: Bytes32]?
    }

    init(_ storage: any Tables, killsMax: Int) {
        self.storage = storage
        killBudget = killsMax
    }

    /// Writes what was gathered. Nothing may follow.
    mutating func finish() throws {
        for bucket in digests.keys.sorted(by: { ($0.level, $0.index) < ($1.level, $1.index) }) {
            if let change = digests[bucket] { try storage.change(bucket, by: change) }
        }
        for id in touched.keys.sorted() {
            guard var bundle = touched[id] else { continue }
            if try storage.hasLeaves(bundle: id) {
                if let gained = bundle.gained {
                    let present = try storage.leaves(ofBundle: id).map(\.index)
                    bundle.proofs.complete(with: gained, present: present)
                }
                try storage.replaceProofs(ofBundle: id, bundle.stored, by: bundle.proofs.hashes)
            } else {
                try storage.removeBundle(id)
            }
        }
        digests = [:]
        touched = [:]
    }

    // MARK: Arrival

    mutating func commit(_ bundle: Bundle, heldAfter: HLC) throws {
        if bundle.count == 1 {
            guard bundle.isSingle, let leaf = bundle.leaves.first else { throw StoreError(.unverifiedBundle) }
            _ = try commit(leaf.entry, heldAfter: heldAfter) { _ in .single(bundle.signature) }
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
        for leaf in bundle.leaves {
            let isStored = try commit(leaf.entry, heldAfter: heldAfter) { merger in
                let id = try stored ?? merger.open(head)
                stored = id
                return .leaf(bundle: id, index: leaf.index)
            }
            if !isStored { known[Span(start: leaf.index, count: 1)] = MerkleTree.leaf(leaf.entry.id) }
        }
        guard let stored else { return }
        touched[stored]?.gained?.merge(known) { first, _ in first }
    }

    /// Judges one entry and stores it unless it is dead or known; returns whether it was stored.
    private mutating func commit(
        _ entry: Entry, heldAfter: HLC, proof: (inout Merger) throws -> Proof
    ) throws -> Bool {
        guard try !storage.contains(entry.stamp) else {
            result.known += 1
            return false
        }
        let path = PathKey(entry.path)
        guard case .live(let replaced) = try judge(entry.stamp, at: path) else {
            result.dead.append(entry.reference)
            return false
        }
        if entry.hlc > heldAfter {
            try storage.insert(entry, path: path, held: true, proof: proof(&self))
            result.held.append(entry)
        } else {
            if let replaced { try remove(replaced) }
            try storage.insert(entry, path: path, held: false, proof: proof(&self))
            try settle(entry, at: path)
        }
        count(entry.hlc) { change in
            change.count += 1
            change.sum &+= entry.id
        }
        return true
    }

    /// Makes held entries live that are due, as if they had just arrived.
    mutating func release(heldAfter: HLC, limit: Int) throws {
        for (record, entry) in try storage.held(notAfter: heldAfter, count: limit) {
            switch try judge(record.stamp, at: record.path) {
            case .dead:
                try remove(record)
                result.dead.append(entry.reference)
            case .live(let replaced):
                if let replaced { try remove(replaced) }
                try storage.makeLive(record)
                try settle(entry, at: record.path)
            }
        }
    }

    private enum Verdict {
        case dead
        /// What stands at the same path dies.
        case live(replacing: Record?)
    }

    private func judge(_ stamp: Stamp, at path: PathKey) throws -> Verdict {
        var same: Record?
        for prefix in path.prefixes {
            same = try storage.live(at: prefix)
            if let same, stamp < same.stamp { return .dead }
        }
        return .live(replacing: same)
    }

    /// What follows from an entry that has become live.
    private mutating func settle(_ entry: Entry, at path: PathKey) throws {
        result.applied.append(entry)
        if let place = MessagePlace(entry.path) {
            if entry.kind == Entry.set, !entry.value.isNull {
                try storage.addMessage(place, author: entry.author)
            } else {
                try storage.removeMessage(place)
            }
        }
        let below = try storage.live(from: path.firstBelow, to: path.subtreeEnd, limit: killBudget + 1)
        for record in below.prefix(killBudget) where record.stamp < entry.stamp { try kill(record) }
        if below.count > killBudget { try storage.setSweep(path, next: below[killBudget].path) }
        killBudget -= min(below.count, killBudget)
    }

    // MARK: Death

    /// Looks at up to `limit` entries that an ancestor may have killed; returns whether more are left.
    mutating func sweep(limit: Int) throws -> Bool {
        var budget = limit
        while budget > 0, let (path, next) = try storage.firstSweep() {
            // Without an entry here something above has killed it, and sweeps for itself.
            guard let top = try storage.live(at: path) else {
                try storage.removeSweep(path)
                continue
            }
            let records = try storage.live(from: next, to: path.subtreeEnd, limit: budget + 1)
            for record in records.prefix(budget) where record.stamp < top.stamp { try kill(record) }
            if records.count > budget {
                try storage.setSweep(path, next: records[budget].path)
                return true
            }
            try storage.removeSweep(path)
            budget -= records.count
        }
        return try storage.firstSweep() != nil
    }

    /// Removes an entry that something above it has killed.
    private mutating func kill(_ record: Record) throws {
        try remove(record)
        if let place = MessagePlace(record.path) { try storage.removeMessage(place) }
    }

    private mutating func remove(_ record: Record) throws {
        try storage.remove(record)
        count(record.stamp.hlc) { change in
            change.count -= 1
            change.sum &-= record.stamp.id
        }
        guard let (bundle, leaf) = record.bundle else { return }
        try touch(bundle, count: nil)
        if touched[bundle]?.gained == nil {
            touched[bundle]?.proofs.leafDied(leaf, id: record.stamp.id)
        } else {
            touched[bundle]?.gained?[Span(start: leaf, count: 1)] = MerkleTree.leaf(record.stamp.id)
        }
    }

    private mutating func count(_ hlc: HLC, _ body: (inout DigestChange) -> Void) {
        for level in 0...TimeBucket.storedLevelMax {
            body(&digests[TimeBucket(level: level, containing: hlc), default: DigestChange()])
        }
    }

    // MARK: Bundles

    /// The row of a bundle, made where there is none.
    private mutating func open(_ head: BundleHead) throws -> Int64 {
        let id = try storage.bundle(like: head) ?? storage.addBundle(head)
        try touch(id, count: head.count)
        if touched[id]?.gained == nil { touched[id]?.gained = [:] }
        return id
    }

    private mutating func touch(_ bundle: Int64, count: Int?) throws {
        guard touched[bundle] == nil else { return }
        let stored = try storage.proofs(ofBundle: bundle)
        let count = try count ?? storage.head(ofBundle: bundle).count
        touched[bundle] = TouchedBundle(stored: stored, proofs: ProofSet(count: count, hashes: stored))
    }
}

extension Bundle {
    /// Whether it is what a bundle of one entry has to be.
    var isSingle: Bool { count == 1 && leaves.count == 1 && leaves[0].index == 0 && omitted.isEmpty }
}
