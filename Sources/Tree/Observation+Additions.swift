/// New additions to a number.
///
/// A number is what its additions make in their order, and new ones nearly always come last. So an observer adds them
/// to the sum it has told already: a counter costs no more for having been counted for years.
struct Additions {
    let counter: Path
    /// In order.
    let keys: [Key]

    /// Nil unless the changes are additions to one number and nothing else.
    init?(_ changed: [Path]) {
        guard let first = changed.first, first.last?.isEngine == true else { return nil }
        let counter = first.parent
        var keys: Set<Key> = []
        for path in changed {
            guard let key = path.last, key.additionID != nil, path.parent == counter else { return nil }
            keys.insert(key)
        }
        self.counter = counter
        self.keys = keys.sorted()
    }
}

/// The last additions that told sums contain.
struct ToldSums {
    /// Numbers of one observer that are followed so.
    private static let countMax = 64

    private var last: [Path: Key] = [:]

    /// The numbers to add to the sum that was told. Nil if it has to be made anew: they do not all come last, an author
    /// has replaced his own, or something below the number takes part.
    func numbers(of additions: Additions, _ view: TreeView) throws -> [Value]? {
        guard let last = last[additions.counter], let first = additions.keys.first, last < first,
            let entries = try view.lastAdditions(to: additions.counter, count: additions.keys.count),
            entries.map(\.path.last) == additions.keys,
            entries.allSatisfy({ $0.kind == Entry.set })
        else { return nil }
        return entries.map(\.value)
    }

    /// What was changed is told: of other numbers that these changes concern, nothing is known any more.
    mutating func update(_ changed: [Path], _ additions: Additions?, _ view: TreeView) throws {
        if !last.isEmpty {
            last = last.filter { counter, _ in !changed.contains { $0.contains(counter) || counter.contains($0) } }
        }
        guard let additions else { return }
        if last.count >= ToldSums.countMax { last = [:] }
        last[additions.counter] = try view.lastAdditions(to: additions.counter, count: 1)?.last?.path.last
    }
}

extension TreeView {
    /// The last additions to a number, in order; nil where there are fewer, or where something stands below it.
    func lastAdditions(to path: Path, count: Int) throws -> [Entry]? {
        guard let end = path.appending(.priority), try childKeys(below: path, limit: 1).isEmpty else { return nil }
        var found: [Entry] = []
        try reader.scan(from: PathKey(path).firstBelow, to: PathKey(end), descending: true) { entry in
            found.append(entry)
            return found.count < count
        }
        return found.count == count ? found.reversed() : nil
    }
}

extension Value {
    /// The node at a relative path with numbers added to it, in this order; nil where it is no number.
    func adding(_ numbers: [Value], at keys: ArraySlice<Key>) -> Value? {
        guard descendant(keys).isNumber else { return nil }
        var value = self
        value.update(keys) { node in
            let priority = node.priority
            node = numbers.reduce(node.leaf) { $0.adding($1) }
            node.setPriority(priority)
        }
        return value
    }
}
