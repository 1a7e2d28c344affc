internal import Seal
internal import Tree

extension MemoryStore: Tables {
    // MARK: Entries

    func record(_ item: Item) -> Record {
        var bundle: (id: Int64, leaf: Int)?
        if case .leaf(let id, let index) = item.proof { bundle = (id, index) }
        let size = Record.Size(
            isHeld: item.isHeld, valueBytes: StoredValue.bytes(of: item.entry).count,
            isTombstone: item.entry.value.isNull)
        return Record(row: 0, path: item.path, stamp: item.entry.stamp, bundle: bundle, arrival: nil, size: size)
    }

    func live(at path: PathKey) -> Record? {
        let index = liveIndex(path)
        return index < live.count && live[index].path == path ? record(live[index]) : nil
    }

    func live(from lower: PathKey, to upper: PathKey, limit: Int) -> [Record] {
        live[liveRange(lower, upper)].prefix(limit).map(record)
    }

    /// Where the entry with a stamp is in `timed`.
    func index(of stamp: Stamp) -> Int? {
        let index = timeIndex(stamp.hlc, stamp.id)
        return index < timed.count && timed[index].entry.id == stamp.id ? index : nil
    }

    func contains(_ stamp: Stamp) -> Bool { index(of: stamp) != nil }
    func record(_ stamp: Stamp) -> Record? { index(of: stamp).map { record(timed[$0]) } }

    func remember(_ entry: Entry) {}
    var rememberedOfBundle: Int { 0 }

    func insert(_ entry: Entry, path: PathKey, held: Bool, proof: Proof) -> Int {
        lastChange += 1
        let item = Item(entry: entry, path: path, proof: proof, isHeld: held, change: lastChange)
        timed.insert(item, at: timeIndex(entry.hlc, entry.id))
        if !held {
            live.insert(item, at: liveIndex(path))
            notePriority(path, isLive: true)
            noteMessage(entry)
        }
        if case .leaf(let id, let leaf) = proof { bundles[id]?.leaves[leaf] = entry.id }
        return StoredValue.bytes(of: entry).count
    }

    func remove(_ record: Record, isReplaced: Bool) {
        if let index = index(of: record.stamp) { timed.remove(at: index) }
        let index = liveIndex(record.path)
        if index < live.count, live[index].entry.id == record.stamp.id {
            live.remove(at: index)
            notePriority(record.path, isLive: false)
            if !isReplaced, let place = MessagePlace(record.path) { removeMessage(place) }
        }
        if let (id, leaf) = record.bundle { bundles[id]?.leaves[leaf] = nil }
    }

    func held(notAfter limit: HLC, count: Int) -> [(record: Record, entry: Entry)] {
        let due = timed[..<timeIndex(after: limit)].filter(\.isHeld).prefix(count)
        return due.map { (record($0), $0.entry) }.sorted { $0.record.stamp < $1.record.stamp }
    }

    func makeLive(_ record: Record, _ entry: Entry) {
        guard let index = index(of: record.stamp) else { return }
        lastChange += 1
        timed[index].isHeld = false
        timed[index].change = lastChange
        live.insert(timed[index], at: liveIndex(record.path))
        notePriority(record.path, isLive: true)
        noteMessage(entry)
    }

    func stored(_ reference: EntryReference) -> [(entry: Entry, proof: Proof)] {
        items(reference).map { ($0.entry, $0.proof) }
    }

    // MARK: Digests

    func change(_ bucket: TimeBucket, by change: DigestChange) {
        var digest = digests[bucket] ?? .empty
        digest.count += change.count
        digest.sum &+= change.sum
        digests[bucket] = digest.isEmpty ? nil : digest
    }

    // MARK: Bundles

    func bundle(like head: BundleHead) -> Int64? { bundleIDs[BundleName(head)] }

    func addBundle(_ head: BundleHead) -> Int64 {
        lastBundle += 1
        let id = lastBundle
        bundles[id] = StoredBundle(head: head)
        bundleIDs[BundleName(head)] = id
        return id
    }

    func head(ofBundle id: Int64) throws -> BundleHead {
        guard let bundle = bundles[id] else { throw StoreError(.corrupt, detail: "a bundle is missing") }
        return bundle.head
    }

    func removeBundle(_ id: Int64) {
        trees[id] = nil
        guard let bundle = bundles.removeValue(forKey: id) else { return }
        bundleIDs[BundleName(bundle.head)] = nil
    }

    func leaves(ofBundle id: Int64) -> [(index: Int, id: Bytes32)] {
        (bundles[id]?.leaves ?? [:]).sorted { $0.key < $1.key }.map { (index: $0.key, id: $0.value) }
    }

    func leaves(ofBundle id: Int64, in range: Range<Int>) -> [(index: Int, id: Bytes32)] {
        let leaves = bundles[id]?.leaves ?? [:]
        return range.compactMap { index in leaves[index].map { (index: index, id: $0) } }
    }

    func hasLeaves(bundle id: Int64) -> Bool { bundles[id]?.leaves.isEmpty == false }
    func proofs(ofBundle id: Int64) -> [Span: Bytes32] { bundles[id]?.proofs ?? [:] }

    func replaceProofs(ofBundle id: Int64, _ old: [Span: Bytes32], by new: [Span: Bytes32]) {
        bundles[id]?.proofs = new
    }

    // MARK: Sweeps

    func retention(_ rules: PathKey) throws -> Retention? { try storedRetention(rules) }

    /// Whether a retention has ended what stands at a path and waits for `sweep`.
    func hasEnded(_ path: PathKey) -> Bool { !sweeps.isEmpty && WaitingDead(sweeps).hasEnded(path) }

    func setSweep(_ sweep: Sweep) {
        removeSweep(sweep.path)
        sweeps.append(sweep)
    }

    func firstSweep() -> Sweep? { sweeps.min { $0.path < $1.path } }
    func sweep(at path: PathKey) -> Sweep? { sweeps.first { $0.path == path } }
    func removeSweep(_ path: PathKey) { sweeps.removeAll { $0.path == path } }
}
