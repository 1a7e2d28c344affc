internal import Chat
internal import ControlAPI
internal import Net
internal import Replication
internal import Seal
internal import Store
internal import Tree

/// How long a channel keeps its messages. What a retention has ended is gone on every node, whatever is written later:
/// so nothing here happens by a clock that nobody else confirms.
extension Node {
    /// A rule keeps messages at least this long.
    static let keptMsMin: Int64 = 3600 * 1000
    /// And at most this long: a hundred years.
    static let keptMsMax: Int64 = 100 * 366 * 24 * 3600 * 1000
    /// Messages that are counted before somebody is asked whether he means it: more would hold up others.
    static let endedCountMax = 5_000
    /// Rules of this user that are looked at.
    private static let rulesMax = 1000
    /// How often the rules are looked at, and when again if the clock could not be trusted.
    private static let retentionMs: UInt64 = 3600 * 1000
    private static let retentionRetryMs: UInt64 = 60_000
    /// A rule writes an entry once a day, or oftener if it keeps less than ten days.
    private static let retentionStepMs: UInt64 = 24 * 3600 * 1000
    /// A peer's clock that differs by no more says that this one is right.
    private static let confirmedSkewMs: Int64 = 3600 * 1000

    /// `channel.retain`: shows a channel's retention, or ends its messages before `before`, or those older than
    /// `keepMs` now and from now on.
    func channelRetain(_ params: Fields) throws -> JSON {
        let cid = try resolveChannel(try params.string("channel")).key
        let (before, kept) = (try params.optionalInt("before"), try params.optionalInt("keepMs"))
        let isTrial = try params.optionalBool("trial") ?? false
        guard before == nil || kept == nil else { throw RPCError.invalidParams("give before or keepMs, not both") }
        guard before != nil || kept != nil else { return try retentionAnswer(cid) }
        try requireOwner(of: cid)
        let nowMs = replicator.workspaceMs(moment)
        let presentMs = try store.retention(ofChannel: cid)?.beforeMs ?? 0
        var wantedMs = presentMs
        if let before {
            guard let ms = UInt64(exactly: before), ms <= nowMs else {
                throw RPCError.invalidParams("before is a time, in milliseconds since 1970, that has been already")
            }
            guard ms >= presentMs else {
                throw RPCError.invalidParams("a retention never falls: what was before \(presentMs) has ended already")
            }
            wantedMs = ms
        } else if let kept, kept != 0 {
            guard (Node.keptMsMin...Node.keptMsMax).contains(kept) else {
                throw RPCError.invalidParams("keepMs is 0, which ends the rule, or an hour to a hundred years")
            }
            wantedMs = max(presentMs, nowMs - min(nowMs, UInt64(kept)))
        }
        let removes = wantedMs > presentMs ? try endedCount(cid, beforeMs: wantedMs) : 0
        if !isTrial {
            var mutations: [Mutation] = []
            if wantedMs > presentMs { mutations.append(try retentionMutation(cid, beforeMs: wantedMs)) }
            if let kept, let place = rulePath(cid) {
                mutations.append(.set(place, kept == 0 ? .null : .number(kept)))
            }
            if !mutations.isEmpty { try write(mutations) }
        }
        return try retentionAnswer(cid, removes: removes)
    }

    private func retentionAnswer(_ cid: Key, removes: Int = 0) throws -> JSON {
        guard case .object(var row) = try channelRow(cid)?.json ?? [:] else { return [:] }
        row.append("removes", .int(Int64(removes)))
        return .object(row)
    }

    private func requireOwner(of cid: Key) throws {
        guard AutoID(cid.text)?.isCertified(by: uid) != true else { return }
        let words =
            AutoID.isNameKey(cid.text)
            ? "this channel's key certifies its name, so it belongs to nobody, and nobody can end what others wrote; "
                + "only a channel that was created as one's own has a retention"
            : AutoID(cid.text) != nil
                ? "only who created this channel can end its messages"
                : "this channel's key certifies nobody, so nobody can end its messages"
        throw RPCError(reason: .permissionDenied, message: words)
    }

