import Glibc
import Net
@testable import Node
import Testing

extension NodeTests {
    /// Telling networks apart, by what the kernel knows of them.
    @Suite struct NetworkVerdictTests {
        @Test func aGatewayDecidesAndElseAPrefix() {
            func verdict(_ known: [NetworkPlace], _ here: NetworkPlace...) -> OwnNetworks.Verdict {
                var own = OwnNetworks()
                own.add(known)
                return own.verdict(on: here)
            }
            let home = NetworkPlaceTests.place("aa", "192.168.1.0/24")
            let other = NetworkPlaceTests.place("bb", "192.168.1.0/24")
            let renumbered = NetworkPlaceTests.place("aa", "10.0.0.0/8")
            let unknown = NetworkPlaceTests.place(nil, "192.168.1.0/24")
            let cable = NetworkPlaceTests.place(nil, "192.168.1.0/24", isWayOut: false)
            let virtual = NetworkPlaceTests.place(nil, "172.16.0.0/16", isWayOut: false)
            #expect(verdict([], home) == .own)
            #expect(verdict([home], home) == .own && verdict([home], renumbered) == .own)
            #expect(verdict([home], other) == .another && verdict([home, other], other) == .own)
            #expect(verdict([home], unknown) == .unsure && verdict([unknown], home) == .own)
            #expect(verdict([cable], cable) == .own && verdict([home], cable) == .own)
            #expect(verdict([home]) == .nowhere)
            // What goes along does not make another network one's own, nor one's own another.
            #expect(verdict([home, virtual], other, virtual) == .another)
            #expect(verdict([home], home, virtual) == .own)
            #expect(verdict([cable, virtual], virtual) == .own)
        }

        @Test func whatIsLearntIsKept() {
            var own = OwnNetworks()
            own.add([NetworkPlaceTests.place(nil, "192.168.1.0/24")])
            own.refresh([NetworkPlaceTests.place("aa", "192.168.1.0/24")])
            #expect(own.places == [NetworkPlaceTests.place("aa", "192.168.1.0/24")])
            own.refresh([NetworkPlaceTests.place("aa", "10.0.0.0/8", "fd00::/64")])
            own.refresh([NetworkPlaceTests.place("bb", "10.0.0.0/8")])
            #expect(own.places == [NetworkPlaceTests.place("aa", "10.0.0.0/8", "fd00::/64")])
            own.add([NetworkPlaceTests.place(nil, "172.16.0.0/16", isWayOut: false)])
            #expect(OwnNetworks(text: own.text) == own && own.places.count == 2)
            for number in 0..<40 { own.add([NetworkPlaceTests.place("g\(number)", "10.\(number).0.0/16")]) }
            #expect(own.places.count == OwnNetworks.placesMax && own.places.last?.gateway == "g39")
            // One without a name goes along with others and is none of the workspace's.
            let nameless = NetworkPlaceTests.nameless("eth1 0")
            own.add([NetworkPlaceTests.place("aa", "10.0.0.0/8"), nameless])
            #expect(own.verdict(on: [nameless]) == .nameless && own.places.allSatisfy { !$0.isNameless })
            #expect(own.verdict(on: [nameless, NetworkPlaceTests.place("zz", "10.0.0.0/8")]) == .another)
            own.add([nameless])
            #expect(own.verdict(on: [nameless]) == .own && OwnNetworks(text: own.text) == own)
            #expect(own.verdict(on: [NetworkPlaceTests.place("zz", "10.0.0.0/8")]) == .another)
            #expect(OwnNetworks(text: "\n x \n").places.isEmpty)
        }

        private static let routes = """
            Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
            eth0\t00000000\t0101A8C0\t0003\t0\t0\t100\t00000000\t0\t0\t0
            eth0\t0001A8C0\t00000000\t0001\t0\t0\t100\t00FFFFFF\t0\t0\t0
            tun0\t00000000\t0100080A\t0003\t0\t0\t50\t00000000\t0\t0\t0
            bad

            """

