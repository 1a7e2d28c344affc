internal import ControlAPI

extension Diagnosis {
    var network: [Check] {
        [families, tunnels, record, oneWay, multicast, heard, reachable, accepted]
    }

    /// Networks with other machines on them.
    private var lans: [LocalInterface] {
        evidence.interfaces.filter { $0.kind == .lan && $0.isUp && !$0.addresses.isEmpty }
    }

    private var ownAddresses: Set<[UInt8]> { Set(evidence.interfaces.flatMap(\.addresses).map(\.address.bytes)) }

    /// Whether something that the rest needs is broken.
    private var isBlind: Bool {
        evidence.diagnosis == nil || bus.level == .problem || avahi.level == .problem || families.level == .problem
    }

    /// Why nothing can be said of multicast.
    private var unseen: String {
        discovers ? "it cannot be seen before the above is mended" : "the daemon was started with --no-discovery"
    }

    private func isOnLAN(_ address: IPAddress) -> Bool { lans.contains { $0.isOnLink(address) } }

    // MARK: This machine's part

    var families: Check {
        let tunnels = evidence.interfaces.filter { $0.kind == .tunnel && $0.isUp && !$0.addresses.isEmpty }
        guard let first = lans.first else {
            guard tunnels.isEmpty else { return .ok("families", "only a VPN has an address; see vpn") }
            return .problem(
                "families", "no network interface is up with an address", "nmcli networking on",
                "sudo dhclient -v \(lanName)")
        }
        let words = lans.map { lan in
            let families = [lan.hasIPv4 ? "IPv4" : nil, lan.hasIPv6 ? "IPv6" : nil].compactMap { $0 }
            return "\(lan.name) has \(families.joined(separator: " and "))"
        }.joined(separator: ", ")
        if lans.contains(where: { lan in lan.addresses.contains { $0.address.isIPv4 && !$0.address.isLinkLocal } }) {
            return .ok("families", words)
        }
        let reason = lans.contains(where: \.hasIPv4) ? "an IPv4 address that it gave itself" : "no IPv4 address"
        return .warning(
            "families",
            "\(words), but \(reason): who has only IPv4 is not reached, and neither is anything behind a router",
            "sudo dhclient -v \(first.name)")
    }

    /// The interface that most likely should have an address.
    private var lanName: String { evidence.interfaces.first { $0.kind == .lan }?.name ?? "eth0" }

    /// Addresses on a network of this machine to which packets leave by a VPN or a container's bridge all the same.
    private var misled: [IPAddress: String] {
        evidence.routes.filter { address, interface in
            guard let taken = evidence.interfaces.first(where: { $0.name == interface }) else { return false }
            return (taken.kind == .tunnel || taken.kind == .container) && isOnLAN(address)
        }
    }

    var tunnels: Check {
        let others = evidence.interfaces.filter { ($0.kind == .tunnel || $0.kind == .container) && $0.isUp }
        let names = others.map(\.name).joined(separator: ", ")
        if let (address, name) = misled.min(by: { "\($0.key)" < "\($1.key)" }) {
            return .problem(
                "vpn",
                "\(address) is on this network, but packets to it leave through \(name), whose addresses overlap",
                "sudo ip link set \(name) down")
        }
        for other in others where !other.addresses.isEmpty {
            guard let lan = lans.first(where: { $0.overlaps(other) }) else { continue }
            return .warning(
                "vpn",
                "\(other.name) has addresses of the network of \(lan.name): some machines there may not be reached",
                "sudo ip link set \(other.name) down")
        }
        if lans.isEmpty, others.contains(where: { $0.kind == .tunnel && !$0.addresses.isEmpty }) {
            return .warning(
                "vpn", "the only network is \(names), which carries no multicast: nobody is found by himself",
                own("peer add HOST:PORT"))
        }
        return .ok(
            "vpn",
            others.isEmpty
                ? "there are neither VPN nor container interfaces"
                : "\(names): nobody is looked for there, and nothing overlaps")
    }

    /// Whether this machine's Avahi has answered a question that came in over the network, on each network asked.
    private func echoes(_ lan: LocalInterface) -> Bool {
        evidence.multicast.answers.contains { answer in
            answer.interface == lan.name && ownAddresses.contains(answer.from.bytes)
                && evidence.diagnosis?.instance.map(answer.instances.contains) ?? false
        }
    }

