internal import Seal
internal import Tree
internal import Wire

/// What a pull looks at on this side.
protocol PullSource {
    func digest(of bucket: TimeBucket) throws -> DigestPrefix
    func children(of bucket: TimeBucket) throws -> [ChildDigest]
    /// The last own entry of a range.
    func last(in range: ReferenceRange) throws -> EntryReference?
    /// Names what is here in a range, or in its younger part.
    func named(in range: ReferenceRange, salt: Salt, newest limit: Int) throws -> NamedRange
    /// Whether another peer is being asked for part of a range.
    func isTaken(_ range: ReferenceRange) -> Bool
}

/// A range with the fingerprints of what this node has in it.
struct NamedRange {
    var range: ReferenceRange
    var known: [UInt32] = []
    var count = 0
    /// What was left out because it would have been too much.
    var rest: ReferenceRange?
}

extension Reconciler {
    /// What to ask for next. `claim` says which of the offered references nobody else has been asked for meanwhile.
    mutating func pump(
        nowMs: UInt64, _ source: some PullSource, claim: ([EntryReference]) throws -> [EntryReference]
    ) throws -> [PeerMessage] {
        var messages: [PeerMessage] = []
        while !waiting.isEmpty, outstanding.count + Reconciler.wantBatch <= Reconciler.wantsMax {
            let batch = Array(waiting.suffix(Reconciler.wantBatch))
            waiting.removeLast(batch.count)
            let claimed = try claim(batch)
            guard !claimed.isEmpty else { continue }
            if outstanding.isEmpty, !isActive { progress(nowMs) }
            outstanding.formUnion(claimed)
            messages.append(.want(claimed))
        }
        guard isActive else { return messages }
        if tasks.isEmpty, comparisons.isEmpty, questions.isEmpty, !postponed.isEmpty {
            takeBack(isTaken: source.isTaken)
        }
        var lookedUp = 0
        while lookedUp < Reconciler.lookedUpMax, let task = tasks.popLast() {
            switch try ask(task, source, nowMs, &lookedUp) {
            case .nothing: continue
            case .message(let message): messages.append(message)
            case .wait:
                tasks.append(task)
                return messages
            }
        }
        return messages
    }

    /// Whether a bucket that differs is compared further rather than sifted.
    static func isCompared(_ bucket: TimeBucket, _ ours: Int, _ theirs: Int) -> Bool {
        let missing = theirs - min(ours, theirs)
        switch bucket.level {
        case TimeBucket.levelMax: return false
        case TimeBucket.storedLevelMax:
            guard ours > siftMax, max(ours, theirs) <= scannedMax else { return false }
        default:
            guard theirs <= largeMax, ours <= namedMax else { return true }
            guard ours > siftMax else { return false }
        }
        return missing < max(1, ours / denseMax)
    }

    /// Bytes asked for that have not come, or have not been stored.
    var spent: Int {
        questions.reduce(commits.reduce(outstanding.count * bytesPerEntry) { $0 + $1.bytes }) { $0 + $1.bytes }
    }

    private enum Asked {
        case nothing
        case message(PeerMessage)
        /// Too much is under way.
        case wait
    }

    private mutating func ask(
        _ task: Task, _ source: some PullSource, _ nowMs: UInt64, _ lookedUp: inout Int
    ) throws -> Asked {
        var task = task
        var ours = task.ours
        if let bucket = task.bucket {
            let digest = try source.digest(of: bucket)
            guard digest != task.theirs, task.theirs.count > 0 else { return .nothing }
            ours = digest.count
            if task.stage == .whole, Reconciler.isCompared(bucket, ours, task.theirs.count) {
                guard comparisons.count < Reconciler.comparisonsMax else { return .wait }
                comparisons[bucket] = nowMs
                lookedUp += bucket.level < TimeBucket.storedLevelMax ? 256 : ours
                return .message(.compare(bucket, try source.children(of: bucket)))
            }
        }
        guard questions.count < Reconciler.siftsMax else { return .wait }
        guard !source.isTaken(task.range) else {
            postponed.append(task)
            return .nothing
        }
        let isNew = task.stage == .whole && ours > Reconciler.namedMax
        let missing = max(0, task.theirs.count - ours)
        let share = isNew || ours == 0 ? missing : missing * min(Reconciler.namedMax, ours) / ours
        var bytes = asking(share)
        guard spent == 0 || spent + bytes <= Reconciler.creditBytes else { return .wait }
        if task.stage == .whole, !isNew { bytes = try join(&task, ours, source) }
        var named = NamedRange(range: task.range)
        var next: Task?
        if isNew, let last = try source.last(in: task.range) {
            // What is new is most often new at the end.
            named.range = ReferenceRange(after: last, through: task.range.through)
            next = task.then(.large)
        } else {
            let salt = task.stage == .mend ? Salt.keyed(mendKey) : .quick(salt)
            named = try source.named(in: task.range, salt: salt, newest: Reconciler.namedMax)
            if let rest = named.rest { tasks.append(task.then(.rest, rest)) }
        }
        lookedUp += named.count
        let heldUntilMs = heldUntilMs(task.hold, bytes: bytes, nowMs: nowMs)
        questions.append(
            Question(
                range: named.range, bytes: bytes, arrived: arrived, hold: task.hold ?? hold(untilMs: heldUntilMs),
                heldUntilMs: heldUntilMs, task: task, next: next))
        let salt = task.stage == .mend ? Salt.keyed(mendKey) : .quick(salt)
        return .message(.sift(Sift(range: named.range, salt: salt, bytesMax: bytes, known: named.known)))
    }

    /// Adds neighbours that are small too: one question instead of many. Returns the bytes to ask for.
    private mutating func join(_ task: inout Task, _ ours: Int, _ source: some PullSource) throws -> Int {
        var (ours, theirs) = (ours, task.theirs.count)
        var lowest = task.bucket
        while let next = tasks.last, let above = lowest, let bucket = next.bucket, next.stage == .whole,
            bucket.level == above.level, bucket.index &+ 1 == above.index, !source.isTaken(next.range)
        {
            let digest = try source.digest(of: bucket)
            guard digest != next.theirs else {
                tasks.removeLast()
                break
            }
            let (more, all) = (ours + digest.count, theirs + next.theirs.count)
            let bytes = asking(max(0, all - more))
            guard more < Reconciler.namedMax, !Reconciler.isCompared(bucket, digest.count, next.theirs.count),
                bytes < Reconciler.askedBytes.upperBound, spent + bytes <= Reconciler.creditBytes
            else { break }
            tasks.removeLast()
            (ours, theirs, lowest) = (more, all, bucket)
            task.range = ReferenceRange(after: next.range.after, through: task.range.through)
            (task.bucket, task.ours, task.theirs) = (nil, ours, DigestPrefix(count: theirs, sum: 0))
        }
        return asking(max(0, theirs - ours))
    }

    private func asking(_ entries: Int) -> Int {
        let wanted = (min(entries, 1 << 20) + 4) * bytesPerEntry * 5 / 4
        return min(max(wanted, Reconciler.askedBytes.lowerBound), Reconciler.askedBytes.upperBound)
    }
}
