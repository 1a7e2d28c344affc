internal import Tree

/// The dead that wait for `sweep`, as readers have to know them: of a million of them, none is to be looked at for
/// every read, and messages that a retention has ended are not to be seen.
struct WaitingDead {
    /// Entries of a range that may be alive. With more readers look at the whole range.
    static let survivorsMax = 1000

    /// A piece of what a reader wants to scan.
    enum Segment {
        case range(PathKey, PathKey)
        /// In a range of the dead these alone may be alive.
        case paths([PathKey])
    }

    private enum Survivors {
        case unknown
        case tooMany
        /// In order.
        case paths([PathKey])
    }

    private struct Killed {
        var next: PathKey
        let end: PathKey
        var survivors = Survivors.unknown
    }

    /// Ranges in which everything has ended, in order; they do not overlap, as each is of another channel.
    private var ended: [Retention] = []
    /// By the path of the entry that has killed what is not younger.
    private var killed: [PathKey: Killed] = [:]

    init(_ sweeps: [Sweep] = []) {
        for sweep in sweeps { set(sweep) }
    }

    var isEmpty: Bool { ended.isEmpty && killed.isEmpty }

    mutating func set(_ sweep: Sweep) {
        if let rule = Retention(sweep.path) {
            ended.removeAll { $0.channelRules == rule.channelRules }
            ended.insert(rule, at: index { rule.lower < ended[$0].lower })
        } else if killed[sweep.path] != nil {
            // One that begins anew kills more than before.
            if let next = killed[sweep.path]?.next, sweep.next < next { killed[sweep.path]?.survivors = .unknown }
            killed[sweep.path]?.next = sweep.next
        } else {
            killed[sweep.path] = Killed(next: sweep.next, end: sweep.path.subtreeEnd)
        }
    }

    /// The ranges that are still to be looked at.
    var unswept: [(lower: PathKey, upper: PathKey)] {
        ended.map { ($0.lower, $0.upper) } + killed.values.map { ($0.next, $0.end) }
    }

    mutating func remove(_ path: PathKey) {
        ended.removeAll { $0.path == path }
        killed[path] = nil
    }

    /// An entry becomes live: whatever kills, it is not killed.
    mutating func insert(_ path: PathKey) { change(path) { paths, index in paths.insert(path, at: index) } }

    /// An entry is removed.
    mutating func removeSurvivor(_ path: PathKey) {
        change(path) { paths, index in
            if index < paths.count, paths[index] == path { paths.remove(at: index) }
        }
    }

    private mutating func change(_ path: PathKey, _ body: (inout [PathKey], Int) -> Void) {
        for (place, range) in killed where !(path < range.next) && path < range.end {
            guard case .paths(var paths) = range.survivors else { continue }
            killed[place]?.survivors = .tooMany
            body(&paths, paths.firstIndex { !($0 < path) } ?? paths.count)
            if paths.count <= WaitingDead.survivorsMax { killed[place]?.survivors = .paths(paths) }
        }
    }

    /// Index of the first ended range that a condition holds of, which holds of all after it.
    private func index(_ isBehind: (Int) -> Bool) -> Int {
        var (low, high) = (0, ended.count)
        while low < high {
            let middle = (low + high) / 2
            if isBehind(middle) { high = middle } else { low = middle + 1 }
        }
        return low
    }

    /// Whether a retention has ended what stands at a path.
    func hasEnded(_ path: PathKey) -> Bool {
        let index = index { path < ended[$0].lower }
        return index > 0 && ended[index - 1].covers(path)
    }

    /// What a scan has to look at, in order.
    ///
    /// - `living`: the paths below one, from `next` to `end`, that may be alive, in order; nil where it would take long
    ///   to find out.
    mutating func segments(
        from lower: PathKey, to upper: PathKey,
        living: (_ killer: PathKey, _ next: PathKey, _ end: PathKey) throws -> [PathKey]?
    ) rethrows -> [Segment] {
        var ranges = ended.filter { $0.lower < upper && lower < $0.upper }.map {
            (lower: $0.lower, upper: $0.upper, paths: [PathKey]())
        }
        for (place, range) in killed where range.next < upper && lower < range.end {
            if case .unknown = range.survivors {
                let found = try living(place, range.next, range.end)
                killed[place]?.survivors = found.map { .paths($0) } ?? .tooMany
            }
            if case .paths(let paths)? = killed[place]?.survivors { ranges.append((range.next, range.end, paths)) }
        }
        var segments: [Segment] = []
        var from = lower
        for range in ranges.sorted(by: { $0.lower != $1.lower ? $0.lower < $1.lower : $1.upper < $0.upper }) {
            let start = max(from, range.lower)
            let end = min(upper, range.upper)
            guard start < end else { continue }
            if from < start { segments.append(.range(from, start)) }
            let paths = range.paths.filter { !($0 < start) && $0 < end && !hasEnded($0) }
            if !paths.isEmpty { segments.append(.paths(paths)) }
            from = end
        }
        if from < upper { segments.append(.range(from, upper)) }
        return segments
    }
}
