import ControlAPI
import Testing

@testable import starling

/// What doctor reads of the network and of the system.
struct DoctorPartsTests {
    /// An answer as Avahi gives it: a pointer, and behind it service and address, with compressed names.
    private static let answer: [UInt8] = {
        var bytes: [UInt8] = [0, 1, 0x84, 0, 0, 1, 0, 1, 0, 0, 0, 2]
        // 12: _starling._tcp.local
        bytes += [9] + Array("_starling".utf8) + [4] + Array("_tcp".utf8) + [5] + Array("local".utf8) + [0]
        bytes += [0, 12, 0, 1]
        bytes += [0xC0, 12, 0, 12, 0, 1, 0, 0, 0, 10, 0, 6, 3] + Array("abc".utf8) + [0xC0, 12]
        let instance = UInt8(bytes.count - 6)
        // local begins 15 bytes behind 12.
        bytes += [0xC0, instance, 0, 33, 0x80, 1, 0, 0, 0, 10, 0, 14, 0, 0, 0, 0, 0xB9, 0x72]
        bytes += [5] + Array("host2".utf8) + [0xC0, 27]
        let host = UInt8(bytes.count - 8)
        bytes += [0xC0, host, 0, 1, 0x80, 1, 0, 0, 0, 10, 0, 4, 10, 99, 0, 2]
        return bytes
    }()

    @Test func anAnswerIsUnderstood() throws {
        let address = try #require(IPAddress("10.99.0.2"))
        let host = Array("host2.local".utf8)
        let expected: [DNSMessage.Record] = [
            .instance(Array("abc".utf8)), .service(instance: Array("abc".utf8), port: 47474, host: host),
            .address(host: host, address),
        ]
        #expect(DNSMessage.records(Self.answer) == expected)
        let interface = LocalInterface(name: "eth0", index: 2, kind: .lan, isUp: true, addresses: [])
        let read = MulticastQuery.answer(expected, interface, address)
        #expect(read?.instances == ["abc"] && read?.endpoints == [Endpoint(address, port: 47474)])
    }

    /// A question is no answer, and no prefix and no changed byte of one does harm.
    @Test func nonsenseDoesNoHarm() {
        #expect(DNSMessage.records(DNSMessage.question(["_starling", "_tcp", "local"], id: 7)).isEmpty)
        for count in 0..<Self.answer.count { _ = DNSMessage.records(Array(Self.answer.prefix(count))) }
        let seed = UInt64.random(in: 0 ... .max)
        var state = seed
        for _ in 0..<20_000 {
            var bytes = Self.answer
            for _ in 0..<3 {
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                bytes[Int(state >> 33) % bytes.count] = UInt8(truncatingIfNeeded: state >> 24)
            }
            #expect(DNSMessage.records(bytes).count <= 256, "seed \(seed)")
        }
    }

    @Test func addresses() throws {
        #expect(IPAddress("10.99.0.2")?.bytes == [10, 99, 0, 2])
        #expect(IPAddress("fe80::2%7")?.scope == 7 && IPAddress("fd00::2%7")?.scope == 0)
        #expect(IPAddress("host") == nil && IPAddress("") == nil && IPAddress([1, 2, 3]) == nil)
        #expect(Endpoint("10.99.0.2:47474")?.description == "10.99.0.2:47474")
        #expect(Endpoint("[fd00::2]:1")?.description == "[fd00::2]:1")
        for text in ["10.99.0.2", "10.99.0.2:0", "10.99.0.2:65536", "host:1", ":1"] {
            #expect(Endpoint(text) == nil, "\(text)")
        }
        let one = try #require(IPAddress("10.99.0.2"))
        let other = try #require(IPAddress("10.99.128.2"))
        #expect(one.shares(16, with: other) && !one.shares(17, with: other) && one.shares(32, with: one))
    }

    @Test func tablesOfTheKernel() throws {
        let arp = """
            IP address       HW type     Flags       HW address            Mask     Device
            10.99.0.2        0x1         0x2         52:54:00:12:34:56     *        eth0
            10.99.0.3        0x1         0x0         00:00:00:00:00:00     *        eth0
            nonsense
            """
        let there = try #require(IPAddress("10.99.0.2"))
        let away = try #require(IPAddress("10.99.0.3"))
        #expect(Reach.neighbours(arp) == [there: true, away: false])
        let route =
            "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
            + "eth0\t00000000\t0300630A\t0003\t0\t0\t0\t00000000\t0\t0\t0\n"
            + "eth0\t0000630A\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n"
        #expect(Reach.gateway(route) == away)
        #expect(Reach.gateway("") == nil)
    }

    @Test(arguments: [
        ("eth0", LocalInterface.Kind.lan), ("wlp2s0", .lan), ("docker0", .container), ("br-1f", .container),
        ("virbr0", .container), ("wg0", .tunnel), ("tailscale0", .tunnel), ("tun0", .tunnel), ("br0", .lan),
    ]) func kindsOfInterfaces(_ name: String, _ kind: LocalInterface.Kind) {
        #expect(LocalInterface.kind(name: name, flags: 0) == kind)
    }

    @Test func wordsForAShell() {
        #expect(ShellWord.quoted("/a/b-c.db") == "/a/b-c.db")
        #expect(ShellWord.quoted("/a b/it's") == "'/a b/it'\\''s'")
        #expect(ShellWord.quoted("") == "''")
    }
}
