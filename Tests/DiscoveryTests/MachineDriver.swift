import Testing

@testable import Discovery

/// A machine with a clock that is moved by hand, and a responder that does what the test says.
struct MachineDriver {
    var machine = DiscoveryMachine(instanceName: Array("me".utf8), port: 1_000, txt: [])
    var nowMs: Int64 = 0
    /// The random word: in the middle of every jitter range of the first delay.
    var random: UInt64 = 200
    /// References that are open now, with what they were opened for.
    private(set) var open: [RefID: DiscoveryMachine.Request] = [:]
    /// The most that were open at a time.
    private(set) var openMax = 0
    private(set) var events: [DiscoveryEvent] = []
    private(set) var updates: [[UInt8]] = []
    /// Calls fail at once while this is set.
    var isAbsent = false
    /// Registrations alone fail at once while this is set.
    var isRefusing = false

    mutating func step(_ input: DiscoveryMachine.Input) {
        var inputs = [input][...]
        while let input = inputs.popFirst() {
            for effect in machine.step(input, nowMs: nowMs, random: random) {
                switch effect {
                case .open(let id, let request):
                    guard machine.holds(id) else {
                        continue
                    }
                    let isRefused = if case .register = request { isRefusing } else { false }
                    if isAbsent || isRefused {
                        inputs.append(.reply(id, .failed(afterMs: 0)))
                    } else {
                        open[id] = request
                        openMax = max(openMax, open.count)
                        inputs.append(.reply(id, .opened))
                    }
                case .close(let id): open[id] = nil
                case .updateTXT(_, let txt): updates.append(txt)
                case .report(let event): events.append(event)
                }
            }
        }
    }

    /// The only open reference whose request fulfils the condition.
    func only(_ isWanted: (DiscoveryMachine.Request) -> Bool) -> RefID? {
        let ids = open.filter { isWanted($0.value) }.keys
        return ids.count == 1 ? ids.first : nil
    }

    var registration: RefID? {
        only { if case .register = $0 { true } else { false } }
    }

    var browser: RefID? {
        only { $0 == .browse }
    }

    func resolver(_ key: ServiceKey) -> RefID? {
        only { $0 == .resolve(key) }
    }

    func query(_ family: AddressFamily) -> RefID? {
        only { if case .query(_, _, family) = $0 { true } else { false } }
    }

    /// Answers for a reference; ignored when there is none.
    mutating func reply(_ id: RefID?, _ reply: DiscoveryMachine.Reply) {
        if let id {
            step(.reply(id, reply))
        }
    }

    /// Moves the clock to the next deadline and ticks; false when there is none within the limit.
    mutating func tick(untilMs limitMs: Int64) -> Bool {
        guard let next = machine.nextMs, next <= limitMs else {
            return false
        }
        nowMs = max(nowMs, next)
        step(.tick)
        return true
    }

    /// Lets all deadlines up to then pass.
    mutating func advance(toMs endMs: Int64) {
        while tick(untilMs: endMs) {}
        nowMs = endMs
    }

    mutating func start() {
        step(.start)
        reply(registration, .registered(name: Array("me".utf8)))
    }

    /// Resolves a key and gives it addresses.
    mutating func answer(_ key: ServiceKey, port: UInt16 = 5, _ addresses: [[UInt8]]) {
        reply(resolver(key), .resolved(host: Array("h.local.".utf8), port: port, txt: []))
        for address in addresses {
            reply(query(address.count == 4 ? .ipv4 : .ipv6), .address(address))
        }
    }

    /// Checks the events since the last check, and forgets them.
    mutating func expect(
        _ expected: [DiscoveryEvent], _ comment: Comment? = nil, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(events == expected, comment, sourceLocation: sourceLocation)
        events = []
    }

    mutating func takeEvents() -> [DiscoveryEvent] {
        defer { events = [] }
        return events
    }
}

func key(_ name: String, _ interfaceIndex: UInt32 = 2) -> ServiceKey {
    ServiceKey(
        interfaceIndex: interfaceIndex, name: Array(name.utf8), type: Array("_starling._tcp".utf8),
        domain: Array("local".utf8))
}

func sighting(
    _ name: String, _ addresses: [Sighting.Address], interfaceIndex: UInt32 = 2, port: UInt16 = 5
) -> DiscoveryEvent {
    let sighting = Sighting(
        instance: name, interfaceIndex: interfaceIndex, host: "h.local.", addresses: addresses, port: port, txt: [:])
    return .found(sighting)
}
