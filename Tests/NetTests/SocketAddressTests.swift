import Glibc
import Testing

@testable import Net

struct SocketAddressTests {
    @Test(arguments: [
        "10.0.0.1:47474", "0.0.0.0:0", "255.255.255.255:65535", "[::]:47474", "[::1]:1", "[fe80::1%lo]:47474",
        "[2001:db8::ff00:42:8329]:443", "[fd00::1]:9",
    ])
    func textRoundTrips(text: String) throws {
        let address = try #require(SocketAddress(text))
        #expect(address.description == text)
        #expect(SocketAddress(address.description) == address)
    }

    @Test(arguments: [
        ("[::ffff:10.0.0.1]:5", "10.0.0.1:5"), ("[0:0:0:0:0:ffff:7f00:1]:5", "127.0.0.1:5"), ("[::1%1]:5", "[::1]:5"),
        ("[FE80::A%1]:5", "[fe80::a%lo]:5"), ("[fe80::1%4000000000]:5", "[fe80::1%4000000000]:5"),
        ("[fe80::1]:5", "[fe80::1]:5"),
        ("1.2.3.4:00080", "1.2.3.4:80"),
    ])
    func otherSpellingsBecomeTheUsualOne(text: String, expected: String) throws {
        let address = try #require(SocketAddress(text))
        #expect(address.description == expected)
    }

    @Test(arguments: [
        "", ":", "::", "10.0.0.1", "10.0.0.1:", "10.0.0.1:65536", "10.0.0.1:-1", "10.0.0.1:+1", "10.0.0.1: 1",
        "10.0.0.1:1 ", " 10.0.0.1:1", "10.0.0.1:0x1", "10.0.0.1:1\n", "10.0.0.1:١", "10.0.0.1:1:1", "10.0.0.256:1",
        "10.0.0:1",
        "10.0.0.1.2:1", "010.0.0.1:1", "10.0.0.1\0:1", "10.0.0.1:1\0", "10.0.0.1%lo:1", "host:1", "host.local:1",
        "::1:1", "[::1]", "[::1]:", "[::1]1", "[::1:1", "::1]:1", "[]:1", "[[::1]]:1", "[10.0.0.1]:1", "[::1]]:1",
        "[fe80::1%]:1", "[fe80::1%0]:1", "[fe80::1%nosuchinterface9]:1", "[fe80::1%lo%lo]:1", "[fe80::1%4294967296]:1",
        "[fe80::1%\u{1B}[2J]:1", "[:::]:1", "[1:2:3:4:5:6:7:8:9]:1", "[::g]:1", "[::1 ]:1", "[::1\0]:1",
        "10.0.0.1:000001",
        "\u{FEFF}10.0.0.1:1", "1০.0.0.1:1",
    ])
    func whatIsNoAddressIsRefused(text: String) {
        #expect(SocketAddress(text) == nil)
    }

    @Test(arguments: 0..<50)
    func noTextTraps(run: Int) {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        let alphabet = Array("0123456789abcdef:.%[]lo \0é")
        for _ in 0..<200 {
            let count = Int.random(in: 0...24, using: &random)
            let text = String((0..<count).map { _ in alphabet.randomElement(using: &random) ?? "0" })
            guard let address = SocketAddress(text) else { continue }
            #expect(SocketAddress(address.description) == address, "seed \(seed), text \(text.debugDescription)")
        }
    }

    @Test(
        arguments: [
            ("example:47474", "example", 47474), ("example", "example", 9), ("10.0.0.1", "10.0.0.1", 9),
            ("[::1]", "::1", 9),
            ("[fe80::1%eth7]:5", "fe80::1%eth7", 5),
        ] as [(String, String, UInt16)])
    func hostAndPortAreSplit(text: String, host: String, port: UInt16) throws {
        let parts = try #require(HostPort(text, defaultPort: 9))
        #expect(parts.host == host)
        #expect(parts.port == port)
        // What is shown and stored is what can be read again.
        #expect(HostPort("\(parts)") == parts)
    }

    @Test(arguments: [
        "", ":1", "::1", "[::1", "a b:1", "[name]:1", "name:", "name:x", String(repeating: "x", count: 254),
    ])
    func hostAndPortRefuses(text: String) {
        #expect(HostPort(text, defaultPort: 9) == nil)
    }

    @Test func rawBytesRoundTripAndOtherCountsAreRefused() throws {
        let four = try #require(SocketAddress(ipv4: [10, 1, 2, 3], port: 5))
        #expect(four.ipBytes == [10, 1, 2, 3])
        #expect(four.description == "10.1.2.3:5")
        let bytes = (0..<16).map { UInt8($0 + 32) }
        let six = try #require(SocketAddress(ipv6: bytes, scope: 0, port: 5))
        #expect(six.ipBytes == bytes)
        for count in [0, 3, 5, 15, 17] {
            #expect(SocketAddress(ipv4: [UInt8](repeating: 1, count: count), port: 5) == nil)
            #expect(SocketAddress(ipv6: [UInt8](repeating: 1, count: count), scope: 0, port: 5) == nil)
        }
        let mapped = [UInt8](repeating: 0, count: 10) + [255, 255, 10, 1, 2, 3]
        #expect(SocketAddress(ipv6: mapped, scope: 7, port: 5) == four)
    }

