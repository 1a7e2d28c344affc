/// Decides which references to the responder to open and close, and what to report. No clock, no thread and no Avahi
/// inside: ``DiscoveryThread`` carries out the effects and feeds the replies back.
struct DiscoveryMachine {
    enum Request: Equatable {
        case register(name: [UInt8], port: UInt16, txt: [UInt8])
        case browse
        case resolve(ServiceKey)
        case query(host: [UInt8], interfaceIndex: UInt32, AddressFamily)
    }

    enum Reply: Equatable {
        /// The call has succeeded; answers may follow.
        case opened
        /// The call has failed after this time, or an update has.
        case failed(afterMs: Int64)
        case registered(name: [UInt8])
        case browsed(isAdded: Bool, ServiceKey)
        case resolved(host: [UInt8], port: UInt16, txt: [UInt8])
        case address([UInt8])
        /// The reference is dead. The number that comes with it says nothing: it is always the same.
        case broken

        /// Whether the responder has answered.
        var isSignOfLife: Bool {
            switch self {
            case .failed, .broken: false
            default: true
            }
        }
    }

    enum Input: Equatable {
        case start
        case tick
        case reply(RefID, Reply)
        case rescan
        case rebuild
        case setConnected(Bool)
        case resolveAgain(String)
        case updatePort(UInt16)
        case updateTXT([UInt8])
    }

    enum Effect: Equatable {
        case open(RefID, Request)
        case close(RefID)
        case updateTXT(RefID, [UInt8])
        case report(DiscoveryEvent)
    }

    /// A registration that is not confirmed by then is tried anew: the responder can stay silent for good.
    static let registrationTimeoutMs: Int64 = 10_000
    /// A new browse has reported by then what its responder knows.
    static let confirmationTimeoutMs: Int64 = 5_000
    /// A responder that hangs while nothing is asked of it gives no sign. So it is asked something that it answers from
    /// memory when it has said nothing for this long.
    static let probeIntervalMs: Int64 = 20_000
    /// A failure this long after the last success starts the back-off afresh; before that the responder is flapping.
    static let stableAfterMs: Int64 = 10_000
    /// A call that failed after this time has waited for an answer in vain; one that fails at once was refused.
    static let hangingCallMs: Int64 = 1_000

    struct Registration {
        let id: RefID
        /// The TXT record that the responder has.
        var txt: [UInt8]
        var isConfirmed = false
        /// It failed at once; a probe tells whether Avahi is not there or does not want to.
        var hasFailed = false
        var deadlineMs: Int64?
    }

    private(set) var state: DiscoveryState?
    private(set) var registration: Registration?
    private(set) var browser: RefID?
    var pool = RefPool()
    var services = ServiceTable()
    /// The name under which this service appears in our own browse.
    private(set) var ownName: [UInt8]

    private let instanceName: [UInt8]
    private var port: UInt16
    private var txt: [UInt8]
    private var backOff = BackOff()
    private var rescans = RescanSchedule()
    private var retryAtMs: Int64?
    private var upSinceMs: Int64?
    private var confirmedByMs: Int64?
    /// A browse that only asks whether anybody answers.
    private var probe: RefID?
    private var probeAtMs: Int64?
    private var lastID: UInt64 = 0
    var effects: [Effect] = []

    init(instanceName: [UInt8], port: UInt16, txt: [UInt8]) {
        self.instanceName = instanceName
        self.port = port
        self.txt = txt
        ownName = instanceName
    }

