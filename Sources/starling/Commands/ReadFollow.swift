internal import ControlAPI
internal import ControlClient

/// `starling read --follow`, also across restarts of the daemon.
final class ReadFollow {
    /// Messages of one question after what was missed.
    private static let pageMax = 1_000

    private let session: Session
    private let channel: JSON
    private let number: Int
    private let printer: MessagePrinter
    private var window: MessageWindow
    private var told = ToldMessages()
    /// Where the last connection led to: another workspace has other messages under the same name.
    private var place: [String]?
    /// Where it is beginning.
    private var newPlace: [String]?
    /// What was there when observing began, until all of it is.
    private var existing: [JSON]?

    init(_ session: Session, _ channel: JSON, _ number: Int, _ printer: MessagePrinter) {
        self.session = session
        self.channel = channel
        self.number = number
        self.printer = printer
        window = MessageWindow(limit: max(1, number))
    }

    func run() throws {
        try session.keepConnected { client in
            try begin(client)
            while let event = try client.nextEvent(timeoutMs: nil) {
                try take(event)
                session.output.flush()
            }
        }
    }

    private func begin(_ client: ControlClient) throws {
        existing = []
        try client.call("message.observe", ["in": channel, "limitToLast": .int(Int64(max(1, number)))])
        newPlace = [client.hello.workspace, client.hello.uid]
        guard place == newPlace else {
            (window, told, place) = (MessageWindow(limit: max(1, number)), ToldMessages(), nil)
            return
        }
        // What is observed from now on has been asked for already, so that nothing falls in between.
        existing = nil
        try catchUp()
        session.output.flush()
    }

    /// What came, changed and went while there was no connection. What others wrote may come late and belong far up:
    /// only a page without anything new ends the search.
    private func catchUp() throws {
        var rows: [JSON] = []
        var before: JSON?
        while true {
            let page = try Read.page(session, channel, Self.pageMax, before: before)
            rows = page + rows
            guard let first = page.first?["key"]?.string, page.contains(where: isNews), !window.isRefill(first) else {
                break
            }
            before = .string(first)
        }
        let gone = told.missing(in: rows)
        printer.print(rows.filter { isNews($0) && told.add($0) })
        for key in gone where told.remove(key) {
            printer.print([["key": .string(key), "in": rows.first?["in"] ?? channel, "deleted": true]])
        }
    }

    private func isNews(_ row: JSON) -> Bool {
        guard let key = row["key"]?.string else { return false }
        return !window.isRefill(key) && told.isNews(row)
    }

    private func take(_ event: ControlEvent) throws {
        switch event.name {
        case "ready":
            if let existing { try start(existing) }
            existing = nil
        case "message":
            guard let row = event.params["message"] else { return }
            if existing != nil {
                existing?.append(row)
            } else if isNews(row), told.add(row) {
                printer.print([row])
            }
        case "deleted" where existing == nil:
            guard let key = event.params["key"]?.string, told.remove(key) else { return }
            printer.print([["key": .string(key), "in": event.params["in"] ?? .null, "deleted": true]])
        default:
            return
        }
    }

    /// The first messages. Of large ones fewer are observed than were asked for.
    private func start(_ observed: [JSON]) throws {
        var rows = observed
        if rows.count < number, let first = rows.first?["key"] {
            rows = try Read.list(session, channel, number - rows.count, before: first) + rows
        }
        for row in rows {
            window.add(row["key"]?.string ?? "")
            _ = told.add(row)
        }
        place = newPlace
        if number > 0 { printer.print(rows) }
    }
}

/// What somebody has been told of a channel, to tell after a gap what is new, what has changed and what is gone.
struct ToldMessages {
    /// Of the newest so many; older ones are taken for known. Twice as many as an observed window has.
    private static let countMax = 20_000

    private var rows: [String: Int] = [:]
    /// Keys up to this one have been forgotten.
    private var forgotten = ""

    /// Whether a message was not told, or not like this.
    func isNews(_ row: JSON) -> Bool {
        guard let key = row["key"]?.string, key > forgotten else { return false }
        return rows[key] != row.description.hashValue
    }

    /// Takes note that a message is told. True, always: for use behind a condition.
    mutating func add(_ row: JSON) -> Bool {
        guard let key = row["key"]?.string else { return true }
        rows[key] = row.description.hashValue
        if rows.count > Self.countMax { forget() }
        return true
    }

    /// Takes note that a message is gone. False if nothing was told of it.
    mutating func remove(_ key: String) -> Bool {
        rows.removeValue(forKey: key) != nil
    }

    /// The keys that were told and are not among these messages, within the time that they span: what is older may be
    /// there still.
    func missing(in present: [JSON]) -> [String] {
        let keys = Set(present.compactMap { $0["key"]?.string })
        guard let first = keys.min() else { return [] }
        return rows.keys.filter { $0 > first && !keys.contains($0) }.sorted()
    }

    private mutating func forget() {
        let sorted = rows.keys.sorted().prefix(Self.countMax / 2)
        for key in sorted { rows[key] = nil }
        forgotten = sorted.last ?? forgotten
    }
}
