import Glibc
import Net
@testable import Node
import Seal
import Testing
import Tree

extension NodeTests {
    /// Several addresses of one peer, and when what has failed is tried again.
    @Suite struct DialRaceTests {
        private let anna = Bytes32(repeating: 1)
        private let eve = Bytes32(repeating: 2)

        private func address(_ number: Int) throws -> SocketAddress {
            try #require(SocketAddress("10.0.0.\(number):4000"))
        }

        /// Times and addresses of the dials until then; none of them ends.
        private func dials(_ dialer: inout Dialer, fromMs: UInt64 = 0, toMs: UInt64) -> [(UInt64, SocketAddress)] {
            var result: [(UInt64, SocketAddress)] = []
            var nowMs = fromMs
            while true {
                for address in dialer.due(nowMs: nowMs, connected: []) { result.append((nowMs, address)) }
                guard let nextMs = dialer.nextDeadlineMs, nextMs <= toMs else { return result }
                nowMs = max(nextMs, nowMs + 1)
            }
        }

        @Test func theAddressesOfOnePeerStartOneAfterTheOtherBestFirst() throws {
            var dialer = Dialer()
            for (number, preference) in [(1, 3), (2, 1), (3, 2)] {
                dialer.offer(try address(number), .discovered, instance: "a", preference: preference, nowMs: 0)
            }
            dialer.offer(try address(9), .discovered, instance: "b", preference: 4, nowMs: 0)
            let all = dials(&dialer, toMs: 2_000)
            let ofA = all.filter { $0.1 != (try? address(9)) }
            #expect(ofA.map(\.0) == [0, Dialer.staggerMs, 2 * Dialer.staggerMs])
            #expect(ofA.map(\.1) == [try address(2), try address(3), try address(1)])
            // Another peer does not wait for them.
            let other = try address(9)
            #expect(all.contains { $0 == (0, other) })
        }

        /// However many addresses somebody claims, they take a few places.
        @Test func onePeerTakesFewPlaces() throws {
            var dialer = Dialer()
            for number in 1...16 { dialer.offer(try address(number), .discovered, instance: "a", nowMs: 0) }
            #expect(dials(&dialer, toMs: 5_000).count == Dialer.dialsPerPeerMax)
        }

        @Test func whoHasAnsweredIsDialledNoMore() throws {
            var dialer = Dialer()
            for number in 1...3 { dialer.offer(try address(number), .discovered, instance: "a", nowMs: 0) }
            dialer.offer(try address(4), .discovered, instance: "b", nowMs: 0)
            _ = dials(&dialer, toMs: 1_000)
            dialer.connected(try address(2), node: anna, nonce: 7)
            #expect(Set(dialer.rivals(of: try address(2))) == [try address(1), try address(3)])
            // Later the one that worked comes first.
            for number in [1, 3] { dialer.spare(try address(number), nowMs: 1_000) }
            dialer.disconnected(anna, lastedMs: 60_000, nowMs: 100_000)
            #expect(dialer.due(nowMs: 100_000 + Dialer.staggerMs, connected: []).contains(try address(2)))
        }

        /// Fails every dial at once; the times of the dials of an address.
        private func tries(_ dialer: inout Dialer, _ place: SocketAddress, fromMs: UInt64, toMs: UInt64) -> [UInt64] {
            var times: [UInt64] = []
            var nowMs = fromMs
            while nowMs <= toMs {
                for address in dialer.due(nowMs: nowMs, connected: []) {
                    if address == place { times.append(nowMs) }
                    dialer.failed(address, reason: "no", nowMs: nowMs, jitter: 20)
                }
                nowMs = max(dialer.nextDeadlineMs ?? .max, nowMs + 1)
            }
            return times
        }

        @Test func whoWasLostIsTriedEverySecondForAMinuteThenEverMoreRarely() throws {
            var dialer = Dialer()
            let place = try address(1)
            dialer.offer(place, .gossiped, node: anna, nowMs: 0)
            #expect(dialer.due(nowMs: 0, connected: []) == [place])
            dialer.connected(place, node: anna, nonce: 1)
            dialer.disconnected(anna, lastedMs: 60_000, nowMs: 60_000)
            let times = tries(&dialer, place, fromMs: 60_000, toMs: 400_000)
            let gaps = zip(times.dropFirst(), times).map { $0 - $1 }
            #expect(times.first == 60_000 + Dialer.staggerMs)
            #expect(gaps.prefix(50).allSatisfy { $0 == Dialer.backOffMs })
            #expect(gaps == gaps.sorted())
            #expect(gaps.last ?? 0 > 60_000)
        }

        /// That an address which does not answer is still announced is no reason to hurry.
        @Test func theSameSightingAgainIsNoNews() throws {
            var dialer = Dialer()
            let place = try address(1)
            dialer.offer(place, .discovered, instance: "a", nowMs: 0)
            _ = tries(&dialer, place, fromMs: 0, toMs: 200_000)
            let nextMs = try #require(dialer.nextDeadlineMs)
            dialer.offer(place, .discovered, instance: "a", nowMs: 200_000)
            #expect(dialer.nextDeadlineMs == nextMs)
            // Another program is, and so is one that was thought gone.
            dialer.lost(instance: "a")
            dialer.offer(place, .discovered, instance: "a", nowMs: 200_001)
            #expect(dialer.nextDeadlineMs == 200_001)
            dialer.failed(place, reason: "no", nowMs: 200_001, jitter: 20)
            dialer.offer(place, .discovered, instance: "b", nowMs: 200_002)
            #expect(dialer.nextDeadlineMs == 200_002)
        }

