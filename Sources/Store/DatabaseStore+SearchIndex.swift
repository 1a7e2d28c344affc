internal import Chat
internal import Seal
internal import Tree

/// The search index follows the tree in transactions of its own: in the writer's, a message would wait for it.
///
/// New entries are found by their rows, which rise. What a removal takes away for good is written down by the writer:
/// the words under which the index knows the message.
extension DatabaseStore {
    /// Pages that are merged after each step: more than a step writes, so that merging never has to catch up, and few
    /// enough to take a millisecond or two.
    private static let mergePages = 8

    /// A message as the index has it.
    private struct Indexed {
        let id: Int64
        let sender: Int64
        /// Nil when the entry is gone.
        let source: Int64?

        init(_ row: borrowing Row) {
            (id, sender) = (row.integer(0), row.integer(1))
            source = row.isNull(2) ? nil : row.integer(2)
        }
    }

    /// A message as it stands in the tree.
    private struct Standing {
        let words: String
        let sender: Int64
        let source: Int64
    }

    /// Reads how far the index has come.
    func recallIndex() throws {
        indexedChange = try database.integer("SELECT row FROM search_mark")
        lastChange = max(
            indexedChange, try database.integer("SELECT max(row) FROM entry"),
            try database.integer("SELECT max(read) FROM container"))
    }

    public func isIndexed(through change: Int64) throws -> Bool {
        try indexedChange >= change && search.due.first(.integer(1)) { _ in true } == nil
    }

    public func indexMessages(limit: Int, while goesOn: () -> Bool) throws -> Bool {
        guard try isIndexBehind else { return false }
        return try mendingIndex {
            try transaction {
                var left = max(1, limit)
                for place in try search.due.all(.integer(left), read: { ($0.integer(0), $0.text(1)) }) where left > 0 {
                    try index(place.0, place.1)
                    try search.deleteDue.run(.integer(place.0), .text(place.1))
                    left = goesOn() ? left - 1 : 0
                }
                for id in try search.gone.all(.integer(left), read: { $0.integer(0) }) where left > 0 {
                    let place = try search.messageAtNumber.first(.integer(id)) { ($0.integer(0), $0.text(1)) }
                    if let place { try index(place.0, place.1) }
                    try search.deleteGone.run(.integer(id))
                    left = goesOn() ? left - 1 : 0
                }
                if left > 0 { try followEntries(left, while: goesOn) }
                try search.merge.run(.integer(Self.mergePages))
                return try isIndexBehind
            }
        }
    }

    private var isIndexBehind: Bool {
        get throws {
            guard try isIndexed(through: lastChange) else { return true }
            return try search.gone.first(.integer(1)) { _ in true } != nil
        }
    }

    private func followEntries(_ limit: Int, while goesOn: () -> Bool) throws {
        let changes = try search.changes.all(.integer(indexedChange), .integer(limit)) { row in
            (row: row.integer(0), path: try path(row.blob(1)), isHeld: row.integer(2) != 0)
        }
        var isThrough = changes.count < limit
        for change in changes {
            if !change.isHeld, change.path.bytes.starts(with: MessagePlace.channels) {
                try follow(change.row, change.path)
            }
            indexedChange = change.row
            guard goesOn() else {
                isThrough = false
                break
            }
        }
        // Rows whose entry is gone already end the way, too.
        if isThrough { indexedChange = lastChange }
        try search.setMark.run(.integer(indexedChange))
    }

    private func follow(_ row: Int64, _ key: PathKey) throws {
        guard let path = key.path else { throw StoreError(.corrupt, detail: "no path") }
        if let place = MessagePlace(changedBy: path) {
            try index(number(ofContainer: place.container), place.mid)
        } else if path.depth < 4, let entry = try entry(atRow: row) {
            try addDue(MessagePlace.inside(entry))
            // What stands inside an entry further up may be hidden by this one.
            for depth in 1..<path.depth {
                guard let above = try self.entry(at: PathKey(path.prefix(depth))) else { continue }
                try addDue(MessagePlace.inside(above))
            }
        }
    }

    /// Messages of one entry above them that are looked at. Nobody writes a channel whole with its messages, and each
    /// look at one of them reads the entry, which may have a megabyte.
    private static let insideMax = 256

    private func addDue(_ places: [MessagePlace]) throws {
        for place in places.prefix(Self.insideMax) {
            try search.addDue.run(.integer(try number(ofContainer: place.container)), .text(place.mid))
        }
    }

    func entry(atRow row: Int64) throws -> Entry? {
        try search.entryAtRow.first(.integer(row)) { try entry($0) }
    }

    // MARK: One message

    /// Makes the index say of a message what the tree says.
    private func index(_ container: Int64, _ mid: String) throws {
        let place = MessagePlace(container: try path(ofContainer: container), mid: mid)
        guard let path = place.path else { return }
        let new = try standing(path)
        let old = try indexed(container, mid)
        if let old {
            let words = try words(of: old, path)
            try search.deleteGone.run(.integer(old.id))
            if let new, new.words == words, new.sender == old.sender {
                if new.source != old.source { try search.setSource.run(.integer(new.source), .integer(old.id)) }
                return
            }
            try search.deleteWords.run(.integer(old.id), .text(tagged(words, container, old.sender)))
            if new == nil { try search.deleteMessage.run(.integer(old.id)) }
        }
        guard let new else { return }
        let id = try old?.id ?? freeNumber(mid)
        try search.insertWords.run(.integer(id), .text(tagged(new.words, container, new.sender)))
        try search.setMessage.run(
            .integer(id), .integer(container), .text(mid), .integer(new.sender), .integer(new.source))
    }

