/// Reads JSON values out of live entries: the nearest entry at or above a path, and what lies below laid over it.
public struct TreeView {
    let reader: any EntryReader

    public init(_ reader: any EntryReader) { self.reader = reader }

    /// The nearest live entry at or above a path: its stamp, and its value as seen from the path.
    public struct Base: Sendable {
        var stamp: Stamp?
        var value: Value = .null

        /// Children that come from there.
        public var childCount: Int { value.object?.count ?? 0 }
    }

    /// Live stamps increase with depth, so of the entries on the way down the greatest stamp counts.
    public func base(at path: Path) throws -> Base {
        var base = Base()
        for depth in stride(from: 1, through: path.depth, by: 1) {
            guard let entry = try reader.entry(at: PathKey(path.prefix(depth))) else { continue }
            if let stamp = base.stamp, entry.stamp < stamp { continue }
            let value = entry.kind == Entry.set ? entry.value : .null
            base = Base(stamp: entry.stamp, value: value.descendant(path.keys[depth...]))
        }
        return base
    }

    /// The value at a path; null where there is nothing.
    ///
    /// - `sizeMax`: bytes of keys and strings after which it throws ``ReadError/tooLarge``.
    public func value(at path: Path, sizeMax: Int = .max) throws -> Value {
        let key = PathKey(path)
        let above = try base(at: path)
        return try overlaid(
            above, path: path, from: key.firstBelow, to: key.subtreeEnd, sizeMax: sizeMax)
    }

    /// Lays the entries of a range below `path` over a base.
    private func overlaid(
        _ base: Base, path: Path, from lower: PathKey, to upper: PathKey, sizeMax: Int
    ) throws -> Value {
        var value = base.value
        var size = try Size(of: value, max: sizeMax)
        // Entries come parents first; the stack holds those above the current one, the last with the greatest stamp.
        var stack: [(path: Path, stamp: Stamp)] = base.stamp.map { [(path, $0)] } ?? []
        var priorities: [(keys: ArraySlice<Key>, value: Value)] = []
        var sums: [Sum] = []
        try reader.scan(from: lower, to: upper, descending: false) { entry in
            while let last = stack.last, !last.path.contains(entry.path) { stack.removeLast() }
            if let last = stack.last, entry.stamp < last.stamp { return true }
            stack.append((entry.path, entry.stamp))
            // What this version does not understand shows nothing, and nothing of what it has killed.
            let laid = entry.kind == Entry.set ? entry.value : .null
            let relative = entry.path.keys[path.depth...]
            try size.add(relative, laid)
            while let sum = sums.last, !relative.starts(with: sum.keys) { sums.removeLast() }
            if relative.last == .priority {
                priorities.append((relative.dropLast(), laid))
            } else if let last = relative.last, last.additionID != nil {
                let node = relative.dropLast()
                if sums.last?.keys != node { sums.append(Sum(keys: node, base: value.descendant(node))) }
                sums[sums.count - 1].additions.append((entry.stamp, laid))
                value.update(node) { $0.add(laid) }
            } else if laid.isNull, !sums.isEmpty {
                remove(relative, entry.stamp, &sums, from: &value)
            } else {
                value.overlay(relative, laid)
            }
            return true
        }
        // A priority stands before the children that make its node exist.
        for (keys, priority) in priorities where !value.descendant(keys).isNull {
            value.update(keys) { $0.setPriority(priority) }
        }
        return value
    }

    /// Bytes of what has been laid over one another, as JSON.
    private struct Size {
        private let max: Int
        private var bytes = 0
        /// The place of the entry before: keys that lead to the next one as well are there already.
        private var last: ArraySlice<Key> = []

        init(of base: Value, max: Int) throws {
            self.max = max
            if max < .max { try grow(base.isNull ? 2 : base.approximateSize) }
        }

        /// Additions and tombstones take no room in the value, but time.
        mutating func add(_ keys: ArraySlice<Key>, _ value: Value) throws {
            guard max < .max else { return }
            guard !value.isNull, keys.last?.additionID == nil else { return try grow(1) }
            let common = zip(last, keys).prefix { $0 == $1 }.count
            last = keys
            try grow(keys.dropFirst(common).reduce(value.approximateSize) { $0 + Value.memberSize($1) + 2 })
        }

        private mutating func grow(_ count: Int) throws {
            bytes += count
            guard bytes <= max else { throw ReadError.tooLarge }
        }
    }

    /// A number and what was added to it.
    private struct Sum {
        let keys: ArraySlice<Key>
        var base: Value
        var additions: [(stamp: Stamp, number: Value)] = []

        var value: Value { additions.reduce(base) { $0.adding($1.number) } }
    }

