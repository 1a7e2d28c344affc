import CommandLineKit
import ControlAPI
import Testing

@testable import starling

/// What doctor makes of what it has seen: one fault, one name.
struct DiagnosisTests {
    struct Fault: CustomTestStringConvertible, Sendable {
        let name: String
        let level: Check.Level
        let what: String
        let happen: @Sendable (inout Evidence) -> Void

        init(
            _ name: String, _ level: Check.Level, _ what: String,
            _ happen: @escaping @Sendable (inout Evidence) -> Void
        ) {
            self.name = name
            self.level = level
            self.what = what
            self.happen = happen
        }

        var testDescription: String { "\(name): \(what)" }
    }

    /// A machine on which everything works.
    static func healthy() throws -> Evidence {
        var evidence = Evidence()
        let own = try #require(IPAddress("10.99.0.1"))
        let other = try #require(IPAddress("10.99.0.2"))
        evidence.daemon = .answers(version: "1", socket: "/run/user/0/starling/starling.sock")
        evidence.version = "1"
        evidence.uid = "own-uid"
        evidence.bus = .answers
        evidence.avahi = .answers
        let linkLocal = try #require(IPAddress([0xFE, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], scope: 2))
        evidence.interfaces = [
            LocalInterface(name: "lo", index: 1, kind: .loopback, isUp: true, addresses: []),
            LocalInterface(
                name: "eth0", index: 2, kind: .lan, isUp: true,
                addresses: [.init(address: own, prefixLength: 16), .init(address: linkLocal, prefixLength: 64)]),
        ]
        evidence.multicast.asked = ["eth0"]
        evidence.multicast.answers = [
            MulticastAnswer(interface: "eth0", from: own, instances: ["own"], endpoints: []),
            MulticastAnswer(interface: "eth0", from: other, instances: ["bobs"], endpoints: []),
        ]
        var bob = PeerRow(
            uid: "bob-uid", name: "bob", address: "10.99.0.2:47474", state: .connected, rttMs: 1, skewMs: 12, lacks: 0,
            ahead: 0)
        bob.path = .mdns
        evidence.diagnosis = DiagnosisRow(
            process: 7, port: 47474, discovery: .up, instance: "own", heard: [heard("bobs", connected: true)],
            peers: [bob], home: "/home/ann/.local/share/starling", database: .sound)
        evidence.routes = [other: "eth0"]
        evidence.neighbours = [other: true]
        evidence.home = "/home/ann/.local/share/starling"
        evidence.user = 1000
        evidence.files = [
            FileFacts(path: evidence.home, kind: .folder, mode: 0o700, owner: 1000),
            FileFacts(path: "\(evidence.home)/identity.key", kind: .file, mode: 0o600, owner: 1000),
        ]
        evidence.disk = DiskFacts(freeBytes: 50 << 30, totalBytes: 100 << 30)
        evidence.databaseFile = .begins
        return evidence
    }

    private static func heard(
        _ instance: String, at address: String = "10.99.0.2:47474", ours: Bool = true, connected: Bool
    ) -> HeardRow {
        HeardRow(
            instance: instance, interface: "eth0", host: "host2.local", addresses: [address], isOurs: ours,
            isConnected: connected)
    }

    static func peer(
        _ address: String, _ path: PeerRow.Path, _ failure: PeerRow.Failure? = nil, state: PeerRow.State = .unreachable
    ) -> PeerRow {
        var row = PeerRow(uid: "", name: "", address: address, state: state)
        row.path = path
        row.failure = failure
        return row
    }

    /// Nobody is heard, and nobody connected.
    private static func leaveAlone(_ evidence: inout Evidence) {
        evidence.multicast.answers.removeAll { $0.instances != ["own"] }
        evidence.diagnosis?.heard = []
        evidence.diagnosis?.peers = []
        evidence.routes = [:]
        evidence.neighbours = [:]
    }

    private static func router(_ evidence: inout Evidence) {
        evidence.router = IPAddress("10.99.0.254")
        evidence.router.map { evidence.neighbours[$0] = true }
    }

    /// Bob's address is known, and nobody says that he has it.
    private static func offline(_ path: PeerRow.Path, _ evidence: inout Evidence) {
        evidence.diagnosis?.peers = [peer("10.99.0.2:47474", path, .unreachable)]
        Endpoint("10.99.0.2:47474").map { evidence.reached[$0] = .unreachable }
        IPAddress("10.99.0.2").map { evidence.neighbours[$0] = false }
    }

