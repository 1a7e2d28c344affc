internal import ControlAPI
internal import Net
internal import Replication
internal import Seal
internal import Store
internal import Tree
internal import Wire

/// Removing members: a new network key, sealed to everybody else. Only who has made the workspace can sign it, so two
/// keys never compete, and a member who was removed cannot lead others away.
extension Node {
    private static let epochSetting = "epoch"

    // MARK: Removing

    /// Begins a new epoch without one member.
    ///
    /// - Throws: `permission_denied` to everybody but who has made the workspace; `not_found` and `ambiguous_name`.
    func workspaceRemove(_ params: Fields) throws -> JSON {
        try refuseInOpen("nobody can be kept out")
        let member = try member(params.string("member"))
        guard let creator = workspace.creator, let authority = try authority(of: creator) else {
            let name = try workspace.creator.map(displayName(of:)) ?? "nobody"
            throw RPCError(
                reason: .permissionDenied,
                message: "only who has made the workspace can remove members, and that is \(name)")
        }
        guard member != uid, member != creator else {
            throw RPCError(
                reason: .permissionDenied, message: "that is you; to go yourself: starling workspace leave")
        }
        let removed = membership.removed.union([member])
        let (number, overflows) = workspace.epoch.addingReportingOverflow(1)
        guard !overflows else { throw RPCError(reason: .quota, message: "the key was changed too often") }
        let nodes = try membersToBe(without: removed)
        // Noted first: whatever fails after this, who was removed is sealed no later key either.
        var next = membership
        next.removed = removed
        try next.save(to: options.home.workspacePath)
        membership = next
        let networkKey = SecureRandom.bytes32()
        let record = EpochRecord(
            workspace: workspace.id, number: number, networkKey: networkKey, nodes: nodes, by: authority)
        try take(record, networkKey, from: nil)
        log.warning("removed \(name(of: member)) from the workspace; its key is another from here on")
        return try workspaceRow().json
    }

    /// Whom the next key is sealed to.
    private func membersToBe(without removed: Set<Bytes32>) throws -> Set<Bytes32> {
        let remembered = (try store.setting("peers")).map { String(decoding: $0, as: UTF8.self) } ?? ""
        let linked = PeerMemory(remembered, nowMs: WallClock.milliseconds()).places.map(\.node)
        let (nodes, leftOut) = Node.members(
            proven: [uid] + connectedNodes.sorted() + linked + (epochRecord?.members.map(\.node) ?? []),
            named: try people().compactMap { UID.parse($0.uid) }, removed: removed)
        if leftOut > 0 {
            log.warning(
                "\(leftOut) people of whom only a name was ever seen get no new key: it is sealed to "
                    + "\(EpochRecord.membersMax) members at most; invite whom you miss")
        }
        return nodes
    }

    /// Anybody can write names for any number of keys: those that have proved themselves on a link come first, so that
    /// they have a place however many others there are.
    static func members(
        proven: [Bytes32], named: [Bytes32], removed: Set<Bytes32>, max: Int = EpochRecord.membersMax
    ) -> (nodes: Set<Bytes32>, leftOut: Int) {
        var (nodes, leftOut): (Set<Bytes32>, Int) = ([], 0)
        for node in proven + named where !removed.contains(node) && !nodes.contains(node) {
            if nodes.count < max { nodes.insert(node) } else { leftOut += 1 }
        }
        return (nodes, leftOut)
    }

    /// The key that signs for the workspace, if it is on this machine: it may be an identity's that was given up here.
    private func authority(of creator: Bytes32) throws -> SigningKey? {
        if creator == uid { return key }
        guard let old = try IdentityFile.load(options.home.retiredIdentityPath(UID.text(creator))),
            old.publicKey == creator
        else { return nil }
        return old
    }

    /// A person of this workspace by uid or by name.
    private func member(_ text: String) throws -> Bytes32 {
        let author = try resolvePerson(text)
        guard try people().contains(where: { $0.uid == UID.text(author) }) else {
            throw RPCError(reason: .notFound, message: "nobody here is \(text)")
        }
        return author
    }

    /// Somebody who was removed is linked with the present key: a member has invited him again.
    func welcomeBack(_ peer: Bytes32) {
        guard membership.removed.contains(peer) else { return }
        membership.removed.remove(peer)
        do { try membership.save(to: options.home.workspacePath) } catch { report(error, "noting who is back") }
    }

