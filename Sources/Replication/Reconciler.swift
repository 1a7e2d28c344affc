internal import Tree
internal import Wire

/// Pulls from one peer what this node lacks: compares the digest tree top-down, youngest bucket first, lists the small
/// buckets that differ and asks for what is missing.
///
/// Both sides pull at the same time, so both become equal; the answering side keeps no state. At most one comparison
/// and ``wantsMax`` entries are outstanding, so the puller decides how much memory and link a catch-up takes, whatever
/// the peer claims to have.
struct Reconciler {
    /// A bucket with this many entries or fewer is listed instead of compared further.
    static let listMax = 1024
    /// Entries asked for in one WANT.
    static let wantBatch = 256
    /// Entries outstanding at one peer.
    static let wantsMax = 512
    /// References waiting to be asked for, above which no further bucket is looked at and offers are let pass: a later
    /// comparison finds them.
    static let waitingMax = 4096
    /// A pull without any progress for this long is given up; the next difference begins a new one.
    static let stallMs: UInt64 = 20_000

    enum Request: Equatable {
        case compare(TimeBucket)
        case list(TimeBucket, after: EntryReference?)
    }

    private(set) var isActive = false
    /// What is still to be asked, the next one last.
    private var stack: [Request] = []
    private var request: Request?
    /// Missing here, oldest first; asked for from the end.
    private var waiting: [EntryReference] = []
    private(set) var outstanding: Set<EntryReference> = []
    private var progressMs: UInt64 = 0
    /// Entries that arrived in this pull.
    private(set) var received = 0

    /// Begins a comparison; offers that are under way go on.
    mutating func start(nowMs: UInt64) {
        guard !isActive else { return }
        isActive = true
        progressMs = nowMs
        received = 0
        stack = [.compare(.root)]
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

    /// Whether an offer is worth looking at.
    var takesOffers: Bool { waiting.count < Reconciler.waitingMax }

    /// Entries offered by the peer outside a comparison.
    mutating func offer(_ references: [EntryReference], nowMs: UInt64) {
        guard takesOffers else { return }
        if outstanding.isEmpty { progressMs = nowMs }
        waiting += references
    }

    /// Takes the answer to a comparison. `lacks` filters the references that are missing here.
    ///
    /// - Returns: false for an answer that no honest peer gives.
    mutating func differ(
        _ bucket: TimeBucket, _ children: [ChildDifference], nowMs: UInt64,
        lacks: ([EntryReference]) throws -> [EntryReference]
    ) rethrows -> Bool {
        guard request == .compare(bucket) else { return true }
        guard zip(children, children.dropFirst()).allSatisfy({ $0.index < $1.index }) else { return false }
        request = nil
        progressMs = nowMs
        for child in children {
            guard let below = TimeBucket(level: bucket.level + 1, index: child.index), bucket.isParent(of: below) else {
                return false
            }
            if let references = child.references {
                waiting += try lacks(references.filter { below.contains($0.hlc) })
            } else if child.count <= Reconciler.listMax || below.level == TimeBucket.levelMax {
                stack.append(.list(below, after: nil))
            } else {
                stack.append(.compare(below))
            }
        }
        return true
    }

    /// Takes the answer to a list.
    ///
    /// - Returns: false for an answer that no honest peer gives.
    mutating func ids(
        _ bucket: TimeBucket, _ references: [EntryReference], more: Bool, nowMs: UInt64,
        lacks: ([EntryReference]) throws -> [EntryReference]
    ) rethrows -> Bool {
        guard case .list(bucket, let after)? = request else { return true }
        // A list that does not rise would never end.
        guard zip(references, references.dropFirst()).allSatisfy({ $0 < $1 }),
            references.allSatisfy({ bucket.contains($0.hlc) })
        else { return false }
        if let after, let first = references.first, first <= after { return false }
        request = nil
        progressMs = nowMs
        waiting += try lacks(references)
        if more, let last = references.last { stack.append(.list(bucket, after: last)) }
        return true
    }

    /// Entries that the peer has answered: by sending them, or because it does not have them.
    mutating func settle(_ references: some Sequence<EntryReference>, delivered: Bool, nowMs: UInt64) {
        for reference in references where outstanding.remove(reference) != nil {
            progressMs = nowMs
            if delivered { received += 1 }
        }
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
            request = next
            switch next {
            case .list(let bucket, let after): messages.append(.list(bucket, after: after))
            case .compare(let bucket): messages.append(.compare(bucket, try children(bucket)))
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
