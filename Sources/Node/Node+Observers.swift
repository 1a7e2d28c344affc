internal import ControlAPI
internal import Replication
internal import Tree

/// What a client wants to be told.
struct Subscription {
    enum Kind {
        /// The tree, or messages of a channel.
        case window(FollowedWindow)
        /// Of `.info`.
        case info(Observation)
        /// All channels, with the rows last told.
        case channels([String: ChannelRow])
        case people
        case notices
        /// How far one's own messages in a channel have come.
        case progress(MessageProgress)

        /// What it keeps in memory, as bytes of JSON, unless it is among the windows that were counted.
        func windowBytes(besides counted: inout Set<ObjectIdentifier>) -> Int {
            switch self {
            case .window(let window):
                counted.insert(ObjectIdentifier(window)).inserted ? window.observation.windowBytes : 0
            case .info(let observation): observation.windowBytes
            case .channels, .people, .notices, .progress: 0
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
    /// The same for all clients together: in memory a window takes a few times as much.
    static let windowsMaxOfAll = 256 << 20

    /// Begins a subscription: the answer first, then the events for what there is.
    ///
    /// - Parameter events: given the subscription's number.
    func subscribe(
        _ session: ControlSession, _ kind: Subscription.Kind, _ id: JSON?, events: (Int) -> some Sequence<JSON>
    ) throws(RPCError) {
        try begin(session, kind, id) { events($0).lazy.map(RPCLine.terminated) }
    }

    /// Begins a subscription that is told lines.
    func subscribe(
        _ session: ControlSession, _ kind: Subscription.Kind, _ id: JSON?, answer: JSONObject = [:],
        lines: some Sequence<EventLine>
    ) throws(RPCError) {
        try begin(session, kind, id, answer: answer) { number in lines.lazy.map { $0.bytes(for: number) } }
    }

    private func begin(
        _ session: ControlSession, _ kind: Subscription.Kind, _ id: JSON?, answer: JSONObject = [:],
        events: (Int) -> some Sequence<[UInt8]>
    ) throws(RPCError) {
        guard session.subscriptions.count < Node.subscriptionsMax,
            subscriptions.count < Node.subscriptionsMaxOfAll
        else {
            throw RPCError(reason: .quota, message: "a client has at most \(Node.subscriptionsMax) subscriptions")
        }
        try checkWindows(session, and: kind)
        let number = nextSubscription + 1
        var result = answer
        result["subscription"] = .int(Int64(number))
        var lines = id.map { RPCLine.terminated(RPCResponse.success(id: $0, .object(result))) } ?? []
        for line in events(number) {
            guard line.count <= LineSplitter.lineMax, lines.count + line.count <= Node.openingMax else {
                throw RPCError(reason: .tooLarge, message: "\(ReadError.tooLarge)")
            }
            lines += line
        }
        nextSubscription = number
        subscriptions.insert(number, Subscription(session: session.id, kind: kind))
        session.subscriptions.insert(number)
        session.send(lines: lines)
        focusChanged()
    }

    /// A window counts once for each client that follows it, with however many subscriptions: what a client may begin
    /// does not depend on others.
    private func checkWindows(_ session: ControlSession, and new: Subscription.Kind) throws(RPCError) {
        var counted: Set<ObjectIdentifier> = []
        var windows = 0
        for number in session.subscriptions {
            windows += subscriptions[number]?.kind.windowBytes(besides: &counted) ?? 0
        }
        guard windows + new.windowBytes(besides: &counted) <= Node.windowsMax else {
            throw RPCError(reason: .quota, message: "this client's subscriptions keep \(windows >> 20) MiB already")
        }
        guard case .window(let window) = new, window.followers == 0 else { return }
        let all = subscriptions.windowBytes
        guard all + window.observation.windowBytes <= Node.windowsMaxOfAll else {
            throw RPCError(reason: .quota, message: "all clients' subscriptions keep \(all >> 20) MiB already")
        }
    }

    /// What a new subscription follows, and the events that it begins with: the window of those who follow the same, or
    /// else one of its own.
    ///
    /// - Parameter observation: not started yet.
    func followed(
        _ observation: Observation, _ content: FollowedWindow.Content, _ view: TreeView
    ) throws -> (window: FollowedWindow, events: [TreeEvent]) {
        let key = FollowedWindow.Key(observation, content)
        if let window = subscriptions.window(key) { return (window, window.observation.opening) }
        var observation = observation
        let events = try observation.start(view)
        return (FollowedWindow(observation, key), events)
    }

    func endSubscription(_ number: Int, _ session: ControlSession, _ error: any Error) {
        noticeDamage(error)
        subscriptions.remove(number)
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

    /// Tells observers what entries that became live have changed, write by write.
    func notifyObservers(_ applied: [Entry]) {
        guard !subscriptions.isEmpty, applied.count > 1 else {
            return notifyObservers([applied.flatMap(\.changedPaths)])
        }
        notifyObservers(Entry.writes(applied))
    }

    /// Tells observers what changed at these paths, whoever wrote there. Names that this node remembers go first.
    ///
    /// - Parameters:
    ///   - writes: the paths of each write, in order.
    ///   - isSoft: it is soft state, which neither messages nor names nor channels depend on.
    func notifyObservers(_ writes: [[Path]], isSoft: Bool = false) {
        let changed = writes.count == 1 ? writes[0] : Array(writes.joined())
        if !isSoft {
            forgetNames(changed)
            noticeNames(changed)
        }
        guard !subscriptions.isEmpty else { return }
        var channels: Set<Key> = []
        var people: Set<String> = []
        for path in changed where !isSoft {
            switch path.keys.first?.text {
            case "channels": if path.depth > 1 { channels.insert(path.keys[1]) }
            case "users": if path.depth > 1 { people.insert(path.keys[1].text) }
            default: break
            }
        }
        notifyFollowers(writes)
        for number in channels.isEmpty ? [] : subscriptions.channels.sorted() {
            guard let subscription = subscriptions[number], case .channels(var told) = subscription.kind,
                let session = sessions[subscription.session]
            else { continue }
            do {
                try notifyChannels(channels.sorted(), number, &told, session)
                subscriptions.update(number, .channels(told))
            } catch {
                endSubscription(number, session, error)
            }
        }
        for uid in people.sorted() { notifyPerson(uid) }
        if !isSoft { progressChanged(changed) }
        sendWaiting()
    }

    /// Tells those who observe the tree. What they follow together is looked at when the first of them is told; a
    /// window that waits to be read anew tells all then.
    ///
    /// - Parameter only: this window alone.
    func notifyFollowers(_ writes: [[Path]], only: FollowedWindow? = nil) {
        let changed = writes.count == 1 ? writes[0] : Array(writes.joined())
        var shared: [ObjectIdentifier: Result<[EventLine], any Error>] = [:]
        for number in subscriptions.observers(of: changed) {
            guard let subscription = subscriptions[number], case .window(let window) = subscription.kind,
                only.map({ $0 === window }) ?? true, !refills.contains(window.key),
                let session = sessions[subscription.session]
            else { continue }
            let outcome = shared[ObjectIdentifier(window)] ?? Result { try lines(of: writes, in: window) }
            if window.followers > 1 { shared[ObjectIdentifier(window)] = outcome }
            switch outcome {
            case .success(let lines): for line in lines { tell(session, line, number) }
            case .failure(ReadError.notOrderedYet): refillLater(window.key)
            case .failure(let error): endSubscription(number, session, error)
            }
        }
    }

    /// What a change means to those who follow a window.
    private func lines(of writes: [[Path]], in window: FollowedWindow) throws -> [EventLine] {
        let lines: [EventLine]
        switch window.key.content {
        case .tree(let form): lines = try window.observation.apply(writes: writes, view).map { window.line($0, form) }
        case .messages(let channel):
            let events = try window.observation.apply(writes: writes, storedView)
            let touched = TouchedMessages(Array(writes.joined()), of: channel)
            // What was there a moment ago has only left the window: with every message of a burst one does.
            var present: Set<Key> = []
            lines = events.compactMap { event in
                if let key = event.key {
                    if event.kind == .childRemoved, present.contains(key) { return nil }
                    if event.kind != .childRemoved { present.insert(key) }
                }
                return line(event, of: channel, touched)
            }
        }
        guard lines.allSatisfy(\.fits) else { throw ReadError.tooLarge }
        return lines
    }

    /// Tells a client of an event, together with what else it is told in this turn.
    private func tell(_ session: ControlSession, _ line: EventLine, _ subscription: Int) {
        if session.add(line, subscription) { waiting.append(session) }
    }

    /// Sends what clients were told in this turn, unless more requests are at hand: then once they have been served.
    func sendWaiting() {
        guard !isServing, !waiting.isEmpty else { return }
        for session in waiting { session.flush() }
        waiting = []
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
        guard !subscriptions.people.isEmpty, let row = try? person(uid) else { return }
        for number in subscriptions.people.sorted() {
            guard let session = subscriptions[number].flatMap({ sessions[$0.session] }) else { continue }
            session.send(Node.personEvent(number, row))
        }
    }

    func softChanged(_ places: [SoftState.Place]) {
        notifyObservers([soft.update(places, replicator.soft)], isSoft: true)
        for uid in Set(places.map { UID.text($0.author) }).sorted() { notifyPerson(uid) }
    }

    /// Answers a request later than at once.
    func answer(_ id: JSON?, _ result: JSON, _ session: ControlSession) {
        if let id { session.send(RPCResponse.success(id: id, result)) }
    }
}