    private func indexed(_ container: Int64, _ mid: String) throws -> Indexed? {
        let range = SearchNumber.range(of: mid)
        return try search.message.first(
            .integer(range.lowerBound), .integer(range.upperBound), .text(mid), .integer(container)
        ) { Indexed($0) } ?? search.overflow.first(.text(mid), .integer(container)) { Indexed($0) }
    }

    /// Bytes of a message that are looked at; of a larger one only the fields that fit, as readers show it.
    private static let messageLimit = ChildLimit.abridge(sizeMax: 512 << 10)

    /// The text and sender of a message as readers see it; nil where there is none.
    private func standing(_ path: Path) throws -> Standing? {
        guard let (value, row) = try plain(path) ?? composed(path) else { return nil }
        guard let text = value["text"].string, let sender = value["senderId"].string else { return nil }
        let words = joinedWords(text)
        guard let source = try row ?? source(of: words, path) else { return nil }
        // 0 is nobody: the sender's uid is no uid.
        let senderNumber = try UID.parse(sender).map { try self.number(ofAuthor: $0) } ?? 0
        return Standing(words: words, sender: senderNumber, source: source)
    }

    /// The value and row of a message that nobody has touched since it was written, as nearly all are: one entry, with
    /// nothing above and nothing below.
    private func plain(_ path: Path) throws -> (value: Value, row: Int64?)? {
        let key = PathKey(path)
        for prefix in key.prefixes.dropLast() where try live(at: prefix) != nil { return nil }
        guard let record = try live(at: key), try live(from: key.firstBelow, to: key.subtreeEnd, limit: 1).isEmpty,
            let entry = try entry(atRow: record.row), entry.kind == Entry.set
        else { return nil }
        return (entry.value, record.row)
    }

    private func composed(_ path: Path) throws -> (value: Value, row: Int64?)? {
        guard let key = path.last else { return nil }
        var value = Value.null
        try TreeView(self).children(
            of: path.prefix(path.depth - 1), from: key, through: key, limit: Self.messageLimit
        ) { _, found in
            value = found
            return false
        }
        return (value, nil)
    }

    /// The row of the entry that a message's text stands in. A text is a scalar, so it comes whole from the nearest
    /// live entry; those of unknown kinds are shown nowhere.
    private func source(of words: String, _ message: Path) throws -> Int64? {
        guard let textKey = Key("text"), let path = message.appending(textKey) else { return nil }
        var chain: [Record] = []
        for prefix in PathKey(path).prefixes {
            guard let record = try live(at: prefix) else { continue }
            if let last = chain.last, record.stamp < last.stamp { continue }
            chain.append(record)
        }
        for record in chain.reversed() {
            guard let entry = try entry(atRow: record.row), entry.kind == Entry.set else { continue }
            // Were it another's, the words could not be taken out of the index again.
            return self.words(in: entry, of: message) == words ? record.row : nil
        }
        return nil
    }

    private func joinedWords(_ text: String) -> String { SearchWords.words(of: text).joined(separator: " ") }

    private func tagged(_ words: String, _ container: Int64, _ sender: Int64) -> String {
        "\(SearchTag.container(container)) \(SearchTag.sender(sender)) \(words)"
    }

    /// The words that an indexed message was put into the index with.
    private func words(of message: Indexed, _ path: Path) throws -> String {
        if let words = try search.goneWords.first(.integer(message.id), read: { $0.text(0) }) { return words }
        guard let source = message.source, let entry = try entry(atRow: source), let words = words(in: entry, of: path)
        else { throw StoreError(.corrupt, resultCode: Self.brokenIndex, detail: "an indexed message has no source") }
        return words
    }

    /// The words of the message's text as it stands in the value of an entry at or above it.
    private func words(in entry: Entry, of message: Path) -> String? {
        guard let textKey = Key("text"), let path = message.appending(textKey), entry.path.contains(path) else {
            return nil
        }
        return entry.value.descendant(path.keys[entry.path.depth...]).string.map(joinedWords)
    }

    private func freeNumber(_ mid: String) throws -> Int64 {
        let range = SearchNumber.range(of: mid)
        var next = range.lowerBound
        try search.numbers.each([.integer(range.lowerBound), .integer(range.upperBound)]) { row in
            guard row.integer(0) == next else { return false }
            next += 1
            return true
        }
        if next <= range.upperBound { return next }
        let least = try search.leastNumber.first { $0.integer(0) } ?? 0
        return min(least, 0) - 1
    }

    // MARK: What the writer writes down

    /// Keeps the words of messages whose text stands in an entry that is about to be removed, and what else has to be
    /// looked at then.
    func rememberWords(of record: Record) throws {
        guard record.path.bytes.starts(with: MessagePlace.channels), let path = record.path.path else { return }
        if let place = MessagePlace(changedBy: path) {
            try rememberWords(of: place, record.row, entry: entry(atRow: record.row))
        } else if path.depth < 4, let entry = try entry(atRow: record.row) {
            let places = MessagePlace.inside(entry)
            for place in places { try rememberWords(of: place, record.row, entry: entry) }
            try addDue(places)
        }
    }

    private func rememberWords(of place: MessagePlace, _ row: Int64, entry: @autoclosure () throws -> Entry?) throws {
        guard let container = try knownContainer(place.container), let known = try indexed(container, place.mid) else {
            return
        }
        guard known.source == row else { return try addDue([place]) }
        // Without words the index is made anew when it comes to this message.
        if let entry = try entry(), let path = place.path, let words = words(in: entry, of: path) {
            try search.addGone.run(.integer(known.id), .text(words))
        }
        try search.setSource.run(.null, .integer(known.id))
    }
}
