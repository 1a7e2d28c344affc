internal import Seal
internal import Tree
internal import Wire

/// When to compare with whom, and what to ask for first.
extension Replicator {
    /// Peers that are pulled from at the same time: a large difference comes from all of them.
    static let pullsMax = 3
    /// Who is ahead lets the other one pull first, until nothing has been asked for this long.
    static let turnMs: UInt64 = 400
    /// A peer that was not asked for what another one was being asked for is compared with again after this long.
    static let leftMs: UInt64 = 2500
    /// Messages at the end of a channel that are pulled first.
    static let tailMessages = 200
    /// Channels whose ends are.
    static let focusMax = 8
    /// Roots are compared with a peer drawn at random this often, give or take a quarter: whatever else fails, what one
    /// node has the others come to have.
    static let drawMs: UInt64 = 30_000

    mutating func compareIsDue(_ link: LinkID, _ replica: any ReplicaReader, _ nowMs: UInt64) throws -> Bool {
        guard let state = links[link], let theirs = state.vitals?.received.root, !state.reconciler.isActive,
            accounts.trusts(state.peer)
        else { return false }
        let ours = DigestPrefix(try replica.digest(of: .root))
        guard nowMs >= state.compareAtMs || (state.followsUp && theirs.count > ours.count) else { return false }
        guard ours != theirs, theirs.count > 0, !isPatient(link, nowMs: nowMs) else { return false }
        let pulls = links.values.count { $0.reconciler.isPrompt(nowMs: nowMs) }
        guard pulls < Replicator.pullsMax else { return false }
        // Otherwise both would name all they have in what differs. The one with less has less to name; of what is not
        // much both may.
        let isFirst = ours.count != theirs.count ? ours.count < theirs.count : key.publicKey < state.peer
        return isFirst || ours.count <= Reconciler.namedMax || nowMs >= state.askedMs &+ Replicator.turnMs
    }

    mutating func startComparison(_ link: LinkID, _ replica: any ReplicaReader, _ output: inout Output) throws {
        guard let state = links[link], let theirs = state.vitals?.received.root else { return }
        links[link]?.isFollowUp = state.followsUp && output.nowMs < state.compareAtMs
        links[link]?.followsUp = false
        try askForTails(link, replica, &output)
        links[link]?.reconciler.start(theirs: theirs, salt: random.next(), nowMs: output.nowMs)
        try pump(link, replica, &output)
    }

    mutating func setFocus(_ paths: [Path], _ replica: any ReplicaReader, _ output: inout Output) throws {
        focus = Array(paths.prefix(Replicator.focusMax))
        try withEachLink(output.nowMs) { machine, link in
            guard machine.links[link]?.reconciler.isActive == true else { return }
            try machine.askForTails(link, replica, &output)
        }
    }

    /// Asks for the ends of the channels that are looked at, each once a link: what comes later comes by itself.
    mutating func askForTails(_ link: LinkID, _ replica: any ReplicaReader, _ output: inout Output) throws {
        for path in focus where links[link]?.tails.contains(path) == false {
            let own = try replica.tail(
                of: path, children: Replicator.tailMessages, limit: Replicator.tailEntriesMax)
            links[link]?.tails.insert(path)
            let salt = random.next()
            output.send(
                link,
                .tail(
                    Tail(
                        path: path, count: Replicator.tailMessages, salt: salt,
                        known: Fingerprint.of(own, salt: salt))))
        }
    }

    /// The peer answers with its root; what follows from a difference follows then.
    mutating func drawTimer(_ replica: any ReplicaReader, _ output: inout Output) throws {
        let nowMs = output.nowMs
        guard !links.isEmpty else {
            drawDueMs = nil
            return
        }
        if let due = drawDueMs, nowMs < due { return }
        let quarter = Replicator.drawMs / 4
        let isDue = drawDueMs != nil
        drawDueMs = nowMs &+ 3 * quarter &+ random.next() % (2 * quarter)
        guard isDue else { return }
        let candidates = orderedLinks.filter { links[$0]?.pingSentMs == nil && links[$0]?.reconciler.isActive == false }
        guard !candidates.isEmpty else { return }
        let link = candidates[Int(random.next() % UInt64(candidates.count))]
        try ping(link, replica, &output)
    }

    /// Something that should be here may be missing: roots are compared with everybody soon.
    mutating func suspectGap(_ nowMs: UInt64) {
        for link in orderedLinks where links[link]?.reconciler.isActive == false {
            let dueMs = links[link]?.recheckMs ?? .max
            links[link]?.recheckMs = min(dueMs, nowMs &+ Replicator.recheckDelayMs)
        }
    }
}
