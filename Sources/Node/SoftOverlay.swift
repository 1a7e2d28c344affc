internal import Replication
internal import Seal
internal import Tree
internal import Wire

/// Live soft state as entries of the tree, in its order, for readers that show it there.
///
/// It is kept up to date with each change, so that reading costs a look-up. There is at most one entry of a kind below
/// another kind's place: nothing is ever stored below a place of soft state.
final class SoftEntries {
    /// More changes at once are sorted in anew: moving what lies behind each of them would cost more.
    private static let singlyMax = 32

    /// The paths, sorted.
    private(set) var keys: [PathKey] = []
    private var entries: [PathKey: Entry] = [:]

    /// Takes over what soft state says of these places; returns the paths at which something is different now.
    func update(_ places: [SoftState.Place], _ state: SoftState) -> [Path] {
        var changed: [Path] = []
        var isSorted = true
        for place in places {
            let key = PathKey(place.path)
            let value = state.record(author: place.author, path: place.path)?.value ?? .null
            let entry = SoftEntries.entry(place.path, place.author, value)
            let old = entries[key]
            guard entry != old else { continue }
            changed.append(place.path)
            entries[key] = entry
            guard places.count <= SoftEntries.singlyMax else {
                isSorted = false
                continue
            }
            let index = index(key)
            if entry == nil { keys.remove(at: index) } else if old == nil { keys.insert(key, at: index) }
        }
        if !isSorted { keys = entries.keys.sorted() }
        return changed
    }

    /// Its time is the last there is, so that no entry above it can hide it: soft state is not part of what a write to
    /// an ancestor replaces. Nil where there is nothing, and for what others have made too deep for its place.
    private static func entry(_ path: Path, _ author: Bytes32, _ value: Value) -> Entry? {
        guard !value.isNull else { return nil }
        return try? Entry(
            path: path, hlc: HLC(ms: HLC.msMax, counter: HLC.counterMax), author: author, value: value)
    }

    func entry(at key: PathKey) -> Entry? { entries[key] }

    func keys(from lower: PathKey, to upper: PathKey) -> ArraySlice<PathKey> {
        let first = index(lower)
        return keys[first..<max(first, index(upper))]
    }

    /// Index of the first that is not before `key`.
    private func index(_ key: PathKey) -> Int {
        var low = 0
        var high = keys.count
        while low < high {
            let middle = (low + high) / 2
            if keys[middle] < key { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

/// Stored entries with soft state laid over them.
struct SoftOverlay<Stored: EntryReader>: EntryReader {
    let stored: Stored
    let soft: SoftEntries

    /// Soft state has none.
    func scanPriorities(from lower: PathKey, to upper: PathKey, _ body: (Entry) throws -> Bool) throws {
        try stored.scanPriorities(from: lower, to: upper, body)
    }

    /// Indexes know of what is stored alone; where soft state is, there are few children.
    func ordered(
        _ path: Path, by order: Query.Order, _ range: OrderRange, descending: Bool,
        _ body: (Key, SortKey) throws -> Bool
    ) throws -> OrderAnswer {
        let key = PathKey(path)
        guard soft.keys(from: key, to: key.subtreeEnd).isEmpty else { return .noIndex }
        return try stored.ordered(path, by: order, range, descending: descending, body)
    }

    func entry(at path: PathKey) throws -> Entry? { try soft.entry(at: path) ?? stored.entry(at: path) }

    func scan(from lower: PathKey, to upper: PathKey, descending: Bool, _ body: (Entry) throws -> Bool) throws {
        var waiting = soft.keys(from: lower, to: upper)
        guard !waiting.isEmpty else {
            return try stored.scan(from: lower, to: upper, descending: descending, body)
        }
        /// Gives the soft entries that come before a key, or all that are left.
        func giveWaiting(before key: PathKey?) throws -> Bool {
            while let next = descending ? waiting.last : waiting.first {
                if let key, descending ? next < key : key < next { return true }
                if descending { waiting.removeLast() } else { waiting.removeFirst() }
                if let entry = soft.entry(at: next), try !body(entry) { return false }
            }
            return true
        }
        var isWanted = true
        try stored.scan(from: lower, to: upper, descending: descending) { entry in
            let key = PathKey(entry.path)
            isWanted = try giveWaiting(before: key)
            guard isWanted else { return false }
            // What is soft has been given in its place.
            guard soft.entry(at: key) == nil else { return true }
            isWanted = try body(entry)
            return isWanted
        }
        if isWanted { _ = try giveWaiting(before: nil) }
    }
}
