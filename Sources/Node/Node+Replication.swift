internal import ControlAPI
internal import Net
internal import Replication
internal import Seal
internal import Store
internal import Tree
internal import Wire

extension Node {
    /// Feeds an event to the machine and carries out what it says, including what follows from that.
    ///
    /// - Parameter judged: what the pool has found of the bundles that the event brings.
    func step(_ event: Replicator.Event, judged: Admission.Outcome? = nil) {
        var events = [event]
        var index = 0
        while index < events.count {
            let effects: [Replicator.Effect]
            var failure: (any Error)?
            do {
                effects = try replicator.step(moment, events[index], store)
            } catch let error as StepFailure {
                (effects, failure) = (error.effects, error.cause)
            } catch {
                (effects, failure) = ([], error)
            }
            for effect in effects { perform(effect, judged, &events) }
            if let failure {
                // The machine's timers are still due: without a pause it would be asked again at once.
                stepNotBeforeMs = EventLoop.monotonicMs() &+ Node.stepPauseMs
                report(failure, "replication")
            }
            index += 1
        }
        infoChanged()
        answerStatus()
        progressIfHeldChanged()
        scheduleStep()
    }

    private func perform(
        _ effect: Replicator.Effect, _ judged: Admission.Outcome?, _ events: inout [Replicator.Event]
    ) {
        switch effect {
        case .send(let id, let message): send(message, to: id)
        case .commit(let id, let bundles):
            if let judged {
                judgedTogether.append((id, judged.keeping(bundles)))
            } else {
                let outcome = Admission.judge(bundles, workspace: workspace.id, known: knownSignatures)
                let source = source(of: id)
                events.append(store(outcome, from: id))
                noteForged(outcome.vainSignatures, from: source)
            }
        case .adopt(let id, let seal):
            if let event = adopt(seal, from: id) { events.append(event) }
        case .softChanged(let places): softChanged(places)
        case .close(let id, let reason): closeLink(id, reason: reason)
        case .forged(let id, let count): noteForged(count, from: source(of: id))
        case .awaitDrain(let id): awaitDrain(id)
        case .verified(let id, let outcome): verified(id, outcome)
        case .learned(let addresses): learn(addresses)
        case .clonesChanged: clonesChanged()
        case .connect(let address): connect(to: address, &events)
        case .connectAny(let count): connectAny(count)
        case .demote(let id): demote(id)
        case .dialEverybody(let isOn): dialEverybody(isOn)
        case .contact: contactBegins()
        case .contactLost: contactIsLost()
        case .alone: contactEnds()
        case .clockFell: setClockBack()
        case .aboutKey(let id, let message): takeAboutKey(message, from: id)
        case .notice(let id, let text):
            links[id]?.noticeText = text
            logOutside(.info, "peer \(name(of: id)) says: \(text)")
        }
    }

    private func send(_ message: PeerMessage, to id: LinkID) {
        guard let link = links[id] else { return }
        do throws(LinkError) {
            try link.send(message)
            noteMemory(of: link)
        } catch {
            closeLink(id, reason: "\(error)")
        }
    }

    /// Stores what has passed of what a peer sent, and tells the observers.
    private func store(_ outcome: Admission.Outcome, from id: LinkID) -> Replicator.Event {
        noteRefused(outcome, from: id)
        return .committed(
            id, admitted: outcome.admitted, result: store(outcome.admitted), denied: outcome.denied,
            unsigned: outcome.unsigned)
    }

    func noteRefused(_ outcome: Admission.Outcome, from id: LinkID) {
        let refusedCount = outcome.denied.count + outcome.unsigned.count
        if refusedCount > 0 {
            countDenied(refusedCount, from: id)
            logOutside(
                .warning,
                "peer \(name(of: id)): refused \(outcome.denied.count) entries that their authors may not write and "
                    + "\(outcome.unsigned.count) without a valid signature")
        }
    }