    private static func unlink(_ outcome: Reach.Outcome, _ evidence: inout Evidence) {
        evidence.diagnosis?.heard = [heard("bobs", connected: false)]
        evidence.diagnosis?.peers = [peer("10.99.0.2:47474", .mdns)]
        Endpoint("10.99.0.2:47474").map { evidence.reached[$0] = outcome }
    }

    static let faults: [Fault] = here + network + others + disk

    private static let here: [Fault] = [
        Fault("daemon", .problem, "none runs") { evidence in
            evidence.daemon = .absent(tried: ["/run/s"])
            evidence.diagnosis = nil
        },
        Fault("daemon", .problem, "it hangs") { evidence in
            evidence.daemon = .broken("no answer in time")
            evidence.holder = 4_711
            evidence.diagnosis = nil
        },
        Fault("daemon", .problem, "it runs and cannot say how it is") { evidence in
            evidence.diagnosis = nil
            evidence.refusal = "the database cannot be read"
        },
        Fault("daemon", .problem, "another program is in its place") { evidence in
            evidence.daemon = .broken("this is no Starling daemon")
            evidence.diagnosis = nil
        },
        Fault("version", .warning, "another one") { $0.daemon = .answers(version: "0.9", socket: "/s") },
        Fault("version", .warning, "one without node.diagnose") { $0.diagnosis = nil },
        Fault("dbus", .problem, "it does not run") { ($0.bus, $0.avahi) = (.absent, .absent) },
        Fault("dbus", .problem, "it hangs") { ($0.bus, $0.avahi) = (.hangs, .hangs) },
        Fault("avahi", .problem, "it does not run") { evidence in
            evidence.avahi = .absent
            evidence.diagnosis?.discovery = .down
            evidence.diagnosis?.instance = nil
            evidence.multicast.answers.removeFirst()
        },
        Fault("avahi", .problem, "it is not installed") { ($0.avahi, $0.hasAvahiProgram) = (.absent, false) },
        Fault("avahi", .problem, "it hangs") { $0.avahi = .hangs },
        Fault("clock", .problem, "the daemon says so") { evidence in
            evidence.diagnosis?.notices = [NoticeRow(kind: .clock, text: "this machine's clock is 9 minutes behind")]
        },
        Fault("clock", .warning, "that of another") { $0.diagnosis?.peers[0].skewMs = 180_000 },
        Fault("clock", .problem, "not synchronised, and off") { evidence in
            evidence.isClockSynchronised = false
            evidence.diagnosis?.peers[0].skewMs = -180_000
        },
    ]

