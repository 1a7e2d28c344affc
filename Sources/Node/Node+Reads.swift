internal import ControlAPI
internal import Net
internal import Store
internal import Tree

/// A read that takes longer than a turn of the loop.
struct RunningRead {
    enum Kind {
        /// Waits for the order of its query.
        case window(Query, ValueForm)
        /// Begins when the order of its query is made.
        case observation(Observation, ValueForm)
        /// The keys found so far.
        case keys(JSONObject, size: Int, last: Key?)
    }

    let session: Int
    let id: JSON?
    let path: Path
    var kind: Kind
}

extension Node {
    /// Requests that wait for an order or for their end.
    private static let readsMax = 64
    /// One turn's work on orders, and on one of those who wait; chat goes on in between.
    private static let readTurnNs: UInt64 = 4_000_000

    private enum Progress {
        case answered(JSON)
        /// It has answered by itself.
        case done
        case later
    }

    /// Answers at once if it takes no longer than a turn, otherwise later.
    func begin(_ read: RunningRead, _ session: ControlSession) throws -> JSON? {
        var read = read
        switch try advance(&read, session) {
        case .answered(let answer): return answer
        case .done: return nil
        case .later: break
        }
        guard reads.count < Node.readsMax else {
            throw RPCError(reason: .busy, message: "\(Node.readsMax) long reads are running already")
        }
        reads.append(read)
        readLater()
        return nil
    }

    /// The window of a subscription has to be read anew, once there is an order to read it from.
    func refillLater(_ window: FollowedWindow.Key) {
        if !refills.contains(window) { refills.append(window) }
        readLater()
    }

    private func advance(_ read: inout RunningRead, _ session: ControlSession) throws -> Progress {
        do {
            switch read.kind {
            case .window(let query, let form): return .answered(try window(read.path, query, form))
            case .observation(let observation, let form):
                let (window, events) = try followed(observation, .tree(form), view)
                try subscribe(session, .window(window), read.id, lines: events.lazy.map { window.line($0, form) })
                return .done
            case .keys(var members, var size, var last):
                let answer = try keys(of: read.path, &members, &size, &last)
                read.kind = .keys(members, size: size, last: last)
                return answer.map { .answered(["value": $0]) } ?? .later
            }
        } catch ReadError.notOrderedYet {
            return .later
        }
    }

    private func window(_ path: Path, _ query: Query, _ form: ValueForm) throws -> JSON {
        let window = try view.window(of: path, query, sizeMax: Node.snapshotMax)
        var members = JSONObject()
        for child in window.children { members.append(child.key.text, form.json(ofChild: child.value)) }
        return ["value": window.children.isEmpty ? .null : .object(members)]
    }

    /// Goes on with the keys of a path, without a look at more than it takes to know that something is there; the whole
    /// answer when there is one.
    private func keys(
        of path: Path, _ members: inout JSONObject, _ size: inout Int, _ last: inout Key?
    ) throws -> JSON? {
        // What the path has from above is read first, and may take as long as a turn.
        var endNs: UInt64?
        var isAll = true
        try view.presentKeys(of: path, after: last) { key in
            size += key.text.utf8.count + Node.shallowMemberBytes
            guard size <= Node.snapshotMax else { throw ReadError.tooLarge }
            members.append(key.text, true)
            last = key
            let nowNs = EventLoop.monotonicNs()
            isAll = nowNs < endNs ?? .max
            endNs = endNs ?? nowNs &+ Node.readTurnNs
            return isAll
        }
        guard isAll else { return nil }
        return members.isEmpty ? JSON(try view.value(at: path, sizeMax: Node.snapshotMax)) : .object(members)
    }

    /// Quotes, a colon, `true` and a comma.
    private static let shallowMemberBytes = 8

    private func readLater() {
        guard !isReadingLater else { return }
        isReadingLater = true
        loop.execute { self.assumeIsolated { $0.continueReads() } }
    }

    /// One turn: some children more for an order, then those that wait, in turn.
    private func continueReads() {
        isReadingLater = false
        guard !isStopping, !reads.isEmpty || !refills.isEmpty else { return }
        let endNs = EventLoop.monotonicNs() &+ Node.readTurnNs
        do {
            _ = try store.buildOrders { EventLoop.monotonicNs() < endNs }
        } catch {
            report(error, "putting children in order")
        }
        for _ in reads.indices {
            continueRead(reads.removeFirst())
            guard EventLoop.monotonicNs() < endNs else { break }
        }
        for _ in refills.indices {
            refill(refills.removeFirst())
            guard EventLoop.monotonicNs() < endNs else { break }
        }
        sendWaiting()
        closeAnswered()
        if !reads.isEmpty || !refills.isEmpty { readLater() }
    }

    private func continueRead(_ waiting: RunningRead) {
        guard let session = sessions[waiting.session] else { return }
        var read = waiting
        do {
            switch try advance(&read, session) {
            case .answered(let result): answer(read.id, result, session)
            case .done: break
            case .later: reads.append(read)
            }
        } catch {
            noticeDamage(error)
            if let id = read.id { session.send(RPCResponse.failure(id: id, Node.rpcError(error))) }
        }
    }

    private func refill(_ key: FollowedWindow.Key) {
        guard let window = subscriptions.window(key) else { return }
        notifyFollowers([[window.observation.path]], only: window)
    }
}
