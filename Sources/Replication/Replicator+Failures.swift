internal import Tree
internal import Wire

/// What is to be done after an event, and what has kept the machine from doing all of it.
public struct StepFailure: Error {
    public let effects: [Replicator.Effect]
    /// What the store has thrown.
    public let cause: any Error
}

/// What could not be read.
extension Replicator {
    /// After a failure what a peer is owed is looked for again after this long.
    static let drainAgainMs: UInt64 = 1000

    /// Something that an event of a link has brought about was not finished. The pull from there is given up, for parts
    /// of it may be lost, and begins anew; what the peer has asked for, and what waits to be pushed, is still written
    /// down, and gets another turn.
    mutating func noticeFailure(_ link: LinkID?, _ nowMs: UInt64) {
        guard let link, links[link] != nil else { return }
        giveUpPull(link, nowMs)
        links[link]?.drainAgainMs = nowMs &+ Replicator.drainAgainMs
    }

    /// Ends a pull that could not go on, and begins another one later.
    mutating func giveUpPull(_ link: LinkID, _ nowMs: UInt64) {
        links[link]?.reconciler.abandon()
        inFlight = inFlight.filter { $0.value.link != link }
        links[link]?.compareDelayMs = LinkState.compareDelayMs
        links[link]?.compareAtMs = nowMs &+ Replicator.failedRetryMs
        links[link]?.recheckMs = nowMs &+ Replicator.failedRetryMs
    }

    /// Does something for each link. Where that fails the others have their turn all the same.
    mutating func withEachLink(_ nowMs: UInt64, _ body: (inout Replicator, LinkID) throws -> Void) throws {
        var failure: (any Error)?
        for link in orderedLinks {
            do {
                try body(&self, link)
            } catch {
                failure = failure ?? error
                noticeFailure(link, nowMs)
            }
        }
        if let failure { throw failure }
    }

    /// Says and asks for the root.
    mutating func ping(_ link: LinkID, _ replica: any ReplicaReader, _ output: inout Output) throws {
        // First, or an answer would be waited for that nobody has asked for.
        let vitals = try vitals(link, output.moment, replica)
        links[link]?.pingSentMs = output.nowMs
        links[link]?.lastPingMs = output.nowMs
        output.send(link, .ping(vitals))
    }
}

extension Replicator.Event {
    /// The link that it belongs to and that is up after it.
    var link: LinkID? {
        switch self {
        case .linkUp(let link, _, _), .received(let link, _), .drained(let link), .moves(let link), .verify(let link),
            .committed(let link, _, _, _, _):
            link
        case .adopted(let link, _, _): link
        default: nil
        }
    }
}

/// What could not be stored: the disk was full.
extension Replicator {
    /// After a commit or a step that failed a peer is asked again after this long: each try costs a message of entries.
    static let failedRetryMs: UInt64 = 10_000

    /// Follows whether what peers send can be stored. What could not be is missing and has been let pass, so it is
    /// looked for again.
    mutating func noticeCommit(_ link: LinkID, _ admitted: [Bundle], _ result: CommitResult, _ nowMs: UInt64) {
        let settled = result.applied.count + result.held.count + result.dead.count + result.known
        if settled > 0 { return noticeStoring(nowMs) }
        guard admitted.contains(where: { !$0.leaves.isEmpty }) else { return }
        isStoreFailing = true
        // The rest of the pull would fail as well.
        giveUpPull(link, nowMs)
    }

    /// Something was stored: whatever was let pass before can be had now.
    mutating func noticeStoring(_ nowMs: UInt64) {
        guard isStoreFailing else { return }
        isStoreFailing = false
        for link in orderedLinks {
            links[link]?.compareDelayMs = LinkState.compareDelayMs
            links[link]?.compareAtMs = 0
            links[link]?.recheckMs = nowMs &+ Replicator.recheckDelayMs
        }
    }
}
