internal import Tree

/// What stood in a stretch of paths when a bundle was about to write there: of hundreds of messages nearly all are new,
/// and one look at all their places costs little more than one at each.
struct Stretch {
    /// A bundle of fewer entries is not worth it.
    private static let countMin = 8
    /// Records beside the entries of the bundle that are worth reading.
    private static let spareMax = 64

    /// Above all that is written.
    private let parent: PathKey
    private let lower: PathKey
    private let upper: PathKey
    private let records: [Record]
    /// Children of the parent in which something has changed since.
    private var changed: Set<PathKey> = []

    /// Nil where the entries of a bundle do not stand together, or where much stands between them.
    init?(of places: [(key: PathKey, parent: PathKey)], in storage: any Tables) throws {
        guard places.count >= Stretch.countMin, let first = places.first else { return nil }
        var (least, greatest, count) = (first.key, first.key, 0)
        for place in places where place.parent == first.parent {
            count += 1
            if place.key < least { least = place.key }
            if greatest < place.key { greatest = place.key }
        }
        guard count >= Stretch.countMin else { return nil }
        let limit = count + Stretch.spareMax
        (parent, lower, upper) = (first.parent, least, greatest.subtreeEnd)
        records = try storage.live(from: lower, to: upper, limit: limit)
        if records.count == limit { return nil }
    }

    /// What stands at a path and below it; nil where that has to be looked up.
    func records(at path: PathKey, below parent: PathKey, limit: Int) -> ArraySlice<Record>? {
        guard parent == self.parent, !(path < lower), path < upper, !changed.contains(path) else { return nil }
        guard !records.isEmpty else { return [] }
        let end = path.subtreeEnd
        return records[index(path)..<index(end)].prefix(limit)
    }

    /// Returns false where nothing is known any more.
    mutating func note(changeAt path: PathKey) -> Bool {
        guard parent.isPrefix(of: path), path.bytes.count > parent.bytes.count else {
            return !path.isPrefix(of: parent)
        }
        var end = parent.bytes.count
        if path.bytes[end] == 1 {
            end += 5
        } else {
            end = (path.bytes[(end + 1)...].firstIndex(of: 0) ?? path.bytes.count - 1) + 1
        }
        changed.insert(end >= path.bytes.count ? path : PathKey(bytes: Array(path.bytes[..<end])))
        return true
    }

    /// Index of the first record that is not before a path.
    private func index(_ path: PathKey) -> Int {
        var (low, high) = (0, records.count)
        while low < high {
            let middle = (low + high) / 2
            if records[middle].path < path { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
