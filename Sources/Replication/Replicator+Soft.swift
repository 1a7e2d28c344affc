internal import Seal
internal import Tree
internal import Wire

extension Replicator {
    mutating func receivedSoft(_ link: LinkID, _ records: [SoftRecord], _ output: inout Output) throws {
        let workspaceMs = workspaceMs(output.moment)
        var fresh: [SoftRecord] = []
        var forged = 0
        for record in records where record.author != key.publicKey || record.instance != instance {
            // Known ones are not verified again: a relay costs a look-up, not a signature.
            guard soft.isNews(record, nowMs: output.nowMs, workspaceMs: workspaceMs) else { continue }
            guard takesSoft(link, output.nowMs) else { break }
            guard record.verifies(workspace: workspace, check: verify) else {
                forged += 1
                continue
            }
            guard soft.admit(author: record.author, nowMs: output.nowMs) else { continue }
            if soft.insert(record, nowMs: output.nowMs, workspaceMs: workspaceMs) { fresh.append(record) }
        }
        if forged > 0 {
            noteRefusals(forged, link, output.nowMs)
            output.effects.append(.forged(link, forged))
        }
        relaySoft(fresh, of: records, link, &output)
        guard !fresh.isEmpty else { return }
        output.effects.append(.softChanged(fresh.map { SoftState.Place(author: $0.author, path: $0.path) }))
        for other in orderedLinks where overlay.hasEverybody && other != link {
            guard let state = links[other] else { continue }
            let wanted = fresh.filter { $0.author != state.peer && !state.connected.contains($0.author) }
            if !wanted.isEmpty { output.send(other, .soft(wanted)) }
        }
    }

    mutating func setSoft(
        _ path: Path, _ value: Value?, _ ttlMs: UInt64, _ isRefreshed: Bool, _ output: inout Output
    ) {
        if let value {
            let before = localSoft[path]
            var local = LocalSoft(
                value: value, ttlMs: ttlMs, refreshMs: isRefreshed ? output.nowMs &+ stretched(ttlMs, path) / 2 : nil,
                endsMs: isRefreshed ? nil : output.nowMs &+ ttlMs, publishedMs: output.nowMs)
            // A client that says the same with every key pressed is heard once in a while.
            if let before, before.value == value, before.ttlMs == ttlMs, output.nowMs &- before.publishedMs < ttlMs / 4
            {
                local.publishedMs = before.publishedMs
                localSoft[path] = local
            } else {
                localSoft[path] = local
                publish(path, value, ttlMs, &output)
            }
        } else if localSoft.removeValue(forKey: path) != nil {
            publish(path, .null, 0, &output)
        }
    }

    private mutating func publish(_ path: Path, _ value: Value, _ ttlMs: UInt64, _ output: inout Output) {
        let workspaceMs = workspaceMs(output.moment)
        let ttlMs = stretched(ttlMs, path)
        // After everything this node has applied too, or its own last message would end a typing that began later; but
        // not so far ahead that others drop it.
        let isFar = highWater.ms > workspaceMs &+ SoftState.aheadMsMax
        softClock = max(softClock.next, HLC(ms: workspaceMs), isFar ? .zero : highWater.next)
        let record = SoftRecord(
            signing: path, value: value, hlc: softClock, ttlMs: ttlMs, instance: instance, by: key,
            workspace: workspace)
        guard soft.insert(record, nowMs: output.nowMs, workspaceMs: workspaceMs) else { return }
        output.effects.append(.softChanged([SoftState.Place(author: record.author, path: path)]))
        pushSoft(record, &output)
    }

    /// Says everything anew, at once.
    mutating func republishSoft(_ output: inout Output) {
        for path in localSoft.keys.sorted(by: { PathKey($0) < PathKey($1) }) {
            guard let local = localSoft[path] else { continue }
            localSoft[path]?.publishedMs = output.nowMs
            publish(path, local.value, local.ttlMs, &output)
        }
    }

    mutating func refreshLocalSoft(_ output: inout Output) {
        for path in localSoft.keys.sorted(by: { PathKey($0) < PathKey($1) }) {
            guard let local = localSoft[path] else { continue }
            if let refreshMs = local.refreshMs, output.nowMs >= refreshMs {
                let lifeMs = stretched(local.ttlMs, path)
                localSoft[path]?.refreshMs = output.nowMs &+ lifeMs / 2
                localSoft[path]?.publishedMs = output.nowMs
                publish(path, local.value, local.ttlMs, &output)
            } else if let endsMs = local.endsMs, output.nowMs >= endsMs {
                localSoft[path] = nil
            }
        }
    }
}
