internal import Chat
internal import Net
internal import Seal
internal import Store
internal import Tree

/// One home is one workspace: which it is, and where its database is while the home belongs to another.
extension Node {
    /// The id of the workspace whose entries a database holds. None is noted for the open one.
    private static let workspaceSetting = "workspace"

    /// The workspace that a home belongs to, and where the invite said that members are. With an invite, a home without
    /// a private workspace joins its workspace.
    static func membership(of options: NodeOptions) throws(NodeError) -> Membership {
        let path = options.home.workspacePath
        let own = try Membership.load(path)
        guard let invite = options.invite else {
            let membership = own ?? Membership(options.workspace)
            if let name = options.workspaceName, name != membership.workspace.name {
                throw NodeError(
                    .usage,
                    "this home is in the workspace \(membership.workspace.name); to join another: starling workspace "
                        + "join INVITE")
            }
            return membership
        }
        if let own {
            guard own.workspace.id == invite.workspace.id else {
                throw NodeError(
                    .usage,
                    "this home is in the workspace \(own.workspace.name) and can be in one only; leave it first: "
                        + "starling workspace leave")
            }
            return own
        }
        if let words = expiry(of: invite) { throw NodeError(.usage, words) }
        let joined = try Membership.joining(invite, aside: options.home.asideWorkspacePath(invite.workspace.id))
        try joined.save(to: path)
        return joined
    }

    /// Words for an invite that has expired; nil for one that is good.
    static func expiry(of invite: Invite) -> String? {
        guard let expiresMs = invite.expiresMs, expiresMs <= WallClock.milliseconds() else { return nil }
        return "this invite to \(invite.workspace.name) has expired; ask for a new one: starling workspace invite"
    }

    /// Opens the database of a workspace. The one of another workspace that stands in its place is set aside, and what
    /// was set aside of this one comes back, whenever the process has died in between.
    static func openStore(
        for workspace: Workspace, _ home: NodeHome, uid: Bytes32, _ log: Log
    ) throws -> DatabaseStore {
        let aside = home.asideDatabasePath(workspace.id)
        if !NodeHome.exists(home.databasePath), NodeHome.exists(aside) { try move(aside, to: home.databasePath) }
        let store = try openStore(home.databasePath, log)
        guard let other = try owner(of: store), other != workspace.id else {
            try note(workspace, in: store)
            return store
        }
        let name = try displayName(of: uid, in: store)
        store.close()
        try move(home.databasePath, to: home.asideDatabasePath(other))
        if NodeHome.exists(aside) { try move(aside, to: home.databasePath) }
        let own = try openStore(home.databasePath, log)
        try note(workspace, in: own)
        if let name, try own.entryCount == 0 { try inherit(name, by: uid, in: own) }
        return own
    }

    /// Whose entries a database holds; nil while it holds none.
    private static func owner(of store: DatabaseStore) throws -> Bytes32? {
        if let id = try store.setting(workspaceSetting).flatMap({ Bytes32($0) }) { return id }
        return try store.entryCount == 0 ? nil : Workspace.open.id
    }

    private static func displayName(of uid: Bytes32, in store: DatabaseStore) throws -> String? {
        guard let path = ChatPath.user(uid)?.appending("displayName") else { return nil }
        return try TreeView(store).value(at: path).string
    }

    private static func note(_ workspace: Workspace, in store: DatabaseStore) throws {
        guard !workspace.isOpen, try store.setting(workspaceSetting) == nil else { return }
        try store.setSetting(workspaceSetting, workspace.id.bytes)
    }

    /// Notes what is known only here in a database that has taken the place of a damaged one.
    func keepWorkspace() throws {
        try Node.note(workspace, in: store)
        if let epochRecord { try keep(epochRecord) }
        try keepNetworks()
    }

    private static func move(_ path: String, to other: String) throws(NodeError) {
        guard !NodeHome.exists(other) else {
            throw NodeError(.fileSystem, "\(path) and \(other) are of one workspace; move one of them away")
        }
        // The log first: another database must never meet it.
        for suffix in ["-wal", "-shm", ""] where NodeHome.exists(path + suffix) {
            try NodeHome.rename(path + suffix, to: other + suffix)
        }
    }
}