    private func key(ofMs ms: UInt64) -> AutoID { AutoID(hlc: HLC(ms: ms), author: uid) }

    private func endedCount(_ cid: Key, beforeMs: UInt64) throws -> Int {
        guard let path = ChatPath.channel(cid) else { return 0 }
        let key = String(key(ofMs: beforeMs).text.prefix(Retention.timeLength))
        return try store.messageCount(container: path, before: key, limit: Node.endedCountMax)
    }

    private func retentionMutation(_ cid: Key, beforeMs: UInt64) throws -> Mutation {
        guard let path = Path.root.appending("retention", cid.text, key(ofMs: beforeMs).text) else {
            throw PathError.tooLong
        }
        return .set(path, .bool(true))
    }

    /// A rule stands in the tree, where the user alone can write, so that it survives a lost database.
    private func rulePath(_ cid: Key) -> Path? { ChatPath.user(uid)?.appending("retention", cid.text) }

    /// Milliseconds that this user's rule keeps a channel's messages.
    func keptMs(_ cid: Key) throws -> Int64? {
        guard AutoID(cid.text)?.isCertified(by: uid) == true, let place = rulePath(cid),
            let kept = try metadata(at: place).integer, (Node.keptMsMin...Node.keptMsMax).contains(kept)
        else { return nil }
        return kept
    }

    /// Refuses to write where a retention has ended everything: it would be gone at once.
    func refuseEnded(_ entry: Entry) throws(RPCError) {
        let hasEnded: Bool
        do { hasEnded = try store.hasEnded(entry.path) } catch { throw Node.rpcError(error) }
        guard hasEnded else { return }
        throw RPCError(
            reason: .permissionDenied, message: "\(entry.path): the channel's messages of that time have ended")
    }

    // MARK: Rules

    /// Follows this user's rules, once an hour.
    func followRetentionRules() {
        let nowMs = EventLoop.monotonicMs()
        guard nowMs >= retentionDueMs else { return }
        do {
            let channels = try ownRules()
            retentionDueMs = nowMs &+ Node.retentionMs
            guard !channels.isEmpty else { return }
            guard isTimeConfirmed else {
                retentionDueMs = nowMs &+ Node.retentionRetryMs
                return
            }
            var mutations: [Mutation] = []
            let workspaceMs = replicator.workspaceMs(moment)
            for cid in channels {
                guard let kept = try keptMs(cid) else { continue }
                let presentMs = try store.retention(ofChannel: cid)?.beforeMs ?? 0
                guard let beforeMs = Node.advanced(presentMs, keeping: UInt64(kept), nowMs: workspaceMs) else {
                    continue
                }
                mutations.append(try retentionMutation(cid, beforeMs: beforeMs))
            }
            if !mutations.isEmpty { try write(mutations) }
        } catch {
            report(error, "ending old messages")
        }
    }

    private func ownRules() throws -> [Key] {
        guard let place = ChatPath.user(uid)?.appending("retention") else { return [] }
        return try storedView.childKeys(of: place, limit: Node.rulesMax)
    }

    /// Whether somebody else says that it is as late as this node believes: a clock that is a year ahead must not end a
    /// year of messages.
    private var isTimeConfirmed: Bool {
        isClockSynchronised
            || replicator.reports(moment).contains { report in
                report.skewMs.map { $0.magnitude <= Node.confirmedSkewMs.magnitude } ?? false
            }
    }

    /// What a rule sets the limit to; nil as long as it is not worth an entry.
    static func advanced(_ presentMs: UInt64, keeping keptMs: UInt64, nowMs: UInt64) -> UInt64? {
        let wantedMs = nowMs - min(nowMs, keptMs)
        let stepMs = min(retentionStepMs, max(retentionMs, keptMs / 10))
        return wantedMs > presentMs && wantedMs - presentMs >= stepMs ? wantedMs : nil
    }
}