        /// The last three: one that is refused, one of a longer prefix, and nonsense.
        private static let routes6 = """
            20010db8000000000000000000000000 40 00000000000000000000000000000000 00 00000000000000000000000000000000 \
            00000100 00000001 00000000 00000001     eth5
            00000000000000000000000000000000 00 00000000000000000000000000000000 00 fe8000000000000000000000000000fe \
            00000400 00000002 00000000 00000003     eth5
            00000000000000000000000000000000 00 00000000000000000000000000000000 00 fe8000000000000000000000000000fe \
            00000400 00000002 00000000 00000003     eth0
            00000000000000000000000000000000 00 00000000000000000000000000000000 00 00000000000000000000000000000000 \
            ffffffff 00000001 00000000 00200200       lo
            00000000000000000000000000000000 60 00000000000000000000000000000000 00 fe8000000000000000000000000000fe \
            00000400 00000002 00000000 00000003     eth1
            bad

            """

        private static let neighbours = """
            IP address       HW type     Flags       HW address            Mask     Device
            192.168.1.1      0x1         0x2         52:54:00:12:34:56     *        eth0
            192.168.1.1      0x1         0x2         52:54:00:00:00:99     *        eth1
            192.168.1.9      0x1         0x0         00:00:00:00:00:00     *        eth0
            bad

            """

        @Test func theKernelsTablesAreRead() throws {
            let up = UInt32(IFF_UP | IFF_RUNNING)
            func interface(_ name: String, _ flags: UInt32, _ addresses: [(String, Int)]) throws -> NetworkInterface {
                NetworkInterface(
                    name: name, index: 1, flags: flags,
                    addresses: try addresses.map { text, length in
                        NetworkInterface.Address(
                            address: try #require(SocketAddress(ip: text, port: 0)), prefixLength: length)
                    })
            }
            let interfaces = [
                try interface("lo", up | UInt32(IFF_LOOPBACK), [("127.0.0.1", 8)]),
                try interface("eth0", up, [("192.168.1.77", 24), ("fd12:3456::7", 64), ("fe80::1", 64)]),
                try interface("eth1", up, [("10.7.200.3", 18)]), try interface("eth2", up, [("169.254.3.4", 16)]),
                try interface("docker0", up, [("172.17.0.1", 16)]),
                try interface("tun0", up | UInt32(IFF_POINTOPOINT), [("10.8.0.2", 24)]),
                try interface("eth3", UInt32(IFF_UP), [("10.9.0.1", 24)]), try interface("eth4", up, []),
                try interface("eth5", up, [("fe80::5", 64), ("2001:db8::5", 64)]),
            ]
            let places = NetworkPlace.all(
                interfaces, routes: NetworkVerdictTests.routes, neighbours: NetworkVerdictTests.neighbours,
                routes6: NetworkVerdictTests.routes6,
                hardware6: { index, address in index == 1 && address.last == 0xFE ? "52:54:00:00:00:06" : nil },
                carrier: { $0 == "eth0" ? "4" : "1" })
            #expect(
                places == [
                    NetworkPlace(
                        gateway: "52:54:00:12:34:56", isWayOut: true, prefixes: ["192.168.1.0/24", "fd12:3456::/64"],
                        interface: "eth0 4"),
                    NetworkPlace(gateway: nil, isWayOut: false, prefixes: ["10.7.192.0/18"], interface: "eth1 1"),
                    NetworkPlaceTests.nameless("eth2 1"),
                    NetworkPlace(
                        gateway: "52:54:00:00:00:06", isWayOut: true, prefixes: ["2001:db8::/64"], interface: "eth5 1"),
                ])
            let silent = NetworkPlace.all(interfaces, routes: NetworkVerdictTests.routes, neighbours: "")
            #expect(silent.first?.gateway == nil && silent.first?.isWayOut == true)
            #expect(NetworkPlace.all([], routes: "", neighbours: "").isEmpty)
        }
    }
}
