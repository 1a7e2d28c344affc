/// Reads JSON values out of live entries: the nearest entry at or above a path, and what lies below laid over it.
public struct TreeView {
    private let reader: any EntryReader

    public init(_ reader: any EntryReader) { self.reader = reader }

    /// The nearest live entry at or above a path: its stamp, and its value as seen from the path.
    struct Base {
        var stamp: Stamp?
        var value: Value = .null
    }

    /// Live stamps increase with depth, so of the entries on the way down the greatest stamp counts.
    func base(at path: Path) throws -> Base {
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
        var size = sizeMax < .max ? value.approximateSize : 0
        guard size <= sizeMax else { throw ReadError.tooLarge }
        // Entries come parents first; the stack holds those above the current one, the last with the greatest stamp.
        var stack: [(path: Path, stamp: Stamp)] = base.stamp.map { [(path, $0)] } ?? []
        try reader.scan(from: lower, to: upper, descending: false) { entry in
            while let last = stack.last, !last.path.contains(entry.path) { stack.removeLast() }
            if let last = stack.last, entry.stamp < last.stamp { return true }
            stack.append((entry.path, entry.stamp))
            guard entry.kind == Entry.set else { return true }
            size += entry.value.approximateSize
            guard size <= sizeMax else { throw ReadError.tooLarge }
            lay(entry, below: path, over: &value)
            return true
        }
        return value
    }

    private func lay(_ entry: Entry, below path: Path, over value: inout Value) {
        let relative = entry.path.keys[path.depth...]
        guard let last = relative.last, last.isEngine else {
            value.overlay(relative, entry.value)
            return
        }
        guard last.additionID != nil else { return }
        let target = relative.dropLast()
        value.overlay(target, value.descendant(target).adding(entry.value))
    }

    /// Whether and what stands at a child, given the base of its parent.
    private func child(_ key: Key, of path: Path, base: Base, sizeMax: Int) throws -> Value {
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
    private static let glanceMax = 64 * 1024

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

    /// Keys of the children that have an entry or an inherited value below this path; some may hold nothing any more.
    /// A seek for each child, whatever stands below it.
    public func childKeys(of path: Path, limit: Int = .max) throws -> [Key] {
        var keys = Set((try base(at: path).value.object?.children ?? []).map(\.key))
        var lower = PathKey(path).firstChild
        let end = PathKey(path).subtreeEnd
        while keys.count < limit, let key = try nextKey(in: lower, end, depth: path.depth, descending: false),
            let child = path.appending(key)
        {
            keys.insert(key)
            lower = PathKey(child).subtreeEnd
        }
        return keys.sorted()
    }

    /// Visits children in key order or backwards, with their values, until the body returns false. Reads only what it
    /// visits: a seek and a scan for each child.
    ///
    /// - `lower`: first key that may be visited.
    /// - `upper`: last key that may be visited.
    /// - `limit`: what happens to a child that is too large.
    public func children(
        of path: Path, from lower: Key? = nil, through upper: Key? = nil, descending: Bool = false,
        limit: ChildLimit = .none, _ body: (Key, Value) throws -> Bool
    ) throws {
        let base = try base(at: path)
        let parent = PathKey(path)
        var first = parent.firstChild
        var end = parent.subtreeEnd
        if let lower, let lowerPath = path.appending(lower) { first = PathKey(lowerPath) }
        if let upper, let upperPath = path.appending(upper) { end = PathKey(upperPath).subtreeEnd }
        var inherited = (base.value.object?.children ?? []).map(\.key).filter { key in
            (lower.map { !(key < $0) } ?? true) && (upper.map { !($0 < key) } ?? true)
        }
        if !descending { inherited.reverse() }  // the next one is always last
        while true {
            let stored = try nextKey(in: first, end, depth: path.depth, descending: descending)
            let candidate: Key
            switch (stored, inherited.last) {
            case (nil, nil): return
            case (let key?, nil), (nil, let key?): candidate = key
            case (let a?, let b?): candidate = descending ? max(a, b) : min(a, b)
            }
            if inherited.last == candidate { inherited.removeLast() }
            guard let candidatePath = path.appending(candidate) else { return }
            if descending { end = PathKey(candidatePath) } else { first = PathKey(candidatePath).subtreeEnd }
            let value = try limited(candidate, of: path, base: base, limit)
            if !value.isNull, try !body(candidate, value) { return }
        }
    }

    private func limited(_ key: Key, of path: Path, base: Base, _ limit: ChildLimit) throws -> Value {
        switch limit {
        case .none: return try child(key, of: path, base: base, sizeMax: .max)
        case .refuse(let sizeMax): return try child(key, of: path, base: base, sizeMax: sizeMax)
        case .abridge(let sizeMax):
            do {
                let value = try child(key, of: path, base: base, sizeMax: sizeMax)
                if value.approximateSize <= sizeMax { return value }
            } catch ReadError.tooLarge {}
            return try abridged(key, of: path, sizeMax: sizeMax)
        }
    }

    /// One child as ``children(of:from:through:descending:limit:_:)`` gives it.
    func child(_ key: Key, of path: Path, limit: ChildLimit) throws -> Value {
        try limited(key, of: path, base: base(at: path), limit)
    }

    private func nextKey(in lower: PathKey, _ upper: PathKey, depth: Int, descending: Bool) throws -> Key? {
        var found: Key?
        try reader.scan(from: lower, to: upper, descending: descending) { entry in
            guard entry.path.depth > depth else { return true }
            found = entry.path.keys[depth]
            return false
        }
        return found
    }
}

/// How much of a child is read. Others decide how large a child becomes, so a reader of many has to decide what one may
/// cost.
public enum ChildLimit: Sendable, Equatable {
    case none
    /// A larger one throws ``ReadError/tooLarge``.
    case refuse(sizeMax: Int)
    /// Of a larger one only those of its children are read that fit.
    case abridge(sizeMax: Int)
}

/// Why a read was refused.
public enum ReadError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The value is larger than the caller takes; a query reads a window of it.
    case tooLarge

    public var description: String { "the value is too large to be read at once; query a window of it" }
}

extension Value {
    /// Bytes the value takes as JSON, at most; in every other form it takes less.
    public var approximateSize: Int {
        switch self {
        case .string(let string): Value.quotedSize(string)
        case .object(let object):
            object.children.reduce(2) { $0 + Value.quotedSize($1.key.text) + 2 + $1.value.approximateSize }
        case .null, .bool: 5
        case .integer: 17
        case .double: 24
        }
    }

    /// Control characters grow to six bytes as JSON: somebody else's string must not become larger than it looks.
    private static func quotedSize(_ text: String) -> Int {
        text.utf8.reduce(2) { size, byte in
            size + (byte < 0x20 ? 6 : byte == 0x22 || byte == 0x5C ? 2 : 1)
        }
    }

    /// The value after a concurrent addition: what is no number counts as 0.
    func adding(_ other: Value) -> Value {
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
