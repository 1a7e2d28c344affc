internal import ControlAPI
internal import Net
internal import Seal
internal import Tree

/// The requests about the workspace. Which one a home belongs to is in a file; a node that is to be in another writes
/// the file and starts anew.
extension Node {
    func workspaceCall(_ method: String, _ params: Fields) throws -> JSON {
        switch method {
        case "workspace.show": return try workspaceRow().json
        case "workspace.create": return try workspaceCreate(params)
        case "workspace.invite": return try workspaceInvite(params)
        case "workspace.join": return try workspaceJoin(params)
        case "workspace.leave": return try workspaceLeave()
        case "workspace.here": return try workspaceHere()
        case "workspace.remove": return try workspaceRemove(params)
        default: throw RPCError.methodNotFound(method)
        }
    }

    func workspaceRow() throws -> WorkspaceRow {
        var row = WorkspaceRow(name: workspace.name, id: workspace.id.hex, isPrivate: !workspace.isOpen)
        row.members = Int64(try people().count)
        if let creator = workspace.creator {
            row.epoch = Int64(clamping: workspace.epoch)
            row.creator = UID.text(creator)
            row.creatorName = try displayName(of: creator)
        } else {
            row.isPaused = networks.isPaused
            row.networks = networks.own.places.map { "\($0)" }
            row.network = networks.current.map { "\($0)" }
        }
        return row
    }

    private func workspaceCreate(_ params: Fields) throws -> JSON {
        let name = try params.string("name")
        guard Workspace.isName(name) else {
            throw RPCError.invalidParams(
                "a workspace's name has 1 to \(Workspace.nameMax) bytes, no control characters and no blank at either "
                    + "end, and is not \"\(Workspace.open.name)\"")
        }
        try refuseInPrivate()
        return try move(to: Membership(Workspace(name: name, creator: uid)))
    }

    private func workspaceJoin(_ params: Fields) throws -> JSON {
        let link = try params.string("invite")
        let invite: Invite
        do throws(NodeError) {
            invite = try Invite(link: link)
        } catch {
            throw RPCError.invalidParams("\(error)")
        }
        if let words = Node.expiry(of: invite) { throw RPCError(reason: .permissionDenied, message: words) }
        guard invite.workspace.id == workspace.id else {
            try refuseInPrivate()
            let aside = options.home.asideWorkspacePath(invite.workspace.id)
            let joined: Membership
            do throws(NodeError) {
                joined = try Membership.joining(invite, aside: aside)
            } catch {
                throw Node.refusal(ofMove: error)
            }
            return try move(to: joined)
        }
        var membership = Membership(workspace, addresses: invite.addresses)
        membership.removed = self.membership.removed
        // A new invite lets back in whoever has missed too much.
        if invite.workspace.epoch > workspace.epoch {
            membership.workspace = workspace.moved(to: invite.workspace.networkKey, epoch: invite.workspace.epoch)
        }
        return try move(to: membership)
    }

    private func workspaceLeave() throws -> JSON {
        try refuseInOpen("there is nothing to leave")
        try refuseWhileEnding()
        let (path, aside) = (options.home.workspacePath, options.home.asideWorkspacePath(workspace.id))
        do throws(NodeError) {
            try membership.save(to: aside)
            try NodeHome.remove(path)
        } catch {
            throw Node.refusal(ofMove: error)
        }
        log.warning("leaving the workspace \(workspace.name); its key is kept in \(aside)")
        restartSoon()
        var row = WorkspaceRow(name: Workspace.open.name, id: Workspace.open.id.hex, isPrivate: false)
        row.kept = [options.home.asideDatabasePath(workspace.id), aside]
        return row.json
    }

    /// Says that a node is in another workspace from its next start on, and starts it anew.
    private func move(to membership: Membership) throws -> JSON {
        try refuseWhileEnding()
        do throws(NodeError) {
            try membership.save(to: options.home.workspacePath)
        } catch {
            throw Node.refusal(ofMove: error)
        }
        let workspace = membership.workspace
        log.warning("entering the workspace \(workspace.name)")
        restartSoon()
        var row = WorkspaceRow(name: workspace.name, id: workspace.id.hex, isPrivate: true)
        row.epoch = Int64(clamping: workspace.epoch)
        row.creator = workspace.creator.map(UID.text)
        return row.json
    }

    private func restartSoon() {
        isRetired = true
        // The answer is sent first.
        loop.execute { self.assumeIsolated { $0.onRestartRequest?() } }
    }

    private func refuseInPrivate() throws(RPCError) {
        guard !workspace.isOpen else { return }
        throw RPCError(
            reason: .permissionDenied,
            message: "this home is in the workspace \(workspace.name) and can be in one only; leave it first: starling "
                + "workspace leave")
    }

    func refuseInOpen(_ words: String) throws(RPCError) {
        guard workspace.isOpen else { return }
        throw RPCError(
            code: .invalidRequest, reason: .invalidRequest,
            message: "this home is in the open workspace, which anybody on the network is in: \(words)")
    }

    private func refuseWhileEnding() throws(RPCError) {
        guard isRetired || isStopping else { return }
        throw RPCError(reason: .busy, message: "the daemon is starting anew; try again in a moment")
    }

    static func refusal(ofMove error: NodeError) -> RPCError {
        let message = "\(error); the workspace is the same as before"
        switch error.code {
        case .diskFull: return RPCError(reason: .diskFull, message: message)
        case .unsafeFile: return RPCError(reason: .permissionDenied, message: message)
        default: return RPCError(code: .internalError, reason: .internalError, message: message)
        }
    }

    // MARK: Invites

    /// An invite lasts at most a hundred years.
    private static let inviteMsMax: Int64 = 100 * 366 * 86_400_000
    private static let inviteAddressesMax = 4

    private func workspaceInvite(_ params: Fields) throws -> JSON {
        try refuseInOpen("it needs no invite")
        let lastsMs = try params.optionalInt("expiresMs")
        if let lastsMs, !(1...Node.inviteMsMax).contains(lastsMs) {
            throw RPCError.invalidParams("expiresMs is from 1 to \(Node.inviteMsMax) milliseconds from now")
        }
        let expiresMs = lastsMs.map { WallClock.milliseconds() &+ UInt64(clamping: $0) }
        let addresses = inviteAddresses()
        let invite = Invite(workspace, expiresMs: expiresMs, addresses: addresses)
        var answer: JSONObject = [
            "link": .string(invite.link), "addresses": .array(addresses.map { .string("\($0)") }),
        ]
        if let expiresMs { answer["expiresAt"] = .int(Int64(clamping: expiresMs)) }
        return .object(answer)
    }

    /// Where others reach this node, as far as it can tell.
    private func inviteAddresses() -> [SocketAddress] {
        if let listen = options.listen, !listen.isUnspecified { return [listen.with(port: port)] }
        let all = interfaces.filter { $0.isUp && !$0.isLoopback && !$0.isContainerBridge }.flatMap(\.addresses)
        let usable = all.map { $0.address.with(port: port) }.filter { $0.isDialable && !$0.isLinkLocal }
        let best = usable.filter(\.isIPv4) + usable.filter { !$0.isIPv4 }
        return Array(best.prefix(Node.inviteAddressesMax))
    }

    /// Addresses of an invite are tried like discovered ones.
    func dialInvited() {
        let now = EventLoop.monotonicMs()
        for (index, address) in membership.addresses.enumerated() where address.isDialable {
            dialer.offer(address, .discovered, delayMs: UInt64(index) * Dialer.staggerMs, nowMs: now)
        }
        dialDue()
    }
}
