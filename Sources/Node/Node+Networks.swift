internal import ControlAPI
internal import Discovery
internal import Net
internal import Store

/// The open workspace stays on its own networks: what an office has written must not walk into a café. Elsewhere it
/// rests: nobody is looked for, dialled or let in, until a person says that this is a place for it too.
extension Node {
    private static let networksSetting = "networks"
    /// Before anybody is dialled or let in it is looked again, unless that was so lately.
    private static let lookMs: UInt64 = 250

    func recallNetworks() {
        if let bytes = try? store.setting(Node.networksSetting) {
            networks.own = OwnNetworks(text: String(decoding: bytes, as: UTF8.self))
        }
        lookAround()
    }

    func keepNetworks() throws {
        guard !networks.own.places.isEmpty else { return }
        try store.setSetting(Node.networksSetting, Array(networks.own.text.utf8))
    }

    /// Whether somebody may be dialled or let in.
    func mayMeet() -> Bool {
        guard workspace.isOpen else { return true }
        lookAroundIfDue()
        return !networks.isPaused
    }

    func lookAroundIfDue() {
        if EventLoop.monotonicMs() &- networks.lookedMs >= Node.lookMs { lookAround() }
    }

    /// Finds out where this machine is, and rests or goes on.
    func lookAround() {
        guard workspace.isOpen, !isStopping else { return }
        let now = EventLoop.monotonicMs()
        networks.lookedMs = now
        networks.current = options.places()
        networks.steady.formIntersection(networks.current.map(\.interface))
        let isNameless = !networks.current.isEmpty && networks.current.allSatisfy(\.isNameless)
        let namelessForMs = networks.namelessMs.map { now &- $0 } ?? 0
        networks.namelessMs = isNameless ? networks.namelessMs ?? now : nil
        var verdict = networks.own.verdict(on: networks.current)
        if isAsSteady(verdict, namelessForMs: namelessForMs) { return followSteady(verdict) }
        let isGatewaySilent = verdict == .unsure
        if verdict == .unsure || verdict == .nameless {
            let sinceMs = networks.unsureMs ?? now
            networks.unsureMs = sinceMs
            let isLong = now &- sinceMs >= options.gatewayMs
            if verdict == .nameless {
                if isLong { verdict = .another }
            } else if networks.isWhereItWasStrange {
                // It has not left the network that was another one.
                verdict = .another
            } else if isLong || networks.isWhereItWasSure {
                // A gateway that is silent for long is no reason to doubt, nor is one that was known here a moment ago.
                verdict = .own
            }
        } else {
            networks.unsureMs = nil
        }
        switch verdict {
        case .own:
            networks.sure = networks.current
            networks.strange = []
            networks.steady = Set(networks.current.filter { $0.isNameless == isNameless }.map(\.interface))
            goOn()
            rememberNetworks()
        case .nowhere: break
        case .another:
            networks.steady = []
            networks.sure = []
            networks.strange.formUnion(networks.current.filter(\.isWayOut).map(\.interface))
            pause(isSure: true)
        case .unsure, .nameless:
            pause(isSure: false, keepsLinks: verdict == .unsure)
            lookAgain()
        }
        guard isGatewaySilent, networks.isPaused else { return }
        options.askGateways()
        // One that has been silent for long is asked seldom.
        let silentMs = now &- (networks.unsureMs ?? now)
        lookAgain(afterMs: max(Node.lookMs, min(silentMs, options.gatewayMs)))
    }

    private func lookAgain(afterMs delayMs: UInt64 = Node.lookMs) {
        networks.again?.cancel()
        networks.again = loop.schedule(afterMs: delayMs) { self.assumeIsolated { $0.lookAround() } }
    }

    /// Whether an interface has been on one network since this was a network of the workspace, and either has lost its
    /// addresses or has got them only now.
    ///
    /// - Parameter namelessForMs: how long it had been on networks without a name alone: every network is such for some
    ///   seconds, so a short time says nothing of the one that it turns out to be.
    private func isAsSteady(_ verdict: OwnNetworks.Verdict, namelessForMs: UInt64) -> Bool {
        let here = networks.current.filter { networks.steady.contains($0.interface) }
        switch verdict {
        case .nameless: return !here.isEmpty
        case .another where namelessForMs >= options.namelessMs:
            return here.contains { place in
                networks.sure.contains { $0.interface == place.interface && $0.isNameless }
            }
        default: return false
        }
    }

    private func followSteady(_ verdict: OwnNetworks.Verdict) {
        networks.unsureMs = nil
        if verdict == .another {
            networks.own.add(networks.current)
            do { try keepNetworks() } catch { report(error, "remembering the network") }
            networks.sure = networks.current
        }
        goOn()
    }

    /// The machine slept: it may have been carried.
    func forgetSteady() {
        networks.steady = []
        networks.sure = []
        networks.strange = []
    }

    /// An open workspace with content lives where it has that content. Who is connected has some in a moment.
    func rememberNetworks() {
        guard workspace.isOpen, !networks.isPaused, !isStopping else { return }
        let before = networks.own
        if !before.places.isEmpty {
            networks.own.refresh(networks.current)
        } else if hasContent || !connectedNodes.isEmpty {
            // That addresses have not come yet is no name of a network.
            let sinceMs = networks.namelessMs ?? 0
            guard networks.namelessMs == nil || EventLoop.monotonicMs() &- sinceMs >= options.namelessMs else { return }
            networks.own.add(networks.current)
        }
        guard networks.own != before else { return }
        do { try keepNetworks() } catch { report(error, "remembering the network") }
    }

    /// Anything beside the own name.
    private var hasContent: Bool { ((try? store.entryCount) ?? 0) > 1 }

    /// - `isSure`: that this is another network.
    /// - `keepsLinks`: it only may be another one, so who is at the other end of a link has shown it, and nobody else
    ///   gets in.
    private func pause(isSure: Bool, keepsLinks: Bool = false) {
        for id in links.keys.sorted() where !keepsLinks || links[id]?.isUp != true {
            closeLink(id, reason: "this is another network")
        }
        if isSure {
            begin(
                NoticeRow(
                    kind: .network,
                    text: "paused: this is another network (\(words(networks.current))) than that of the open "
                        + "workspace (\(words(networks.own.places))), and anybody here could read what was written "
                        + "there; to go on here: starling workspace here"))
        }
        guard !networks.isPaused else { return }
        networks.isPaused = true
        discoveryService?.stop()
        discoveryService = nil
        discovery = .paused
        // Another service knows nothing of them, and never says that they are gone.
        for instance in Set(heard.all.map(\.instance)) { dialer.lost(instance: instance) }
        (announced, heard) = (nil, HeardInstances())
    }

    private func words(_ places: [NetworkPlace]) -> String {
        places.map { "\($0)" }.joined(separator: ", ")
    }

    private func goOn() {
        guard networks.isPaused else { return }
        networks.isPaused = false
        end(.network, "this is a network of the open workspace: going on")
        discovery = .off
        startDiscovery()
        rescan()
    }

    /// Makes the networks this machine is on networks of the open workspace.
    func workspaceHere() throws -> JSON {
        guard workspace.isOpen else { return try workspaceRow().json }
        networks.current = options.places()
        guard !networks.current.isEmpty else {
            throw RPCError(reason: .offline, message: "this machine is on no network")
        }
        networks.own.add(networks.current)
        try keepNetworks()
        lookAround()
        return try workspaceRow().json
    }
}