    private static let network: [Fault] = [
        Fault("families", .problem, "no network") { evidence in
            evidence.interfaces.removeLast()
            leaveAlone(&evidence)
            evidence.multicast = .init()
        },
        Fault("families", .warning, "no IPv4") { evidence in
            evidence.interfaces[1].addresses.removeFirst()
            let address = evidence.interfaces[1].addresses[0].address
            evidence.multicast.answers[0].from = address
            evidence.diagnosis?.peers[0].address = "[fe80::2%2]:47474"
        },
        Fault("vpn", .problem, "it takes the packets") { evidence in
            evidence.interfaces.append(
                LocalInterface(name: "wg0", index: 3, kind: .tunnel, isUp: true, addresses: []))
            for address in evidence.routes.keys { evidence.routes[address] = "wg0" }
            unlink(.timedOut, &evidence)
        },
        Fault("vpn", .warning, "a container network overlaps") { evidence in
            guard let address = IPAddress("10.99.128.1") else { return }
            evidence.interfaces.append(
                LocalInterface(
                    name: "docker0", index: 3, kind: .container, isUp: true,
                    addresses: [.init(address: address, prefixLength: 17)]))
        },
        Fault("vpn", .warning, "there is no other network") { evidence in
            evidence.interfaces[1].kind = .tunnel
            leaveAlone(&evidence)
            evidence.multicast = .init()
        },
        Fault("record", .warning, "the announcement is under way") { evidence in
            evidence.diagnosis?.instance = nil
            evidence.multicast.answers.removeFirst()
            leaveAlone(&evidence)
        },
        Fault("record", .problem, "Avahi does not publish") { evidence in
            evidence.diagnosis?.discovery = .down
            evidence.diagnosis?.reason = "Avahi does not confirm the registration"
            evidence.diagnosis?.instance = nil
            evidence.diagnosis?.heard = []
            evidence.multicast.answers.removeFirst()
        },
        Fault("one-way", .problem, "nothing gets in") { $0.multicast.answers = [] },
        Fault("one-way", .problem, "nothing gets in, and nobody is here") { evidence in
            leaveAlone(&evidence)
            evidence.multicast.answers = []
        },
        Fault("one-way", .problem, "nothing gets out") { evidence in
            evidence.multicast = .init(answers: [], asked: [], forbidden: ["eth0"])
        },
        Fault("multicast", .problem, "it is filtered") { evidence in
            evidence.multicast.answers.removeLast()
            evidence.diagnosis?.heard = []
            evidence.diagnosis?.peers[0].path = .named
        },
        Fault("multicast", .problem, "clients are isolated") { evidence in
            leaveAlone(&evidence)
            router(&evidence)
            offline(.named, &evidence)
        },
        Fault("multicast", .warning, "who was here is switched off, and nobody else is here") { evidence in
            leaveAlone(&evidence)
            router(&evidence)
            offline(.remembered, &evidence)
        },
        Fault("multicast", .warning, "who was here is switched off, and nobody else is heard") { evidence in
            leaveAlone(&evidence)
            router(&evidence)
            offline(.inbound, &evidence)
            IPAddress("10.99.0.7").map { evidence.neighbours[$0] = true }
        },
        Fault("multicast", .warning, "nothing but the router is there") { evidence in
            leaveAlone(&evidence)
            router(&evidence)
            // It has something to offer itself, and that is no sign of what is beside it.
            evidence.router.map { _ = evidence.multicast.voices.insert($0) }
        },
        Fault("multicast", .warning, "others are there, and none answers") { evidence in
            leaveAlone(&evidence)
            router(&evidence)
            IPAddress("10.99.0.7").map { evidence.neighbours[$0] = true }
        },
        Fault("heard", .warning, "nobody else is there") { leaveAlone(&$0) },
        Fault("heard", .warning, "others are there, and run no Starling") { evidence in
            leaveAlone(&evidence)
            router(&evidence)
            IPAddress("10.99.0.7").map { _ = evidence.multicast.voices.insert($0) }
        },
        Fault("heard", .warning, "who was here is switched off, and a printer answers") { evidence in
            leaveAlone(&evidence)
            router(&evidence)
            offline(.remembered, &evidence)
            IPAddress("10.99.0.7").map { _ = evidence.multicast.voices.insert($0) }
        },
        Fault("heard", .warning, "only others' workspaces") { evidence in
            leaveAlone(&evidence)
            evidence.diagnosis?.heard = [heard("foreign", ours: false, connected: false)]
        },
    ]

    private static let others: [Fault] = [
        Fault("reachable", .problem, "a firewall there") { unlink(.timedOut, &$0) },
        Fault("reachable", .problem, "nobody listens") { unlink(.refused, &$0) },
        Fault("reachable", .problem, "the firewall here") { unlink(.forbidden, &$0) },
        Fault("reachable", .warning, "one of two") { evidence in
            evidence.diagnosis?.heard.append(heard("eves", at: "10.99.0.3:47474", connected: false))
            Endpoint("10.99.0.3:47474").map { evidence.reached[$0] = .timedOut }
        },
        Fault("reachable", .warning, "a named one") { evidence in
            evidence.diagnosis?.peers.append(peer("10.98.0.3:47474", .named, .timedOut))
            Endpoint("10.98.0.3:47474").map { evidence.reached[$0] = .timedOut }
        },
        Fault("reachable", .problem, "who was named is switched off, and a printer answers") { evidence in
            leaveAlone(&evidence)
            router(&evidence)
            offline(.named, &evidence)
            IPAddress("10.99.0.7").map { _ = evidence.multicast.voices.insert($0) }
        },
        Fault("accepted", .problem, "another key") { evidence in
            evidence.diagnosis?.peers.append(peer("10.99.0.3:47474", .named, .key, state: .refused))
            Endpoint("10.99.0.3:47474").map { evidence.reached[$0] = .open }
        },
        Fault("accepted", .problem, "another private workspace") { evidence in
            evidence.isPrivate = true
            evidence.diagnosis?.peers.append(peer("10.99.0.3:47474", .named, .key, state: .refused))
        },
        Fault("accepted", .warning, "another version") { evidence in
            evidence.diagnosis?.peers.append(peer("10.99.0.3:47474", .mdns, .version, state: .refused))
        },
        Fault("accepted", .warning, "entries were spoilt on the way") { evidence in
            evidence.diagnosis?.peers.append(peer("10.99.0.3:47474", .mdns, .forged, state: .refused))
        },
        Fault("accepted", .warning, "another version has dialled, and cannot be dialled") { evidence in
            var row = peer("10.99.0.3:47474", .inbound, .version, state: .refused)
            row.isNewer = true
            evidence.diagnosis?.peers.append(row)
            Endpoint("10.99.0.3:47474").map { evidence.reached[$0] = .refused }
        },
        Fault("identity", .problem, "this one's is copied") { evidence in
            evidence.diagnosis?.notices = [NoticeRow(kind: .clone, uid: "own-uid", text: "another machine has it")]
        },
        Fault("identity", .warning, "another's is copied") { evidence in
            evidence.diagnosis?.notices = [NoticeRow(kind: .clone, uid: "bob-uid", text: "bob runs on two machines")]
        },
    ]