    // MARK: Taking a new key

    static func storedEpoch(_ store: DatabaseStore) throws -> EpochRecord? {
        guard let bytes = try store.setting(epochSetting), case .epoch(let record)? = try? PeerMessage.decode(bytes)
        else { return nil }
        return record
    }

    func keep(_ record: EpochRecord) throws {
        try store.setSetting(Node.epochSetting, PeerMessage.epoch(record).encoded)
    }

    /// The process died when the record was stored and the key was not.
    func takeStoredEpoch() {
        guard let record = epochRecord, record.workspace == workspace.id, record.number > workspace.epoch,
            let networkKey = record.networkKey(for: key)
        else { return }
        do {
            try take(record, networkKey, from: nil)
        } catch {
            log.error("the new key cannot be stored: \(error)")
        }
    }

    func takeAboutKey(_ message: PeerMessage, from id: LinkID) {
        // The open one's key is everybody's, and stays.
        guard workspace.creator != nil else { return }
        switch message {
        case .epoch(let record): received(record, from: id)
        case .outdated:
            noticeOutdated()
            closeLink(id, reason: "it says that our key is an earlier epoch's")
        default: return
        }
    }

    private func received(_ record: EpochRecord, from id: LinkID) {
        guard let creator = workspace.creator, record.workspace == workspace.id, record.number > workspace.epoch else {
            return
        }
        guard record.verifies(by: creator) else { return closeLink(id, reason: "it sent a forged key") }
        guard let networkKey = record.networkKey(for: key) else { return noticeOutdated() }
        do {
            try take(record, networkKey, from: id)
            log.warning("a member was removed: the workspace has another key from here on")
        } catch {
            return report(error, "storing the new key")
        }
        end(.workspace, "this machine has the present key of the workspace again")
        // It may have used the old key for the last time.
        rescan()
    }

    /// The record first, and on the disk: whoever dies between the two finds it at the next start, and whoever has the
    /// key can hand it over.
    private func take(_ record: EpochRecord, _ networkKey: Bytes32, from source: LinkID?) throws {
        try keep(record)
        try store.rest()
        epochRecord = record
        membership.workspace = workspace.moved(to: networkKey, epoch: record.number)
        do {
            try membership.save(to: options.home.workspacePath)
        } catch {
            // From here on the record decides.
            log.error("the new key is taken from the database at the next start: \(error)")
        }
        announceAnew()
        for link in links.values.sorted(by: { $0.id < $1.id }) where link.id != source {
            guard link.isUp, let peer = link.peer else {
                // Under the key that it began with it would be let in as if nothing had changed.
                closeLink(link.id, reason: "it began with an earlier key of the workspace")
                continue
            }
            guard record.names(peer) else {
                try? link.send(.outdated)
                closeLink(link.id, reason: "\(name(of: peer)) is no member any more")
                continue
            }
            try? link.send(.epoch(record))
        }
    }

    private func noticeOutdated() {
        begin(
            NoticeRow(
                kind: .workspace,
                text: "the workspace \(workspace.name) has another key since a member was removed, and it is not for "
                    + "this machine; ask a member for a new invite, then: starling workspace join INVITE"))
    }

    // MARK: Handing over the key

    /// A link that began with an earlier epoch's key gets the present one, if that is sealed to who is there, and
    /// nothing else. The other side ends it; so nothing that is on its way to it is lost.
    func handOver(_ link: PeerLink, to peer: Bytes32) {
        link.isOutdated = true
        let id = link.id
        link.timer = loop.schedule(afterMs: options.handshakeMs) {
            self.assumeIsolated { $0.closeLink(id, reason: "it had an earlier key") }
        }
        guard let record = epochRecord, record.number == workspace.epoch else {
            return closeLink(id, reason: "it has an earlier key of the workspace")
        }
        guard record.names(peer) else {
            logOutside(.info, "\(name(of: peer)) has an earlier key of the workspace and is not among its members")
            try? link.send(.outdated)
            return
        }
        logOutside(.info, "handing the present key of the workspace over to \(name(of: peer))")
        try? link.send(.epoch(record))
        try? link.send(.goodbye("this link began with an earlier key of the workspace"))
    }
}
