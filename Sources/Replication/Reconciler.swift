internal import Seal
internal import Tree
internal import Wire

/// Pulls from one peer what this node lacks: compares the digest tree top-down, youngest bucket first, and asks of the
/// stretches that differ for everything whose fingerprint it does not name.
///
/// The answering side keeps no state but a list of what it owes. What is asked for and not stored yet stays below
/// ``creditBytes``, so the puller decides how much memory and link a catch-up takes, whatever the peer claims to have.
struct Reconciler {
    /// Bytes of entries that may be on their way or waiting to be stored, by what entries were like lately.
    static let creditBytes = 1 << 20
    /// Own entries that one question names: 16 KiB of fingerprints.
    static let namedMax = 4096
    /// A bucket in which this node has so few entries is sifted instead of compared further: naming them costs less
    /// than a round trip.
    static let siftMax = 1024
    /// A bucket of more entries than this at the peer is compared further on stored levels: several peers can share
    /// only what is asked for in parts.
    static let largeMax = 4096
    /// Where at least one in so many is missing nearly every smaller bucket differs, and comparing them is for nothing.
    static let denseMax = 128
    /// Entries of a bucket whose finest digests are computed for a comparison.
    static let scannedMax = 32_768
    /// Questions under way. Each costs the peer a look at as many entries as it names.
    static let siftsMax = 64
    static let comparisonsMax = 32
    /// Own entries that are looked up in one step, so that no step takes long.
    static let lookedUpMax = 8192
    /// Stretches that wait to be looked at; the oldest beyond them are left to a later comparison.
    static let tasksMax = 65_536
    /// Bytes that one question asks for.
    static let askedBytes = 4 << 10...256 << 10
    /// What an entry is taken to have on the wire before one has come.
    static let entryBytes = 400
    /// Entries asked for by name in one WANT, and outstanding at one peer.
    static let wantBatch = 256
    static let wantsMax = 512
    /// Named entries waiting to be asked for, above which offers are let pass: a later comparison finds them.
    static let waitingMax = 4096
    /// A pull without any progress for so long is given up; the next difference begins a new one. The answer may stand
    /// behind what the peer pushes, so while something comes, whatever it is, it has longer.
    static let (stallMs, unansweredMs): (UInt64, UInt64) = (20_000, 120_000)

    /// A stretch that may differ.
    struct Task: Equatable {
        enum Stage {
            /// A bucket of which nothing has been asked for.
            case whole
            /// A bucket with many entries, after everything behind the last own one has come.
            case large
            /// What is left of it.
            case rest
            /// What differs by sums that nobody can forge, whatever the plain ones say.
            case mend
        }

        var stage: Stage
        var range: ReferenceRange
        /// Nil if it is several.
        var bucket: TimeBucket?
        var theirs: DigestPrefix
        /// Own entries, where they are not those of the bucket.
        var ours = 0
        /// Of what is left of an answer.
        var hold: Hold?

        init(_ bucket: TimeBucket, theirs: DigestPrefix) {
            (stage, range, self.bucket, self.theirs) = (.whole, ReferenceRange(bucket), bucket, theirs)
        }

        /// What is to be done next with part of it.
        func then(_ stage: Stage, _ range: ReferenceRange? = nil) -> Task {
            var task = self
            if self.stage != .mend { task.stage = stage }
            task.range = range ?? self.range
            return task
        }
    }

    /// For how long the first question about a stretch left it to the peer; what the peer brings makes that longer.
    struct Hold: Equatable {
        let untilMs: UInt64
        /// Entries gained before.
        let gained: Int
    }

    /// A question that is not answered yet, or whose answer is not stored yet.
    struct Question {
        let range: ReferenceRange
        /// What is expected and has not come.
        var bytes: Int
        /// Entries that had come from the peer when it was asked.
        let arrived: Int
        let hold: Hold
        /// Until then the range is left to this peer.
        let heldUntilMs: UInt64
        let task: Task
        /// What to do when the answer is stored.
        let next: Task?
        /// Number of the commit with which the answer is stored, once it has ended.
        var commit: Int?
    }