    /// Stores verified bundles in one transaction.
    func store(_ bundles: [Bundle]) -> CommitResult {
        var result = CommitResult()
        do {
            store.tellTime(WallClock.milliseconds())
            storedAtMs = EventLoop.monotonicMs()
            result = try store.commit(bundles, heldAfter: heldAfter)
            isDiskFull = false
            observe(result)
        } catch {
            report(error, "storing entries")
        }
        return result
    }

    /// Entries after this time are held.
    var heldAfter: HLC { HLC(ms: replicator.workspaceMs(moment) &+ Node.heldMs) }

    /// What follows from entries of others that became live.
    func observe(_ result: CommitResult) {
        guard !result.applied.isEmpty else { return }
        for entry in result.applied { clock.observe(entry.hlc) }
        indexSoon()
        notifyObservers(result.applied)
    }

    /// Writes values of this node, none of them with a priority: one bundle, one transaction, all or nothing.
    ///
    /// - Parameter hlc: the time of the write, if it was drawn already for a key.
    /// - Throws: `permission_denied`, `too_large`, `invalid_path`, `busy` or `disk_full`; nothing has changed then.
    func write(_ writes: [(path: Path, value: Value)], at hlc: HLC? = nil) throws(RPCError) {
        guard !writes.isEmpty else { return }
        let hlc = if let hlc { hlc } else { try tick() }
        var entries: [Entry] = []
        for (path, value) in writes {
            do throws(EntryError) {
                entries.append(try Entry(path: path, hlc: hlc, author: uid, value: value))
            } catch {
                throw Node.rpcError(error)
            }
        }
        try write(entries.sorted { $0.stamp < $1.stamp })
    }

    /// Writes entries of this node, in stamp order.
    func write(_ entries: [Entry]) throws(RPCError) {
        guard !entries.isEmpty else { return }
        for entry in entries {
            if let denial = Ownership.denial(of: entry) {
                throw RPCError(reason: .permissionDenied, message: "\(entry.path): \(denial)")
            }
            try refuseEnded(entry)
        }
        guard entries.count <= Bundle.countMax else {
            throw RPCError(reason: .tooLarge, message: "an update has at most \(Bundle.countMax) paths")
        }
        guard entries.reduce(0, { $0 + $1.encoded.count }) <= Node.updateMax else {
            throw RPCError(reason: .tooLarge, message: "an update has more than \(Node.updateMax) bytes")
        }
        switch writePurpose {
        case .trial: return
        case .together: writeGroup.add(entries)
        case .itself, .disconnect: try commit(own: entries)
        }
    }

    /// Signs, stores and tells entries of this node, which were checked and stand in stamp order.
    func commit(own entries: [Entry]) throws(RPCError) {
        let bundle = Bundle(signing: entries, by: key, workspace: workspace.id)
        do {
            store.tellTime(WallClock.milliseconds())
            storedAtMs = EventLoop.monotonicMs()
            let result = try commitOwn(bundle)
            isDiskFull = false
            forgetTyping(result.applied)
            notifyObservers(result.applied)
            indexSoon()
        } catch {
            report(error, "storing a write")
            throw Node.rpcError(error)
        }
        step(.localCommit([bundle]))
    }

    /// The next time for a write of this node.
    func tick() throws(RPCError) -> HLC {
        // A message ends the typing that was said before it, on every node, so it must be the later of the two.
        clock.pass(replicator.softTime)
        guard let hlc = clock.tick(workspaceMs: replicator.workspaceMs(moment)) else {
            throw RPCError(reason: .busy, message: "more than 64,000 writes a second; try again in a moment")
        }
        return hlc
    }

    static func rpcError(_ error: any Error) -> RPCError {
        switch error {
        case let error as RPCError: return error
        case EntryError.noPath:
            return RPCError(reason: .permissionDenied, message: "the root is nobody's: write below it")
        case let error as EntryError:
            return RPCError(reason: error == .tooLarge ? .tooLarge : .invalidPath, message: "\(error)")
        case let error as PathError: return RPCError(reason: .invalidPath, message: "\(error)")
        case ReadError.tooLarge: return RPCError(reason: .tooLarge, message: "\(ReadError.tooLarge)")
        case let error as StoreError where error.isDiskFull:
            return RPCError(reason: .diskFull, message: "the disk is full; reading goes on, writing does not")
        default: return RPCError(code: .internalError, reason: .internalError, message: "\(error)")
        }
    }

