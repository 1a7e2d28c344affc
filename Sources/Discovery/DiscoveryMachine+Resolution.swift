/// From a name to addresses: resolve the instance, then ask for both families of its host.
///
/// Errors here concern one instance only, whatever their number says: anybody on the network can announce what cannot
/// be resolved, and must not be able to make this service start over. That the responder went away, the registration
/// and the browse tell by themselves.
extension DiscoveryMachine {
    static let resolveTimeoutMs: Int64 = 5_000
    /// Many hosts have addresses of one family only, and nothing says so.
    static let queryTimeoutMs: Int64 = 1_500
    /// After an address has come, further ones of its family follow at once or not at all.
    static let furtherAddressesMs: Int64 = 100
    /// The second family's addresses are in the responder's memory as a rule; longer than this nobody is kept waiting.
    static let secondFamilyMs: Int64 = 50
    static let firstRetryMs: Int64 = 2_000
    static let lastRetryMs: Int64 = 300_000

    /// Resolves the key unless that is under way already or it is this service.
    mutating func resolve(_ key: ServiceKey) {
        guard let entry = services[key], !entry.isBusy, key.name != ownName else {
            return
        }
        services[key]?.isBusy = true
        services[key]?.retryAtMs = nil
        pool.append(.resolve(key))
    }

    /// The same, but with an answer that is not older than this call.
    mutating func resolveAgain(_ instance: String) {
        for key in services.keys(where: { _ in true }) where DiscoveryEvent.escape(key.name) == instance {
            if services[key]?.answer != nil {
                services[key]?.mustRepeat = true
            } else {
                resolve(key)
            }
        }
    }

    /// Ends whatever is under way for the key.
    mutating func settle(_ key: ServiceKey) {
        services[key]?.isBusy = false
        services[key]?.mustRepeat = false
        services[key]?.answer = nil
        services[key]?.retryAtMs = nil
    }

    mutating func startJobs() {
        while browser != nil, case let id = makeID(), let job = pool.startNext(as: id) {
            switch job {
            case .resolve(let key):
                effects.append(.open(id, .resolve(key)))
            case .query(let key, let family):
                guard let host = services[key]?.answer?.host else {
                    pool.finish(id)
                    continue
                }
                effects.append(.open(id, .query(host: host, interfaceIndex: key.interfaceIndex, family)))
            }
        }
    }

    /// False if the call has hung, which does concern all.
    mutating func jobReplied(_ id: RefID, _ reply: Reply, _ nowMs: Int64) -> Bool {
        switch (pool.job(id), reply) {
        case (.resolve, .opened):
            pool.limit(id, toMs: nowMs + Self.resolveTimeoutMs)
        case (.query, .opened):
            pool.limit(id, toMs: nowMs + Self.queryTimeoutMs)
        case (.resolve(let key), .resolved(let host, let port, let txt)):
            effects.append(.close(id))
            pool.finish(id)
            resolved(key, host, port, txt, nowMs)
        case (.query(let key, let family), .address(let data)):
            pool.limit(id, toMs: nowMs + Self.furtherAddressesMs)
            services[key]?.answer?.add(data, family, interfaceIndex: key.interfaceIndex)
            reportOrWait(key, nowMs)
        case (.some, .failed(let afterMs)) where afterMs >= Self.hangingCallMs:
            return false
        case (.some(let job), .failed), (.some(let job), .broken):
            end(id, job, nowMs)
        case (nil, _), (.resolve, _), (.query, _):
            break
        }
        return true
    }

    mutating func advanceJobs(_ nowMs: Int64) {
        for id in pool.expired(nowMs: nowMs) {
            if let job = pool.job(id) {
                end(id, job, nowMs)
            }
        }
        for key in services.keys(where: { ($0.answer?.reportAtMs ?? .max) <= nowMs }) {
            report(key)
        }
        for key in services.keys(where: { ($0.retryAtMs ?? .max) <= nowMs }) {
            resolve(key)
        }
    }

    /// Ends a job that has answered all it will.
    private mutating func end(_ id: RefID, _ job: RefPool.Job, _ nowMs: Int64) {
        effects.append(.close(id))
        pool.finish(id)
        switch job {
        case .resolve(let key):
            giveUp(key, nowMs)
        case .query(let key, let family):
            services[key]?.answer?.pending.removeAll { $0 == family }
            if services[key]?.answer?.pending.isEmpty ?? false {
                complete(key, nowMs)
            }
        }
    }

    private mutating func resolved(
        _ key: ServiceKey, _ host: [UInt8], _ port: UInt16, _ txt: [UInt8], _ nowMs: Int64
    ) {
        guard port != 0, !host.isEmpty, let values = TXTRecord.decode(txt) else {
            return giveUp(key, nowMs)
        }
        let answer = Answer(host: host, port: port, txt: values)
        services[key]?.answer = answer
        pool.prepend(answer.pending.map { .query(key, $0) })
    }

    private mutating func reportOrWait(_ key: ServiceKey, _ nowMs: Int64) {
        guard let answer = services[key]?.answer, answer.reportedCount < answer.addresses.count else {
            return
        }
        if answer.answered.count == AddressFamily.allCases.count {
            report(key)
        } else if answer.reportAtMs == nil {
            services[key]?.answer?.reportAtMs = nowMs + Self.secondFamilyMs
        }
    }

    private mutating func report(_ key: ServiceKey) {
        services[key]?.answer?.reportAtMs = nil
        guard let answer = services[key]?.answer, answer.reportedCount < answer.addresses.count else {
            return
        }
        services[key]?.answer?.reportedCount = answer.addresses.count
        services[key]?.isFound = true
        let sighting = Sighting(
            instance: DiscoveryEvent.escape(key.name), interfaceIndex: key.interfaceIndex,
            host: DiscoveryEvent.escape(answer.host), addresses: answer.addresses, port: answer.port, txt: answer.txt)
        effects.append(.report(.found(sighting)))
    }

    private mutating func complete(_ key: ServiceKey, _ nowMs: Int64) {
        guard let answer = services[key]?.answer, !answer.addresses.isEmpty else {
            return giveUp(key, nowMs)
        }
        report(key)
        let mustRepeat = services[key]?.mustRepeat ?? false
        settle(key)
        services[key]?.failures = 0
        if mustRepeat {
            resolve(key)
        }
    }

    private mutating func giveUp(_ key: ServiceKey, _ nowMs: Int64) {
        guard let failures = services[key]?.failures else {
            return
        }
        let delayMs = min(Self.firstRetryMs << Int64(min(failures, 16)), Self.lastRetryMs)
        settle(key)
        services[key]?.failures = min(failures, 16) + 1
        services[key]?.retryAtMs = nowMs + delayMs
    }
}
