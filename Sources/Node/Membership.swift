internal import Net
internal import Seal

/// The workspace a home belongs to, and what has to last with its keys. Of a private one it is on disk: lines of a word
/// and a value, readable by the owner alone. Without the file a home belongs to the open workspace.
struct Membership: Equatable {
    private static let heading = "starling-workspace-1"
    /// Room for as many who were removed as one key can be sealed to.
    private static let sizeMax = 512 << 10
    /// Addresses kept of an invite.
    static let addressesMax = 8

    var workspace: Workspace
    /// Where the invite said that members are.
    var addresses: [SocketAddress]
    /// Whom this home's owner, who made the workspace, has removed, as long as nobody has let them in again.
    var removed: Set<Bytes32> = []

    init(_ workspace: Workspace, addresses: [SocketAddress] = []) {
        self.workspace = workspace
        self.addresses = Array(addresses.prefix(Membership.addressesMax))
    }

    /// Reads the file; nil if there is none.
    ///
    /// - Throws: `unsafe_file` if it is another user's, a link, or readable by others; `file_system` otherwise.
    static func load(_ path: String) throws(NodeError) -> Membership? {
        guard let text = try SecretFile.read(path, sizeMax: sizeMax) else { return nil }
        guard let membership = Membership(text: text) else {
            throw NodeError(.fileSystem, "\(path) is no workspace file; put the right one back or move it away")
        }
        return membership
    }

    /// What a home becomes that joins a workspace: whom its owner had removed before he left it stays removed.
    ///
    /// - Parameter aside: the file that leaving has left.
    static func joining(_ invite: Invite, aside: String) throws(NodeError) -> Membership {
        var membership = Membership(invite.workspace, addresses: invite.addresses)
        if let before = try load(aside), before.workspace.id == invite.workspace.id {
            membership.removed = before.removed
        }
        return membership
    }

    /// Leaves what was there before or the whole new file, whenever the process dies.
    func save(to path: String) throws(NodeError) { try SecretFile.write(text, to: path) }

    var text: String {
        var lines = [Membership.heading, "name \(workspace.name)", "id \(workspace.id.hex)"]
        if let creator = workspace.creator { lines.append("creator \(creator.hex)") }
        lines += ["epoch \(workspace.epoch)", "key \(workspace.networkKey.hex)"]
        lines += workspace.previousKeys.map { "previous \($0.hex)" }
        lines += addresses.map { "address \($0)" }
        lines += removed.sorted().map { "removed \($0.hex)" }
        return lines.joined(separator: "\n") + "\n"
    }

    init?(text: String) {
        // As bytes: a blank and an accent after it are one character.
        let lines = text.utf8.split(separator: UInt8(ascii: "\n"))
        guard let heading = lines.first, heading.elementsEqual(Membership.heading.utf8) else { return nil }
        var values: [String: [String]] = [:]
        for line in lines.dropFirst() {
            let parts = line.split(separator: UInt8(ascii: " "), maxSplits: 1)
            guard parts.count == 2, let word = String(parts[0]), let value = String(parts[1]) else { return nil }
            values[word, default: []].append(value)
        }
        func keys(_ word: String) -> [Bytes32?] { (values[word] ?? []).map { Bytes32(hex: $0) } }
        let (previous, removed) = (keys("previous"), keys("removed"))
        guard let name = values["name"]?.first, Workspace.isName(name), let id = keys("id").first ?? nil,
            id != Workspace.open.id, let creator = keys("creator").first ?? nil, let key = keys("key").first ?? nil,
            let epoch = values["epoch"]?.first.flatMap({ UInt64($0) }), !previous.contains(nil), !removed.contains(nil)
        else { return nil }
        self.init(
            Workspace(
                name: name, id: id, networkKey: key, creator: creator, epoch: epoch,
                previousKeys: previous.compactMap { $0 }),
            addresses: (values["address"] ?? []).compactMap { SocketAddress($0) })
        self.removed = Set(removed.compactMap { $0 })
    }
}
