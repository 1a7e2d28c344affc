internal import Tree

/// What could not be stored: the disk was full.
extension Replicator {
    /// After a commit that failed a peer is asked again after this long: each try costs a message of entries.
    static let failedRetryMs: UInt64 = 10_000

    /// Follows whether what peers send can be stored. What could not be is missing and has been let pass, so it is
    /// looked for again.
    mutating func noticeCommit(_ link: LinkID, _ admitted: [Bundle], _ result: CommitResult, _ nowMs: UInt64) {
        let settled = result.applied.count + result.held.count + result.dead.count + result.known
        if settled > 0 { return noticeStoring(nowMs) }
        guard admitted.contains(where: { !$0.leaves.isEmpty }) else { return }
        isStoreFailing = true
        // The rest of the pull would fail as well.
        links[link]?.reconciler.abandon()
        inFlight = inFlight.filter { $0.value.link != link }
        links[link]?.compareDelayMs = LinkState.compareDelayMs
        links[link]?.compareAtMs = nowMs &+ Replicator.failedRetryMs
        links[link]?.recheckMs = nowMs &+ Replicator.failedRetryMs
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
