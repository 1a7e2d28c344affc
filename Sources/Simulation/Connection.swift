internal import Replication
internal import Wire

/// A link between two simulated nodes. Like TCP it delivers in order and loses nothing until it breaks, unless it is
/// told to misbehave.
final class Connection {
    /// One end: the node there, and what it believes.
    struct End {
        let node: Int
        /// The start of the node that this end belongs to: one that was started anew knows nothing of it.
        let start: UInt64
        /// Whether the node has been told that the link is up, and not yet that it is down.
        var isUp = false
        /// The node waits until everything it has sent has left.
        var awaitsDrain = false
        /// Messages on their way from this end.
        var inFlight = 0
        /// The last of them arrives then.
        var lastArrivalMs: UInt64 = 0
        /// Nothing from this end arrives any more, and it does not notice.
        var isSilent = false
        /// What was sent meanwhile: it arrives if the silence ends before the link does.
        var stalled: [PeerMessage] = []
    }

    let link: LinkID
    var ends: [End]
    var isBroken = false
    /// One of the two had links enough.
    var isDemoted = false
    var faults = LinkFaults.none

    init(link: LinkID, ends: [End]) {
        self.link = link
        self.ends = ends
    }

    func side(of node: Int) -> Int { ends[0].node == node ? 0 : 1 }
}

/// What a link does that TCP does not: a program that keeps its queues badly.
public struct LinkFaults: Sendable, Equatable {
    /// Of a thousand messages, so many are lost, come twice, and are delayed beyond those sent later.
    public var lostPerMille: Int
    public var doubledPerMille: Int
    public var delayedPerMille: Int

    public static let none = LinkFaults(lostPerMille: 0, doubledPerMille: 0, delayedPerMille: 0)

    public init(lostPerMille: Int, doubledPerMille: Int, delayedPerMille: Int) {
        self.lostPerMille = lostPerMille
        self.doubledPerMille = doubledPerMille
        self.delayedPerMille = delayedPerMille
    }
}