    /// Takes an input and says what to do, in this order. The random word decides the jitter.
    mutating func step(_ input: Input, nowMs: Int64, random: UInt64) -> [Effect] {
        if case .reply(_, let reply) = input, reply.isSignOfLife, probeAtMs != nil {
            probeAtMs = nowMs + Self.probeIntervalMs
        }
        switch input {
        case .start:
            rescans.setConnected(false, nowMs: nowMs)
            openAll()
        case .tick:
            tick(nowMs, random)
        case .reply(let id, let reply) where id == registration?.id:
            registrationReplied(reply, nowMs, random)
        case .reply(let id, let reply) where id == browser:
            browserReplied(reply, nowMs, random)
        case .reply(let id, let reply) where id == probe:
            probeReplied(reply, nowMs, random)
        case .reply(let id, let reply):
            if !jobReplied(id, reply, nowMs) {
                fail(.notAnswering, nowMs, random)
            }
        case .rescan:
            browseAfresh()
        case .rebuild:
            closeAll()
            backOff.reset()
            openAll()
        case .setConnected(let isConnected):
            rescans.setConnected(isConnected, nowMs: nowMs)
        case .resolveAgain(let instance):
            resolveAgain(instance)
        case .updatePort(let port):
            update(port)
        case .updateTXT(let txt):
            self.txt = txt
            sendTXT()
        }
        startJobs()
        defer { effects = [] }
        return effects
    }

    /// False for a reference that has been closed since: it need not be opened any more, and its replies mean nothing.
    func holds(_ id: RefID) -> Bool {
        id == registration?.id || id == browser || id == probe || pool.job(id) != nil
    }

    /// When the next tick is due.
    var nextMs: Int64? {
        [retryAtMs, registration?.deadlineMs, confirmedByMs, probeAtMs, rescans.nextMs, pool.nextMs, services.nextMs]
            .compactMap { $0 }.min()
    }

    private mutating func tick(_ nowMs: Int64, _ random: UInt64) {
        if let retryAtMs, retryAtMs <= nowMs {
            openAll()
        }
        if let deadlineMs = registration?.deadlineMs, deadlineMs <= nowMs {
            fail(.notRegistering, nowMs, random)
        }
        if let confirmedByMs, confirmedByMs <= nowMs {
            self.confirmedByMs = nil
            for (key, entry) in services.removeUnconfirmed() {
                forget(key, entry)
            }
        }
        if rescans.isDue(nowMs: nowMs) {
            browseAfresh()
        }
        if let probeAtMs, probeAtMs <= nowMs, probe == nil {
            self.probeAtMs = nowMs + Self.probeIntervalMs
            startProbe()
        }
        advanceJobs(nowMs)
    }

    // MARK: All references together

    private mutating func openAll() {
        guard registration == nil, browser == nil else {
            return
        }
        retryAtMs = nil
        register()
        browse()
    }

    private mutating func closeAll() {
        let ids = [registration?.id, browser, probe].compactMap { $0 } + pool.cancelAll()
        effects += ids.map(Effect.close)
        registration = nil
        browser = nil
        probe = nil
        probeAtMs = nil
        retryAtMs = nil
        confirmedByMs = nil
        services.unconfirmAll()
        services.keys(where: { $0.isBusy || $0.retryAtMs != nil }).forEach { settle($0) }
    }

    /// After any trouble everything is freed and begun anew: a reference whose responder went away stays dead for good.
    private mutating func fail(_ reason: DiscoveryState.Reason, _ nowMs: Int64, _ random: UInt64) {
        closeAll()
        if let upSinceMs, nowMs - upSinceMs >= Self.stableAfterMs {
            backOff.reset()
        }
        upSinceMs = nil
        retryAtMs = nowMs + backOff.nextMs(random: random)
        enter(.down(reason))
    }

    private mutating func fail(afterMs: Int64, _ nowMs: Int64, _ random: UInt64) {
        fail(afterMs < Self.hangingCallMs ? .notRunning : .notAnswering, nowMs, random)
    }

    private mutating func enter(_ next: DiscoveryState) {
        if state != next {
            state = next
            effects.append(.report(.state(next)))
        }
    }

    mutating func makeID() -> RefID {
        lastID += 1
        return RefID(number: lastID)
    }

    // MARK: Announcing

    private mutating func register() {
        let id = makeID()
        registration = Registration(id: id, txt: txt)
        effects.append(.open(id, .register(name: instanceName, port: port, txt: txt)))
    }

