internal import Tree
internal import Wire

extension Replicator {
    /// Asks whether the other ends are still there, and gives them little time to answer.
    mutating func probe(_ probed: [LinkID], _ replica: any ReplicaReader, _ output: inout Output) throws {
        for link in probed where links[link] != nil {
            links[link]?.probedUntilMs = output.nowMs &+ LinkState.probeMs
            links[link]?.pingSentMs = output.nowMs
            links[link]?.lastPingMs = output.nowMs
            output.send(link, .ping(try vitals(link, output.moment, replica)))
        }
    }
}
