internal import Tree

/// The statements about what is still to be swept.
struct SweepStatements {
    let set, first, atPath, delete, all, liveSince: Statement

    init(_ database: Database) {
        let sweep = "SELECT path, next, killer, killed FROM sweep"
        set = database.statement("INSERT OR REPLACE INTO sweep(path, next, killer, killed) VALUES(?, ?, ?, ?)")
        first = database.statement("\(sweep) ORDER BY path LIMIT 1")
        atPath = database.statement("\(sweep) WHERE path = ?")
        delete = database.statement("DELETE FROM sweep WHERE path = ?")
        all = database.statement(sweep)
        liveSince = database.statement(
            "SELECT \(Statements.recordColumns) FROM entry WHERE hlc >= ? AND held = 0 ORDER BY hlc LIMIT ?")
    }
}

extension DatabaseStore {
    /// What waits for `sweep`.
    var waitingDead: WaitingDead {
        get throws {
            if let dead { return dead }
            let loaded = WaitingDead(try sweeps.all.all { try sweep($0) })
            dead = loaded
            return loaded
        }
    }

    func retention(_ rules: PathKey) throws -> Retention? {
        if let known = retentions[rules] { return known }
        let found = try storedRetention(rules)
        if retentions.count >= Self.cachedVacanciesMax { retentions = [:] }
        retentions[rules] = .some(found)
        return found
    }

    /// What of a range may be alive.
    ///
    /// - `isEndedAlone`: leave out only what nobody may see.
    func scanned(
        from lower: PathKey, to upper: PathKey, isEndedAlone: Bool = false
    ) throws -> [WaitingDead.Segment] {
        var waiting = try waitingDead
        guard !waiting.isEmpty else { return [.range(lower, upper)] }
        let segments = try waiting.segments(from: lower, to: upper) { killer, next, end in
            isEndedAlone ? nil : try living(killer, from: next, to: end)
        }
        if !isEndedAlone { dead = waiting }
        return segments
    }

    /// The entries of a range that the one at `killer` has not killed, found by their times: usually few are later. Nil
    /// where many are.
    private func living(_ killer: PathKey, from next: PathKey, to end: PathKey) throws -> [PathKey]? {
        guard let top = try live(at: killer) else { return nil }
        let later = try sweeps.liveSince.all(column(top.stamp.hlc), .integer(WaitingDead.survivorsMax + 1)) { row in
            (path: try path(row.blob(1)), stamp: try stamp(row))
        }
        guard later.count <= WaitingDead.survivorsMax else { return nil }
        return later.filter { top.stamp < $0.stamp && !($0.path < next) && $0.path < end }.map(\.path).sorted()
    }

    /// Visits a segment; returns false if the body did.
    func scan(
        _ segment: WaitingDead.Segment, descending: Bool, _ body: (Entry) throws -> Bool
    ) throws -> Bool {
        var goesOn = true
        switch segment {
        case .range(let lower, let upper):
            let statement = descending ? statements.scanDown : statements.scanUp
            try eachRange(from: lower, to: upper, descending: descending) { range in
                try statement.each(range.values) { row in
                    goesOn = try body(entry(row))
                    return goesOn
                }
                return goesOn
            }
        case .paths(let paths):
            for path in descending ? paths.reversed() : paths where goesOn {
                if let entry = try storedEntry(at: path) { goesOn = try body(entry) }
            }
        }
        return goesOn
    }
}
