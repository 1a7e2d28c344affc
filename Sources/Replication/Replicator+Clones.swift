public import Seal
internal import Tree
internal import Wire

extension Replicator {
    /// Keys that two live nodes have, this node's own perhaps among them, in order.
    public var clonedKeys: [Bytes32] { clones.clones }

    /// Asks all who have a new peer's key whether they live, if they are more than one.
    mutating func doubt(
        _ link: LinkID, _ peer: Bytes32, _ instance: UInt64, _ replica: any ReplicaReader, _ output: inout Output
    ) throws {
        for doubted in clones.up(link, peer: peer, instance: instance) {
            try ping(doubted, replica, &output)
        }
    }

    /// Tells the shell when it has become known, or is over, that a key has two nodes.
    mutating func watchClones(before: [Bytes32], _ output: inout Output) {
        for link in output.pinged { clones.sentPing(link) }
        clones.expire(nowMs: output.nowMs)
        guard clones.clones != before else { return }
        output.effects.append(.clonesChanged)
        // Each of them is told where the other is, so that they find each other.
        peersDueMs = min(peersDueMs ?? .max, output.nowMs &+ Replicator.peersDelayMs)
    }
}
