internal import ControlAPI
internal import Seal
internal import Store
internal import Tree

/// What others overwrote where anybody may write, and who wrote what stands there now.
extension Node {
    /// Overwritten values in one answer.
    private static let historyMax: Int64 = 1000
    private static let historyDefault: Int64 = 50
    /// Bytes as JSON that a row shows of a value; of a larger one it says how large it is.
    private static let historyValueMax = 64 << 10
    /// What one request looks at, also of what it does not show: others decide how much lies there.
    private static let gravesMax = 2000
    private static let graveBytesMax = 8 << 20
    /// Live entries below a path among which the latest are looked for; where there are more, none is shown.
    private static let liveSearchMax = 1000
    private static let liveSearchBytesMax = 2 << 20
    /// Those that are shown.
    private static let liveBelowMax = 8

    func treeHistory(_ params: Fields) throws -> JSON {
        let path = try path(params)
        let limit = try params.optionalInt("limit") ?? Node.historyDefault
        guard (1...Node.historyMax).contains(limit) else {
            throw RPCError.invalidParams("a limit is 1 to \(Node.historyMax)")
        }
        let before = try params.optionalString("before").map { try grave(at: path, $0) { _ in true } }
        var rows = before == nil ? try liveRows(at: path).map(\.json) : []
        var bytes = rows.reduce(0) { $0 + $1.serialized.count }
        var (shown, looked, read) = (0, 0, 0)
        var last: Grave?
        var isMoreLeft = false
        try store.graves(around: path, before: before?.number, limit: Node.gravesMax) { grave in
            guard shown < limit, read < Node.graveBytesMax else {
                isMoreLeft = true
                return false
            }
            looked += 1
            read += grave.value.approximateSize
            if let part = Node.part(of: grave, at: path) {
                let row = try row(grave, part).json
                bytes += row.serialized.count
                isMoreLeft = bytes > Node.snapshotMax
                guard !isMoreLeft else { return false }
                rows.append(row)
                shown += 1
            }
            last = grave
            return true
        }
        var answer: JSONObject = ["history": .array(rows)]
        if isMoreLeft || looked == Node.gravesMax, let last { answer.append("before", .string(last.id.hex)) }
        return .object(answer)
    }

    /// Writes a value again that the history of a path shows.
    func treeRestore(_ params: Fields) throws -> JSON {
        let path = try path(params)
        let grave = try grave(at: path, try params.string("id")) { Node.part(of: $0, at: path) != nil }
        guard let part = Node.part(of: grave, at: path) else { throw Node.noGrave }
        if part.path.last?.additionID == nil {
            try write(at: part.path, part.value)
        } else {
            // The key of an addition certifies its author: whoever restores one adds the number himself.
            let hlc = try tick()
            guard let addition = part.path.parent.appending(.addition(AutoID(hlc: hlc, author: uid))) else {
                throw RPCError(reason: .invalidPath, message: "\(PathError.tooLong)")
            }
            try write([(addition, part.value)], at: hlc)
        }
        return try row(grave, part).json
    }

    private static let noGrave = RPCError(
        reason: .notFound, message: "nothing of that id was overwritten here in the last 7 days")

    /// The one grave around a path whose id begins with these digits, of those that fit.
    private func grave(at path: Path, _ digits: String, where fits: (Grave) -> Bool) throws -> Grave {
        guard let ids = Node.ids(beginningWith: digits) else { throw Node.noGrave }
        var found: [Grave] = []
        try store.graves(around: path, ids: ids) { grave in
            if fits(grave) { found.append(grave) }
            return found.count < 2
        }
        guard let grave = found.first else { throw Node.noGrave }
        guard found.count == 1 else {
            throw RPCError(reason: .ambiguousName, message: "more than one id begins so: give more of its digits")
        }
        return grave
    }

    private static func ids(beginningWith digits: String) -> ClosedRange<Bytes32>? {
        let missing = 2 * Bytes32.zero.bytes.count - digits.utf8.count
        guard missing >= 0, !digits.isEmpty else { return nil }
        guard let lower = Bytes32(hex: digits + String(repeating: "0", count: missing)),
            let upper = Bytes32(hex: digits + String(repeating: "f", count: missing))
        else { return nil }
        return lower...upper
    }