    private(set) var isActive = false
    /// Something was left to other peers to the end.
    private(set) var hasLeft = false
    /// What is still to be looked at, the next one last.
    var tasks: [Task] = []
    /// Stretches that another peer is asked for.
    var postponed: [Task] = []
    /// With the times at which they were asked for.
    var comparisons: [TimeBucket: UInt64] = [:]
    /// In the order in which they were asked and are answered.
    var questions: [Question] = []
    /// Offered and missing here, oldest first; asked for from the end.
    var waiting: [EntryReference] = []
    var outstanding: Set<EntryReference> = []
    /// Each batch that has come and is not stored yet, oldest first.
    var commits: [(bytes: Int, isAsked: Bool)] = []
    var committed = 0
    var arrived = 0
    /// Entries that came from the peer and were new here, and how many of them before this pull.
    private var gained = 0
    private var gainedBefore = 0
    var salt: UInt64 = 0
    var mendKey = Bytes32.zero
    var bytesPerEntry = Reconciler.entryBytes
    /// When something has come last, and something that was asked for; or when the pull began.
    private(set) var progressMs: UInt64 = 0
    private var answeredMs: UInt64 = 0
    /// Ends of answers to pulls that were given up, still to come at most. They may look like answers to this one.
    private var lateCount = 0
    /// When the pull began, or has last brought something new.
    private var gainedMs: UInt64 = 0

    /// Entries that this pull has brought and that were new: what makes the difference smaller.
    var received: Int { gained - gainedBefore }

    var waitingCount: Int { waiting.count }
    var bucketCount: Int { tasks.count + postponed.count }

    /// Begins a comparison; offers that are under way go on.
    ///
    /// - `salt`: for the fingerprints of this comparison.
    mutating func start(theirs: DigestPrefix, salt: UInt64, nowMs: UInt64) {
        guard !isActive else { return }
        (isActive, hasLeft) = (true, false)
        self.salt = salt
        progress(nowMs)
        (gainedMs, gainedBefore) = (nowMs, gained)
        tasks.append(Task(.root, theirs: theirs))
    }

    /// Pulls what is missing in buckets that are equal by plain sums and differ by keyed ones.
    ///
    /// - `buckets`: with the numbers of entries here and there.
    mutating func mend(
        _ buckets: [(bucket: TimeBucket, ours: Int, theirs: Int)], key: Bytes32, nowMs: UInt64
    ) {
        guard !buckets.isEmpty else { return }
        if !isActive {
            progress(nowMs)
            (isActive, hasLeft, gainedMs, gainedBefore) = (true, false, nowMs, gained)
        }
        mendKey = key
        for (bucket, ours, theirs) in buckets {
            var task = Task(bucket, theirs: DigestPrefix(count: theirs, sum: 0))
            (task.stage, task.bucket, task.ours) = (.mend, nil, ours)
            tasks.append(task)
        }
    }

    /// Ends a pull that makes no progress. Returns true if it did.
    mutating func abandonIfStalled(nowMs: UInt64) -> Bool {
        guard let deadlineMs, nowMs >= deadlineMs else { return false }
        abandon()
        return true
    }

    /// Ends a pull where it is.
    mutating func abandon() {
        var rest = Reconciler()
        // What has come is still being stored.
        (rest.commits, rest.committed, rest.bytesPerEntry) = (commits, committed, bytesPerEntry)
        rest.lateCount = min(lateCount + questions.count { $0.commit == nil }, Debt.siftsMax)
        self = rest
    }

    /// When the pull is given up unless something comes.
    var deadlineMs: UInt64? {
        guard isActive || !outstanding.isEmpty else { return nil }
        return min(progressMs &+ Reconciler.stallMs, answeredMs &+ Reconciler.unansweredMs) &+ 1
    }

    /// The peer has answered, or has just been asked for the first time.
    mutating func progress(_ nowMs: UInt64) { (progressMs, answeredMs) = (nowMs, nowMs) }

    mutating func extend(byMs lagMs: UInt64) {
        progressMs &+= lagMs
        answeredMs &+= lagMs
        gainedMs &+= lagMs
    }

