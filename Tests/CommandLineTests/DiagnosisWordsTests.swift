import ControlAPI
import Testing

@testable import starling

/// What doctor says of what it has seen, and what it does not call a fault.
struct DiagnosisWordsTests {
    /// Many networks have no time server. While nobody's clock differs from this one it is told, and no fault.
    @Test func aClockThatNobodySetsIsNoFaultByItself() throws {
        var evidence = try DiagnosisTests.healthy()
        evidence.isClockSynchronised = false
        #expect(DiagnosisTests.faulty(evidence).isEmpty)
        let clock = try #require(Diagnosis(evidence: evidence).checks.first { $0.name == "clock" })
        #expect(clock.saw.contains("not synchronised") && clock.saw.contains("12 ms"))
        evidence.diagnosis?.peers[0].skewMs = 2_500
        #expect(DiagnosisTests.faulty(evidence).map(\.level) == [.warning])
        #expect(DiagnosisTests.faulty(evidence).map(\.mend) == [["sudo timedatectl set-ntp true"]])
    }

    /// Who has said --no-discovery, or has no Avahi, is connected and not heard: no fault of the network, on which
    /// others answer what is sent to all.
    @Test func whoDoesNotAnnounceHimselfIsNoFault() throws {
        var evidence = try DiagnosisTests.healthy()
        evidence.multicast.answers.removeLast()
        evidence.diagnosis?.heard = []
        evidence.diagnosis?.peers[0].path = .named
        evidence.multicast.voices = [try #require(IPAddress("10.99.0.7"))]
        #expect(DiagnosisTests.faulty(evidence).isEmpty, "\(DiagnosisTests.faulty(evidence))")
        #expect(Diagnosis(evidence: evidence).multicast.saw.contains("does not announce"))
    }

    /// Nothing is said of multicast on networks over which nothing was asked.
    @Test func whereNothingWasAskedNothingIsKnown() throws {
        func check(_ change: (inout Evidence) -> Void) throws -> Check {
            var evidence = try DiagnosisTests.healthy()
            change(&evidence)
            return Diagnosis(evidence: evidence).oneWay
        }
        #expect(try check { $0.interfaces[1].kind = .tunnel }.level == .skipped)
        #expect(try check { $0.multicast = .init() }.level == .skipped)
        #expect(try check { $0.diagnosis?.instance = nil }.level == .skipped)
        let both = try check { evidence in
            var second = evidence.interfaces[1]
            (second.name, second.index) = ("wlan0", 3)
            evidence.interfaces.append(second)
        }
        #expect(both == .ok("one-way", "multicast DNS gets out and in on eth0"))
    }

    /// Of the open workspace there are no invites, and who ends a handshake may only rest, or have no room.
    @Test(arguments: [false, true]) func whoEndsTheHandshakeMayHaveReasons(isPrivate: Bool) throws {
        var evidence = try DiagnosisTests.healthy()
        evidence.isPrivate = isPrivate
        evidence.diagnosis?.peers.append(DiagnosisTests.peer("10.99.0.3:47474", .mdns, .key, state: .refused))
        let check = Diagnosis(evidence: evidence).accepted
        #expect(check.mend.first == "on that machine: starling doctor" && check.saw.contains("no room"))
        #expect(check.saw.contains("rests") != isPrivate)
        #expect(check.mend.contains { $0.contains("starling workspace here") } != isPrivate)
        // The link is made where the private workspace is.
        #expect(check.mend.contains { $0.hasSuffix("here: starling workspace invite") } == isPrivate)
    }

    /// Behind a link may be the only copy of what a person has.
    @Test func noFolderAndNoKeyIsDeleted() throws {
        for (index, kinds) in [(0, [FileFacts.Kind.foreignLink, .brokenLink]), (1, [.link])] {
            for kind in kinds {
                var evidence = try DiagnosisTests.healthy()
                evidence.files[index].kind = kind
                let lines = DiagnosisTests.faulty(evidence).flatMap(\.mend)
                #expect(!lines.isEmpty && !lines.contains { $0.contains("rm ") }, "\(kind)")
            }
        }
    }

    /// Without discovery neither Avahi nor D-Bus is missed.
    @Test func whoSwitchesDiscoveryOffMissesNothing() throws {
        var evidence = try DiagnosisTests.healthy()
        (evidence.bus, evidence.avahi) = (.absent, .absent)
        evidence.diagnosis?.discovery = .off
        evidence.diagnosis?.instance = nil
        evidence.diagnosis?.heard = []
        evidence.multicast.answers = []
        #expect(DiagnosisTests.faulty(evidence).isEmpty, "\(DiagnosisTests.faulty(evidence))")
    }

    @Test func aReportIsReadable() throws {
        var evidence = try DiagnosisTests.healthy()
        evidence.disk?.freeBytes = 1 << 20
        let output = Output()
        let checks = Diagnosis(evidence: evidence).checks
        let lines = checks.flatMap { Doctor.lines($0, output) }
        #expect(lines.contains { $0.hasPrefix("✗ disk") } && lines.contains { $0.hasPrefix("✓ daemon") })
        #expect(lines.contains { $0.contains("→ du ") })
        #expect(Doctor.summary(checks, tookMs: 2_345, output) == "1 problem (2.3 s)")
        #expect(Doctor.summary([], tookMs: 99, output) == "nothing is wrong (0.0 s)")
        let disk = try #require(checks.first { $0.name == "disk" })
        #expect(disk.json["level"] == "problem" && disk.json["mend"]?.array?.count == 1)
    }
}
