internal import ControlAPI
internal import Net
internal import Seal
internal import Tree
internal import Wire

/// Nodes of this workspace that have no protocol version in common with this one, whichever side has dialled.
///
/// A value without a clock.
struct OtherVersions {
    /// Addresses that are remembered; the one seen longest ago gives way.
    static let countMax = 32
    /// For so long after it was seen last: both sides try again every five minutes.
    static let keptMs: UInt64 = 15 * 60_000

    struct Sighting: Equatable {
        let address: SocketAddress
        let node: Bytes32
        /// Versions of the protocol that it speaks.
        let versionMin: Int
        let versionMax: Int
        let isInbound: Bool
        var seenMs: UInt64

        /// Whether this node is the one that is out of date.
        var isNewer: Bool { versionMin > LinkPayload.version }

        /// Which versions, and what is to be done, in words.
        var words: String {
            let theirs = OtherVersions.text(versionMin, versionMax)
            let own = OtherVersions.text(LinkPayload.version, LinkPayload.version)
            let older = isNewer ? "this node" : "that one"
            return "it speaks \(theirs) of the protocol and this node \(own): \(older) is to be updated"
        }
    }

    private(set) var sightings: [Sighting] = []

    private static func text(_ least: Int, _ most: Int) -> String {
        least == most ? "version \(least)" : "versions \(least) to \(most)"
    }

    mutating func note(_ sighting: Sighting) {
        sightings.removeAll { known in
            known.address == sighting.address
                // Who listens on no port comes from another one each time.
                || (known.node == sighting.node && known.isInbound && sighting.isInbound)
        }
        if sightings.count >= OtherVersions.countMax { sightings.removeFirst() }
        sightings.append(sighting)
    }

    /// It is connected, so it was updated, or this node was.
    mutating func forget(_ node: Bytes32) { sightings.removeAll { $0.node == node } }

    mutating func forgetOld(nowMs: UInt64) { sightings.removeAll { nowMs &- $0.seenMs > OtherVersions.keptMs } }

    subscript(address: SocketAddress) -> Sighting? { sightings.first { $0.address == address } }
}

extension Node {
    func noteOtherVersion(_ link: PeerLink, _ peer: Bytes32, _ claims: LinkPayload) {
        // Where the other side has dialled, it listens elsewhere than it dials from.
        let source = link.socket.peerAddress.map { claims.port == 0 ? $0 : $0.with(port: claims.port) }
        guard let address = link.dialled ?? source else { return }
        otherVersions.note(
            OtherVersions.Sighting(
                address: address, node: peer, versionMin: claims.versionMin, versionMax: claims.versionMax,
                isInbound: link.dialled == nil, seenMs: EventLoop.monotonicMs()))
    }

    /// Rows of those who have dialled this node and are at none of these addresses.
    func otherVersionRows(except shown: Set<String>) -> [PeerRow] {
        otherVersions.forgetOld(nowMs: EventLoop.monotonicMs())
        let unseen = otherVersions.sightings.filter { $0.isInbound && !shown.contains("\($0.address)") }
        return unseen.map { sighting in
            var row = PeerRow(
                uid: UID.text(sighting.node), name: nameIfReadable(of: sighting.node),
                address: "\(sighting.address)", state: .refused)
            row.path = .inbound
            row.failure = .version
            row.reason = sighting.words
            row.isNewer = sighting.isNewer
            return row
        }
    }
}