    /// A pull that brings nothing new for so long stands in no other one's way: who answers with what is known already,
    /// or what nobody may write, could keep an entry from coming from anybody else.
    static let gainingMs: UInt64 = 10_000
    /// What a peer is asked for is left to it for ``gainingMs`` and so long as that takes at so many bytes a
    /// millisecond, what it was asked for before included; then another one is asked as well. So who gives an entry now
    /// and then holds nothing for more than 75 s, and what is small for little more than 10 s.
    static let heldBytesPerMs = 16

    /// Whether what is being pulled may be left to this pull.
    func isGaining(nowMs: UInt64) -> Bool { isActive && nowMs <= gainedMs &+ Reconciler.gainingMs }

    /// Whether this pull is worth waiting for: it gains, and answers in time.
    func isPrompt(nowMs: UInt64) -> Bool {
        isGaining(nowMs: nowMs) && !comparisons.values.contains { nowMs > $0 &+ Reconciler.gainingMs }
            && !questions.contains { $0.commit == nil && nowMs > $0.heldUntilMs }
    }

    /// Until when a stretch that is asked for now is left to the peer.
    func heldUntilMs(_ hold: Hold?, bytes: Int, nowMs: UInt64) -> UInt64 {
        let untilMs = nowMs &+ Reconciler.gainingMs &+ UInt64((spent + bytes) / Reconciler.heldBytesPerMs)
        guard let hold else { return untilMs }
        let brought = max(0, gained - hold.gained) * bytesPerEntry
        return min(untilMs, hold.untilMs &+ UInt64(brought / Reconciler.heldBytesPerMs))
    }

    func hold(untilMs: UInt64) -> Hold { Hold(untilMs: untilMs, gained: gained) }

    /// Whether the peer has been asked for something that has not come yet.
    var isOwed: Bool { !outstanding.isEmpty || questions.contains { $0.commit == nil } }

    /// Whether an entry comes because it was asked for; of a stretch, as long as not all that is expected has come.
    func isAsked(_ reference: EntryReference) -> Bool {
        outstanding.contains(reference)
            || questions.contains { $0.commit == nil && $0.bytes > 0 && $0.range.contains(reference) }
    }

    /// Whether entries may come that nobody has named.
    var isSifting: Bool { questions.contains { $0.commit == nil } }

    /// Whether part of a range is being pulled, and left to this pull.
    func pulls(_ range: ReferenceRange, nowMs: UInt64) -> Bool {
        isGaining(nowMs: nowMs) && questions.contains { nowMs <= $0.heldUntilMs && $0.range.overlaps(range) }
    }

    // MARK: Offers

    /// Whether an offer is worth looking at.
    var takesOffers: Bool { waiting.count < Reconciler.waitingMax }

    /// Entries offered by the peer outside a comparison.
    mutating func offer(_ references: [EntryReference], nowMs: UInt64) {
        guard takesOffers else { return }
        if outstanding.isEmpty, !isActive { progress(nowMs) }
        waiting += references
    }

    /// Entries that the peer has answered: by sending them, or because it does not have them.
    mutating func settle(_ references: some Sequence<EntryReference>, nowMs: UInt64) {
        for reference in references where outstanding.remove(reference) != nil { progress(nowMs) }
    }

    // MARK: Answers

    /// Entries have come and are about to be stored.
    mutating func arrive(_ bundles: [Bundle], nowMs: UInt64) {
        let entries = bundles.reduce(0) { $0 + $1.leaves.count }
        guard entries > 0 else { return }
        progressMs = nowMs
        if isOwed { arrived += entries }
        var bytes = 0
        var index = 0
        var isAsked = false
        for bundle in bundles {
            let size = bundle.approximateWireSize
            bytes += size
            guard let reference = bundle.leaves.first?.entry.reference, !questions.isEmpty else { continue }
            // Mostly it belongs to the same question as the one before.
            if questions[index].commit != nil || !questions[index].range.contains(reference) {
                let found = questions.firstIndex { $0.commit == nil && $0.range.contains(reference) }
                guard let found else { continue }
                index = found
            }
            isAsked = isAsked || questions[index].bytes > 0
            questions[index].bytes = max(0, questions[index].bytes - size)
        }
        if isAsked { answeredMs = nowMs }
        commits.append((bytes, isAsked))
        bytesPerEntry = max(64, (bytesPerEntry * 7 + bytes / entries) / 8)
    }