    private static let disk: [Fault] = [
        Fault("disk", .problem, "full") { $0.disk?.freeBytes = 1 << 20 },
        Fault("disk", .problem, "the daemon could not store") { evidence in
            evidence.diagnosis?.isDiskFull = true
            evidence.disk?.freeBytes = 100 << 20
        },
        Fault("disk", .problem, "the daemon could not store, and there is room") { $0.diagnosis?.isDiskFull = true },
        Fault("disk", .warning, "nearly full") { $0.disk?.freeBytes = 100 << 20 },
        Fault("database", .problem, "damaged") { evidence in
            evidence.diagnosis?.database = .damaged
            evidence.diagnosis?.damage = "row 7 missing from index"
        },
        Fault("database", .warning, "one was set aside") { $0.setAside = ["/home/ann/workspace.db.corrupt-1"] },
        Fault("files", .problem, "a key that others can read") { $0.files[1].mode = 0o644 },
        Fault("files", .problem, "another owner") { $0.files[1].owner = 0 },
        Fault("files", .problem, "a link") { $0.files[1].kind = .link },
        Fault("files", .problem, "a link of another user to the folder") { $0.files[0].kind = .foreignLink },
        Fault("files", .problem, "a link to no folder") { $0.files[0].kind = .brokenLink },
    ]

    static func faulty(_ evidence: Evidence) -> [Check] {
        Diagnosis(evidence: evidence).checks.filter { $0.level == .problem || $0.level == .warning }
    }

    @Test func nothingIsWrongWithAHealthyMachine() throws {
        let checks = Diagnosis(evidence: try Self.healthy()).checks
        #expect(checks.allSatisfy { $0.level == .ok }, "\(checks.filter { $0.level != .ok })")
        #expect(Set(checks.map(\.name)).count == checks.count)
    }

    @Test(arguments: faults) func aFaultIsNamedAndOnlyIt(_ fault: Fault) throws {
        var evidence = try Self.healthy()
        fault.happen(&evidence)
        let found = Self.faulty(evidence)
        #expect(found.map(\.name) == [fault.name] && found.first?.level == fault.level, "\(found)")
        #expect(found.allSatisfy { !$0.mend.isEmpty && !$0.saw.isEmpty })
    }

    /// A command of this program that is advised exists as it is written, and goes to the home that was looked at and
    /// to no other of this user's.
    @Test(arguments: faults) func whatIsAdvisedExists(_ fault: Fault) throws {
        var evidence = try Self.healthy()
        evidence.command = "starling --home /srv/second"
        fault.happen(&evidence)
        for line in Self.faulty(evidence).flatMap(\.mend) {
            #expect(!line.contains("pkill") && !line.contains("killall"))
            for part in line.split(whereSeparator: { "&;#".contains($0) }) {
                let words = part.split(separator: " ").map(String.init)
                guard let begin = words.firstIndex(of: "starling") else { continue }
                guard case .run = try Parser(StarlingProgram.table).parse(Array(words[(begin + 1)...])) else {
                    Issue.record("\(line)")
                    continue
                }
                let isHere = !line.hasPrefix("on ") || words.contains("here:")
                #expect(words[(begin + 1)...].starts(with: ["--home", "/srv/second"]) == isHere, "\(line)")
            }
        }
    }

    @Test func everyCheckIsBroken() throws {
        let names = Diagnosis(evidence: try Self.healthy()).checks.map(\.name)
        #expect(Set(Self.faults.map(\.name)) == Set(names))
    }
}