    /// Logs an error of the store once, not once an entry.
    func report(_ error: any Error, _ what: String) {
        guard !isClosed else { return }
        noticeDamage(error)
        if let error = error as? StoreError, error.isDiskFull {
            if !isDiskFull { log.error("the disk is full: reading goes on, writing does not") }
            isDiskFull = true
        } else {
            logOutside(.error, "\(what): \(error)")
        }
    }

    /// After the disk was full: whether there is room again, which a workspace in which nobody writes would not notice.
    private func lookForRoom() {
        guard isDiskFull else { return }
        do {
            // More than what the log of the database may have left over.
            try store.setSetting(Node.roomSetting, [UInt8](repeating: 0, count: Node.roomBytes))
            try store.setSetting(Node.roomSetting, nil)
            isDiskFull = false
            log.info("there is room on the disk again")
        } catch {
            report(error, "looking for room on the disk")
        }
    }

    private static let roomSetting = "room"
    private static let roomBytes = 256 << 10

    /// Logs what others can bring about as often as they like.
    func logOutside(_ level: Log.Level, _ text: @autoclosure () -> String) {
        guard level >= log.level else { return }
        let (isAllowed, omitted) = logBudget.take(nowMs: EventLoop.monotonicMs())
        guard isAllowed else { return }
        if omitted > 0 { log.warning("\(omitted) more lines like these were left out") }
        log.write(level, text())
    }

    private func scheduleStep() {
        guard !isStopping, let dueMs = replicator.nextDeadlineMs else { return }
        let atMs = max(dueMs, stepNotBeforeMs)
        if let stepTimer, stepTimer.atMs <= atMs { return }
        stepTimer?.timer.cancel()
        let nowMs = EventLoop.monotonicMs()
        let timer = loop.schedule(afterMs: atMs > nowMs ? atMs - nowMs : 0) {
            self.assumeIsolated { node in
                node.stepTimer = nil
                node.step(.tick)
            }
        }
        stepTimer = (timer, atMs)
    }

    /// More often while something waits: held entries that came due, the dead that are left, graves that are old
    /// enough, and presence.
    func scheduleMaintenance() {
        guard !isStopping else { return }
        var isBusy = false
        do {
            if let due = try store.nextHeldDue, due <= heldAfter {
                let result = try store.release(heldAfter: heldAfter)
                observe(result)
                released(result)
                step(.released(result))
            }
            let count = sweepPace.count
            let long = try sweepPace.run {
                isBusy = try store.sweep(limit: count)
                if try store.expireGraves(nowMs: WallClock.milliseconds(), limit: count) { isBusy = true }
            }
            noteLong(long, "removing \(count) dead entries")
            if let due = try store.nextHeldDue, due <= heldAfter { isBusy = true }
        } catch {
            report(error, "maintenance")
        }
        lookForRoom()
        carryOutWhatIsLeft()
        followRetentionRules()
        rememberHeld()
        if isNameDue { try? takeNameSoon() }
        noticeClock()
        lookAroundIfDue()
        updateAway()
        endBulk()
        // Also what a sweep has removed, and what an error has left.
        indexSoon()
        restIfQuiet()
        maintenanceTimer = loop.schedule(afterMs: isBusy ? Node.busyMaintenanceMs : Node.maintenanceMs) {
            self.assumeIsolated { $0.scheduleMaintenance() }
        }
    }

    /// After an error of the store the machine's timers wait this long.
    static let stepPauseMs: UInt64 = 1000
    /// Dead entries removed in one transaction.
    static let sweepMax = 1000
    static let busyMaintenanceMs: UInt64 = 50
    static let maintenanceMs: UInt64 = 10_000
}
