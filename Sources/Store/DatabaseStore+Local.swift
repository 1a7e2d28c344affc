public import Seal
public import Tree

extension DatabaseStore {
    // MARK: Counts

    public var entryCount: Int { get throws { try digest(of: .root).count } }

    public var heldCount: Int { get throws { try local.heldCount.first { try $0.count(0) } ?? 0 } }

    public var unknownCount: Int { get throws { try local.unknownCount.first { try $0.count(0) } ?? 0 } }

    public var nextHeldDue: HLC? { get throws { try local.firstHeld.first { try hlc($0.integer(0)) } } }

    public var heldAuthors: [HeldAuthor] {
        get throws {
            try local.heldAuthors.all(.integer(HeldAuthor.countMax)) { row in
                HeldAuthor(
                    author: try author(row.integer(0)), count: try row.count(1), latest: try hlc(row.integer(2)))
            }
        }
    }

    public var databaseBytes: Int {
        get throws {
            let pages = try database.integer("PRAGMA page_count")
            let pageBytes = try database.integer("PRAGMA page_size")
            return Int(clamping: pages.multipliedReportingOverflow(by: pageBytes).partialValue)
        }
    }

    public func greatestHLC(notAfter limit: HLC) throws -> HLC {
        try local.greatestTime.first(column(limit)) { try hlc($0.integer(0)) } ?? .zero
    }

    // MARK: Messages

    func addMessage(_ place: MessagePlace, author: Bytes32) throws {
        let container = try number(ofContainer: place.container)
        let known = try local.messageArrival.first(.text(place.mid), .integer(container)) { $0.integer(0) }
        guard known == nil else { return }
        arrival += 1
        try local.addMessage.run(
            .integer(container), .integer(arrival), .text(place.mid), .integer(try number(ofAuthor: author)))
    }

    func removeMessage(_ place: MessagePlace) throws {
        guard let container = try knownContainer(place.container) else { return }
        let arrival = try local.messageArrival.first(.text(place.mid), .integer(container)) { $0.integer(0) }
        if let arrival { try local.deleteMessage.run(.integer(container), .integer(arrival)) }
    }

    /// The greatest arrival number that was given out or marked as read.
    func greatestArrival() throws -> Int64 {
        try database.integer(
            """
            SELECT max(ifnull(max(read), 0), ifnull(max(last), 0)) FROM
            (SELECT read, (SELECT max(arrival) FROM message WHERE container = container.id) AS last FROM container)
            """)
    }

    public func containers(ofMessage mid: String) throws -> [Path] {
        let ids = try local.messageContainers.all(.text(mid)) { $0.integer(0) }
        return try ids.map { id in
            let cached = containers.name(id)
            let key = try cached ?? local.containerPath.first(.integer(id)) { PathKey(bytes: $0.blob(0)) }
            guard let path = key?.path else { throw StoreError(.corrupt, detail: "a container is missing") }
            return path
        }
    }

    public func lastArrival(container: Path) throws -> Int64 {
        guard let id = try knownContainer(PathKey(container)) else { return 0 }
        return try local.lastArrival.first(.integer(id)) { $0.integer(0) } ?? 0
    }

    public func unread(container: Path, afterArrival: Int64, notBy author: Bytes32) throws -> Int {
        guard let id = try knownContainer(PathKey(container)) else { return 0 }
        // Numbers of authors begin with 1: 0 is nobody.
        let author = try knownAuthor(author) ?? 0
        return try local.unread.first(
            .integer(id), .integer(afterArrival), .integer(author), .integer(Self.unreadCountMax)
        ) { try $0.count(0) } ?? 0
    }

    public func readMark(container: Path) throws -> Int64 {
        guard let id = try knownContainer(PathKey(container)) else { return 0 }
        return try local.containerRead.first(.integer(id)) { $0.integer(0) } ?? 0
    }

    public func setReadMark(container: Path, arrival: Int64) throws {
        try transaction {
            let id = try number(ofContainer: PathKey(container))
            // A mark beyond what has arrived would hide what arrives next.
            try local.setContainerRead.run(.integer(min(arrival, self.arrival)), .integer(id))
        }
    }

    private func knownContainer(_ path: PathKey) throws -> Int64? {
        if let id = containers.id(path) { return id }
        guard let id = try local.containerID.first(.blob(path.bytes), read: { $0.integer(0) }) else { return nil }
        containers.insert(id, path)
        return id
    }

    private func number(ofContainer path: PathKey) throws -> Int64 {
        if let id = try knownContainer(path) { return id }
        guard let id = try local.addContainer.first(.blob(path.bytes), read: { $0.integer(0) }) else {
            throw StoreError(.other, detail: "a container got no number")
        }
        containers.insert(id, path)
        return id
    }

    // MARK: Settings

    public func setting(_ name: String) throws -> [UInt8]? {
        try local.setting.first(.text(name)) { $0.blob(0) }
    }

    public func setSetting(_ name: String, _ value: [UInt8]?) throws {
        try transaction {
            if let value {
                try local.setSetting.run(.text(name), .blob(value))
            } else {
                try local.deleteSetting.run(.text(name))
            }
        }
    }
}
