import Lab
import Testing

/// Discovery against real Avahi, several hosts.
@Suite(.serialized, .enabled(if: Lab.unavailableReason == nil, "\(Lab.unavailableReason ?? "")"))
struct DiscoveryLabTests {
    private func probe(_ lab: Lab, _ host: Int, _ name: String, port: Int, _ txt: String...) throws -> LabProcess {
        try lab[host].spawn([Lab.product("discovery-probe"), name, "\(port)"] + txt)
    }

    /// Waits for a line that begins so.
    @discardableResult
    private func line(_ process: LabProcess, _ start: String, within timeout: Duration = .seconds(5)) async throws
        -> String
    {
        try await process.output.nextLine(timeout: timeout) { $0.hasPrefix(start) }
    }

    /// Waits for lines that begin so, in any order.
    private func lines(_ process: LabProcess, _ starts: Set<String>, within timeout: Duration = .seconds(5))
        async throws
    {
        var missing = starts
        let deadline = ContinuousClock.now + timeout
        while !missing.isEmpty {
            let line = try await line(process, "", within: deadline - ContinuousClock.now)
            missing = missing.filter { !line.hasPrefix($0) }
        }
    }

    /// Says a command and checks that the call returned at once, whatever Avahi does.
    private func say(_ process: LabProcess, _ command: String) async throws {
        try process.send(line: command)
        let answer = try await process.output.nextLine { $0.hasPrefix("done \(command) ") }
        let milliseconds = answer.split(separator: " ").dropLast().last.flatMap { Double($0) }
        #expect((milliseconds ?? .infinity) < 100, "\(answer)")
    }

    @Test func twoHostsFindEachOtherAndNoticeAGoodbye() async throws {
        let lab = try Lab(hosts: 2)
        let first = try probe(lab, 1, "aaaa", port: 1111, "txtvers=1", "s=abc")
        let second = try probe(lab, 2, "bbbb", port: 2222)
        let found = try await line(first, "found bbbb", within: .seconds(3))
        #expect(
            found == "found bbbb interface=2 host=host2.local. port=2222 addresses=0a630002%0,"
                + "fe800000000000000000000000000002%2 txt=")
        let other = try await line(second, "found", within: .seconds(3))
        #expect(other.hasPrefix("found aaaa") && other.hasSuffix("txt=s:616263,txtvers:31"), "\(other)")

        // Port and TXT change without an event, but resolving again tells.
        try await say(second, "port 2223")
        try await line(second, "registered bbbb")
        try await say(second, "txt k=v")
        try await eventually("it has spread", within: .seconds(5)) {
            try await say(first, "again bbbb")
            let line = try await line(first, "found bbbb")
            return line.contains("port=2223") && line.hasSuffix("txt=k:76")
        }