    var record: Check {
        guard let diagnosis = evidence.diagnosis else {
            return .skipped("record", "without a daemon nothing is announced")
        }
        guard diagnosis.discovery != .off else {
            return .skipped("record", "the daemon was started with --no-discovery; only named peers are connected")
        }
        if isBlind { return .skipped("record", "nothing can be announced before the above is mended") }
        let restart = "sudo systemctl restart avahi-daemon"
        if diagnosis.discovery == .paused {
            return .warning(
                "record", "the workspace rests: this is another network than its own, and here others might read it",
                own("workspace here"))
        }
        if diagnosis.discovery == .down {
            let reason = diagnosis.reason ?? "it does not say why"
            return .problem(
                "record", "Avahi answers, but does not announce this node: \(reason)",
                "in /etc/avahi/avahi-daemon.conf: [publish] disable-publishing=no, disable-user-service-publishing=no; "
                    + "then: \(restart)")
        }
        guard let instance = diagnosis.instance else {
            return .warning("record", "the announcement is under way", own("doctor"))
        }
        let seen = lans.filter(echoes).map(\.name)
        guard !seen.isEmpty else { return .ok("record", "Avahi announces \(instance)") }
        return .ok("record", "Avahi announces \(instance) on \(seen.joined(separator: ", "))")
    }

    /// Multicast DNS gets out and not in, or in and not out.
    var oneWay: Check {
        guard !isBlind, evidence.diagnosis?.discovery == .up else {
            return .skipped("one-way", unseen)
        }
        if let name = evidence.multicast.forbidden.min() {
            return .problem(
                "one-way", "this machine's firewall lets no multicast DNS out on \(name), so nobody hears of this node",
                "sudo nft list ruleset   # look for a rule that drops UDP port 5353")
        }
        guard evidence.diagnosis?.instance != nil else {
            return .skipped("one-way", "nothing is announced yet that could be heard; see record")
        }
        let asked = lans.filter { evidence.multicast.asked.contains($0.name) }
        guard !asked.isEmpty else {
            return .skipped(
                "one-way", lans.isEmpty ? "no network here carries it; see vpn" : "no question to all could be sent")
        }
        let echoing = asked.filter(echoes)
        guard echoing.isEmpty else {
            return .ok("one-way", "multicast DNS gets out and in on \(echoing.map(\.name).joined(separator: ", "))")
        }
        let inbound = evidence.connected.count { $0.path == .inbound }
        let seen = inbound == 0 ? "" : " \(Words.count(Int64(inbound), "node has", "nodes have")) found this one."
        return .problem(
            "one-way",
            "this node is announced, but nothing sent to all (UDP port 5353) gets in on "
                + "\(asked.map(\.name).joined(separator: ", ")), so it finds nobody.\(seen) A firewall on this machine "
                + "drops it, or Avahi is told to leave the interface out",
            "sudo ufw allow 5353/udp", "sudo firewall-cmd --permanent --add-service=mdns && sudo firewall-cmd --reload",
            "in /etc/avahi/avahi-daemon.conf: no deny-interfaces and allow-interfaces")
    }

    // MARK: The network's part

    /// Somebody else has answered, or Avahi has heard of somebody who is not only remembered.
    private var hearsSomebody: Bool {
        evidence.multicast.answers.contains { !ownAddresses.contains($0.from.bytes) }
            || evidence.diagnosis?.heard.isEmpty == false
    }

    /// Those on a network of this machine who do not even tell who has their address.
    private var silent: [(address: IPAddress, isNamed: Bool)] {
        evidence.failed.compactMap { row in
            guard let address = Endpoint(row.address)?.address, address.isIPv4, isOnLAN(address),
                evidence.neighbours[address] != true, misled[address] == nil
            else { return nil }
            return (address, row.path == .named)
        }
    }

    /// The router, if it is there.
    private var presentRouter: IPAddress? {
        evidence.router.flatMap { evidence.neighbours[$0] == true && isOnLAN($0) ? $0 : nil }
    }

    /// Machines that have answered something that was sent to all. The router does not count: that it is heard says
    /// nothing of those beside this one.
    private var voices: [IPAddress] {
        evidence.multicast.voices.filter { !ownAddresses.contains($0.bytes) && $0.isIPv4 && $0 != evidence.router }
    }

    /// Machines that answer when they are asked singly, the router not among them.
    private var neighbours: [IPAddress] {
        evidence.neighbours.filter { address, isThere in
            isThere && isOnLAN(address) && address != evidence.router && !ownAddresses.contains(address.bytes)
        }.map(\.key)
    }

