internal import Seal
internal import Tree
internal import Wire

/// Whether anybody sees what this node holds.
enum Contact: Sendable {
    /// No link is up.
    case alone
    /// Links are up, and the clock of the first peer is not known yet. Nothing that this node wrote leaves it.
    case heard
    /// Workspace time is known; the shell looks through what this node wrote alone. Nothing of it leaves it yet.
    case examined
    case open
}

extension Replicator {
    /// Whether entries may be given to peers.
    var isOpen: Bool {
        if case .open = contact { return true }
        return false
    }

    /// A link is up.
    mutating func hear() {
        if case .alone = contact { contact = .heard }
    }

    /// A peer has told its clock.
    mutating func meet(_ output: inout Output) {
        switch contact {
        case .heard:
            contact = .examined
            // What was fallen back on counts in the examination.
            _ = clock.takeFall()
            output.effects.append(.contact)
        case .open: if clock.takeFall() { output.effects.append(.clockFell) }
        case .alone, .examined: break
        }
    }

    /// Questions of one peer that wait; an honest one asks a few at once.
    private static let questionsMax = 64

    /// Whether a question waits until this node knows what it will have.
    mutating func putOff(_ message: PeerMessage, _ link: LinkID) -> Bool {
        guard !isOpen else { return false }
        switch message {
        case .compare, .want, .sift, .tail: break
        default: return false
        }
        if let count = links[link]?.questions.count, count < Replicator.questionsMax {
            links[link]?.questions.append(message)
        }
        return true
    }

    /// The last link is gone.
    mutating func part(_ output: inout Output) {
        guard links.isEmpty else { return }
        if isOpen { output.effects.append(.alone) } else { output.effects.append(.contactLost) }
        contact = .alone
    }

    /// The shell has looked through everything: whoever waits for entries gets them, and hears what there is now.
    mutating func opened(_ replica: any ReplicaReader, _ output: inout Output) throws {
        guard case .examined = contact else { return }
        contact = .open
        try withEachLink(output.nowMs) { machine, link in
            let questions = machine.links[link]?.questions ?? []
            machine.links[link]?.questions = []
            if machine.links[link]?.hasMissed == true {
                try machine.ping(link, replica, &output)
                machine.links[link]?.hasMissed = false
            }
            for question in questions { try machine.receivedReconciliation(link, question, replica, &output) }
        }
    }

    /// This node's clock was set back: what it says from here on is earlier than what it said before.
    ///
    /// - `greatest`: the greatest time applied.
    mutating func clockWasSet(_ greatest: HLC, _ output: inout Output) {
        highWater = greatest
        softClock = .zero
        let places = soft.forget(key.publicKey)
        if !places.isEmpty { output.effects.append(.softChanged(places)) }
        republishSoft(&output)
        refreshClock(output.moment)
        for link in orderedLinks {
            links[link]?.hasMissed = true
            // What waits to be pushed is found by comparing: its place is no longer that of what comes next.
            links[link]?.backlog.wait(behind: nil, nowMs: output.nowMs)
        }
    }
}
