public import Tree

/// A write that a client has left to be carried out when its session ends. To the store its content is bytes.
public struct DisconnectWrite: Sendable, Hashable {
    public let session: Int
    public let path: PathKey
    public let content: [UInt8]

    public init(session: Int, path: PathKey, content: [UInt8]) {
        self.session = session
        self.path = path
        self.content = content
    }
}

extension Schema {
    /// - `disconnect`: what clients have left for the end of their sessions; a row goes when it was carried out.
    static let disconnectWrites = """
        CREATE TABLE disconnect(
            session INTEGER NOT NULL, path BLOB NOT NULL, content BLOB NOT NULL, PRIMARY KEY(session, path))
            WITHOUT ROWID;
        """
}

/// The statements about what clients have left for the end of their sessions.
struct DisconnectStatements {
    let all, add, delete: Statement

    init(_ database: Database) {
        all = database.statement("SELECT session, path, content FROM disconnect ORDER BY session, path")
        add = database.statement("INSERT OR REPLACE INTO disconnect(session, path, content) VALUES(?, ?, ?)")
        delete = database.statement("DELETE FROM disconnect WHERE session = ? AND path = ?")
    }
}

extension DatabaseStore {
    public func disconnectWrites() throws -> [DisconnectWrite] {
        try disconnects.all.all { row in
            DisconnectWrite(
                session: Int(clamping: row.integer(0)), path: PathKey(bytes: row.blob(1)), content: row.blob(2))
        }
    }

    public func changeDisconnectWrites(of session: Int, removing: [PathKey], adding: [PathKey: [UInt8]]) throws {
        try transaction {
            try forget(removing, of: session)
            for (path, content) in adding {
                try disconnects.add.run(.integer(session), .blob(path.bytes), .blob(content))
            }
        }
    }

    public func commit(
        _ bundles: [Bundle], heldAfter: HLC, endingWrites: [PathKey], of session: Int
    ) throws -> CommitResult {
        let result = try transaction {
            try forget(endingWrites, of: session)
            return try merge(bundles, heldAfter: heldAfter)
        }
        return follow(result)
    }

    private func forget(_ paths: [PathKey], of session: Int) throws {
        for path in paths { try disconnects.delete.run(.integer(session), .blob(path.bytes)) }
    }
}

extension MemoryStore {
    public func disconnectWrites() -> [DisconnectWrite] {
        disconnects.sorted { $0.key < $1.key }.flatMap { session, contents in
            contents.sorted { $0.key < $1.key }.map {
                DisconnectWrite(session: session, path: $0.key, content: $0.value)
            }
        }
    }

    public func changeDisconnectWrites(of session: Int, removing: [PathKey], adding: [PathKey: [UInt8]]) {
        for path in removing { disconnects[session]?[path] = nil }
        disconnects[session, default: [:]].merge(adding) { $1 }
    }

    public func commit(
        _ bundles: [Bundle], heldAfter: HLC, endingWrites: [PathKey], of session: Int
    ) throws -> CommitResult {
        let result = try commit(bundles, heldAfter: heldAfter)
        changeDisconnectWrites(of: session, removing: endingWrites, adding: [:])
        return result
    }
}