        second.closeInput()
        #expect(try await second.wait() == 0)
        try await line(first, "lost bbbb")
        #expect(!first.output.text.contains("found aaaa"))
    }

    @Test func aKilledAvahiIsFoundAgain() async throws {
        let lab = try Lab(hosts: 2)
        let first = try probe(lab, 1, "aaaa", port: 1111)
        let second = try probe(lab, 2, "bbbb", port: 2222)
        try await line(first, "found bbbb")
        for _ in 0..<2 {
            try lab.avahi(1, .kill)
            try await line(first, "state down: Avahi is not running")
            try lab.avahi(1, .start)
            try await lines(first, ["state up", "found bbbb"], within: .seconds(8))
        }
        try lab.dbus(1, .kill)
        try await line(first, "state down: Avahi is not running")
        try lab.dbus(1, .start)
        try await lines(first, ["state up", "found bbbb"], within: .seconds(10))
        #expect(first.isRunning && second.isRunning)
        #expect(first.errors.text.isEmpty)
    }

    @Test func aHungAvahiBlocksNobody() async throws {
        let lab = try Lab(hosts: 2)
        let first = try probe(lab, 1, "aaaa", port: 1111)
        let second = try probe(lab, 2, "bbbb", port: 2222)
        try await line(first, "found bbbb")
        try await line(second, "found aaaa")
        try lab.avahi(1, .stop)
        for command in ["rescan", "again bbbb", "rebuild", "port 1112", "txt a=b", "connected yes"] {
            try await say(first, command)
        }
        try await line(first, "state down: Avahi does not answer", within: .seconds(8))
        for command in ["rescan", "again bbbb", "rebuild"] {
            try await say(first, command)
        }
        try lab.avahi(1, .cont)
        try await lines(first, ["state up", "found bbbb"], within: .seconds(10))
        try await eventually("it has spread", within: .seconds(5)) {
            try await say(second, "again aaaa")
            return try await line(second, "found aaaa").contains("port=1112")
        }

        // Ending does not wait for Avahi either.
        try lab.avahi(1, .stop)
        try await say(first, "rescan")
        let began = ContinuousClock.now
        first.closeInput()
        #expect(try await first.wait() == 0)
        #expect(ContinuousClock.now - began < .seconds(1))
    }

    @Test func aMissingAvahiIsAStateAndCanComeLater() async throws {
        let lab = try Lab(hosts: 2, withoutAvahi: [2])
        let first = try probe(lab, 1, "aaaa", port: 1111)
        let second = try probe(lab, 2, "bbbb", port: 2222)
        try await line(second, "state down: Avahi is not running", within: .seconds(2))
        try await say(second, "rescan")
        try await say(second, "again aaaa")
        try lab.dbus(2, .start)
        try await say(second, "rebuild")
        try lab.avahi(2, .start)
        try await lines(second, ["state up", "found aaaa"], within: .seconds(15))
        try await line(first, "found bbbb")
        #expect(second.errors.text.isEmpty)
        #expect(!second.output.text.dropFirst("state down".count).contains("state down"))
    }

    @Test func aCutCableHealsAndARebuildFindsAgain() async throws {
        let lab = try Lab(hosts: 2)
        let first = try probe(lab, 1, "aaaa", port: 1111)
        _ = try probe(lab, 2, "bbbb", port: 2222)
        try lab.cut(1)
        let second = try probe(lab, 2, "cccc", port: 3333)
        try await line(second, "state up")
        try lab.heal(1)
        try await say(first, "rebuild")
        try await line(first, "found cccc", within: .seconds(10))
    }

    @Test func twoOfOneNameAreRenamedAndFindEachOther() async throws {
        let lab = try Lab(hosts: 2)
        let first = try probe(lab, 1, "same", port: 1111)
        try await line(first, "registered same")
        let second = try probe(lab, 2, "same", port: 2222)
        try await line(second, "registered same #2")
        #expect(try await line(first, "found same #2").contains("port=2222"))
        try await say(second, "rescan")
        #expect(try await line(second, "found same ").contains("port=1111"))
        #expect(!second.output.text.contains("found same #2"))
    }

    @Test func hostileAnnouncementsDoNoHarm() async throws {
        let lab = try Lab(hosts: 2)
        let victim = try probe(lab, 1, "aaaa", port: 1111)
        try await line(victim, "state up")
        let program = try Lab.product("discovery-probe")
        func announce(_ packet: MulticastPacket) async throws {
            let sent = try await lab[2].run([program, "send", lab[2].address, packet.hex])
            #expect(sent.status == 0)
        }
        let packets = [
            MulticastPacket(name: Array("esc\u{1b}[31m\nfound fake".utf8)),
            MulticastPacket(name: [0xff, 0xfe, 0x80]),
            MulticastPacket(name: Array("notxt".utf8), txt: []),
            MulticastPacket(name: Array("cutoff".utf8), txt: [200, 0x61]),
            MulticastPacket(name: Array("long".utf8), txt: [UInt8](repeating: 200, count: 2 * 201)),
            MulticastPacket(name: Array("port0".utf8), port: 0),
            MulticastPacket(name: Array("liar".utf8), address: [127, 0, 0, 1]),
            MulticastPacket(name: Array("dots.and\\slash".utf8)),
            MulticastPacket(name: [UInt8](repeating: 0x61, count: 63)),
        ]
        for packet in packets {
            try await announce(packet)
        }
        // The next honest one is found all the same.
        let honest = try probe(lab, 2, "honest", port: 2222)
        try await line(victim, "found honest", within: .seconds(10))
        try await eventually("it has spread", within: .seconds(5)) {
            victim.output.text.contains("found esc\\x1b[31m\\x0afound fake ")
        }
        try await eventually("it has spread", within: .seconds(5)) {
            victim.output.text.contains("found dots.and\\x5cslash ")
        }
        let text = victim.output.text
        for absent in ["\u{1b}", "\nfound fake", "found long", "found port0", "found cutoff", "state down"] {
            #expect(!text.contains(absent), "\(absent.debugDescription) in \(text)")
        }
        #expect(victim.isRunning && honest.isRunning)
        #expect(victim.errors.text.isEmpty)
    }
}
