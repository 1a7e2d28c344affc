internal import Discovery
internal import Net
internal import Seal

/// How the search for peers by mDNS goes, for `status`.
enum DiscoveryStatus: CustomStringConvertible {
    case off
    case starting
    case up
    case down(String)

    var description: String {
        switch self {
        case .off: "off"
        case .starting: "starting"
        case .up: "mDNS through Avahi"
        case .down(let reason): "\(reason); trying again by itself"
        }
    }
}

extension Node {
    private static let saltBytes = 16
    private static let hintBytes = 8

    /// Members recognise their workspace by the hint; to others it is noise that differs at each start.
    private func hint(_ salt: [UInt8]) -> [UInt8] {
        Array(
            BLAKE2b.hash(Array("starling-hint".utf8) + salt, key: workspace.networkKey.bytes).bytes
                .prefix(Node.hintBytes))
    }

    private static func randomInstanceName() -> String {
        let alphabet = Array("abcdefghijklmnopqrstuvwxyz234567".utf8)
        let characters = SecureRandom.bytes(16).map { alphabet[Int($0 % 32)] }
        return String(decoding: characters, as: UTF8.self)
    }

    func startDiscovery() {
        guard options.usesDiscovery else { return }
        let salt = SecureRandom.bytes(Node.saltBytes)
        do throws(DiscoveryError) {
            let configuration = try DiscoveryConfiguration(
                instanceName: Node.randomInstanceName(), port: port,
                txt: [("txtvers", Array("1".utf8)), ("v", Array("1".utf8)), ("s", salt), ("h", hint(salt))],
                skipInterfaces: { NetworkInterface(name: $0, index: 0, flags: 0, addresses: []).isContainerBridge })
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

    private func discovered(_ event: DiscoveryEvent) {
        guard !isStopping else { return }
        switch event {
        case .state(.up):
            discovery = .up
            log.info("discovery is up")
        case .state(.starting): discovery = .starting
        case .state(.down(let reason)):
            discovery = .down("\(reason)")
            log.warning("discovery is down: \(reason)")
        case .registered(let name): log.debug("announced as \(name)")
        case .found(let sighting): found(sighting)
        case .lost(let instance): dialer.lost(instance: instance)
        }
    }

    private func found(_ sighting: Sighting) {
        guard let salt = sighting.txt["s"], salt.count == Node.saltBytes, let told = sighting.txt["h"],
            told == hint(salt)
        else { return log.debug("an instance of another workspace: \(sighting.instance)") }
        let addresses = sighting.addresses.compactMap { address in
            address.bytes.count == 4
                ? SocketAddress(ipv4: address.bytes, port: sighting.port)
                : SocketAddress(ipv6: address.bytes, scope: address.scopeID, port: sighting.port)
        }
        let reachable = addresses.filter(mayDial).sorted {
            $0.diallingClass(interfaces: interfaces) < $1.diallingClass(interfaces: interfaces)
        }
        let now = EventLoop.monotonicMs()
        for (index, address) in reachable.enumerated() {
            dialer.offer(
                address, .discovered, instance: sighting.instance, delayMs: UInt64(index) * Dialer.staggerMs,
                nowMs: now)
        }
        log.debug("found \(sighting.instance): \(reachable)")
        dialDue()
    }

    /// Whether anybody is connected decides how eagerly discovery looks.
    func updateDiscovery() { discoveryService?.setConnected(!connectedNodes.isEmpty) }
}
