internal import Tree

/// Retention is the one rule by which an entry dies that stands neither at the path of what kills it nor below: see
/// ``Retention``. Its deaths leave no graves, since what ends by it is meant to be gone.
extension Merger {
    /// Whether a path is that of a retention lower than the one that counts.
    func isLesserRule(_ path: PathKey) throws -> Bool {
        guard let rule = Retention(path), let present = try storage.retention(rule.channelRules) else { return false }
        return path < present.path
    }

    /// What follows from a retention that has become live: it takes the place of the one before, and the messages end.
    mutating func end(_ rule: Retention) throws {
        for record in try storage.live(from: rule.channelRules.firstBelow, to: rule.path, limit: Self.lowerRulesMax) {
            try end(record)
            try storage.removeSweep(record.path)
        }
        let records = try storage.live(from: rule.lower, to: rule.upper, limit: killsLeft + 1)
        let count = min(records.count, killsLeft)
        for record in records.prefix(count) { try end(record) }
        spendKills(count)
        if count < records.count {
            try storage.setSweep(Sweep(path: rule.path, next: records[count].path, killer: nil))
        }
    }

    /// A channel has one retention; a lower one dies as the next becomes live.
    private static let lowerRulesMax = 16

    /// Goes on with the messages that a retention has ended, all of which go; returns how many have gone.
    mutating func goOn(with rule: Retention, from next: PathKey, limit: Int) throws -> Int {
        let records = try storage.live(from: next, to: rule.upper, limit: limit + 1)
        for record in records.prefix(limit) { try end(record) }
        if let rest = records.dropFirst(limit).first {
            try storage.setSweep(Sweep(path: rule.path, next: rest.path, killer: nil))
        } else {
            try storage.removeSweep(rule.path)
        }
        return min(records.count, limit)
    }
}

extension Tables {
    /// The retention among those of a channel that counts; there is only one live.
    ///
    /// - `rules`: `retention/{cid}`.
    func storedRetention(_ rules: PathKey) throws -> Retention? {
        try live(from: rules.firstBelow, to: rules.subtreeEnd, limit: 1).first.flatMap { Retention($0.path) }
    }
}
