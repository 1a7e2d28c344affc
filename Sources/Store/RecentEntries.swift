internal import Seal
internal import Tree

/// The entries written last and the one read last, by their ids. Whoever is told of a write reads it at once, and a
/// child is read once for its key and once for its value: then it need not be decoded and checked against its id again.
struct RecentEntries {
    static let countMax = 64
    /// While entries come in bulk: those of a transaction, all of which are read once more for those who follow them.
    static let bulkCountMax = 4096
    /// Bytes of an entry that is remembered.
    private static let sizeMax = 4096

    /// Whether entries come in bulk; else what that took is given back.
    var isBulk = false {
        didSet { if !isBulk { entries = [:] } }
    }
    /// Entries of one bundle that are remembered: the last ones.
    var ofBundle: Int { countMax / 2 }
    private var countMax: Int { isBulk ? Self.bulkCountMax : Self.countMax }

    private var entries: [Bytes32: Entry] = [:]
    private var lastRead: Entry?

    subscript(id: Bytes32) -> Entry? {
        if let lastRead, lastRead.id == id { return lastRead }
        return entries[id]
    }

    mutating func read(_ entry: Entry) {
        if entry.encoded.count <= Self.sizeMax { lastRead = entry }
    }

    /// An entry that is not stored after all does no harm: it is asked for by what a row says.
    mutating func insert(_ entry: Entry) {
        guard entry.encoded.count <= Self.sizeMax else { return }
        if entries.count >= countMax { entries.removeAll(keepingCapacity: true) }
        entries[entry.id] = entry
    }
}
