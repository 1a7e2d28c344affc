internal import Seal
internal import Tree
internal import Wire

/// What is pushed to one peer and has not left the shell's queue yet.
///
/// Who writes faster than a peer takes it must neither fill its own memory nor lose the order: beyond a window the rest
/// waits where it stands anyway, in the store, and is pushed from there, oldest first, as the queue empties. Only the
/// place is remembered.
struct PushBacklog: Sendable {
    /// Bytes pushed, after which the shell is asked to say when they have left.
    static let noticeBytes = 64 * 1024
    /// Bytes that may be on their way before the rest waits: some milliseconds of a fast network, and little enough
    /// that an answer behind them comes soon on a slow one.
    static let bytesMax = 512 * 1024
    /// What waits is read and pushed in pieces of so many entries.
    static let readMax = (long: 1024, brief: 64)
    /// While more comes than a person writes, or waits, what is missing is on its way: roots are compared only after so
    /// long.
    static let patienceMs: UInt64 = 30_000

    /// Bytes pushed since the queue was known to be empty.
    var bytes = 0
    /// This node's entries behind this one wait, and since when some do.
    private(set) var waitsBehind: EntryReference?
    private var waitsSinceMs: UInt64?
    /// Since when roots differ and are not compared, for what comes is on its way. Nil again as soon as nothing is: the
    /// next time is another one.
    var patientSinceMs: UInt64?

    /// From now on this node's entries behind this one wait; with nil none do.
    mutating func wait(behind reference: EntryReference?, nowMs: UInt64) {
        waitsBehind = reference
        waitsSinceMs = reference == nil ? nil : waitsSinceMs ?? nowMs
    }

    /// Whether some wait, and not for longer than one is patient.
    func waits(nowMs: UInt64) -> Bool { waitsSinceMs.map { nowMs < $0 &+ PushBacklog.patienceMs } ?? false }

    /// Whether nothing more is pushed for now.
    var isFull: Bool { waitsBehind != nil || bytes >= PushBacklog.bytesMax }
}

extension Replicator {
    /// Sends bundles that a peer has not asked for.
    mutating func push(_ groups: [[Bundle]], to link: LinkID, _ output: inout Output) {
        for group in groups {
            output.send(link, .bundles(group))
            links[link]?.backlog.bytes += group.reduce(0) { $0 + $1.approximateWireSize }
        }
        guard let bytes = links[link]?.backlog.bytes, bytes >= PushBacklog.noticeBytes else { return }
        awaitDrain(link, &output)
    }

    /// Has the shell say when everything sent to a link has left.
    mutating func awaitDrain(_ link: LinkID, _ output: inout Output) {
        guard links[link]?.isDraining == false else { return }
        links[link]?.isDraining = true
        output.effects.append(.awaitDrain(link))
    }

    /// Pushes what this node has written to some peers; what is too much for one waits.
    mutating func pushOwn(_ bundles: [Bundle], to targets: [LinkID], _ output: inout Output) {
        guard let first = bundles.flatMap(\.leaves).map(\.entry.reference).min() else { return }
        let groups = Replicator.packed(bundles.flatMap(Replicator.transferable))
        for link in targets {
            guard let backlog = links[link]?.backlog else { continue }
            if !backlog.isFull {
                push(groups, to: link, &output)
            } else if backlog.waitsBehind == nil {
                links[link]?.backlog.wait(behind: first.predecessor, nowMs: output.nowMs)
            }
        }
    }

    /// The queue is empty: the next part of what waits.
    mutating func pushWaiting(_ link: LinkID, _ replica: any ReplicaReader, _ output: inout Output) throws {
        links[link]?.backlog.bytes = 0
        guard let behind = links[link]?.backlog.waitsBehind else { return }
        let isBrief = otherPeersTalk(besides: link, nowMs: output.nowMs)
        let limit = isBrief ? PushBacklog.readMax.brief : PushBacklog.readMax.long
        let end = EntryReference(hlc: .greatest, idPrefix: .max)
        let next = try replica.references(in: ReferenceRange(after: behind, through: end), oldest: limit)
        let (found, _, taken) = try replica.bundles(for: next, bytesMax: PushBacklog.bytesMax)
        // What others wrote meanwhile stands between: they push it themselves.
        let own = found.filter { $0.author == key.publicKey }
        push(Replicator.packed(own), to: link, &output)
        let isAll = taken == next.count && next.count < limit
        links[link]?.backlog.wait(behind: isAll ? nil : next[taken - 1], nowMs: output.nowMs)
        guard isAll else { return awaitDrain(link, &output) }
        try ping(link, replica, &output)
    }

    /// Whether differing roots say nothing yet, for much is on its way: to the peer, or from one that has written it
    /// himself, who may be another than this one.
    mutating func isPatient(_ link: LinkID, nowMs: UInt64) -> Bool {
        endPatience(link, nowMs: nowMs)
        guard let state = links[link], isMuchUnderWay(link, nowMs: nowMs) else { return false }
        let sinceMs = state.backlog.patientSinceMs ?? nowMs
        links[link]?.backlog.patientSinceMs = sinceMs
        return nowMs < sinceMs &+ PushBacklog.patienceMs
    }

    /// Forgets how long one has been patient if nothing is under way. Looked at whenever the peer says its root, not
    /// only when that differs, or the next burst would find the patience used up.
    mutating func endPatience(_ link: LinkID, nowMs: UInt64) {
        guard links[link]?.backlog.patientSinceMs != nil, !isMuchUnderWay(link, nowMs: nowMs) else { return }
        links[link]?.backlog.patientSinceMs = nil
    }

    private func isMuchUnderWay(_ link: LinkID, nowMs: UInt64) -> Bool {
        links[link]?.backlog.waitsBehind != nil
            || links.values.contains {
                accounts[$0.peer]?.pushes.isMuch(of: $0.peer, pushLimits, nowMs: nowMs) ?? false
            }
    }
}