    @Test func scopeIsKeptOnlyWhereItMeansSomething() throws {
        let linkLocal = [0xFE, 0x80] + [UInt8](repeating: 0, count: 13) + [1]
        #expect(SocketAddress(ipv6: linkLocal, scope: 3, port: 5)?.scope == 3)
        #expect(SocketAddress(ipv6: linkLocal, scope: 3, port: 5) != SocketAddress(ipv6: linkLocal, scope: 4, port: 5))
        let global = [0x20, 0x01] + [UInt8](repeating: 0, count: 14)
        #expect(SocketAddress(ipv6: global, scope: 3, port: 5)?.scope == 0)
    }

    @Test(arguments: [
        ("9.255.255.255", false), ("10.0.0.0", true), ("10.255.255.255", true), ("11.0.0.0", false),
        ("172.15.255.255", false), ("172.16.0.0", true), ("172.31.255.255", true), ("172.32.0.0", false),
        ("192.167.255.255", false), ("192.168.0.0", true), ("192.168.255.255", true), ("192.169.0.0", false),
        ("100.63.255.255", false), ("100.64.0.0", true), ("100.127.255.255", true), ("100.128.0.0", false),
        ("198.17.255.255", false), ("198.18.0.0", true), ("198.19.255.255", true), ("198.20.0.0", false),
        ("169.253.255.255", false), ("169.254.0.0", true), ("169.254.255.255", true), ("169.255.0.0", false),
        ("126.255.255.255", false), ("127.0.0.0", true), ("127.255.255.255", true), ("128.0.0.0", false),
        ("0.0.0.0", false), ("8.8.8.8", false), ("224.0.0.251", false), ("255.255.255.255", false),
        ("::", false), ("::1", true), ("::2", false), ("fbff::1", false), ("fc00::", true), ("fdff::1", true),
        ("fe00::1", false),
        ("fe7f::1", false), ("fe80::1", true), ("febf::1", true), ("fec0::1", false), ("ff02::1", false),
        ("2001:db8::1", false),
        ("::ffff:8.8.8.8", false), ("::ffff:10.0.0.1", true),
    ])
    func privateRangesEndWhereTheyShould(text: String, expected: Bool) throws {
        let address = try #require(SocketAddress(ip: text, port: 1))
        #expect(address.isPrivate == expected)
    }

    @Test(arguments: [
        ("10.0.0.1:1", true), ("10.0.0.1:0", false), ("0.0.0.0:1", false), ("0.1.2.3:1", false), ("[::]:1", false),
        ("224.0.0.1:1", false),
        ("[ff02::1%lo]:1", false), ("255.255.255.255:1", false), ("[fe80::1]:1", false), ("[fe80::1%lo]:1", true),
        ("[fd00::1]:1", true),
    ])
    func dialableAddressesNameOneHost(text: String, expected: Bool) throws {
        let address = try #require(SocketAddress(text))
        #expect(address.isDialable == expected)
    }

    @Test func diallingOrderPrefersTheSharedSubnet() throws {
        let ours = try #require(SocketAddress(ip: "192.168.7.9", port: 0))
        let interface = NetworkInterface(
            name: "eth0", index: 2, flags: UInt32(IFF_UP | IFF_RUNNING),
            addresses: [.init(address: ours, prefixLength: 24)])
        let texts = ["[fe80::1%lo]:1", "10.0.0.1:1", "[fd00::1]:1", "192.168.7.1:1", "169.254.1.1:1", "192.168.8.1:1"]
        let addresses = try texts.map { try #require(SocketAddress($0)) }
        let classes = addresses.map { $0.diallingClass(interfaces: [interface]) }
        let expected: [SocketAddress.DiallingClass] = [
            .linkLocal, .other, .routedIPv6, .sharedIPv4, .linkLocal, .other,
        ]
        #expect(classes == expected)
        #expect(SocketAddress.DiallingClass.allCases.sorted() == SocketAddress.DiallingClass.allCases)
    }

    @Test(arguments: [
        ("10.1.2.3", "10.1.2.4", 0, true), ("10.1.2.3", "10.1.2.4", 29, true), ("10.1.2.3", "10.1.2.4", 30, false),
        ("10.1.2.3", "10.1.2.3", 32, true), ("10.1.2.3", "10.1.2.3", 33, false), ("10.1.2.3", "10.1.2.3", -1, false),
        ("fd00::1", "fd00::2", 64, true), ("fd00::1", "fd00::2", 126, true), ("fd00::1", "fd00::2", 127, false),
        ("fd00::1", "fd00:0:0:1::1", 63, true), ("fd00::1", "fd00:0:0:1::1", 64, false),
        ("fd00::1", "fd00::1", 128, true),
        ("fd00::1", "ad00::1", 0, true), ("fd00::1", "fd00::1", 129, false), ("10.1.2.3", "::", 0, false),
    ])
    func prefixIsCompared(one: String, other: String, length: Int, expected: Bool) throws {
        let first = try #require(SocketAddress(ip: one, port: 1))
        let second = try #require(SocketAddress(ip: other, port: 2))
        #expect(first.shares(prefixLength: length, with: second) == expected)
    }
}
