internal import Tree

/// Paths as rows hold them.
///
/// What stands below the messages of a container is nearly everything, and its paths begin with the same fifty bytes,
/// in the table and in its index. Rows have the number of the container instead, behind a tag greater than those of
/// ``PathKey``: so they are one stretch of the index, in the order that the paths have, and a range of paths is mostly
/// one range of rows. One that reaches beyond a container falls into those of each container and what lies between.
struct StoredPaths {
    static let tag: UInt8 = 3
    /// Of the tag and the number.
    static let prefixLength = 5
    private static let messages: [UInt8] = [2] + Array("messages".utf8) + [0]
    fileprivate static let messagesLength = messages.count

    /// The path below which a container's messages stand, and what rows have in its place.
    struct Place {
        let bytes: [UInt8]
        let stored: [UInt8]
        /// Nil for bytes that are no path key.
        let path: Path?

        init(container: PathKey, number: Int64) {
            bytes = container.bytes + StoredPaths.messages
            stored = StoredPaths.prefix(number)
            path = PathKey(bytes: bytes).path
        }
    }

    static func prefix(_ number: Int64) -> [UInt8] {
        [tag] + stride(from: Int64(24), through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> $0) }
    }

    /// The number in stored bytes; nil for a path that is written out.
    static func number(_ stored: [UInt8]) -> Int64? {
        guard stored.first == tag, stored.count > prefixLength else { return nil }
        return stored[1..<prefixLength].reduce(Int64(0)) { $0 << 8 | Int64($1) }
    }

    /// Where the container of a path ends, and where its messages begin, as far as it leads there.
    static func ends(_ bytes: [UInt8]) -> (container: Int, messages: Int?)? {
        guard let root = MessagePlace.rootKeys.first(where: { PathKey.begins(bytes, with: $0) }),
            root.count < bytes.count
        else { return nil }
        var end = root.count
        if bytes[end] == 1 {
            end += 5
        } else {
            guard let zero = bytes[(end + 1)...].firstIndex(of: 0) else { return nil }
            end = zero + 1
        }
        guard end <= bytes.count else { return nil }
        let below = end + messages.count
        guard below < bytes.count, bytes[end..<below].elementsEqual(messages) else { return (end, nil) }
        return (end, below)
    }
}

extension DatabaseStore {
    /// The path of a row.
    func path(_ stored: [UInt8]) throws -> PathKey {
        guard let number = StoredPaths.number(stored) else { return PathKey(bytes: stored) }
        return PathKey(bytes: try place(number).bytes + stored[StoredPaths.prefixLength...])
    }

    /// The same, read.
    func readPath(_ stored: [UInt8]) throws -> Path {
        if let number = StoredPaths.number(stored), let above = try place(number).path,
            let below = PathKey(bytes: Array(stored[StoredPaths.prefixLength...])).path,
            let path = above.appending(below)
        {
            return path
        }
        guard let path = try path(stored).path else { throw StoreError(.corrupt, detail: "no path") }
        return path
    }

    private func place(_ number: Int64) throws -> StoredPaths.Place {
        if let known = places[number] { return known }
        let container =
            try containers.name(number)
            ?? local.containerPath.first(.integer(number)) {
                PathKey(bytes: $0.blob(0))
            }
        guard let container else { throw StoreError(.corrupt, detail: "a container is missing") }
        if places.count >= Self.cachedNamesMax { places = [:] }
        let place = StoredPaths.Place(container: container, number: number)
        places[number] = place
        return place
    }

    /// What rows have for a path; nil where it lies in a container of which there is nothing.
    func stored(_ path: PathKey) throws -> [UInt8]? {
        if let last = lastPlace, last.bytes.count < path.bytes.count, PathKey.begins(path.bytes, with: last.bytes) {
            return last.stored + path.bytes[last.bytes.count...]
        }
        guard let (end, messages) = StoredPaths.ends(path.bytes), let messages else { return path.bytes }
        guard let number = try knownContainer(PathKey(bytes: Array(path.bytes[..<end]))) else { return nil }
        let place = try place(number)
        lastPlace = place
        return place.stored + path.bytes[messages...]
    }

    /// What the row of a new entry gets.
    func storedAnew(_ path: PathKey) throws -> [UInt8] {
        if let known = try stored(path) { return known }
        guard let (end, _) = StoredPaths.ends(path.bytes) else { return path.bytes }
        _ = try number(ofContainer: PathKey(bytes: Array(path.bytes[..<end])))
        return try stored(path) ?? path.bytes
    }

    /// A range of what rows have.
    struct StoredRange {
        let lower: [UInt8]
        let upper: [UInt8]

        var values: [SQLValue] { [.blob(lower), .blob(upper)] }
    }

