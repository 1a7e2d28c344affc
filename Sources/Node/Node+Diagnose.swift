internal import ControlAPI
internal import Discovery
internal import Glibc
internal import Net
internal import Replication
internal import Seal
internal import Store

/// What `starling doctor` asks for: how this node sees its network, its disk and itself.
extension Node {
    /// A larger database is not looked at while others are served: this much takes about 0.2 s.
    private static let soundnessBytesMax = 48 << 20

    /// Never fails: that the database cannot be read is what is asked for.
    func diagnoseAnswer() -> JSON {
        // Before anything reads it: a database that turns out to be damaged is soon replaced.
        let (database, damage) = soundness()
        var row = DiagnosisRow(
            process: Int64(getpid()), port: Int64(port), discovery: discovery.word, instance: announced,
            heard: heardRows(), peers: peerRows(), home: options.home.dataDirectory, database: database,
            damage: damage, isDiskFull: isDiskFull, notices: currentNotices())
        if case .down(let reason) = discovery { row.reason = reason }
        let now = moment
        row.offsetMs = Int64(clamping: replicator.workspaceMs(now)) &- Int64(clamping: now.wallMs)
        return row.json
    }

    private func soundness() -> (DiagnosisRow.Soundness, String?) {
        do {
            switch try store.soundness(bytesMax: Node.soundnessBytesMax) {
            case .sound: return (.sound, nil)
            case .damaged(let words): return (.damaged, words)
            case .tooLarge: return (.partly, nil)
            }
        } catch {
            report(error, "looking through the database")
            return (.damaged, "\(error)")
        }
    }

    // MARK: Discovery

    private func heardRows() -> [HeardRow] {
        let connected = connectedNodes
        let up = Set(links.values.filter(\.isUp).compactMap(address(of:)))
        return heard.all.map { sighting in
            let places = addresses(of: sighting)
            let isConnected = places.contains { address in
                up.contains(address) || dialer.candidates[address]?.node.map(connected.contains) ?? false
            }
            return HeardRow(
                instance: sighting.instance, interface: interfaceName(sighting.interfaceIndex), host: sighting.host,
                addresses: places.map { "\($0)" }, isOurs: isOurs(sighting), isConnected: isConnected)
        }
    }

    /// Where the node at the other end of a link listens.
    private func address(of link: PeerLink) -> SocketAddress? {
        link.dialled ?? (link.listenPort == 0 ? nil : link.socket.peerAddress?.with(port: link.listenPort))
    }

    private func interfaceName(_ index: UInt32) -> String {
        interfaces.first { $0.index == index }?.name ?? "\(index)"
    }

    // MARK: What `status` says of each peer

    /// How the address of a link is known.
    func path(of link: PeerLink) -> PeerRow.Path {
        link.dialled.flatMap { dialer.candidates[$0] }.map { Node.path($0.source) } ?? .inbound
    }

    static func path(_ source: Dialer.Source) -> PeerRow.Path {
        switch source {
        case .remembered: .remembered
        case .gossiped: .gossiped
        case .inbound: .inbound
        case .discovered: .mdns
        case .named: .named
        }
    }

    /// Counts refused entries for the peer that sent them, and for all.
    func countDenied(_ count: Int, from id: LinkID) {
        denied += count
        if let peer = links[id]?.peer { deniedBy.add(count, peer) }
    }
}

extension DiscoveryStatus {
    fileprivate var word: DiagnosisRow.Discovery {
        switch self {
        case .off: .off
        case .starting: .starting
        case .up: .up
        case .down: .down
        case .paused: .paused
        }
    }
}
