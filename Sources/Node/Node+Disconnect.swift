internal import ControlAPI
internal import Store
internal import Tree

/// What clients leave to be written when their connection ends, however it ends. It is stored before the client is
/// answered, so a daemon that dies carries it out when it starts again; and it is forgotten in the transaction that
/// carries it out, so nothing happens twice.
extension Node {
    /// What a write of this node is for.
    enum WritePurpose {
        case itself
        /// To see whether it would be refused: nothing is stored.
        case trial
        /// To be stored with others of ``WriteGroup``.
        case together
        /// To carry out what a session left at these paths.
        case disconnect(session: Int, [PathKey])
    }

    /// `tree.onDisconnect`: the write is refused now as it would be when it is carried out.
    func treeOnDisconnect(_ params: Fields, _ session: ControlSession) throws -> JSON {
        let path = try path(params)
        let op = try params.string("op")
        let value = op == "remove" ? .null : params["value"] ?? .null
        var writes = [(path: path, value: value)]
        switch (op, value) {
        case ("set", _), ("remove", _):
            // The typing indicator ends with its client anyway.
            if value.isNull, ownTypingChannel(path) != nil { return [:] }
            try trial { _ = try treeSet(try Fields(["path": .string("\(path)"), "value": value])) }
        case ("update", .object(let values)):
            try trial { _ = try treeUpdate(try Fields(["path": .string("\(path)"), "values": value])) }
            writes = try values.members.map { member in
                let relative = try self.path(try Fields(["path": .string(member.key)]))
                guard let place = path.appending(relative) else {
                    throw RPCError(reason: .invalidPath, message: "\(PathError.tooLong)")
                }
                return (place, member.value)
            }
        case ("update", _): throw RPCError.invalidParams("\"value\" of an update must be an object of paths and values")
        default: throw RPCError.invalidParams("op is set, update or remove, not \(op)")
        }
        try change(session) { left, changes in
            for write in writes { left.set(write.path, write.value, &changes) }
            // Joined with what was left above, it is more than what was looked at.
            let given = Set(writes.map(\.path))
            for joined in left.writes(changes.added.keys) where !given.contains(joined.path) {
                try trial { _ = try treeSet(try Fields(["path": .string("\(joined.path)"), "value": joined.value])) }
            }
        }
        return [:]
    }

    /// `tree.cancelOnDisconnect`
    func treeCancelOnDisconnect(_ params: Fields, _ session: ControlSession) throws -> JSON {
        let path = try path(params)
        try change(session) { left, changes in left.cancel(path, &changes) }
        return [:]
    }

    private func trial(_ write: () throws -> Void) rethrows {
        writePurpose = .trial
        defer { writePurpose = .itself }
        try write()
    }

    /// Changes what a session has left; on disk first.
    private func change(
        _ session: ControlSession, _ body: (inout DisconnectWrites, inout DisconnectWrites.Changes) throws -> Void
    ) throws {
        var left = session.disconnect
        var changes = DisconnectWrites.Changes()
        try body(&left, &changes)
        guard left.count <= DisconnectWrites.countMax, left.bytes <= DisconnectWrites.bytesMax else {
            let words = "\(DisconnectWrites.countMax) paths and \(DisconnectWrites.bytesMax >> 10) KiB"
            throw RPCError(reason: .quota, message: "a client may leave \(words) for its end")
        }
        let others = sessions.values.reduce(0) { $0 + ($1.id == session.id ? 0 : $1.disconnect.bytes) }
        guard others + left.bytes <= DisconnectWrites.bytesMaxOfAll else {
            let words = "\(DisconnectWrites.bytesMaxOfAll >> 20) MiB"
            throw RPCError(reason: .quota, message: "all clients together may leave \(words) for their ends")
        }
        try store.changeDisconnectWrites(of: session.id, removing: Array(changes.removed), adding: changes.added)
        session.disconnect = left
    }

    // MARK: Carrying out

    /// Stores a bundle of this node, together with the end of what it carries out.
    func commitOwn(_ bundle: Bundle) throws -> CommitResult {
        guard case .disconnect(let session, let paths) = writePurpose else {
            return try store.commit([bundle], heldAfter: HLC(ms: HLC.msMax))
        }
        let result = try store.commit(
            [bundle], heldAfter: HLC(ms: HLC.msMax), endingWrites: paths, of: session)
        writePurpose = .itself
        return result
    }

    /// The session has ended.
    func carryOutDisconnect(of session: ControlSession) {
        let left = session.disconnect
        session.disconnect = DisconnectWrites()
        carryOut(left, of: session.id)
    }

    /// At the start, what the clients of a daemon that died have left; later, what could not be carried out because the
    /// disk was full.
    func carryOutWhatIsLeft() {
        guard hasDisconnectsLeft else { return }
        do {
            var left: [Int: [PathKey: [UInt8]]] = [:]
            // Of a client that was dropped there is a session still, which has done what it could.
            for write in try store.disconnectWrites()
            where sessions[write.session].map({ $0.isClosing && $0.disconnect.isEmpty }) ?? true {
                left[write.session, default: [:]][write.path] = write.content
                nextSession = max(nextSession, write.session)
            }
            hasDisconnectsLeft = false
            for (session, contents) in left.sorted(by: { $0.key < $1.key }) {
                carryOut(DisconnectWrites(contents), of: session)
            }
        } catch {
            report(error, "what clients left for their end")
        }
    }

    /// All in one write. Only if that is refused, each by itself, so that one does not keep back the others.
    private func carryOut(_ left: DisconnectWrites, of session: Int) {
        guard !left.isEmpty else { return }
        let writes = left.writes
        do {
            let members = writes.map { JSONObject.Member(key: "\($0.path)", value: $0.value) }
            try carryOut(session, writes.map(\.key)) {
                _ = try treeUpdate(try Fields(["path": "", "values": .object(JSONObject(members: members))]))
            }
        } catch {
            guard Node.isFinal(error) else { return postpone(error) }
            for write in writes {
                do {
                    try carryOut(session, [write.key]) {
                        _ = try treeSet(try Fields(["path": .string("\(write.path)"), "value": write.value]))
                    }
                } catch {
                    guard Node.isFinal(error) else { return postpone(error) }
                    log.warning("a write that a client left for its end was refused: \(Node.rpcError(error).message)")
                    try? store.changeDisconnectWrites(of: session, removing: [write.key], adding: [:])
                }
            }
        }
    }

    private func carryOut(_ session: Int, _ paths: [PathKey], _ write: () throws -> Void) throws {
        writePurpose = .disconnect(session: session, paths)
        defer { writePurpose = .itself }
        try write()
        // Where nothing was to be changed, nothing was stored.
        guard case .disconnect = writePurpose else { return }
        try store.changeDisconnectWrites(of: session, removing: paths, adding: [:])
    }

    private func postpone(_ error: any Error) {
        hasDisconnectsLeft = true
        logOutside(.warning, "what a client left for its end has to wait: \(Node.rpcError(error).message)")
    }

    /// Whether it would be refused again.
    private static func isFinal(_ error: any Error) -> Bool {
        let reasons: [RPCError.Reason] = [.permissionDenied, .invalidPath, .tooLarge, .invalidParams]
        return reasons.contains(rpcError(error).reason)
    }

    /// A new database knows nothing of what the clients have left.
    func keepDisconnects() throws {
        for session in sessions.values where !session.disconnect.isEmpty {
            try store.changeDisconnectWrites(of: session.id, removing: [], adding: session.disconnect.all)
        }
    }
}
