internal import ControlAPI
internal import Replication
internal import Tree

/// What a client wants to be told.
struct Subscription {
    enum Kind {
        case tree(Observation)
        /// Messages of a channel as rows.
        case messages(Observation, channel: Key)
        /// All channels, with the rows last told.
        case channels([String: ChannelRow])
        case people
    }

    let session: Int
    var kind: Kind
}

extension Node {
    /// Subscriptions of one client, above which it is told to use fewer.
    static let subscriptionsMax = 1024

    func subscribe(_ session: ControlSession, _ kind: Subscription.Kind) throws(RPCError) -> Int {
        guard session.subscriptions.count < Node.subscriptionsMax else {
            throw RPCError(reason: .quota, message: "a client has at most \(Node.subscriptionsMax) subscriptions")
        }
        nextSubscription += 1
        subscriptions[nextSubscription] = Subscription(session: session.id, kind: kind)
        session.subscriptions.insert(nextSubscription)
        return nextSubscription
    }

    /// Answers a request before the events that follow from it.
    func answer(_ id: JSON?, _ result: JSON, _ session: ControlSession) {
        if let id { session.send(RPCResponse.success(id: id, result)) }
    }

    /// Tells observers what changed at these paths.
    func notifyObservers(_ changed: [Path]) {
        guard !subscriptions.isEmpty else { return }
        var touchesChannels = false
        var people: Set<String> = []
        for path in changed {
            switch path.keys.first?.text {
            case "channels": touchesChannels = true
            case "users": if path.depth > 1 { people.insert(path.keys[1].text) }
            default: break
            }
        }
        for number in subscriptions.keys.sorted() {
            guard let subscription = subscriptions[number], let session = sessions[subscription.session] else {
                continue
            }
            do {
                switch subscription.kind {
                case .tree(var observation):
                    guard changed.contains(where: observation.isTouched(by:)) else { continue }
                    subscriptions[number] = nil  // so that the window is changed in place, not copied
                    let events = try observation.apply(changed, view)
                    subscriptions[number] = Subscription(session: session.id, kind: .tree(observation))
                    for event in events { session.send(Node.notification(number, observation.path, event)) }
                case .messages(var observation, let channel):
                    guard changed.contains(where: observation.isTouched(by:)) else { continue }
                    subscriptions[number] = nil
                    let events = try observation.apply(changed, view)
                    subscriptions[number] = Subscription(
                        session: session.id, kind: .messages(observation, channel: channel))
                    for event in events { send(event, of: channel, number, session, changed: changed) }
                case .channels(let told):
                    if touchesChannels { try notifyChannels(number, told, session) }
                case .people: break
                }
            } catch {
                subscriptions[number] = nil
                session.subscriptions.remove(number)
                log.warning("a subscription ended: \(error)")
                session.send(
                    RPCResponse.notification(
                        "event",
                        [
                            "subscription": .int(Int64(number)), "event": "ended",
                            "reason": .string(Node.rpcError(error).reason.rawValue),
                        ]))
            }
        }
        for uid in people { notifyPerson(uid) }
    }

    private func notifyChannels(_ number: Int, _ told: [String: ChannelRow], _ session: ControlSession) throws {
        var now: [String: ChannelRow] = [:]
        for row in try channelRows() {
            now[row.key] = row
            if told[row.key] != row { session.send(Node.channelEvent(number, row)) }
        }
        subscriptions[number]?.kind = .channels(now)
    }

    static func channelEvent(_ number: Int, _ row: ChannelRow) -> JSON {
        RPCResponse.notification(
            "event", ["subscription": .int(Int64(number)), "event": "channel", "channel": row.json])
    }

    func notifyPerson(_ uid: String) {
        let watching = subscriptions.filter { if case .people = $0.value.kind { true } else { false } }
        guard !watching.isEmpty, let row = try? person(uid) else { return }
        for number in watching.keys.sorted() {
            guard let session = watching[number].flatMap({ sessions[$0.session] }) else { continue }
            session.send(
                RPCResponse.notification(
                    "event", ["subscription": .int(Int64(number)), "event": "person", "person": row.json]))
        }
    }

    func softChanged(_ places: [SoftState.Place]) {
        for uid in Set(places.map { UID.text($0.author) }).sorted() { notifyPerson(uid) }
    }
}
