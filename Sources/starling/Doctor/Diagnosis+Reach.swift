internal import ControlAPI

/// Whether those who are heard, or were named, can be talked to.
extension Diagnosis {
    /// One node that is not connected and was tried.
    private struct Unreached {
        let host: String
        let endpoint: Endpoint
        let outcome: Reach.Outcome
    }

    /// Of several addresses the one that got furthest, of those that got equally far the first.
    private func best(_ endpoints: [Endpoint]) -> (Endpoint, Reach.Outcome)? {
        let tried = endpoints.compactMap { endpoint in evidence.reached[endpoint].map { (endpoint, $0) } }
        return tried.min { rank($0.1) < rank($1.1) }
    }

    private func rank(_ outcome: Reach.Outcome) -> Int {
        switch outcome {
        case .open: 0
        case .refused: 1
        case .forbidden: 2
        case .timedOut: 3
        case .unreachable: 4
        }
    }

    private var unreached: [Unreached] {
        var found: [Unreached] = []
        let misled = tunnels.level == .problem
        for (_, node) in evidence.unlinked.sorted(by: { $0.key < $1.key }) {
            guard let (endpoint, outcome) = best(node.endpoints), outcome != .open else { continue }
            if misled, isMisled(node.endpoints) { continue }
            found.append(Unreached(host: node.host, endpoint: endpoint, outcome: outcome))
        }
        let isExplained = multicast.level == .problem && evidence.connected.isEmpty
        let announced = Set(evidence.unlinked.values.flatMap { $0.endpoints })
        for row in evidence.failed where row.path == .named && !isExplained {
            guard let endpoint = Endpoint(row.address), !announced.contains(endpoint),
                let outcome = evidence.reached[endpoint], outcome != .open, !(misled && isMisled([endpoint]))
            else { continue }
            found.append(Unreached(host: "", endpoint: endpoint, outcome: outcome))
        }
        return found
    }

    private func isMisled(_ endpoints: [Endpoint]) -> Bool {
        endpoints.contains { endpoint in
            evidence.interfaces.first { $0.name == evidence.routes[endpoint.address] }
                .map { $0.kind == .tunnel || $0.kind == .container } ?? false
        }
    }

    var reachable: Check {
        guard families.level != .problem else { return .skipped("reachable", "see families") }
        let unreached = unreached
        guard !unreached.isEmpty else {
            if evidence.connected.isEmpty {
                return evidence.diagnosis == nil
                    ? .skipped("reachable", "without a daemon nothing is connected")
                    : .skipped("reachable", "nobody is known who could be tried")
            }
            let count = evidence.connected.count
            return .ok("reachable", "\(Words.count(Int64(count), "node is", "nodes are")) connected")
        }
        let words = unreached.map { node in
            let host = node.host.isEmpty ? "" : "\(node.host) at "
            return "\(host)\(node.endpoint) \(meaning(of: node.outcome))"
        }
        var mend: [String] = []
        for node in unreached {
            for line in self.mend(node.outcome, node.endpoint.port) where !mend.contains(line) { mend.append(line) }
        }
        return Check(
            name: "reachable", level: evidence.connected.isEmpty ? .problem : .warning,
            saw: words.joined(separator: "; "), mend: mend)
    }

    private func meaning(of outcome: Reach.Outcome) -> String {
        switch outcome {
        case .open: "answers"
        case .refused: "is known, but nobody listens at the port: the daemon there has ended, or a firewall refuses it"
        case .timedOut: "is known, but packets to its port are lost: a firewall there drops them, or it is switched off"
        case .unreachable: "is known, but the machine does not answer: it is switched off or in another network"
        case .forbidden: "is known, but this machine's own firewall forbids the connection"
        }
    }

    private func mend(_ outcome: Reach.Outcome, _ port: UInt16) -> [String] {
        switch outcome {
        case .open: []
        case .refused: ["on that machine: starling doctor"]
        case .timedOut:
            [
                "on that machine: sudo ufw allow \(port)/tcp",
                "on that machine: sudo firewall-cmd --permanent --add-port=\(port)/tcp && sudo firewall-cmd --reload",
            ]
        case .unreachable: ["on that machine: starling doctor"]
        case .forbidden: ["sudo ufw allow out \(port)/tcp"]
        }
    }

    /// Who ends a handshake does not say why: he may have no place, rest, or have another key.
    private var whyEnded: String {
        evidence.isPrivate
            ? "it is in another workspace, has missed a change of the key, has no room, or is no Starling"
            : "it rests on this network, has no room, is in another workspace, or is no Starling"
    }

    private var mendEnded: [String] {
        // There it is known.
        let there = "on that machine: starling doctor"
        let compare = own("workspace") + "   # names this node's; compare it with the other's"
        return evidence.isPrivate
            ? [
                there, compare,
                "on that machine: starling workspace join LINK   # LINK is from here: \(own("workspace invite"))",
            ]
            : [
                there, "on that machine: starling workspace here   # if its workspace rests", compare,
                "on that machine: starling workspace invite   # if it is a private one; then here: "
                    + own("workspace join LINK"),
            ]
    }

    /// Something answers there, and does not let this node in.
    var accepted: Check {
        let refused = (evidence.diagnosis?.peers ?? []).filter { row in
            row.state != .connected && [.key, .version, .forged].contains(row.failure)
                // It may have ended since.
                && (row.path == .inbound
                    || Endpoint(row.address).map { evidence.reached[$0] == .open || evidence.reached[$0] == nil }
                        ?? true)
        }
        guard let first = refused.first else {
            guard evidence.diagnosis != nil else {
                return .skipped("accepted", "without a daemon nothing is connected")
            }
            return .ok("accepted", "nobody has refused this node")
        }
        let words = refused.map { row in
            switch row.failure {
            case .version:
                "\(row.address) is of another version: \(row.reason ?? "it has no protocol in common with this one")"
            case .forged: "\(row.address): \(row.reason ?? "entries without a valid signature have been sent")"
            default: "\(row.address) answers and ends the handshake: \(whyEnded)"
            }
        }
        var mend: [String] = []
        let others = refused.filter { $0.failure == .version }
        if others.contains(where: { $0.isNewer != false }) {
            mend.append("make install && \(restart)   # here, from newer sources of Starling")
        }
        if others.contains(where: { $0.isNewer != true }) {
            mend.append("on that machine: make install && starling daemon stop && starling daemon start")
        }
        if refused.contains(where: { $0.failure == .forged }) {
            mend.append("on the machine that sent them: sudo smartctl -H /dev/sda   # its disk may be failing")
        }
        if refused.contains(where: { $0.failure == .key }) {
            mend += mendEnded
            if let named = refused.first(where: { $0.failure == .key && $0.path == .named }) {
                mend.append(own("peer remove \(named.address)"))
            }
        }
        return Check(
            name: "accepted", level: first.path == .named || evidence.connected.isEmpty ? .problem : .warning,
            saw: words.joined(separator: "; "), mend: mend)
    }
}
