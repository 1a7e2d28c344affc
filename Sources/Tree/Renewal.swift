public import Seal

/// Writes entries of one author anew at other times, with everything in them that depends on the time: their own keys
/// and those of each other, and the times they name.
///
/// For a node that finds out that its clock was far ahead before anybody has seen what it wrote.
public struct Renewal {
    /// A whole number this close to the time of its write is the time of that write.
    private static let nearMs: UInt64 = 10_000

    private let author: Bytes32
    private let limit: HLC
    private let time: (HLC) throws -> HLC

    /// - `limit`: keys of later times were made by the clock that was wrong.
    /// - `time`: the new time for an old one, always the same.
    public init(author: Bytes32, after limit: HLC, time: @escaping (HLC) throws -> HLC) {
        self.author = author
        self.limit = limit
        self.time = time
    }

    /// The entry as it would have been written at another time. Throws what `time` throws, and where the path would be
    /// none.
    public func renewed(_ entry: Entry) throws -> Entry {
        let hlc = try time(entry.hlc)
        let keys = try entry.path.keys.map { try renewed($0, writtenAt: entry.hlc) }
        guard let path = Path(keys) else { throw PathError.tooLong }
        let value = try renewed(entry.value, entry.hlc, hlc)
        return try Entry(path: path, hlc: hlc, author: author, value: value, kind: entry.kind)
    }

    private func renewed(_ value: Value, _ old: HLC, _ new: HLC) throws -> Value {
        switch value {
        case .null, .bool, .double: return value
        case .integer(let number):
            guard let ms = UInt64(exactly: number), ms > limit.ms, max(ms, old.ms) - min(ms, old.ms) <= Self.nearMs
            else { return value }
            return .number(Int64(clamping: new.ms) &+ number &- Int64(clamping: old.ms))
        case .string(let text): return .string(try renewed(text, writtenAt: old))
        case .object(let object):
            return .object(
                ObjectValue(
                    try object.children.map { child in
                        (try renewed(child.key, writtenAt: old), try renewed(child.value, old, new))
                    }))
        }
    }

    private func renewed(_ key: Key, writtenAt old: HLC) throws -> Key {
        if let id = key.additionID {
            return isOurs(id) ? .addition(AutoID(hlc: try time(id.hlc), author: author)) : key
        }
        return Key(stored: try renewed(key.text, writtenAt: old)) ?? key
    }

    private func renewed(_ text: String, writtenAt old: HLC) throws -> String {
        if let id = AutoID(text) { return isOurs(id) ? AutoID(hlc: try time(id.hlc), author: author).text : text }
        // A push ID certifies nobody; one of a time that only the wrong clock has shown was made by its client.
        guard let ms = AutoID.pushIDMs(text), ms > limit.ms, ms <= old.ms &+ Self.nearMs else { return text }
        return AutoID.pushID(text, ms: try time(HLC(ms: ms)).ms)
    }

    private func isOurs(_ id: AutoID) -> Bool { id.hlc > limit && id.isCertified(by: author) }
}

extension AutoID {
    /// A push ID with another time.
    fileprivate static func pushID(_ text: String, ms: UInt64) -> String {
        String(AutoID(hlc: HLC(ms: ms), author: .zero).text.prefix(8) + text.dropFirst(8))
    }
}
