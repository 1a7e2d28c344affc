internal import CBOR
public import Seal
public import Tree

extension MemoryStore {
    /// A grave and what is needed to find and to remove it.
    struct KeptGrave {
        let grave: Grave
        let path: PathKey
        let size: Int
        let agedMs: UInt64
    }

    func bury(_ record: Record, killer: Killer) -> Int {
        let index = timeIndex(record.stamp.hlc, record.stamp.id)
        guard index < timed.count, timed[index].entry.id == record.stamp.id else { return 0 }
        return bury(timed[index].entry, path: record.path, killer: killer)
    }

    func bury(_ entry: Entry, path: PathKey, killer: Killer) -> Int {
        guard entry.kind == Entry.set, graveIDs.insert(entry.id).inserted else { return 0 }
        var writer = CBORWriter(reserving: entry.encoded.count)
        entry.value.encode(to: &writer)
        let size = Graveyard.size(path: path, valueBytes: writer.bytes.count)
        let grave = Grave(
            number: (kept.last?.grave.number ?? 0) + 1, id: entry.id, path: entry.path, value: entry.value,
            author: entry.author, hlc: entry.hlc, killer: killer, diedMs: graveClock.wallMs)
        kept.append(KeptGrave(grave: grave, path: path, size: size, agedMs: graveClock.agedMs))
        graveTotals.add(size, of: entry.author)
        return size
    }

    func removeGraves(of author: Bytes32, downTo bytes: Int) {
        kept.removeAll { item in
            guard item.grave.author == author, graveTotals.byAuthor[author] ?? 0 > bytes else { return false }
            forget(item)
            return true
        }
    }

    private func forget(_ item: KeptGrave) {
        graveIDs.remove(item.grave.id)
        graveTotals.remove(item.size, of: item.grave.author)
    }

    public func tellTime(_ nowMs: UInt64) { graveClock.advance(to: nowMs) }

    public func expireGraves(nowMs: UInt64, limit: Int) -> Bool {
        tellTime(nowMs)
        var (count, bytes) = (0, 0)
        while count < min(limit, kept.count), bytes < Graveyard.sliceBytes, graveClock.isOver(kept[count].agedMs) {
            forget(kept[count])
            bytes += kept[count].size
            count += 1
        }
        kept.removeFirst(count)
        return count > 0 && kept.first.map { graveClock.isOver($0.agedMs) } ?? false
    }

    public func graves(
        around path: Path, before number: Int64?, limit: Int, _ body: (Grave) throws -> Bool
    ) rethrows {
        let found = kept.lazy.reversed().filter { item in
            item.grave.number < number ?? .max && MemoryStore.isAround(path, item.grave.path)
        }
        for item in found.prefix(max(0, limit)) where try !body(item.grave) { return }
    }

    public func graves(
        around path: Path, ids: ClosedRange<Bytes32>, _ body: (Grave) throws -> Bool
    ) rethrows {
        let found = kept.filter { ids.contains($0.grave.id) && MemoryStore.isAround(path, $0.grave.path) }
        for item in found.sorted(by: { $0.grave.id < $1.grave.id }) where try !body(item.grave) { return }
    }

    private static func isAround(_ a: Path, _ b: Path) -> Bool { a.contains(b) || b.contains(a) }
}
