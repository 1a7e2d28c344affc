internal import Discovery
internal import Net
internal import Seal

/// How the search for peers by mDNS goes, for `status`.
enum DiscoveryStatus: CustomStringConvertible {
    case off
    case starting
    case up
    /// The open workspace rests on a network that is not its own.
    case paused
    case down(String)

    var description: String {
        switch self {
        case .off: "off"
        case .starting: "starting"
        case .up: "mDNS through Avahi"
        case .paused: "paused, on another network than its own; to go on here: starling workspace here"
        case .down(let reason): "\(reason); trying again by itself"
        }
    }
}

extension Node {
    /// Announces the present key in place of an earlier one.
    func announceAnew() {
        do throws(DiscoveryError) {
            try discoveryService?.update(txt: workspace.announcement())
        } catch {
            log.error("the new key cannot be announced: \(error)")
        }
    }

    private static func randomInstanceName() -> String {
        let alphabet = Array("abcdefghijklmnopqrstuvwxyz234567".utf8)
        let characters = SecureRandom.bytes(16).map { alphabet[Int($0 % 32)] }
        return String(decoding: characters, as: UTF8.self)
    }

    func startDiscovery() {
        guard options.usesDiscovery, !networks.isPaused else { return }
        do throws(DiscoveryError) {
            let configuration = try DiscoveryConfiguration(
                instanceName: Node.randomInstanceName(), port: port,
                txt: workspace.announcement(),
                skipInterfaces: { [filter = options.interfaces] in !filter.allows($0) })
            discovery = .starting
            let service = DiscoveryService(configuration: configuration) { [loop] event in
                loop.execute { self.assumeIsolated { $0.discovered(event) } }
            }
            discoveryService = service
            service.start()
        } catch {
            log.error("discovery cannot start: \(error)")
            discovery = .down("\(error)")
        }
    }

    func discovered(_ event: DiscoveryEvent) {
        guard !isStopping, !networks.isPaused else { return }
        switch event {
        case .state(.up):
            discovery = .up
            log.info("discovery is up")
        case .state(.starting): discovery = .starting
        case .state(.down(let reason)):
            // What is known by then is told again only if everything is begun anew, which this does not say.
            if reason != .waiting { (announced, heard) = (nil, HeardInstances()) }
            if case .down("\(reason)") = discovery { break }
            discovery = .down("\(reason)")
            log.warning("discovery is down: \(reason)")
        case .registered(let name):
            announced = name
            log.debug("announced as \(name)")
        case .found(let sighting): found(sighting)
        case .lost(let instance):
            heard.lost(instance)
            dialer.lost(instance: instance)
        }
    }

    func isOurs(_ sighting: Sighting) -> Bool { workspace.isAnnounced(in: sighting.txt) }

    func addresses(of sighting: Sighting) -> [SocketAddress] {
        sighting.addresses.compactMap { address in
            address.bytes.count == 4
                ? SocketAddress(ipv4: address.bytes, port: sighting.port)
                : SocketAddress(ipv6: address.bytes, scope: address.scopeID, port: sighting.port)
        }
    }

    private func found(_ sighting: Sighting) {
        heard.found(sighting)
        guard isOurs(sighting) else { return log.debug("an instance of another workspace: \(sighting.instance)") }
        let reachable = addresses(of: sighting).filter(mayDial)
        let now = EventLoop.monotonicMs()
        for address in reachable {
            dialer.offer(
                address, .discovered, instance: sighting.instance, preference: preference(address), nowMs: now)
        }
        log.debug("found \(sighting.instance): \(reachable)")
        dialDue()
    }

    /// Whether anybody is connected decides how eagerly discovery looks.
    func updateDiscovery() { discoveryService?.setConnected(!connectedNodes.isEmpty) }
}
