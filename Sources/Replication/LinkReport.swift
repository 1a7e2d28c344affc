public import Seal
internal import Tree
public import Wire

/// What `status` shows of a link.
public struct LinkReport: Sendable {
    public let link: LinkID
    public let peer: Bytes32
    public let rttMs: UInt64?
    /// The peer's clock minus this node's, in milliseconds.
    public let skewMs: Int64?
    /// Entries the peer lacks; nil before a comparison has ended.
    public let lacks: Int?
    /// Entries this node lacks and the peer has; nil before a comparison has ended.
    public let ahead: Int?
    public let isComparing: Bool
    /// The peer's root as last heard.
    public let root: DigestPrefix?
    /// How long ago something was heard over the link, in milliseconds.
    public let heardMs: UInt64
}

extension Replicator {
    public func reports(_ moment: Moment) -> [LinkReport] {
        orderedLinks.compactMap { link in
            guard let state = links[link] else { return nil }
            let skew = state.clockSample(nowMs: moment.elapsedMs).map {
                Int64(clamping: $0.clockMs) &- Int64(clamping: moment.wallMs)
            }
            return LinkReport(
                link: link, peer: state.peer, rttMs: state.rttMs, skewMs: skew, lacks: state.compared?.lacks,
                ahead: state.compared?.ahead, isComparing: state.reconciler.isActive,
                root: state.vitals?.received.root,
                heardMs: moment.monotonicMs > state.heardMs ? moment.monotonicMs - state.heardMs : 0)
        }
    }
}
