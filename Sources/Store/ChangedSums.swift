internal import Seal
internal import Tree

/// What a transaction changes of digests and tallies, written once at its end.
///
/// What comes together mostly lies in one bucket and is of one author: these are at hand, and looked up when the next
/// one begins.
struct ChangedSums {
    /// Of the finest buckets that are stored.
    private var digests: [TimeBucket: DigestChange] = [:]
    private var tallies: [Bytes32: Tally] = [:]
    private var current: (bucket: TimeBucket, change: DigestChange)?
    private var currentTally: (author: Bytes32, tally: Tally)?

    /// Changes the digests of the buckets in which a time lies.
    mutating func count(_ hlc: HLC, _ body: (inout DigestChange) -> Void) {
        let bucket = TimeBucket(level: TimeBucket.storedLevelMax, containing: hlc)
        if let current, current.bucket != bucket {
            digests[current.bucket, default: DigestChange()].add(current.change)
            self.current = nil
        }
        var change = current?.change ?? DigestChange()
        body(&change)
        current = (bucket, change)
    }

    /// Changes the tally of an author.
    mutating func tally(_ author: Bytes32, _ body: (inout Tally) -> Void) {
        if let currentTally, currentTally.author != author {
            tallies[currentTally.author, default: Tally()] += currentTally.tally
            self.currentTally = nil
        }
        var tally = currentTally?.tally ?? Tally()
        body(&tally)
        currentTally = (author, tally)
    }

    /// From the finest buckets up to the root.
    func write(to storage: any Tables) throws {
        var level = digests
        if let (bucket, change) = current { level[bucket, default: DigestChange()].add(change) }
        while !level.isEmpty {
            var above: [TimeBucket: DigestChange] = [:]
            for (bucket, change) in level.sorted(by: { $0.key.index < $1.key.index }) {
                try storage.change(bucket, by: change)
                if let parent = bucket.parent { above[parent, default: DigestChange()].add(change) }
            }
            level = above
        }
        var changed = tallies
        if let (author, tally) = currentTally { changed[author, default: Tally()] += tally }
        for author in changed.keys.sorted() {
            if let tally = changed[author], !tally.isZero { try storage.change(author, by: tally) }
        }
    }
}
