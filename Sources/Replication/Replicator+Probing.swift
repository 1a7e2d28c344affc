internal import Tree

extension Replicator {
    /// Asks whether the other ends are still there, and gives them little time to answer.
    mutating func probe(_ probed: [LinkID], _ replica: any ReplicaReader, _ output: inout Output) throws {
        for link in probed where links[link] != nil {
            try ping(link, replica, &output)
            links[link]?.probedUntilMs = output.nowMs &+ LinkState.probeMs
        }
    }
}
