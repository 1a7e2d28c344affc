internal import Store
internal import ControlAPI
internal import Net
internal import Replication
internal import Seal
internal import Tree
internal import Wire

extension Node {
    func status() throws -> StatusRow {
        var row = StatusRow(
            uid: UID.text(uid), name: try displayName(of: uid), workspace: workspace.name, version: Node.version,
            peers: peerRows(), entries: Int64(try store.entryCount), root: try store.digest(of: .root).hex,
            held: Int64(try store.heldCount), skipped: Int64(try store.unknownCount), denied: Int64(denied),
            databaseBytes: Int64(try store.databaseBytes), discovery: discovery.description)
        try addTime(to: &row)
        row.notices = currentNotices()
        row.storage = try storageRow()
        row.isDiskFull = isDiskFull
        return row
    }

    /// Connected peers first, then addresses that do not lead to a connected one.
    func peerRows() -> [PeerRow] {
        var rows: [PeerRow] = []
        var reports: [LinkID: LinkReport] = [:]
        for report in replicator.reports(moment) { reports[report.link] = report }
        let connected = connectedNodes.union(acquaintances.blocked)
        for link in links.values.sorted(by: { $0.id < $1.id }) where link.isUp {
            guard let peer = link.peer else { continue }
            let report = reports[link.id]
            var row = PeerRow(
                uid: UID.text(peer), name: nameIfReadable(of: peer),
                address: link.socket.peerAddress.map { "\($0)" } ?? "", state: .connected,
                rttMs: report?.rttMs.map { Double($0) }, skewMs: report?.skewMs,
                lacks: report?.lacks.map { Int64($0) }, ahead: report?.ahead.map { Int64($0) })
            row.path = path(of: link)
            row.heardMs = report.map { Int64(clamping: $0.heardMs) }
            row.refusals = Int64(deniedBy.count(of: peer))
            rows.append(row)
        }
        for candidate in dialer.peers {
            if let node = candidate.node, connected.contains(node) { continue }
            if candidate.state == .connected { continue }
            // Nobody has asked for it yet, and perhaps nobody will.
            if !dialer.dialsEverybody, candidate.state == .waiting, candidate.failures == 0 { continue }
            let failure = candidate.lastFailure.flatMap(DialFailure.kind)
            let isRefused = failure == .key || failure == .version || failure == .forged
            let state: PeerRow.State =
                candidate.state == .dialling ? .connecting : isRefused ? .refused : .unreachable
            var row = PeerRow(
                uid: candidate.node.map(UID.text) ?? "", name: candidate.node.map(nameIfReadable(of:)) ?? "",
                address: "\(candidate.address)",
                state: candidate.failures == 0 && state == .unreachable ? .connecting : state, rttMs: nil,
                skewMs: nil, lacks: nil, ahead: nil)
            row.path = Node.path(candidate.source)
            row.failure = failure
            row.reason = candidate.lastFailure
            if failure == .version, let other = otherVersions[candidate.address] {
                row.reason = other.words
                row.isNewer = other.isNewer
            }
            rows.append(row)
        }
        return rows + otherVersionRows(except: Set(rows.map(\.address)))
    }

    /// For what is to be told also where the database cannot be read.
    func nameIfReadable(of author: Bytes32) -> String {
        do {
            return try displayName(of: author)
        } catch {
            report(error, "reading a name")
            return String(UID.text(author).prefix(8))
        }
    }

    func peersAnswer() -> JSON {
        [
            "peers": .array(peerRows().map(\.json)),
            "static": .array(named.map { .string("\($0)") }),
        ]
    }

    private func hostPort(_ params: Fields) throws(RPCError) -> HostPort {
        let text = try params.string("address")
        guard let peer = HostPort(text, defaultPort: NodeOptions.portDefault) else {
            throw .invalidParams("an address is HOST:PORT, like 192.168.1.7:47474")
        }
        return peer
    }

    /// Peers that can be added by hand.
    static let namedMax = 256

    func addPeerAnswer(_ params: Fields) throws -> JSON {
        let peer = try hostPort(params)
        guard named.count < Node.namedMax || named.contains(peer) else {
            throw RPCError(reason: .quota, message: "at most \(Node.namedMax) peers can be added")
        }
        addPeer(peer)
        try rememberNamed()
        return ["address": .string("\(peer)")]
    }

    func removePeerAnswer(_ params: Fields) throws -> JSON {
        let peer = try hostPort(params)
        guard removePeer(peer) else {
            throw RPCError(reason: .notFound, message: "\(peer) was not added")
        }
        try rememberNamed()
        return ["address": .string("\(peer)")]
    }

    /// Peers added by a command stay added.
    func rememberNamed() throws {
        let text = named.map { "\($0)" }.joined(separator: "\n")
        try store.setSetting("named", Array(text.utf8))
    }

    func recallNamed() {
        guard let bytes = try? store.setting("named") else { return }
        for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
            if let peer = HostPort(String(line)) { addPeer(peer) }
        }
    }

    func stopAnswer() -> JSON {
        // The answer is sent first; the goodbyes follow.
        loop.execute { self.assumeIsolated { $0.stopRequested() } }
        return [:]
    }

    private func stopRequested() { onStopRequest?() }
}