    /// The ranges of rows that a range of paths falls into, in its order, until `body` returns false.
    func eachRange(
        from lower: PathKey, to upper: PathKey, descending: Bool = false, _ body: (StoredRange) throws -> Bool
    ) throws {
        guard lower < upper else { return }
        let ends = StoredPaths.ends(lower.bytes)
        if let ends, let messages = ends.messages, upper.bytes.starts(with: lower.bytes[..<messages]) {
            guard let first = try stored(lower) else { return }
            _ = try body(
                StoredRange(
                    lower: first, upper: first[..<StoredPaths.prefixLength] + Array(upper.bytes[messages...])))
            return
        }
        guard isNearContainers(lower, upper) else {
            _ = try written(lower, upper, body)
            return
        }
        let first = ends.map { PathKey(bytes: Array(lower.bytes[..<$0.container])) } ?? lower
        if descending {
            try descend(from: lower, to: upper, first, body)
        } else {
            try ascend(from: lower, to: upper, first, body)
        }
    }

    /// Whether there may be containers between two paths.
    private func isNearContainers(_ lower: PathKey, _ upper: PathKey) -> Bool {
        guard lower.bytes.first == 2, let end = lower.bytes.firstIndex(of: 0),
            !MessagePlace.rootKeys.contains(where: lower.bytes.starts(with:))
        else { return true }
        // Both below one child of the root that holds none.
        return !upper.bytes.starts(with: lower.bytes[...end])
    }

    /// A stretch whose paths are written out.
    private func written(_ lower: PathKey, _ upper: PathKey, _ body: (StoredRange) throws -> Bool) throws -> Bool {
        let upper = min(upper, PathKey(bytes: [StoredPaths.tag]))
        return try !(lower < upper) || body(StoredRange(lower: lower.bytes, upper: upper.bytes))
    }

    private func container(_ statement: Statement, _ lower: PathKey, _ upper: PathKey) throws -> StoredPaths.Place? {
        let number = try statement.first(.blob(lower.bytes), .blob(upper.bytes)) { $0.integer(0) }
        return try number.map { try place($0) }
    }

    private func ascend(
        from lower: PathKey, to upper: PathKey, _ first: PathKey, _ body: (StoredRange) throws -> Bool
    ) throws {
        var (from, next) = (lower, first)
        while from < upper, let place = try container(local.nextContainer, next, upper) {
            let (begin, end) = (PathKey(bytes: place.bytes + [0]), PathKey(bytes: place.bytes + [0xFF]))
            next = PathKey(bytes: place.container + [0])
            let (low, high) = (max(from, begin), min(upper, end))
            guard low < high else { continue }
            guard try written(from, begin, body), try body(place.range(low, high)) else { return }
            from = end
        }
        if from < upper { _ = try written(from, upper, body) }
    }

    private func descend(
        from lower: PathKey, to upper: PathKey, _ first: PathKey, _ body: (StoredRange) throws -> Bool
    ) throws {
        var (to, next) = (upper, upper)
        while lower < to, let place = try container(local.lastContainer, first, next) {
            let (begin, end) = (PathKey(bytes: place.bytes + [0]), PathKey(bytes: place.bytes + [0xFF]))
            next = PathKey(bytes: place.container)
            let (low, high) = (max(lower, begin), min(to, end))
            guard low < high else { continue }
            guard try written(end, to, body), try body(place.range(low, high)) else { return }
            to = begin
        }
        if lower < to { _ = try written(lower, to, body) }
    }

    /// What `read` makes of the rows of a range of paths, at most `limit`.
    ///
    /// - `statement`: takes the bounds and the limit.
    func all<Found>(
        _ statement: Statement, from lower: PathKey, to upper: PathKey, limit: Int,
        read: (borrowing Row) throws -> Found
    ) throws -> [Found] {
        var found: [Found] = []
        try eachRange(from: lower, to: upper) { range in
            try statement.each(range.values + [.integer(limit - found.count)]) { row in
                found.append(try read(row))
                return true
            }
            return found.count < limit
        }
        return found
    }

    /// How many rows a range of paths has, at most `limit`.
    ///
    /// - `statement`: takes the bounds and the limit, and counts.
    func count(_ statement: Statement, from lower: PathKey, to upper: PathKey, limit: Int) throws -> Int {
        var count = 0
        try eachRange(from: lower, to: upper) { range in
            count += try statement.first(range.values + [.integer(limit - count)]) { try $0.count(0) } ?? 0
            return count < limit
        }
        return count
    }
}

extension StoredPaths.Place {
    /// The path of the container.
    fileprivate var container: [UInt8] { Array(bytes.dropLast(StoredPaths.messagesLength)) }

    fileprivate func range(_ low: PathKey, _ high: PathKey) -> DatabaseStore.StoredRange {
        DatabaseStore.StoredRange(
            lower: stored + low.bytes[bytes.count...], upper: stored + high.bytes[bytes.count...])
    }
}
