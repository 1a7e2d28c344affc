public import Seal
public import Tree

extension DatabaseStore {
    // MARK: Counts

    public var entryCount: Int { get throws { try digest(of: .root).count } }

    public var heldCount: Int { get throws { try tally.held } }

    public var unknownCount: Int { get throws { try local.unknownCount.first { try $0.count(0) } ?? 0 } }

    var hasHeld: Bool { get throws { try local.firstHeld.first { _ in true } ?? false } }

    public var nextHeldDue: HLC? { get throws { try local.firstHeld.first { try hlc($0.integer(0)) } } }

    public var heldAuthors: [HeldAuthor] {
        get throws {
            try local.heldAuthors.all(.integer(HeldAuthor.countMax)) { row in
                HeldAuthor(
                    author: try author(row.integer(0)), count: try row.count(1), latest: try hlc(row.integer(2)))
            }
        }
    }

    public var databaseBytes: Int { get throws { try database.fileBytes() } }

    public func greatestHLC(notAfter limit: HLC) throws -> HLC {
        try local.greatestTime.first(column(limit)) { try hlc($0.integer(0)) } ?? .zero
    }

    public func lastChange(at path: Path, by author: Bytes32) throws -> Int64 {
        guard let author = try knownAuthor(author) else { return 0 }
        let key = PathKey(path)
        var last: Int64 = 0
        try eachRange(from: key, to: key.subtreeEnd) { range in
            last = max(last, try local.lastChange.first(range.values + [.integer(author)]) { $0.integer(0) } ?? 0)
            return true
        }
        return last
    }

    // MARK: Messages

    public func containers(ofMessage mid: String) throws -> [Path] {
        guard let key = Key(stored: mid), let name = Path([key]).map({ PathKey($0).bytes }) else { return [] }
        let all = try local.allContainers.all { $0.integer(0) }
        let found = try all.filter { number in
            try local.isMessage.first(.blob(StoredPaths.prefix(number) + name)) { _ in true } ?? false
        }
        let paths = try found.map { number in
            let cached = containers.name(number)
            let key = try cached ?? local.containerPath.first(.integer(number)) { PathKey(bytes: $0.blob(0)) }
            guard let path = key?.path else { throw StoreError(.corrupt, detail: "a container is missing") }
            return path
        }
        return try paths.filter { try !mid.utf8.lexicographicallyPrecedes(leastKey($0).utf8) }
    }

    public func lastArrival(container: Path) throws -> Int64 {
        guard let id = try knownContainer(PathKey(container)) else { return 0 }
        return try local.lastArrival.first(.integer(id)) { $0.integer(0) } ?? 0
    }

    public func unread(container: Path, afterArrival: Int64, notBy author: Bytes32) throws -> Int {
        guard let id = try knownContainer(PathKey(container)) else { return 0 }
        // Numbers of authors begin with 1: 0 is nobody.
        let author = try knownAuthor(author) ?? 0
        let least = try leastKey(container)
        let values = [SQLValue.integer(id), .integer(afterArrival), .integer(author)]
        let limit = SQLValue.integer(Self.unreadCountMax)
        // Without a retention the index alone tells.
        let count =
            least.isEmpty
            ? try local.unread.first(values + [limit]) { try $0.count(0) }
            : try local.unreadFrom.first(values + [.blob(StoredPaths.prefix(id) + [2] + Array(least.utf8)), limit]) {
                try $0.count(0)
            }
        return count ?? 0
    }

    /// The least key of a message of a container that no retention has ended.
    private func leastKey(_ container: Path) throws -> String {
        guard container.depth == 2, container.keys[0].text == "channels" else { return "" }
        return try retention(ofChannel: container.keys[1])?.leastKey ?? ""
    }

    public func retention(ofChannel cid: Key) throws -> Retention? { try retention(Retention.rules(ofChannel: cid)) }

    public func messageCount(container: Path, before key: String, limit: Int) throws -> Int {
        guard let id = try knownContainer(PathKey(container)) else { return 0 }
        let prefix = StoredPaths.prefix(id)
        return try local.messageCount.first(
            .blob(prefix + [0]), .blob(prefix + [2] + Array(key.utf8)), .integer(limit)
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
            try local.setContainerRead.run(.integer(min(arrival, lastChange)), .integer(id))
        }
    }

    func knownContainer(_ path: PathKey) throws -> Int64? {
        if let id = containers.id(path) { return id }
        guard let id = try local.containerID.first(.blob(path.bytes), read: { $0.integer(0) }) else { return nil }
        containers.insert(id, path)
        return id
    }

    func number(ofContainer path: PathKey) throws -> Int64 {
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