        @Test func oneWhoIsThereAgainIsNewsOfTheOthersButNotWithoutEnd() throws {
            var dialer = Dialer()
            let (one, other) = (try address(1), try address(2))
            dialer.offer(one, .gossiped, node: anna, nowMs: 0)
            dialer.offer(other, .gossiped, node: eve, nowMs: 0)
            _ = tries(&dialer, one, fromMs: 0, toMs: 200_000)
            #expect(dialer.hasFailed(anna) && dialer.nextDeadlineMs ?? 0 > 201_000)
            dialer.takeNews(nowMs: 200_000)
            #expect(Set(dialer.due(nowMs: 200_000, connected: [])) == [one, other])
            for address in [one, other] { dialer.failed(address, reason: "no", nowMs: 200_000, jitter: 0) }
            dialer.takeNews(nowMs: 200_001)
            #expect(dialer.due(nowMs: 200_001, connected: []).isEmpty)
        }

        @Test func discoveryIsAskedNowAndThen() throws {
            var dialer = Dialer()
            let place = try address(1)
            dialer.offer(place, .discovered, instance: "a", nowMs: 0)
            let answers = [100, 200, 100 + Dialer.doubtMs].map { dialer.doubts(place, nowMs: $0) }
            #expect(answers == [true, false, true])
        }

        @Test func aPersonWithSeveralAddressesIsListedOnce() throws {
            var dialer = Dialer()
            for number in 1...3 { dialer.offer(try address(number), .gossiped, node: anna, nowMs: 0) }
            for number in 4...6 { dialer.offer(try address(number), .discovered, instance: "e", nowMs: 0) }
            dialer.offer(try address(7), .named, nowMs: 0)
            dialer.failed(try address(1), reason: "no", nowMs: 0, jitter: 0)
            let listed = dialer.peers.map(\.address)
            #expect(listed == [try address(2), try address(4), try address(7)])
        }
    }

    @Suite struct PeerMemoryTests {
        private let nowMs: UInt64 = 1_800_000_000_000

        private func node(_ number: UInt8) -> Bytes32 { Bytes32(repeating: number) }

        @Test func eightOfANodeAreKeptTheLastOnesFirst() {
            var memory = PeerMemory()
            for number in 1...20 {
                memory.note(node(1), "10.0.0.\(number):4000", nowMs: nowMs + UInt64(number) * PeerMemory.hourMs)
            }
            memory.note(node(2), "10.0.1.1:4000", nowMs: nowMs)
            let kept = memory.places.filter { $0.node == node(1) }.map(\.address)
            #expect(kept == (13...20).reversed().map { "10.0.0.\($0):4000" })
            #expect(memory.places.contains { $0.node == node(2) })
            let again = PeerMemory(memory.text, nowMs: nowMs + 21 * PeerMemory.hourMs)
            #expect(again == memory)
        }

        @Test func whatIsOldIsForgotten() {
            var memory = PeerMemory()
            memory.note(node(1), "10.0.0.1:4000", nowMs: nowMs)
            memory.note(node(2), "10.0.0.2:4000", nowMs: nowMs + 48 * PeerMemory.hourMs)
            memory.expire(nowMs: nowMs + (PeerMemory.hoursMax + 1) * PeerMemory.hourMs)
            #expect(memory.places.map(\.node) == [node(2)])
        }

        /// Lines of an earlier version, lines that are none, and a clock that was wrong when they were written.
        @Test func anyTextIsRead() {
            let uid = UID.text(node(1))
            let text = "\(uid) 10.0.0.1:4000\nnonsense\n\(uid) 10.0.0.2:4000 99999999999\n\(uid)\n\(uid) a b c"
            var memory = PeerMemory(text, nowMs: nowMs)
            #expect(memory.places.map(\.hour) == [nowMs / PeerMemory.hourMs, nowMs / PeerMemory.hourMs])
            memory.expire(nowMs: nowMs)
            #expect(memory.places.count == 2)
        }

        @Test func theNumberIsBounded() {
            var memory = PeerMemory()
            for number in 0..<UInt8.max {
                for port in 1...4 { memory.note(node(number), "10.0.0.1:\(port)", nowMs: nowMs) }
            }
            #expect(memory.places.count == PeerMemory.countMax)
        }
    }

    @Suite struct InterfaceFilterTests {
        private func interface(_ name: String, _ index: UInt32, _ ip: String) throws -> NetworkInterface {
            NetworkInterface(
                name: name, index: index, flags: UInt32(IFF_UP | IFF_RUNNING),
                addresses: [.init(address: try #require(SocketAddress(ip: ip, port: 0)), prefixLength: 16)])
        }

        @Test func bridgesOfContainersAreLeftOutUnlessNamed() throws {
            let interfaces = [try interface("eth0", 2, "192.168.0.5"), try interface("docker0", 3, "172.17.0.1")]
            let (home, bridge) = (
                try #require(SocketAddress("192.168.3.4:1")), try #require(SocketAddress("172.17.0.9:1"))
            )
            var filter = InterfaceFilter()
            #expect(filter.allows("eth0") && !filter.allows("docker0"))
            #expect(!filter.excludes(home, interfaces) && filter.excludes(bridge, interfaces))
            // What is behind a router is no interface's.
            #expect(!filter.excludes(try #require(SocketAddress("10.1.1.1:1")), interfaces))
            filter.names = ["docker0"]
            #expect(!filter.allows("eth0") && filter.allows("docker0"))
            #expect(filter.excludes(home, interfaces) && !filter.excludes(bridge, interfaces))
        }
    }
}