    // MARK: Rows

    /// What of an entry is to be seen from a path.
    private struct Part {
        let path: Path
        let value: Value
        /// Where the entry stood, if that is above the path.
        var within: Path?
    }

    /// An entry at the path or below it is seen whole; of one above, what its value held at the path. Nil where it held
    /// nothing there.
    private static func part(of grave: Grave, at path: Path) -> Part? {
        guard !path.contains(grave.path) else { return Part(path: grave.path, value: grave.value) }
        let value = grave.value.descendant(path.keys[grave.path.depth...])
        return value.isNull ? nil : Part(path: path, value: value, within: grave.path)
    }

    private func row(_ grave: Grave, _ part: Part) throws -> HistoryRow {
        var row = try row(part, id: grave.id, author: grave.author, grave.hlc)
        row.death = HistoryRow.Death(
            uid: UID.text(grave.killer.author), name: try displayName(of: grave.killer.author),
            at: Int64(clamping: grave.killer.hlc.ms), diedAt: Int64(clamping: grave.diedMs))
        return row
    }

    private func row(_ part: Part, id: Bytes32, author: Bytes32, _ hlc: HLC) throws -> HistoryRow {
        let size = part.value.approximateSize
        let isAddition = part.path.last?.additionID != nil
        let value = size > Node.historyValueMax ? nil : JSON(part.value)
        return HistoryRow(
            id: String(id.hex.prefix(16)), path: "\(isAddition ? part.path.parent : part.path)",
            within: part.within.map { "\($0)" },
            value: isAddition ? value.map { [".sv": ["increment": $0]] } : value,
            tooLarge: value == nil ? Int64(size) : nil, author: UID.text(author),
            authorName: try displayName(of: author), writtenAt: Int64(clamping: hlc.ms))
    }

    // MARK: What stands there now

    /// The nearest live entry at or above a path, and the latest below it.
    private func liveRows(at path: Path) throws -> [HistoryRow] {
        var nearest: Entry?
        for depth in stride(from: 1, through: path.depth, by: 1) {
            guard let entry = try store.entry(at: PathKey(path.prefix(depth))) else { continue }
            if let above = nearest, entry.stamp < above.stamp { continue }
            nearest = entry
        }
        var rows: [HistoryRow] = []
        if let nearest {
            let value = nearest.kind == Entry.set ? nearest.value : .null
            let part = Part(
                path: path, value: value.descendant(path.keys[nearest.path.depth...]),
                within: nearest.path == path ? nil : nearest.path)
            rows.append(try row(part, id: nearest.id, author: nearest.author, nearest.hlc))
        }
        for entry in try liveEntries(below: path, nearest) {
            let part = Part(path: entry.path, value: entry.value)
            rows.append(try row(part, id: entry.id, author: entry.author, entry.hlc))
        }
        return rows
    }

    private func liveEntries(below path: Path, _ nearest: Entry?) throws -> [Entry] {
        let key = PathKey(path)
        var found: [Entry] = []
        // Those above the current one, the last with the greatest stamp: what is older than it is dead.
        var stack = nearest.map { [$0] } ?? []
        var (looked, bytes) = (0, 0)
        var isTooMuch = false
        try store.scan(from: key.firstBelow, to: key.subtreeEnd, descending: false) { entry in
            looked += 1
            bytes += entry.encoded.count
            isTooMuch = looked > Node.liveSearchMax || bytes > Node.liveSearchBytesMax
            guard !isTooMuch else { return false }
            while let last = stack.last, !last.path.contains(entry.path) { stack.removeLast() }
            if let last = stack.last, entry.stamp < last.stamp { return true }
            stack.append(entry)
            if entry.kind == Entry.set { found.append(entry) }
            return true
        }
        guard !isTooMuch else { return [] }
        return Array(found.sorted { $1.stamp < $0.stamp }.prefix(Node.liveBelowMax))
    }
}
