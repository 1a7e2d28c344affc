internal import Seal

extension Entry {
    /// The paths that entries have changed, write by write, in order: those of one time and author were written
    /// together.
    ///
    /// The priorities of a write bear a time of their own, behind that of its values. So those of one time join their
    /// author's values before them. Where they had been a write by themselves they are seen together with another,
    /// which shows less of what lay between and nothing that never was.
    ///
    /// - Parameter entries: those that became live together, in any order.
    package static func writes(_ entries: [Entry]) -> [[Path]] {
        /// The last write of an author.
        struct Last {
            let index: Int
            let hlc: HLC
            /// The time of its priorities, where they have another.
            var prioritiesHLC: HLC?
        }
        var writes: [[Path]] = []
        var lasts: [Bytes32: Last] = [:]
        for entry in entries.sorted(by: { ($0.hlc, $0.author) < ($1.hlc, $1.author) }) {
            let last = lasts[entry.author]
            let isPriority = entry.path.last == .priority
            if let last, last.hlc == entry.hlc || last.prioritiesHLC == entry.hlc {
                writes[last.index] += entry.changedPaths
            } else if let last, isPriority, last.prioritiesHLC == nil {
                writes[last.index] += entry.changedPaths
                lasts[entry.author]?.prioritiesHLC = entry.hlc
            } else {
                lasts[entry.author] = Last(
                    index: writes.count, hlc: entry.hlc, prioritiesHLC: isPriority ? entry.hlc : nil)
                writes.append(entry.changedPaths)
            }
        }
        return writes
    }
}
