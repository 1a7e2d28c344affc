public import Seal

/// A write as a client means it; ``TreeView/entries(of:by:tick:)`` makes entries of it.
public enum Mutation: Sendable, Equatable {
    /// The value, with its priorities, replaces what stands at the path; null removes it.
    case set(Path, Value)
    /// The node at the path gets a priority, or with null loses it.
    case setPriority(Path, Value)
    /// A number is added to the one at the path, whoever else adds meanwhile.
    case add(Path, Value)

    public var path: Path {
        switch self {
        case .set(let path, _), .setPriority(let path, _), .add(let path, _): path
        }
    }
}

extension TreeView {
    /// The entries that carry out mutations of different, not nested paths, in stamp order.
    ///
    /// - Nothing is removed where nothing is seen, and what does not exist gets no priority: such mutations make no
    ///   entry.
    /// - Priorities are laid over the values of the same write, so they bear a later time. Where a removal leaves an
    ///   ancestor empty, the ancestor's priority ends with it, as in Firebase.
    /// - `author`: the writer's public key.
    /// - `tick`: gives the times of the entries: one, and a second where there are priorities.
    public func entries(
        of mutations: [Mutation], by author: Bytes32, tick: () throws -> HLC
    ) throws -> [Entry] {
        var values: [(path: Path, value: Value)] = []
        var priorities: [(path: Path, value: Value)] = []
        var additions: [(path: Path, value: Value)] = []
        var wanted: [(path: Path, value: Value)] = []
        for mutation in mutations {
            switch mutation {
            case .set(let path, let value):
                if value.isNull, try isAbsent(at: path) { continue }
                values.append((path, value.plain))
                for (keys, priority) in value.priorities {
                    guard let place = Path(path.keys + keys + [.priority]) else { throw EntryError.pathTooLong }
                    priorities.append((place, priority))
                }
            case .setPriority(let path, let priority): wanted.append((path, priority))
            case .add(let path, let number):
                if try isSummable(at: path) {
                    additions.append((path, number))
                    if try !priority(at: path).isNull, let place = path.appending(.priority) {
                        priorities.append((place, .null))
                    }
                } else {
                    values.append((path, number))
                }
            }
        }
        for (path, priority) in wanted {
            guard let place = path.appending(.priority) else { throw EntryError.pathTooLong }
            guard try self.priority(at: path) != priority else { continue }
            let isAdded = additions.contains { path.contains($0.path) }
            if try isAdded || isPresent(path, after: values) { priorities.append((place, priority)) }
        }
        priorities += try endedPriorities(values).map { ($0, .null) }
        var entries: [Entry] = []
        if !values.isEmpty || !additions.isEmpty {
            let hlc = try tick()
            for (path, value) in values {
                entries.append(try Entry(path: path, hlc: hlc, author: author, value: value))
            }
            let id = AutoID(hlc: hlc, author: author)
            for (path, number) in additions {
                guard let place = path.appending(.addition(id)) else { throw EntryError.pathTooLong }
                entries.append(try Entry(path: place, hlc: hlc, author: author, value: number))
            }
        }
        if !priorities.isEmpty {
            let hlc = try tick()
            for (path, value) in priorities {
                entries.append(try Entry(path: path, hlc: hlc, author: author, value: value))
            }
        }
        return entries.sorted { $0.stamp < $1.stamp }
    }

    /// Whether an addition would be seen there. Where nothing ever stood below the path that is known without a look at
    /// the additions, of which there may be many.
    private func isSummable(at path: Path) throws -> Bool {
        if try base(at: path).value.object == nil, try childKeys(of: path, limit: 1).isEmpty { return true }
        do {
            return try value(at: path, sizeMax: Entry.sizeMax).object?.hasChildren != true
        } catch ReadError.tooLarge {
            // No number is that large.
            return false
        }
    }

    /// Whether something stands at a path once these values are written, of which none is above it.
    private func isPresent(_ path: Path, after writes: [(path: Path, value: Value)]) throws -> Bool {
        let below = writes.filter { path.contains($0.path) }
        if below.contains(where: { !$0.value.isNull }) { return true }
        guard !below.isEmpty else { return try !isAbsent(at: path) }
        // What is too large to look at is not left empty by a few removals.
        guard var left = try? value(at: path, sizeMax: TreeView.glanceMax) else { return true }
        for write in below { left.overlay(write.path.keys[path.depth...], write.value) }
        return !left.isNull
    }

    /// The priorities of ancestors that these writes leave empty.
    private func endedPriorities(_ writes: [(path: Path, value: Value)]) throws -> [Path] {
        var ended: [Path] = []
        var seen: Set<Path> = []
        for (path, value) in writes where value.isNull {
            for depth in stride(from: path.depth - 1, through: 1, by: -1) {
                let ancestor = path.prefix(depth)
                // Of many removals side by side, the first finds out what becomes of those above.
                guard seen.insert(ancestor).inserted else { break }
                guard let place = ancestor.appending(.priority), try !priority(at: ancestor).isNull else { continue }
                // What is too large to look at is not left empty by a few removals.
                guard var left = try? self.value(at: ancestor, sizeMax: TreeView.glanceMax) else { break }
                for write in writes where ancestor.contains(write.path) {
                    left.overlay(write.path.keys[depth...], write.value)
                }
                guard left.isNull else { break }
                ended.append(place)
            }
        }
        return ended.sorted { PathKey($0) < PathKey($1) }
    }
}
