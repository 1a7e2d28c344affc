internal import Tree
internal import Wire

extension Replicator {
    /// A peer is asked for its root this often at most because somebody wants to know what has arrived there.
    static let askRootMs: UInt64 = 500

    /// Remembers the own root as often as it may be another.
    mutating func noteRoot(_ replica: any ReplicaReader) throws {
        held.note(DigestPrefix(try replica.digest(of: .root)), change: try replica.lastChange)
    }

    /// Asks those connected peers for their roots that are not known to have everything, or some of them.
    mutating func askRoots(
        _ replica: any ReplicaReader, _ output: inout Output, countMax: Int = Int.max
    ) throws {
        let change = try replica.lastChange
        var count = 0
        for link in orderedLinks where count < countMax {
            guard let state = links[link], held.mark(of: state.peer) < change, state.pingSentMs == nil,
                output.nowMs >= state.lastPingMs &+ Replicator.askRootMs
            else { continue }
            count += 1
            try ping(link, replica, &output)
        }
    }
}
