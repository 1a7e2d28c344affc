public import Seal
public import Tree

/// The statements about entries that are issued anew.
struct RenewalStatements {
    let liveOfAuthor, time, setTime, greatestTime: Statement

    init(_ database: Database) {
        liveOfAuthor = database.statement(
            """
            SELECT \(Statements.entryColumns), bundle, leaf, \(Schema.talliedColumns) FROM entry
            WHERE (hlc, prefix, id) > (?, ?, ?) AND author = ? AND held = 0 ORDER BY hlc, prefix, id LIMIT ?
            """)
        time = database.statement("SELECT new FROM renewal WHERE old = ?")
        setTime = database.statement("INSERT INTO renewal(old, new) VALUES(?, ?)")
        greatestTime = database.statement("SELECT new FROM renewal ORDER BY new DESC LIMIT 1")
    }
}

extension DatabaseStore {
    func live(
        of author: Bytes32, after hlc: HLC, id: Bytes32, limit: Int
    ) throws -> [(record: Record, entry: Entry)] {
        guard let number = try knownAuthor(author) else { return [] }
        return try renewals.liveOfAuthor.all(
            column(hlc), .prefix(id.prefix64), .hashRest(id), .integer(number), .integer(limit)
        ) { row in
            let entry = try entry(row)
            let bundle = row.isNull(8) ? nil : (id: row.integer(8), leaf: try row.count(9))
            let record = Record(
                row: row.integer(0), path: try path(row.blob(1)), stamp: entry.stamp, bundle: bundle, arrival: nil,
                size: try size(of: row, 10))
            return (record, entry)
        }
    }

    func renewedTime(of old: HLC) throws -> HLC? { try renewals.time.first(column(old)) { try hlc($0.integer(0)) } }

    func setRenewedTime(of old: HLC, _ new: HLC) throws { try renewals.setTime.run(column(old), column(new)) }

    func greatestRenewedTime() throws -> HLC? { try renewals.greatestTime.first { try hlc($0.integer(0)) } }

    public func renewedTime(ofKey hlc: HLC) throws -> HLC? { try renewedTime(of: hlc) }

    public func renew(
        _ state: inout RenewalState, by key: SigningKey, workspace: Bytes32, workspaceMs: UInt64, limit: Int
    ) throws -> RenewalResult {
        var next = state
        let result = try transaction {
            var renewer = Renewer(self, killsMax: Self.transactionEntriesMax)
            return try renewer.renew(&next, by: key, workspace: workspace, workspaceMs: workspaceMs, limit: limit)
        }
        state = next
        _ = follow(result.asCommit)
        return result
    }
}