    /// Nobody is heard and nobody connected: what can be said then is weaker.
    private var silence: Check? {
        guard !hearsSomebody, evidence.connected.isEmpty, voices.isEmpty else { return nil }
        let mend = [
            "on another machine of this network: starling doctor", own("peer add HOST:PORT"),
        ]
        if let first = neighbours.min(by: { "\($0)" < "\($1)" }) {
            let count = neighbours.count
            return Check(
                name: "multicast", level: .warning,
                saw: "\(Words.count(Int64(count), "machine is", "machines are")) there on this network, as \(first), "
                    + "but nothing answers what is sent to all: they have nothing that would, or the network does not "
                    + "pass it on",
                mend: ["in the switch or access point: switch off IGMP snooping and multicast filtering"] + mend)
        }
        // Nothing but the router answers, not even the question who has an address: the access point or switch may keep
        // machines from one another. One other machine that answers anything would disprove it.
        guard let router = presentRouter else { return nil }
        let silent = silent
        let isolation = "the access point keeps its clients from one another"
        let mends = ["in the access point: switch off client isolation (also called AP isolation or guest mode)"] + mend
        guard !silent.isEmpty else {
            return Check(
                name: "multicast", level: .warning,
                saw: "the router \(router) answers and nothing else on this network does: nobody else is here, or "
                    + isolation,
                mend: mends)
        }
        // Who was only remembered may be switched off, as machines are in the evening. Who was named should be there.
        let isNamed = silent.contains(where: \.isNamed)
        let others = Set(silent.map { "\($0.address)" }).sorted()
        return Check(
            name: "multicast", level: isNamed ? .problem : .warning,
            saw: "the router \(router) answers, but not \(others.joined(separator: ", ")), not even to ask who has the "
                + "address: \(others.count == 1 ? "it is" : "they are") switched off or elsewhere, or \(isolation)",
            mend: mends + ["connect both machines by cable, or to another network"])
    }

    var multicast: Check {
        guard !isBlind, evidence.diagnosis?.discovery == .up, oneWay.level == .ok else {
            return .skipped("multicast", unseen)
        }
        let reached = evidence.connected.compactMap { Endpoint($0.address)?.address }.filter(isOnLAN)
        if !hearsSomebody, let first = reached.first {
            guard voices.isEmpty else {
                return .ok(
                    "multicast",
                    "the network passes on what is sent to all; who is connected, as \(first), does not announce "
                        + "himself (--no-discovery, or no Avahi there)")
            }
            return .problem(
                "multicast",
                "\(Words.count(Int64(reached.count), "machine is", "machines are")) connected on this network, as "
                    + "\(first), but none is heard: the network does not pass on what is sent to all, their firewalls "
                    + "drop it, or they announce nothing",
                "in the switch or access point: switch off IGMP snooping and multicast filtering",
                "on the other machine: starling doctor", own("peer add HOST:PORT"))
        }
        if let silence { return silence }
        return .ok(
            "multicast",
            hearsSomebody || !voices.isEmpty
                ? "the network passes on what is sent to all" : "nothing speaks against it")
    }

    var heard: Check {
        guard let diagnosis = evidence.diagnosis else { return heardWithoutDaemon }
        guard diagnosis.discovery != .off else {
            return .skipped("heard", "the daemon was started with --no-discovery")
        }
        var counts: [String: Set<String>] = [:]
        for row in diagnosis.heard where row.isOurs { counts[row.interface, default: []].insert(row.instance) }
        let foreign = Set(diagnosis.heard.filter { !$0.isOurs }.map(\.instance)).count
        var words = counts.sorted { $0.key < $1.key }.map { name, instances in
            "\(Words.count(Int64(instances.count), "node", "nodes")) on \(name)"
        }
        if foreign > 0 { words.append("\(foreign) of other workspaces") }
        if !counts.isEmpty { return .ok("heard", words.joined(separator: ", ")) }
        let isExplained = isBlind || [record, oneWay, multicast].contains { $0.level == .problem }
        if isExplained || [record, multicast].contains(where: { $0.level == .warning }) {
            return .skipped("heard", "nobody yet; see above")
        }
        if reachable.level == .problem { return .skipped("heard", "nobody; see reachable") }
        if lans.isEmpty { return .skipped("heard", "nobody; see vpn") }
        if !evidence.connected.isEmpty {
            return .ok("heard", "nobody, but \(evidence.connected.count) connected by their addresses")
        }
        if foreign > 0 {
            return .warning(
                "heard",
                "\(words.joined(separator: ", ")), and nobody of this one: the others are elsewhere, or you are",
                own("status") + "   # names this node's workspace; compare it with the others'")
        }
        let others = voices.count
        return .warning(
            "heard",
            others == 0
                ? "nobody else runs Starling on this network, or the network keeps you apart"
                : "nobody else runs Starling on this network; it passes on what is sent to all, and "
                    + "\(Words.count(Int64(others), "other machine answers", "other machines answer"))",
            "on the other machine: starling doctor", own("peer add HOST:PORT"))
    }

    private var heardWithoutDaemon: Check {
        let others = Set(
            evidence.multicast.answers.filter { !ownAddresses.contains($0.from.bytes) }.flatMap(\.instances))
        return others.isEmpty
            ? .skipped("heard", "without a daemon nobody listens, and nobody has answered a question to all")
            : .ok("heard", "\(Words.count(Int64(others.count), "node answers", "nodes answer")) a question to all")
    }
}
