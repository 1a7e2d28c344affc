internal import Seal
internal import Tree
internal import Wire

/// Comparisons that cannot be fooled: asked for by `verify`, and once a day by each pair of nodes that has nothing else
/// to do.
extension Replicator {
    /// Between two slices of all scans together; one takes a few milliseconds.
    static let sliceMs: UInt64 = 10
    /// Entries of a slice for this node's own comparison, and for a peer's, who may ask all the time.
    static let ownSlice = 4096
    static let peerSlice = 2048
    /// Questions of one peer that wait.
    static let keyedQuestionsMax = 4
    /// The first comparison of a pair comes so long after it connected, and as much again at most: links may not live
    /// long. Then one a day.
    static let firstKeyedMs: UInt64 = 30 * 60 * 1000
    static let dayMs: UInt64 = 24 * 3600 * 1000

    /// Begins anew where one is under way: the peer may never answer.
    mutating func startKeyed(_ link: LinkID, _ output: inout Output) {
        guard links[link] != nil else { return }
        let nonce = Array(random.block().bytes.prefix(PeerMessage.nonceBytes))
        links[link]?.keyed = KeyedComparison(nonce: nonce)
        output.send(link, .verify(nonce: nonce))
    }

    mutating func receivedKeyed(
        _ link: LinkID, _ message: PeerMessage, _ replica: any ReplicaReader, _ output: inout Output
    ) throws {
        switch message {
        case .verify(let nonce):
            // Drawn anew for each comparison, or its sums could be known before.
            let answer = Array(random.block().bytes.prefix(PeerMessage.nonceBytes))
            links[link]?.keyedKey = Bytes32(nonce + answer)
            links[link]?.keyedQuestions = []
            links[link]?.keyedScan = nil
            output.send(link, .verified(nonce: nonce, answer: answer))
        case .verified(let nonce, let answer):
            guard links[link]?.keyed?.nonce == nonce else { return }
            links[link]?.keyed?.begin(answer: answer)
            continueKeyed(link, &output)
        case .keyed(let key, let bucket):
            guard let state = links[link], state.keyedKey == key, bucket.level < TimeBucket.levelMax,
                state.keyedQuestions.count < Replicator.keyedQuestionsMax
            else { return }
            links[link]?.keyedQuestions.append(bucket)
        case .keyedSums(let key, let bucket, let summaries):
            guard links[link]?.keyed?.key == key else { return }
            links[link]?.keyed?.take(bucket, summaries)
            continueKeyed(link, &output)
            try pump(link, replica, &output)
        default: return
        }
        scheduleSlice(output.nowMs)
    }

    private mutating func continueKeyed(_ link: LinkID, _ output: inout Output) {
        while links[link]?.keyed?.compare() == true {}
        if let (key, bucket) = links[link]?.keyed?.next() {
            output.send(link, .keyed(key: key, bucket))
        } else if let keyed = links[link]?.keyed, keyed.isDone {
            links[link]?.keyed = nil
            if let key = keyed.key { links[link]?.reconciler.mend(keyed.mends, key: key, nowMs: output.nowMs) }
            output.effects.append(.verified(link, keyed.outcome))
        }
    }

    mutating func scheduleSlice(_ nowMs: UInt64) {
        guard sliceDueMs == nil, links.values.contains(where: \.hasKeyedWork) else { return }
        sliceDueMs = nowMs &+ Replicator.sliceMs
    }

    /// One slice of one scan; the links take turns.
    mutating func keyedTimers(_ replica: any ReplicaReader, _ output: inout Output) throws {
        for link in orderedLinks where links[link].map({ output.nowMs >= $0.keyedAtMs }) == true {
            guard let state = links[link], !state.reconciler.isActive else { continue }
            let quarter = Replicator.dayMs / 4
            links[link]?.keyedAtMs = output.nowMs &+ 3 * quarter &+ random.next() % (2 * quarter)
            // One side's comparison finds what either side lacks: what it mends makes plain sums differ.
            if key.publicKey < state.peer { startKeyed(link, &output) }
        }
        guard let due = sliceDueMs, output.nowMs >= due else { return }
        sliceDueMs = nil
        let busy = orderedLinks.filter { links[$0]?.hasKeyedWork == true }
        if let link = busy.first(where: { $0 > sliceLink ?? LinkID(.min) }) ?? busy.first {
            sliceLink = link
            try advanceOwn(link, replica, &output)
            try advanceAnswer(link, replica, &output)
        }
        scheduleSlice(output.nowMs)
    }

    private mutating func advanceOwn(
        _ link: LinkID, _ replica: any ReplicaReader, _ output: inout Output
    ) throws {
        guard links[link]?.keyed?.scan?.isDone == false else { return }
        try links[link]?.keyed?.scan?.advance(Replicator.ownSlice, replica)
        continueKeyed(link, &output)
        try pump(link, replica, &output)
    }

    private mutating func advanceAnswer(
        _ link: LinkID, _ replica: any ReplicaReader, _ output: inout Output
    ) throws {
        guard let key = links[link]?.keyedKey else { return }
        if links[link]?.keyedScan == nil, let bucket = links[link]?.keyedQuestions.first {
            links[link]?.keyedQuestions.removeFirst()
            links[link]?.keyedScan = KeyedScan(bucket, key: key)
        }
        try links[link]?.keyedScan?.advance(Replicator.peerSlice, replica)
        guard let scan = links[link]?.keyedScan, scan.isDone else { return }
        links[link]?.keyedScan = nil
        // In as many messages as it takes; the first one that is not full is the last.
        var rest = scan.summaries[...]
        var isLast = false
        while !isLast {
            let part = Array(rest.prefix(PeerMessage.summariesMax))
            rest = rest.dropFirst(part.count)
            isLast = part.count < PeerMessage.summariesMax
            output.send(link, .keyedSums(key: key, scan.bucket, part))
        }
    }
}

extension LinkState {
    /// Whether something is to be added up.
    var hasKeyedWork: Bool { keyed?.scan?.isDone == false || keyedScan != nil || !keyedQuestions.isEmpty }
}
