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

        /// What it keeps in memory, as bytes of JSON.
        var windowBytes: Int {
            switch self {
            case .tree(let observation), .messages(let observation, _): observation.windowBytes
            case .channels, .people: 0
            }
        }
    }

    let session: Int
    var kind: Kind
}

extension Node {
    /// Subscriptions of one client, and of all: every change looks at each of them.
    static let subscriptionsMax = 1024
    static let subscriptionsMaxOfAll = 4096
    /// Bytes of what a subscription begins with: it has to fit into the client's queue beside what waits there already.
    static let openingMax = 6 << 20
    /// Bytes of the windows that one client's subscriptions may keep here when it begins another.
    static let windowsMax = 64 << 20

    /// Begins a subscription: the answer first, then the events for what there is.
    ///
    /// - Parameter events: given the subscription's number.
    func subscribe(
        _ session: ControlSession, _ kind: Subscription.Kind, _ id: JSON?, answer: JSONObject = [:],
        events: (Int) -> some Sequence<JSON>
    ) throws(RPCError) {
        guard session.subscriptions.count < Node.subscriptionsMax,
            subscriptions.count < Node.subscriptionsMaxOfAll
        else {
            throw RPCError(reason: .quota, message: "a client has at most \(Node.subscriptionsMax) subscriptions")
        }
        let windows = session.subscriptions.reduce(0) { $0 + (subscriptions[$1]?.kind.windowBytes ?? 0) }
        guard windows + kind.windowBytes <= Node.windowsMax else {
            throw RPCError(reason: .quota, message: "this client's subscriptions keep \(windows >> 20) MiB already")
        }
        let number = nextSubscription + 1
        var result = answer
        result["subscription"] = .int(Int64(number))
        var lines = id.map { RPCLine.terminated(RPCResponse.success(id: $0, .object(result))) } ?? []
        for event in events(number) {
            let line = RPCLine.terminated(event)
            guard line.count <= LineSplitter.lineMax, lines.count + line.count <= Node.openingMax else {
                throw RPCError(reason: .tooLarge, message: "\(ReadError.tooLarge)")
            }
            lines += line
        }
        nextSubscription = number
        subscriptions[number] = Subscription(session: session.id, kind: kind)
        session.subscriptions.insert(number)
        session.send(lines: lines)
    }

    private func endSubscription(_ number: Int, _ session: ControlSession, _ error: any Error) {
        noticeDamage(error)
        subscriptions[number] = nil
        session.subscriptions.remove(number)
        logOutside(.warning, "a subscription ended: \(error)")
        session.send(
            RPCResponse.notification(
                "event",
                [
                    "subscription": .int(Int64(number)), "event": "ended",
                    "reason": .string(Node.rpcError(error).reason.rawValue),
                ]))
    }

    /// Tells observers what changed at these paths, whoever wrote there. Names that this node remembers go first.
    func notifyObservers(_ changed: [Path]) {
        forgetNames(changed)
        guard !subscriptions.isEmpty else { return }
        var channels: Set<Key> = []
        var people: Set<String> = []
        for path in changed {
            switch path.keys.first?.text {
            case "channels": if path.depth > 1 { channels.insert(path.keys[1]) }
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
                    for event in events {
                        guard session.send(Node.notification(number, observation.path, event)) else {
                            throw ReadError.tooLarge
                        }
                    }
                case .messages(var observation, let channel):
                    guard changed.contains(where: observation.isTouched(by:)) else { continue }
                    subscriptions[number] = nil
                    let events = try observation.apply(changed, view)
                    subscriptions[number] = Subscription(
                        session: session.id, kind: .messages(observation, channel: channel))
                    for event in events {
                        if let event = notification(event, of: channel, number, changed: changed) {
                            session.send(event)
                        }
                    }
                case .channels(var told):
                    guard !channels.isEmpty else { continue }
                    subscriptions[number] = nil
                    try notifyChannels(channels.sorted(), number, &told, session)
                    subscriptions[number] = Subscription(session: session.id, kind: .channels(told))
                case .people: break
                }
            } catch {
                endSubscription(number, session, error)
            }
        }
        for uid in people.sorted() { notifyPerson(uid) }
    }

    /// Looks only at the channels that were touched: there may be thousands.
    private func notifyChannels(
        _ touched: [Key], _ number: Int, _ told: inout [String: ChannelRow], _ session: ControlSession
    ) throws {
        for cid in touched {
            guard let row = try channelRow(cid) else { continue }
            guard told[row.key] != row, told[row.key] != nil || told.count < Node.channelsMax else { continue }
            told[row.key] = row
            session.send(Node.channelEvent(number, row))
        }
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
            session.send(Node.personEvent(number, row))
        }
    }

    func softChanged(_ places: [SoftState.Place]) {
        for uid in Set(places.map { UID.text($0.author) }).sorted() { notifyPerson(uid) }
    }

    /// Answers a request later than at once.
    func answer(_ id: JSON?, _ result: JSON, _ session: ControlSession) {
        if let id { session.send(RPCResponse.success(id: id, result)) }
    }
}