    /// Lays a tombstone below sums. It removes a scalar above it, so of a sum remains what was added later.
    private func remove(_ keys: ArraySlice<Key>, _ stamp: Stamp, _ sums: inout [Sum], from value: inout Value) {
        for index in sums.indices {
            sums[index].base = .null
            sums[index].additions.removeAll { $0.stamp < stamp }
        }
        value.overlay(keys, .null)
        for sum in sums where value.descendant(sum.keys).isNull {
            let rest = sum.value
            if !rest.isNull { value.overlay(sum.keys, rest) }
        }
    }

    /// The priority of a node; null where it has none. Costs two look-ups, however much stands at the path.
    public func priority(at path: Path) throws -> Value {
        guard let place = path.appending(.priority), let entry = try reader.entry(at: PathKey(place)) else {
            return .null
        }
        if let stamp = try base(at: path).stamp, entry.stamp < stamp { return .null }
        return entry.kind == Entry.set ? entry.value : .null
    }

    /// Whether and what stands at a child, given the base of its parent.
    func child(_ key: Key, of path: Path, base: Base, sizeMax: Int) throws -> Value {
        guard let childPath = path.appending(key) else { return .null }
        let below = Base(stamp: base.stamp, value: base.value[key])
        // The entry at the child itself is part of the scan, so the base is laid at the parent's depth.
        var wrapped = Base(stamp: below.stamp)
        wrapped.value.overlay([key], below.value)
        let lower = PathKey(childPath)
        return try overlaid(wrapped, path: path, from: lower, to: lower.subtreeEnd, sizeMax: sizeMax)[key]
    }

    /// The value of one child.
    ///
    /// - `sizeMax`: bytes as for ``value(at:sizeMax:)``.
    public func child(_ key: Key, of path: Path, sizeMax: Int = .max) throws -> Value {
        try child(key, of: path, base: base(at: path), sizeMax: sizeMax)
    }

    /// Bytes looked at to tell whether there is anything; what is larger surely is something.
    static let glanceMax = 64 * 1024

    /// Whether there is no value at a path. Costs the same however much stands there.
    public func isAbsent(at path: Path) throws -> Bool {
        do {
            return try value(at: path, sizeMax: TreeView.glanceMax).isNull
        } catch ReadError.tooLarge {
            return false
        }
    }

    /// Fields of a large child that are looked at.
    private static let fieldsMax = 64

    /// A child that is too large to be read whole: those of its own children that fit, in order.
    func abridged(_ key: Key, of path: Path, sizeMax: Int) throws -> Value {
        guard let childPath = path.appending(key) else { return .null }
        let base = try base(at: childPath)
        var pairs: [(Key, Value)] = []
        var left = sizeMax
        for field in try childKeys(of: childPath, limit: TreeView.fieldsMax) {
            guard let value = try? child(field, of: childPath, base: base, sizeMax: left) else { continue }
            guard value.approximateSize <= left else { continue }
            left -= value.approximateSize
            pairs.append((field, value))
        }
        let object = ObjectValue(pairs)
        return object.isEmpty ? .null : .object(object)
    }
}

/// Why a read was refused.
public enum ReadError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The value is larger than the caller takes; a query reads a window of it.
    case tooLarge
    /// The path has so many children that their order is still being made; it can be asked for again soon.
    case notOrderedYet

    public var description: String {
        switch self {
        case .tooLarge: "the value is too large to be read at once; query a window of it"
        case .notOrderedYet: "the children are still being put in order; ask again in a moment"
        }
    }
}

extension Value {
    /// Bytes the value takes as JSON, at most; in every other form it takes less.
    public var approximateSize: Int {
        switch self {
        case .string(let string): Value.quotedSize(string)
        case .object(let object):
            object.children.reduce(2) { $0 + Value.memberSize($1.key) + $1.value.approximateSize }
        case .null, .bool: 5
        case .integer: 17
        case .double: 24
        }
    }

    /// Bytes of a key with what stands around it in an object.
    fileprivate static func memberSize(_ key: Key) -> Int { quotedSize(key.text) + 2 }

    /// Control characters grow to six bytes as JSON: somebody else's string must not become larger than it looks.
    private static func quotedSize(_ text: String) -> Int {
        let utf8 = text.utf8.span
        var size = 2 + utf8.count
        for index in utf8.indices {
            let byte = utf8[index]
            if byte < 0x20 { size += 5 } else if byte == 0x22 || byte == 0x5C { size += 1 }
        }
        return size
    }

    /// The value after a concurrent addition: what is no number counts as 0.
    public func adding(_ other: Value) -> Value {
        switch (self, other) {
        case (.integer(let a), .integer(let b)):
            let (sum, overflow) = a.addingReportingOverflow(b)
            return overflow ? .double(Double(a) + Double(b)) : .number(sum)
        case (.integer(let a), .double(let b)): return .number(Double(a) + b) ?? self
        case (.double(let a), .integer(let b)): return .number(a + Double(b)) ?? self
        case (.double(let a), .double(let b)): return .number(a + b) ?? self
        case (_, .integer), (_, .double): return other
        default: return self
        }
    }
}