    private mutating func registrationReplied(_ reply: Reply, _ nowMs: Int64, _ random: UInt64) {
        switch reply {
        case .opened:
            registration?.deadlineMs = nowMs + Self.registrationTimeoutMs
            if state != .up {
                enter(.starting)
            }
        case .registered(let name):
            registration?.deadlineMs = nil
            registration?.isConfirmed = true
            upSinceMs = upSinceMs ?? nowMs
            effects.append(.report(.registered(DiscoveryEvent.escape(name))))
            adopt(name)
            sendTXT()
            enter(.up)
            probeAtMs = nowMs + Self.probeIntervalMs
        case .failed(let afterMs):
            // Every error of the library is the same one: only another call tells why.
            guard afterMs < Self.hangingCallMs, registration?.isConfirmed == false else {
                return fail(afterMs: afterMs, nowMs, random)
            }
            registration?.hasFailed = true
            if probe == nil { startProbe() }
        case .broken:
            fail(.notRunning, nowMs, random)
        case .browsed, .resolved, .address:
            break
        }
    }

    /// Takes note of the name that was registered, which need not be the one that was asked for.
    private mutating func adopt(_ name: [UInt8]) {
        let former = ownName
        guard name != former else {
            return
        }
        ownName = name
        for key in services.keys(named: name) {
            effects += pool.cancel(key).map(Effect.close)
            settle(key)
            let wasFound = services[key]?.isFound ?? false
            services[key]?.isFound = false
            if wasFound {
                reportLost(name)
            }
        }
        services.keys(named: former).forEach { resolve($0) }
    }

    /// A port cannot be changed, only announced anew.
    private mutating func update(_ port: UInt16) {
        guard port != self.port else {
            return
        }
        self.port = port
        if let id = registration?.id {
            effects.append(.close(id))
            register()
        }
    }

    private mutating func sendTXT() {
        // Before the confirmation there is no record to update.
        if let current = registration, current.isConfirmed, current.txt != txt {
            registration?.txt = txt
            effects.append(.updateTXT(current.id, txt))
        }
    }

    private mutating func startProbe() {
        let id = makeID()
        probe = id
        effects.append(.open(id, .browse))
    }

    /// The call itself was the question.
    private mutating func probeReplied(_ reply: Reply, _ nowMs: Int64, _ random: UInt64) {
        guard let id = probe else {
            return
        }
        probe = nil
        if case .failed(let afterMs) = reply {
            fail(afterMs: afterMs, nowMs, random)
        } else {
            effects.append(.close(id))
            if registration?.hasFailed == true { fail(.refused, nowMs, random) }
        }
    }

    // MARK: Looking

    private mutating func browse() {
        let id = makeID()
        browser = id
        effects.append(.open(id, .browse))
    }

    private mutating func browseAfresh() {
        if let browser {
            effects.append(.close(browser))
            services.unconfirmAll()
            confirmedByMs = nil
            browse()
        }
    }

    private mutating func browserReplied(_ reply: Reply, _ nowMs: Int64, _ random: UInt64) {
        switch reply {
        case .opened:
            confirmedByMs = nowMs + Self.confirmationTimeoutMs
        case .browsed(isAdded: true, let key):
            if services.add(key) {
                resolve(key)
            }
        case .browsed(isAdded: false, let key):
            if let entry = services.remove(key) {
                forget(key, entry)
            }
        case .failed(let afterMs):
            fail(afterMs: afterMs, nowMs, random)
        case .broken:
            fail(.notRunning, nowMs, random)
        case .registered, .resolved, .address:
            break
        }
    }

    private mutating func forget(_ key: ServiceKey, _ entry: ServiceTable.Entry) {
        effects += pool.cancel(key).map(Effect.close)
        if entry.isFound {
            reportLost(key.name)
        }
    }

    private mutating func reportLost(_ name: [UInt8]) {
        if !services.keys(named: name).contains(where: { services[$0]?.isFound ?? false }) {
            effects.append(.report(.lost(DiscoveryEvent.escape(name))))
        }
    }
}
