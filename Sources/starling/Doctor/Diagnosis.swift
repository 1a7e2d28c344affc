internal import ControlAPI

/// Says what the evidence means: a check a thing, and a fault in one of them only, the one where its cause is.
struct Diagnosis {
    let evidence: Evidence

    /// In the order in which they depend on one another.
    var checks: [Check] {
        [daemon, version, bus, avahi] + network + [
            clock, disk, database, files, identity,
        ]
    }

    /// Whether the daemon looks for others by itself.
    var discovers: Bool { evidence.diagnosis.map { $0.discovery != .off } ?? true }

    var daemon: Check {
        switch evidence.daemon {
        case .answers(_, let socket):
            if let refusal = evidence.refusal {
                return .problem(
                    "daemon", "starlingd answers at \(socket), but not the question what is wrong: \(refusal)", restart)
            }
            let process = evidence.diagnosis.map { " (process \($0.process))" } ?? ""
            return .ok("daemon", "starlingd runs\(process) and answers at \(socket)")
        case .absent(let tried):
            guard evidence.hasDaemonProgram else {
                return .problem(
                    "daemon", "starlingd does not run, and it is neither beside this program nor in PATH",
                    "make install")
            }
            return .problem(
                "daemon",
                "starlingd does not run: nobody answers at \(tried.joined(separator: ", "))"
                    + (evidence.lastError.map { "; its log ends with: \($0)" } ?? ""),
                own("daemon start"))
        case .broken(let words):
            // No other daemon of this user's, as of a second home, is to end with it.
            guard let holder = evidence.holder else {
                return .problem(
                    "daemon", words, "ss -xlp | grep starling.sock   # end what listens there", own("daemon start"))
            }
            return .problem("daemon", words, "kill -KILL \(holder); \(own("daemon start"))")
        }
    }

    /// A command for the daemon that was looked at.
    func own(_ words: String) -> String { "\(evidence.command) \(words)" }

    var restart: String { "\(own("daemon stop")) && \(own("daemon start"))" }

    var version: Check {
        guard case .answers(let version, _) = evidence.daemon else {
            return .skipped("version", "starling \(evidence.version); without a daemon there is nothing to compare")
        }
        guard version == evidence.version else {
            return .warning(
                "version", "the daemon is version \(version), this program \(evidence.version)", restart)
        }
        guard evidence.diagnosis != nil || evidence.refusal != nil else {
            return .warning("version", "the daemon is of an earlier build that does not know doctor", restart)
        }
        return .ok("version", "starling and starlingd are version \(version)")
    }

    var bus: Check {
        switch evidence.bus {
        case .answers: .ok("dbus", "D-Bus answers")
        case _ where !discovers: .skipped("dbus", "not needed: the daemon was started with --no-discovery")
        case .absent:
            .problem("dbus", "D-Bus does not run, and Avahi is asked through it", "sudo systemctl start dbus")
        case .hangs: .problem("dbus", "D-Bus does not answer", "sudo systemctl restart dbus")
        }
    }

    var avahi: Check {
        let restart = "sudo systemctl restart avahi-daemon"
        switch (evidence.bus, evidence.avahi) {
        case (.answers, .answers): return .ok("avahi", "Avahi answers")
        case _ where !discovers:
            return .skipped("avahi", "not needed: the daemon was started with --no-discovery")
        case (.absent, _), (.hangs, _): return .skipped("avahi", "it is asked through D-Bus; see dbus")
        case (_, .absent):
            guard evidence.hasAvahiProgram else {
                return .problem(
                    "avahi", "Avahi is not installed, so nobody is found by himself",
                    "sudo apt install avahi-daemon", own("peer add HOST:PORT"))
            }
            return .problem(
                "avahi", "Avahi does not run, so nobody is found by himself",
                "sudo systemctl enable --now avahi-daemon")
        case (_, .hangs): return .problem("avahi", "Avahi does not answer", restart)
        }
    }

    // MARK: Time

    /// Clocks that differ by less matter to nobody.
    private static let skewMsMin: Int64 = 2_000
    /// Over this the daemon uses the common time instead.
    private static let skewMsMax: Int64 = 60_000

    var clock: Check {
        let mend = "sudo timedatectl set-ntp true"
        guard let diagnosis = evidence.diagnosis else {
            return evidence.isClockSynchronised
                ? .ok("clock", "the clock is synchronised")
                : .skipped("clock", "the clock is not synchronised; without a daemon there is none to compare it with")
        }
        if let notice = diagnosis.notices.first(where: { $0.kind == .clock }) {
            return .problem("clock", notice.text, mend)
        }
        let skews = evidence.connected.compactMap { peer in peer.skewMs.map { (peer: peer, skewMs: $0) } }
        let wrong = skews.filter { $0.skewMs.magnitude >= Diagnosis.skewMsMin }
        let most = skews.map { $0.skewMs.magnitude }.max()
        let synchronised = evidence.isClockSynchronised ? "synchronised" : "not synchronised"
        guard !wrong.isEmpty else {
            let words = most.map { "; it differs from the others' by \($0) ms at most" }
            return .ok("clock", "the clock is \(synchronised)\(words ?? ", and nobody is there to compare it with")")
        }
        // Whose is wrong: this machine's, if it differs from most.
        if wrong.count * 2 > skews.count, wrong.count > 1 || !evidence.isClockSynchronised,
            let skewMs = wrong.map({ $0.skewMs }).min(by: { $0.magnitude < $1.magnitude })
        {
            let span = Words.span(Int64(clamping: skewMs.magnitude))
            let words =
                "the clock is \(synchronised) and \(span) \(skewMs > 0 ? "behind" : "ahead of") "
                + "\(wrong.count == 1 ? "the other machine" : "most others")"
            return skewMs.magnitude >= Diagnosis.skewMsMax
                ? .problem("clock", words, mend) : .warning("clock", words, mend)
        }
        let names = wrong.map { item in
            let span = Words.span(Int64(clamping: item.skewMs.magnitude))
            return "\(item.peer.name)'s is \(span) \(item.skewMs > 0 ? "ahead" : "behind")"
        }
        return .warning(
            "clock", "the clock is \(synchronised), but \(names.joined(separator: ", "))", "on that machine: \(mend)")
    }
}