    /// The oldest batch has been stored, or has been refused.
    ///
    /// - `new`: entries of it that were not here before and are now.
    mutating func store(new: Int = 0, nowMs: UInt64) {
        guard !commits.isEmpty else { return }
        gained += new
        if new > 0 { gainedMs = nowMs }
        let isAsked = commits.removeFirst().isAsked
        committed += 1
        if isActive { progressMs = nowMs }
        if isActive, isAsked { answeredMs = nowMs }
        release()
    }

    private mutating func release() {
        let done = committed
        for question in questions {
            if let commit = question.commit, commit <= done, let next = question.next { tasks.append(next) }
        }
        questions.removeAll { $0.commit.map { $0 <= done } ?? false }
    }

    /// Takes the answer to a comparison; `children` tells what this node has.
    ///
    /// - Returns: false for an answer that no honest peer gives.
    mutating func differ(
        _ bucket: TimeBucket, _ summaries: [BucketSummary], nowMs: UInt64,
        children: (TimeBucket) throws -> [ChildDigest]
    ) rethrows -> Bool {
        guard comparisons.removeValue(forKey: bucket) != nil else { return true }
        progress(nowMs)
        return try take(summaries, below: bucket, children)
    }

    private mutating func take(
        _ summaries: [BucketSummary], below bucket: TimeBucket, _ children: (TimeBucket) throws -> [ChildDigest]
    ) rethrows -> Bool {
        guard !summaries.isEmpty else { return true }
        var own: [UInt64: DigestPrefix] = [:]
        for child in try children(bucket) { own[child.index] = child.digest }
        for summary in summaries {
            guard let child = TimeBucket(level: bucket.level + 1, index: summary.index), bucket.isParent(of: child)
            else { return false }
            let ours = own[summary.index] ?? DigestPrefix(count: 0, sum: 0)
            guard ours != summary.digest else { continue }
            // Below the stored levels nobody says more unasked: it would have to be added up here.
            if !summary.children.isEmpty, child.level < TimeBucket.storedLevelMax,
                Reconciler.isCompared(child, ours.count, summary.digest.count)
            {
                guard try take(summary.children, below: child, children) else { return false }
            } else {
                tasks.append(Task(child, theirs: summary.digest))
            }
        }
        if tasks.count > Reconciler.tasksMax { tasks.removeFirst(tasks.count - Reconciler.tasksMax) }
        return true
    }

    /// Takes the end of an answer.
    ///
    /// - Returns: false for an answer that no honest peer gives.
    mutating func sifted(through: EntryReference, reached: EntryReference, nowMs: UInt64) -> Bool {
        guard let index = questions.firstIndex(where: { $0.commit == nil && $0.range.through == through }) else {
            lateCount = max(0, lateCount - 1)
            return true
        }
        let question = questions[index]
        guard !(through < reached) else { return false }
        // Whoever sends nothing and says that there is more would be asked for ever.
        let isEmpty = question.range.after < reached && question.arrived >= arrived
        guard !isEmpty, !(reached < question.range.after) else {
            lateCount -= 1
            return lateCount >= 0
        }
        progress(nowMs)
        questions[index].bytes = 0
        questions[index].commit = committed + commits.count
        if question.range.after < reached {
            var rest = question.task.then(.rest, ReferenceRange(after: question.range.after, through: reached))
            rest.hold = question.hold
            tasks.append(rest)
        }
        release()
        return true
    }

    /// What is left to other peers is looked at again, and let go if it still is.
    mutating func takeBack(isTaken: (ReferenceRange) -> Bool) {
        tasks = postponed.filter { !isTaken($0.range) }
        hasLeft = tasks.count < postponed.count
        postponed = []
    }

    /// Ends a pull that has nothing left to ask; returns true if it just ended.
    mutating func finish() -> Bool {
        guard isActive, tasks.isEmpty, comparisons.isEmpty, questions.isEmpty, commits.isEmpty, waiting.isEmpty,
            outstanding.isEmpty
        else { return false }
        isActive = false
        hasLeft = hasLeft || !postponed.isEmpty
        postponed = []
        return true
    }
}
