internal import Tree
internal import Wire

/// Pulls from one peer what this node lacks: compares the digest tree top-down, youngest bucket first, lists the small
/// buckets that differ and asks for what is missing.
///
/// Both sides pull at the same time, so both become equal; the answering side keeps no state. At most one comparison and
/// ``wantsMax`` entries are outstanding, so the puller decides how much memory and link a catch-up takes.
struct Reconciler {
    /// A bucket with this many entries or fewer is listed instead of compared further.
    static let listMax = 1024
    /// Entries asked for in one WANT.
    static let wantBatch = 256
    /// Entries outstanding at one peer.
    static let wantsMax = 512
    /// References waiting to be asked for, above which no further bucket is compared.
    static let waitingMax = 4096
    /// A pull without any progress for this long is given up; the next difference begins a new one.
    static let stallMs: UInt64 = 20_000

    enum Request: Equatable {
        case compare(TimeBucket)
        case list(TimeBucket)
    }

    private(set) var isActive = false
    private var stack: [(bucket: TimeBucket, count: Int)] = []
    private var request: Request?
    /// Missing here, oldest first; asked for from the end.
    private var waiting: [EntryReference] = []
    private(set) var outstanding: Set<EntryReference> = []
    private var progressMs: UInt64 = 0
    /// Entries found missing here in this pull.
    private(set) var missing = 0

    mutating func start(nowMs: UInt64) {
        guard !isActive else { return }
        self = Reconciler()
        isActive = true
        progressMs = nowMs
        stack = [(.root, .max)]
    }

    /// Ends a pull that makes no progress. Returns true if it did.
    mutating func abandonIfStalled(nowMs: UInt64) -> Bool {
        guard isActive || !outstanding.isEmpty, nowMs &- progressMs > Reconciler.stallMs else { return false }
        self = Reconciler()
        return true
    }

    var deadlineMs: UInt64? {
        isActive || !outstanding.isEmpty ? progressMs &+ Reconciler.stallMs &+ 1 : nil
    }

    mutating func extend(byMs lagMs: UInt64) { progressMs &+= lagMs }

    /// Entries offered by the peer outside a comparison.
    mutating func offer(_ references: [EntryReference], nowMs: UInt64) {
        if outstanding.isEmpty { progressMs = nowMs }
        waiting += references
    }

    /// Takes the answer to a comparison. `lacks` filters the references that are missing here.
    mutating func differ(
        _ bucket: TimeBucket, _ children: [ChildDifference], nowMs: UInt64,
        lacks: ([EntryReference]) throws -> [EntryReference]
    ) rethrows {
        guard request == .compare(bucket) else { return }
        request = nil
        progressMs = nowMs
        for child in children {
            guard let below = TimeBucket(level: bucket.level + 1, index: child.index), bucket.isParent(of: below) else {
                continue
            }
            if let references = child.references {
                add(try lacks(references.filter { below.contains($0.hlc) }))
            } else {
                stack.append((below, child.count))
            }
        }
    }

    /// Takes the answer to a list.
    mutating func ids(
        _ bucket: TimeBucket, _ references: [EntryReference], more: Bool, nowMs: UInt64,
        lacks: ([EntryReference]) throws -> [EntryReference]
    ) rethrows -> PeerMessage? {
        guard request == .list(bucket) else { return nil }
        request = nil
        progressMs = nowMs
        add(try lacks(references.filter { bucket.contains($0.hlc) }))
        guard more, let last = references.last else { return nil }
        request = .list(bucket)
        return .list(bucket, after: last)
    }

    private mutating func add(_ references: [EntryReference]) {
        missing += references.count
        waiting += references
    }

    /// Entries that arrived or that the peer does not have.
    mutating func settle(_ references: some Sequence<EntryReference>, nowMs: UInt64) {
        for reference in references where outstanding.remove(reference) != nil { progressMs = nowMs }
    }

    /// What to ask for next. `claim` says which of the references nobody else has been asked for meanwhile.
    mutating func pump(
        nowMs: UInt64, children: (TimeBucket) throws -> [ChildDigest],
        claim: ([EntryReference]) throws -> [EntryReference]
    ) rethrows -> [PeerMessage] {
        var messages: [PeerMessage] = []
        while !waiting.isEmpty, outstanding.count + Reconciler.wantBatch <= Reconciler.wantsMax {
            let batch = Array(waiting.suffix(Reconciler.wantBatch))
            waiting.removeLast(batch.count)
            let claimed = try claim(batch)
            guard !claimed.isEmpty else { continue }
            if outstanding.isEmpty { progressMs = nowMs }
            outstanding.formUnion(claimed)
            messages.append(.want(claimed))
        }
        if request == nil, waiting.count <= Reconciler.waitingMax, let next = stack.popLast() {
            if next.count <= Reconciler.listMax || next.bucket.level == TimeBucket.levelMax {
                request = .list(next.bucket)
                messages.append(.list(next.bucket, after: nil))
            } else {
                request = .compare(next.bucket)
                messages.append(.compare(next.bucket, try children(next.bucket)))
            }
        }
        return messages
    }

    /// Ends a pull that has nothing left to ask; returns true if it just ended.
    mutating func finish() -> Bool {
        guard isActive, stack.isEmpty, request == nil, waiting.isEmpty, outstanding.isEmpty else { return false }
        isActive = false
        return true
    }
}
